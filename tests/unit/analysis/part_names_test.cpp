// SPDX-License-Identifier: Apache-2.0
#include "analysis/part_names.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

namespace assay::analysis {
namespace {

constexpr std::array<std::uint64_t, 2> kMatrix = {8, 8};

Tensor named(std::string_view name, std::span<const std::uint64_t> shape = kMatrix) {
  Tensor tensor;
  tensor.name = name;
  tensor.shape = shape;
  return tensor;
}

TEST(PartNames, OneWordForAllFamilies) {
  constexpr std::pair<std::string_view, std::string_view> kExpected[] = {
      {"model.layers.0.self_attn.q_proj.weight", "attn.q"},
      {"model.layers.0.self_attn.q_proj.bias", "attn.q"},
      {"layers.0.attention.wq.weight", "attn.q"},
      {"blk.0.attn_q.weight", "attn.q"},
      {"encoder.layer.0.attention.self.query.weight", "attn.q"},
      {"encoder.layer.0.attention.output.dense.weight", "attn.o"},
      {"encoder.layer.0.intermediate.dense.weight", "mlp.up"},
      {"transformer.h.0.attn.c_attn.weight", "attn.qkv"},
      {"transformer.h.0.attn.c_proj.weight", "attn.o"},
      {"transformer.h.0.mlp.c_proj.weight", "mlp.down"},
      {"encoder.block.0.layer.0.SelfAttention.o.weight", "attn.o"},
      {"encoder.block.0.layer.1.DenseReluDense.wo.weight", "mlp.down"},
      {"layers.0.attention.wo.weight", "attn.o"},
      {"layers.0.feed_forward.w1.weight", "mlp.gate"},
      {"layers.0.feed_forward.w2.weight", "mlp.down"},
      {"model.layers.0.block_sparse_moe.experts.3.w3.weight", "mlp.up"},
      {"model.layers.0.block_sparse_moe.gate.weight", "router"},
      {"model.layers.0.mlp.gate_up_proj.weight", "mlp.gate_up"},
      {"unet.down_blocks.0.attentions.0.transformer_blocks.0.attn1.to_out.0.weight", "attn.o"},
      {"model.embed_tokens.weight", "embed"},
      {"lm_head.weight", "head"},
      {"output.weight", "head"},
      {"model.layers.0.conv.weight", ""},
  };
  for (const auto& [name, part] : kExpected) EXPECT_EQ(part_of(named(name)), part) << name;
  constexpr std::array<std::uint64_t, 1> kVector = {8};
  EXPECT_EQ(part_of(named("model.layers.0.input_layernorm.weight", kVector)), "norm");
}

TEST(PartNames, Words) {
  const Tensor q = named("model.layers.0.self_attn.q_proj.weight");
  for (const std::string_view word : {"attn.q", "attn", "q", "weight"}) EXPECT_TRUE(has_role(q, word)) << word;
  for (const std::string_view word : {"attn.k", "mlp", "v", "expert", "", "attn."}) EXPECT_FALSE(has_role(q, word)) << word;
  const Tensor expert = named("model.layers.0.mlp.experts.2.down_proj.weight");
  for (const std::string_view word : {"expert", "mlp.down", "down"}) EXPECT_TRUE(has_role(expert, word)) << word;
  EXPECT_NE(std::ranges::find(role_words(), "attn.qkv"), role_words().end());
}

}  // namespace
}  // namespace assay::analysis
