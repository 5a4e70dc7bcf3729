// SPDX-License-Identifier: Apache-2.0
// Experts found under the names of every family, not found where there are none, and what their weights say.
#include "analysis/moe.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/text.hpp"
#include "checkpoint_builder.hpp"
#include "config_testing.hpp"
#include "model/synthetic.hpp"

namespace assay::analysis {
namespace {

using testing::CheckpointBuilder;
using testing::config_of;
using testing::has_code;
using Shape = std::vector<std::uint64_t>;

constexpr std::uint64_t kHidden = 8, kInner = 12, kExperts = 4;
const Shape kUp = {kInner, kHidden}, kDown = {kHidden, kInner}, kRouter = {kExperts, kHidden};

struct Found {
  Moe moe;
  std::vector<Finding> findings;
};

Found find(const CheckpointBuilder& builder, const ModelConfig& config = {}) {
  Found found;
  found.moe = find_experts(builder.made, config, found.findings);
  return found;
}

Found measure(const CheckpointBuilder& builder, const ModelConfig& config = {}) {
  Found found = find(builder, config);
  const auto measured = measure_experts(builder.made, found.moe, {.watch = {}}, found.findings);
  EXPECT_TRUE(measured.has_value());
  return found;
}

/// A layer in Mixtral's names.
void add_layer(CheckpointBuilder& builder, const std::string& block, std::uint64_t experts = kExperts) {
  builder.add_random(block + ".gate.weight", {experts, kHidden});
  for (std::uint64_t e = 0; e < experts; ++e) {
    const std::string own = concat(block, ".experts.", e, '.');
    builder.add_random(own + "w1.weight", kUp);
    builder.add_random(own + "w2.weight", kDown);
    builder.add_random(own + "w3.weight", kUp);
  }
}

const std::string kBlock = "model.layers.3.block_sparse_moe";

void remove(CheckpointBuilder& builder, std::string_view part) {
  std::erase_if(builder.made.tensors, [&](const Tensor& tensor) { return tensor.name.find(part) != std::string_view::npos; });
}

void replace(CheckpointBuilder& builder, std::string_view name, const std::vector<float>& values) {
  const auto old = std::ranges::find(builder.made.tensors, name, &Tensor::name);
  ASSERT_NE(old, builder.made.tensors.end());
  const Shape shape(old->shape.begin(), old->shape.end());
  builder.made.tensors.erase(old);
  builder.add(name, shape, values);
}

// One tensor per expert: the block, the router, then the experts' names with # for the number.
struct Family {
  std::string block, router;
  std::vector<std::pair<std::string, bool>> experts;  // name, is it a down projection
};

TEST(FindExperts, KnowsOneTensorPerExpert) {
  const Family families[] = {
      {"model.layers.3.mlp",
       "model.layers.3.mlp.gate.weight",
       {{"experts.#.gate_proj.weight", false}, {"experts.#.up_proj.weight", false}, {"experts.#.down_proj.weight", true}}},
      {"layers.3.ffn", "layers.3.ffn.gate.weight", {{"experts.#.w1", false}, {"experts.#.w2", true}, {"experts.#.w3", false}}},
      {"layers.3", "layers.3.gate.weight", {{"experts.#.w1.weight", false}, {"experts.#.w2.weight", true}}},
      {"model.layers.3.feed_forward",
       "model.layers.3.feed_forward.router.weight",
       {{"experts.#.up_proj.weight", false}, {"experts.#.down_proj.weight", true}}},
      {"encoder.block.3.layer.1.mlp",
       "encoder.block.3.layer.1.mlp.router.classifier.weight",
       {{"experts.expert_#.wi.weight", false}, {"experts.expert_#.wo.weight", true}}},
      {"transformer.h.3.moe", "transformer.h.3.moe.gate.weight", {{"mlp.#.fc1.weight", false}, {"mlp.#.fc2.weight", true}}},
      {"transformer.decoder_layer.3",
       "transformer.decoder_layer.3.router.weight",
       {{"moe.#.linear.weight", false}, {"moe.#.linear_v.weight", false}, {"moe.#.linear_1.weight", true}}},
      {"decoder.layers.3.mlp",
       "decoder.layers.3.mlp.router.weight",
       {{"experts.local_experts.#.linear_fc1.weight", false}, {"experts.local_experts.#.linear_fc2.weight", true}}},
      {"decoder.layers.3.mlp",
       "decoder.layers.3.mlp.router.weight",
       {{"experts.linear_fc1.weight#", false}, {"experts.linear_fc2.weight#", true}}},
      {"model.layers.3.deepspeed_moe",
       "model.layers.3.deepspeed_moe.gate.wg.weight",
       {{"experts.deepspeed_experts.#.dense_h_to_4h.weight", false}, {"experts.deepspeed_experts.#.dense_4h_to_h.weight", true}}},
      {"model.layers.3.block_sparse_moe",
       "model.layers.3.block_sparse_moe.primary_router.weight",
       {{"experts.#.up.weight", false}, {"experts.#.gate.weight", false}, {"experts.#.down.weight", true}}},
      {"model.layers.3.mlp",
       "model.layers.3.mlp.router.gate.weight",
       {{"experts.#.up_proj.weight", false}, {"experts.#.down_proj.weight", true}}},
      {"blk.3", "blk.3.ffn_gate_inp.weight", {{"ffn_gate.#.weight", false}, {"ffn_up.#.weight", false}, {"ffn_down.#.weight", true}}},
  };
  for (const Family& family : families) {
    CheckpointBuilder builder;
    builder.add_random(family.router, kRouter);
    for (const auto& [name, down] : family.experts) {
      for (std::uint64_t e = 0; e < kExperts; ++e) {
        std::string own = name;
        own.replace(own.find('#'), 1, decimal(e));
        builder.add_random(concat(family.block, ".", own), down ? kDown : kUp);
      }
    }
    const Found found = measure(builder);
    ASSERT_EQ(found.moe.layers.size(), 1u) << family.router;
    const MoeLayer& layer = found.moe.layers[0];
    EXPECT_TRUE(found.findings.empty()) << family.router;
    EXPECT_EQ(layer.prefix, family.block);
    EXPECT_EQ(layer.layer, 3u) << family.router;
    EXPECT_EQ(layer.count, kExperts);
    EXPECT_EQ(layer.stacking, Stacking::per_expert);
    ASSERT_EQ(layer.routers.size(), 1u) << family.router;
    EXPECT_EQ(builder.made.tensors[layer.routers[0].tensor].name, family.router);
    for (const Expert& expert : layer.experts) {
      EXPECT_EQ(expert.parts.size(), family.experts.size());
      EXPECT_EQ(expert.parameters, family.experts.size() * kHidden * kInner);
      EXPECT_GT(expert.norm.value_or(0), 0) << family.router;
      EXPECT_GT(expert.router_norm.value_or(0), 0) << family.router;
    }
  }
}

struct Stacked {
  std::string router;
  Shape router_shape;
  std::vector<std::pair<std::string, Shape>> tensors;
  Stacking stacking;
  ExpertLayout layout;
};

TEST(FindExperts, KnowsStackedTensors) {
  const std::uint64_t e = kExperts, h = kHidden, i = kInner;
  const Stacked families[] = {
      {"l.0.mlp.gate.weight",
       {e, h},
       {{"l.0.mlp.experts.gate_up_proj", {e, 2 * i, h}}, {"l.0.mlp.experts.down_proj", {e, h, i}}},
       Stacking::fused,
       ExpertLayout::linear},
      {"l.0.mlp.router.weight",
       {e, h},
       {{"l.0.mlp.experts.gate_up_proj", {e, h, 2 * i}}, {"l.0.mlp.experts.down_proj", {e, i, h}}},
       Stacking::fused,
       ExpertLayout::input_first},
      {"l.0.router.proj.weight",
       {e, h},
       {{"l.0.experts.gate_up_proj", {e, 2 * i, h}}, {"l.0.experts.down_proj", {e, h, i}}},
       Stacking::fused,
       ExpertLayout::linear},
      {"l.0.block_sparse_moe.router.layer.weight",
       {e, h},
       {{"l.0.block_sparse_moe.input_linear.weight", {e, 2 * i, h}}, {"l.0.block_sparse_moe.output_linear.weight", {e, h, i}}},
       Stacking::fused,
       ExpertLayout::linear},
      {"l.0.mlp.gate.weight",
       {e, h},
       {{"l.0.mlp.switch_mlp.up_proj.weight", {e, i, h}}, {"l.0.mlp.switch_mlp.down_proj.weight", {e, h, i}}},
       Stacking::fused,
       ExpertLayout::linear},
      {"blk.0.ffn_gate_inp.weight",
       {e, h},
       {{"blk.0.ffn_gate_exps.weight", {e, i, h}}, {"blk.0.ffn_down_exps.weight", {e, h, i}}},
       Stacking::fused,
       ExpertLayout::linear},
      {"l.0.ffn.router.layer.weight",
       {e, h},
       {{"l.0.ffn.experts.mlp.w1", {e * i, h}}, {"l.0.ffn.experts.mlp.v1", {e * i, h}}, {"l.0.ffn.experts.mlp.w2", {e * i, h}}},
       Stacking::rows,
       ExpertLayout::neuron_first},
      {"l.0.mlp.router.weight",
       {e, h},
       {{"l.0.mlp.experts.weight1", {h, e * 2 * i}}, {"l.0.mlp.experts.weight2", {e * i, h}}},
       Stacking::rows,
       ExpertLayout::input_first},
      {"l.0.feed_forward.router_DE",
       {h, e},
       {{"l.0.feed_forward.experts.moe_w_in_eD_F", {e * h, i}}, {"l.0.feed_forward.experts.moe_w_out_eF_D", {e * i, h}}},
       Stacking::rows,
       ExpertLayout::input_first},
  };
  for (const Stacked& family : families) {
    CheckpointBuilder builder;
    builder.add_random(family.router, family.router_shape);
    std::uint64_t all = 0;
    for (const auto& [name, shape] : family.tensors) {
      builder.add_random(name, shape);
      all += CheckpointBuilder::count(shape);
    }
    const Found found = measure(builder);
    const std::string& what = family.tensors[0].first;
    ASSERT_EQ(found.moe.layers.size(), 1u) << what;
    const MoeLayer& layer = found.moe.layers[0];
    EXPECT_TRUE(found.findings.empty()) << what << ": " << (found.findings.empty() ? "" : found.findings[0].message);
    EXPECT_EQ(layer.count, kExperts) << what;
    EXPECT_EQ(layer.stacking, family.stacking) << what;
    EXPECT_EQ(layout_name(layer.layout), layout_name(family.layout)) << what;
    for (const Expert& expert : layer.experts) {
      EXPECT_EQ(expert.parameters, all / kExperts) << what;
      EXPECT_TRUE(expert.measured) << what;
    }
  }
}

TEST(FindExperts, LeavesOtherNamesAlone) {
  const std::vector<std::vector<std::pair<std::string, Shape>>> models = {
      {{"l.0.mlp.gate_proj.weight", kUp}, {"l.0.mlp.up_proj.weight", kUp}, {"l.0.mlp.down_proj.weight", kDown}},
      {{"l.0.mlp.gate_up_proj.weight", {2 * kInner, kHidden}}, {"l.0.mlp.down_proj.weight", kDown}},
      {{"blk.0.ffn_gate.weight", kUp}, {"blk.0.ffn_up.weight", kUp}, {"blk.0.ffn_down.weight", kDown}},
      {{"l.0.self_attn.gate_proj.weight", {4, 8}}, {"l.0.gate.weight", {4, 8}}, {"l.0.altup.modality_router.weight", {4, 8}}},
      {{"lm_heads.0.weight", kUp}, {"lm_heads.1.weight", kUp}, {"adapters.0.w1.weight", kUp}, {"adapters.1.w1.weight", kUp}},
      {{"experts.0.weight", kUp}, {"experts.1.weight", kUp}},
      {{"mlp.0.fc1.weight", kUp}, {"mlp.1.fc1.weight", kUp}, {"mlp.0.fc2.weight", kDown}, {"mlp.1.fc2.weight", kDown}},
      {{"l.0.mlp.language_mlp.up_proj.weight", kUp}, {"l.0.mlp.vision_mlp.up_proj.weight", kUp}},
      {{"l.0.shared_mlp.input_linear.weight", kUp}, {"l.0.block_sparse_moe.router.layer.weight", {1, 8}}},
      {{"l.0.mlp.experts.0.up_proj.weight", kUp}, {"l.0.mlp.experts.0.down_proj.weight", kDown}},
      {{"l.0.mlp.experts.0.w1.lora_A.weight", kUp}, {"l.0.mlp.experts.1.w1.lora_A.weight", kUp}},
      {{"l.mlp.experts.experts.linear_fc1.weight", {3, kExperts, kInner, kHidden}},
       {"l.mlp.experts.experts.linear_fc2.weight", {3, kExperts, kHidden, kInner}}},
      {{"l.0.mlp.experts.99999999999.w1.weight", kUp}, {"l.0.mlp.experts.01.w1.weight", kUp}},
  };
  for (const auto& model : models) {
    CheckpointBuilder builder;
    for (const auto& [name, shape] : model) builder.add_random(name, shape);
    EXPECT_FALSE(find(builder).moe.detected()) << model[0].first;
  }
}

TEST(FindExperts, NamesWhatStandsBeside) {
  CheckpointBuilder builder;
  add_layer(builder, "model.layers.0.mlp");
  add_layer(builder, "model.layers.1.mlp");
  builder.add_random("model.layers.0.mlp.shared_experts.up_proj.weight", kUp);
  builder.add_random("model.layers.0.mlp.shared_experts.down_proj.weight", kDown);
  builder.add_random("model.layers.0.mlp.shared_expert_gate.weight", {1, kHidden});
  const Found found = find(builder, config_of(R"({"text_config": {"num_experts": 4, "num_hidden_layers": 1, "num_experts_per_tok": 2}})"));
  ASSERT_EQ(found.moe.layers.size(), 2u);
  EXPECT_EQ(found.moe.layers[0].shared, std::vector<std::string>{"model.layers.0.mlp.shared_experts"});
  EXPECT_EQ(found.moe.top_k, 2u);
  EXPECT_EQ(found.moe.layers[0].count_from, "config.json text_config.num_experts");
  EXPECT_FALSE(found.moe.layers[0].extra);
  EXPECT_TRUE(found.moe.layers[1].extra);  // beyond the model's own layers
}

TEST(FindExperts, CountsWhatIsMissing) {
  CheckpointBuilder builder;
  add_layer(builder, kBlock);
  remove(builder, ".experts.2.");
  remove(builder, ".experts.1.w3");
  const Found found = find(builder);
  ASSERT_EQ(found.moe.layers.size(), 1u);
  EXPECT_EQ(found.moe.expert_count, 4u);
  EXPECT_EQ(found.moe.layers[0].missing, std::vector<std::uint64_t>{2});
  EXPECT_EQ(found.moe.layers[0].experts[1].lacking, std::vector<std::string>{"w3.weight"});
  EXPECT_TRUE(has_code(found.findings, Code::missing_expert));
  EXPECT_FALSE(has_code(found.findings, Code::expert_count_mismatch));

  // The last one is known to be missing only by the router, or by the configuration.
  CheckpointBuilder last;
  add_layer(last, kBlock);
  remove(last, ".experts.3.");
  EXPECT_EQ(find(last).moe.layers[0].missing, std::vector<std::uint64_t>{3});
  remove(last, ".gate.weight");
  EXPECT_TRUE(find(last).moe.layers[0].missing.empty());
  EXPECT_EQ(find(last, config_of(R"({"num_local_experts": 4})")).moe.layers[0].missing, std::vector<std::uint64_t>{3});
}

TEST(FindExperts, ReportsCountsThatDisagree) {
  CheckpointBuilder builder;
  add_layer(builder, kBlock);
  const Found pruned = find(builder, config_of(R"({"num_local_experts": 8})"));
  EXPECT_EQ(pruned.moe.expert_count, 4u);
  EXPECT_TRUE(has_code(pruned.findings, Code::expert_count_mismatch));
  EXPECT_FALSE(has_code(pruned.findings, Code::missing_expert));

  // A router with more entries than there are experts, and a configuration that counts no more.
  CheckpointBuilder wide;
  add_layer(wide, kBlock);
  remove(wide, ".gate.weight");
  wide.add_random(kBlock + ".gate.weight", {6, kHidden});
  const Found disagreeing = find(wide, config_of(R"({"num_local_experts": 4})"));
  EXPECT_TRUE(disagreeing.moe.layers[0].missing.empty());
  EXPECT_TRUE(has_code(disagreeing.findings, Code::expert_count_mismatch));

  // A layer that lost its router.
  CheckpointBuilder two;
  add_layer(two, "model.layers.0.mlp");
  add_layer(two, "model.layers.1.mlp");
  EXPECT_FALSE(has_code(find(two).findings, Code::missing_router));
  remove(two, "layers.1.mlp.gate.weight");
  EXPECT_TRUE(has_code(find(two).findings, Code::missing_router));
  remove(two, "layers.0.mlp.gate.weight");  // no layer has one: they may be elsewhere
  EXPECT_FALSE(has_code(find(two).findings, Code::missing_router));

  // Experts that take no weights: the router is wider than what is stored, and the configuration says why.
  CheckpointBuilder zero;
  add_layer(zero, kBlock);
  remove(zero, ".gate.weight");
  zero.add_random(kBlock + ".gate.weight", {6, kHidden});
  EXPECT_TRUE(find(zero, config_of(R"({"n_routed_experts": 4, "zero_expert_num": 2})")).findings.empty());
  EXPECT_TRUE(has_code(find(zero).findings, Code::missing_expert));
}

TEST(FindExperts, TurnsARouterThatLiesTheOtherWay) {
  CheckpointBuilder builder;
  add_layer(builder, kBlock);
  remove(builder, ".gate.weight");
  builder.add_random(kBlock + ".gate.weight", {kHidden, kExperts});
  const Found found = find(builder);
  EXPECT_TRUE(found.findings.empty());
  EXPECT_EQ(found.moe.layers[0].routers[0].axis, 1u);
  EXPECT_EQ(found.moe.expert_count, kExperts);

  CheckpointBuilder input_first;
  input_first.add_random("model.layers.1.feed_forward.router.weight", {kHidden, kExperts});
  input_first.add_random("model.layers.1.feed_forward.experts.gate_up_proj", {kExperts, kHidden, 2 * kInner});
  input_first.add_random("model.layers.1.feed_forward.experts.down_proj", {kExperts, kInner, kHidden});
  const Found other = find(input_first);
  EXPECT_TRUE(other.findings.empty());
  EXPECT_EQ(other.moe.layers[0].routers[0].axis, 1u);
}

TEST(FindExperts, FollowsTheConfigurationForTheExpertsDimension) {
  // Only the configuration and the router know that the second dimension is the experts'.
  CheckpointBuilder builder;
  builder.add_random("l.0.mlp.gate.weight", {4, 6});
  builder.add_random("l.0.mlp.experts.gate_up_proj", {6, 4, 10});
  const Found found = measure(builder, config_of(R"({"num_experts": 4})"));
  ASSERT_EQ(found.moe.layers.size(), 1u);
  EXPECT_EQ(found.moe.expert_count, 4u);
  EXPECT_EQ(found.moe.layers[0].experts[0].parameters, 60u);
  EXPECT_TRUE(found.moe.layers[0].experts[3].measured);
}

TEST(MeasureExperts, ReadsSlicesWhereTheyAre) {
  const std::uint64_t e = 3, rows = 2, cols = 5;
  CheckpointBuilder builder;
  builder.add_random("l.0.mlp.router.weight", {e, 4});
  std::vector<float> values(e * rows * cols);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i / (rows * cols) + 1);
  builder.add("l.0.mlp.experts.gate_up_proj", {e, rows, cols}, values);
  std::vector<float> columns(rows * e * cols);  // [rows, e * cols]
  for (std::size_t i = 0; i < columns.size(); ++i) columns[i] = static_cast<float>(i % (e * cols) / cols + 1);
  builder.add("l.1.mlp.experts.weight1", {rows, e * cols}, columns);
  builder.add_random("l.1.mlp.router.weight", {e, rows});
  const Found found = measure(builder);
  ASSERT_EQ(found.moe.layers.size(), 2u);
  for (const MoeLayer& layer : found.moe.layers)
    for (const Expert& expert : layer.experts)
      EXPECT_NEAR(expert.norm.value_or(0), static_cast<double>(expert.index + 1) * std::sqrt(static_cast<double>(rows * cols)), 1e-9);
}

TEST(MeasureExperts, FindsTheDead) {
  CheckpointBuilder builder;
  add_layer(builder, kBlock);
  const std::vector<float> zeros(kInner * kHidden, 0.0f);
  for (const char* part : {"w1", "w2", "w3"}) replace(builder, concat(kBlock, ".experts.1.", part, ".weight"), zeros);
  replace(builder, kBlock + ".experts.2.w2.weight", zeros);  // silent through its last matrix alone
  const Found found = measure(builder);
  EXPECT_EQ(found.moe.layers[0].dead, (std::vector<std::uint64_t>{1, 2}));
  EXPECT_EQ(found.moe.layers[0].experts[2].dead, "its w2 is all 0");
  EXPECT_EQ(found.moe.layers[0].experts[1].norm, 0.0);
  EXPECT_TRUE(has_code(found.findings, Code::dead_expert));
}

std::vector<float> values_of(const CheckpointBuilder& builder, std::string_view name) {
  const Tensor* tensor = builder.made.find(name);
  std::vector<float> values(tensor->numel);
  const auto read = builder.made.file_of(*tensor)->source->read(0, std::as_writable_bytes(std::span(values)));
  EXPECT_TRUE(read.has_value());
  return values;
}

TEST(MeasureExperts, FindsTheSameSimilarAndReordered) {
  CheckpointBuilder builder;
  add_layer(builder, kBlock, 6);
  const auto own = [](std::uint64_t e, std::string_view part) { return concat(kBlock, ".experts.", e, ".", part, ".weight"); };
  std::vector<std::size_t> order(kInner);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::rotate(order.begin(), order.begin() + 5, order.end());
  for (const char* part : {"w1", "w2", "w3"}) {
    const std::vector<float> first = values_of(builder, own(0, part));
    replace(builder, own(3, part), first);
    std::vector<float> noisy = first;
    for (std::size_t i = 0; i < noisy.size(); ++i) noisy[i] += i % 2 == 0 ? 0.05f : -0.05f;
    replace(builder, own(4, part), noisy);
    const std::vector<float> second = values_of(builder, own(1, part));
    std::vector<float> reordered(second.size());
    for (std::size_t i = 0; i < second.size(); ++i) {
      const bool down = part[1] == '2';
      const std::size_t row = down ? i / kInner : i / kHidden, col = down ? i % kInner : i % kHidden;
      reordered[i] = down ? second[row * kInner + order[col]] : second[order[row] * kHidden + col];
    }
    replace(builder, own(5, part), reordered);
  }
  const Found found = measure(builder);
  const MoeLayer& layer = found.moe.layers[0];
  using Pair = std::pair<std::uint64_t, std::uint64_t>;
  EXPECT_EQ(layer.identical, (std::vector<Pair>{{0, 3}}));
  ASSERT_EQ(found.findings.size(), 1u);
  EXPECT_EQ(found.findings[0].code, Code::duplicate_content);
  EXPECT_EQ(found.findings[0].message, "experts 0 and 3 of 'model.layers.3.block_sparse_moe' hold the same weights");
  ASSERT_EQ(layer.similar.size(), 3u);
  for (const SimilarPair& pair : layer.similar) {
    if (pair.a == 1) {
      EXPECT_EQ(pair.b, 5u);
      EXPECT_LT(pair.cosine, 0.5);
      EXPECT_NEAR(pair.aligned_cosine.value_or(0), 1, 1e-6);
    } else {
      EXPECT_TRUE(Pair(pair.a, pair.b) == Pair(0, 4) || Pair(pair.a, pair.b) == Pair(3, 4));
      EXPECT_GT(pair.cosine, 0.98);
      EXPECT_FALSE(pair.aligned_cosine.has_value());
    }
  }

  const MoePlan plan = plan_experts(builder.made, found.moe, 3);
  ASSERT_EQ(plan.layers.size(), 1u);
  EXPECT_EQ(plan.layers[0].keep.size(), 3u);
  EXPECT_TRUE(std::ranges::count(plan.layers[0].keep, 2u) == 1) << "the only one unlike all others stays";
  EXPECT_EQ(plan.layers[0].drop[0].why, MoePlan::Why::identical);
  EXPECT_EQ(plan.parameters_saved, 3 * (3 * kHidden * kInner + kHidden));
  EXPECT_EQ(plan.bytes_saved, 4 * plan.parameters_saved);
}

TEST(MeasureExperts, GoesOnAroundWhatCannotBeRead) {
  CheckpointBuilder builder;
  add_layer(builder, kBlock);
  for (Tensor& tensor : builder.made.tensors)
    if (tensor.name == kBlock + ".experts.1.w2.weight") tensor.storage_offset = 1000000;
  const Found found = measure(builder);
  EXPECT_FALSE(found.moe.layers[0].experts[1].measured);
  EXPECT_TRUE(found.moe.layers[0].experts[0].measured);
  EXPECT_TRUE(found.moe.layers[0].experts[0].norm.has_value());
  ASSERT_EQ(found.findings.size(), 1u);
  EXPECT_EQ(found.findings[0].where.tensor, kBlock + ".experts.1.w2.weight");

  // Bytes that are not at hand are the host's to fetch, never a verdict.
  builder.made.files[builder.made.storages[builder.made.tensors.back().storage].file].source = std::make_shared<RangeSource>(1 << 20);
  Moe moe = found.moe;
  std::vector<Finding> findings;
  const auto result = measure_experts(builder.made, moe, {.watch = {}}, findings);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code(), Code::need_range);
}

TEST(MeasureExperts, SeesThePairsOfTheSyntheticModel) {
  CheckpointBuilder builder;
  for (const model::SyntheticTensor& tensor : model::synthetic_model()) builder.add(tensor.name, tensor.shape, tensor.values);
  const Found found = measure(builder);
  EXPECT_TRUE(found.findings.empty());
  ASSERT_EQ(found.moe.layers.size(), 4u);
  for (const MoeLayer& layer : found.moe.layers) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> pairs;
    for (const SimilarPair& pair : layer.similar) {
      pairs.emplace_back(pair.a, pair.b);
      EXPECT_NEAR(pair.cosine, 1 / std::sqrt(1 + 0.16 * 0.16), 1e-3);
      EXPECT_FALSE(pair.aligned_cosine.has_value());
    }
    std::ranges::sort(pairs);
    EXPECT_EQ(pairs, (std::vector<std::pair<std::uint64_t, std::uint64_t>>{{0, 4}, {1, 5}, {2, 6}, {3, 7}}));
    EXPECT_TRUE(layer.dead.empty());
    EXPECT_TRUE(layer.identical.empty());
  }
}

}  // namespace
}  // namespace assay::analysis
