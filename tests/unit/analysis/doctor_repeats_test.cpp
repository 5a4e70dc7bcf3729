// SPDX-License-Identifier: Apache-2.0
// Layers unlike their siblings: each oddity by itself, and the irregular layers of real architectures left alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>

#include "analysis/doctor/doctor.hpp"
#include "base/text.hpp"
#include "checkpoint_builder.hpp"

namespace assay::analysis {
namespace {

struct Leaf {
  std::vector<std::uint64_t> shape = {4, 4};
  DType dtype = DType::bf16;
};

/// Names and what they are; values do not matter here.
using Model = std::map<std::string, Leaf>;

std::vector<Finding> told(const Model& model, bool complete = true) {
  testing::CheckpointBuilder builder;
  for (const auto& [name, leaf] : model) {
    const std::size_t bytes = testing::CheckpointBuilder::count(leaf.shape) * dtype_info(leaf.dtype).bits / 8;
    builder.add_raw(name, leaf.dtype, leaf.shape, std::vector<std::byte>(bytes, std::byte{0x11}).data(), bytes);
  }
  builder.made.complete = complete;
  std::vector<Finding> findings;
  EXPECT_TRUE(examine(builder.made, {}, {}, findings).has_value());
  std::erase_if(findings, [](const Finding& finding) {
    return finding.code != Code::missing_tensor && finding.code != Code::missing_layer && finding.code != Code::odd_shape &&
           finding.code != Code::odd_dtype;
  });
  return findings;
}

std::vector<std::string> messages(const std::vector<Finding>& findings) {
  std::vector<std::string> out;
  for (const Finding& finding : findings) out.push_back(concat(severity_name(finding.severity), ": ", finding.message));
  return out;
}

using Messages = std::vector<std::string>;

constexpr const char* kAttention[] = {"self_attn.q_proj.weight", "self_attn.k_proj.weight", "self_attn.v_proj.weight",
                                      "self_attn.o_proj.weight"};

/// One layer of a Llama.
void add_layer(Model& model, const std::string& at) {
  for (const char* name : kAttention) model[at + name];
  for (const char* name : {"mlp.gate_proj.weight", "mlp.up_proj.weight"}) model[at + name].shape = {8, 4};
  model[at + "mlp.down_proj.weight"].shape = {4, 8};
  for (const char* name : {"input_layernorm.weight", "post_attention_layernorm.weight"}) model[at + name] = {{4}, DType::f32};
}

Model llama(int layers) {
  Model model;
  model["model.embed_tokens.weight"].shape = {16, 4};
  for (int i = 0; i < layers; ++i) add_layer(model, concat("model.layers.", i, "."));
  return model;
}

Model mixture(int layers, int experts) {
  Model model;
  for (int i = 0; i < layers; ++i) {
    const std::string at = concat("model.layers.", i, ".");
    for (const char* name : kAttention) model[at + name];
    model[at + "mlp.gate.weight"].shape = {static_cast<std::uint64_t>(experts), 4};
    for (int e = 0; e < experts; ++e)
      for (const char* name : {"w1.weight", "w2.weight", "w3.weight"}) model[concat(at, "mlp.experts.", e, ".", name)];
  }
  return model;
}

TEST(DoctorRepeats, NamesATensorThatOneLayerLacks) {
  Model model = llama(12);
  model.erase("model.layers.5.mlp.up_proj.weight");
  const auto findings = told(model);
  ASSERT_EQ(messages(findings), Messages{"warning: 'model.layers.5' has no 'mlp.up_proj.weight', which the layers beside it have"});
  EXPECT_EQ(findings[0].code, Code::missing_tensor);
  EXPECT_FALSE(code_hint(findings[0].code).empty());
}

TEST(DoctorRepeats, TellsOnceWhatOneLayerLacks) {
  Model model = llama(12);
  for (const char* name : kAttention) model.erase(concat("model.layers.5.", name));
  EXPECT_EQ(messages(told(model)),
            Messages{"warning: 'model.layers.5' lacks 4 of the 9 tensors that the layers beside it have: 'self_attn.k_proj.weight', "
                     "'self_attn.o_proj.weight', 'self_attn.q_proj.weight' and 1 more"});
}

TEST(DoctorRepeats, SaysNothingOfAbsenceWherePartOfTheFileIsLost) {
  Model model = llama(12);
  model.erase("model.layers.5.mlp.up_proj.weight");
  EXPECT_EQ(messages(told(model, false)), Messages{});
}

TEST(DoctorRepeats, NamesALayerThatIsLeftOut) {
  Model model = llama(12);
  std::erase_if(model, [](const auto& entry) { return entry.first.starts_with("model.layers.7."); });
  const auto findings = told(model);
  ASSERT_EQ(messages(findings), Messages{"warning: there is no 'model.layers.7' among 0 to 11 of 'model.layers'"});
  EXPECT_EQ(findings[0].code, Code::missing_layer);
}

TEST(DoctorRepeats, NamesAnExpertThatIsLeftOut) {
  Model model = mixture(6, 8);
  std::erase_if(model, [](const auto& entry) { return entry.first.starts_with("model.layers.2.mlp.experts.3."); });
  EXPECT_EQ(messages(told(model)),
            Messages{"warning: there is no 'model.layers.2.mlp.experts.3' among 0 to 7 of 'model.layers.2.mlp.experts'"});

  // The last one leaves no gap, yet the other layers have it; also where the layer is the first.
  model = mixture(6, 8);
  std::erase_if(model, [](const auto& entry) { return entry.first.starts_with("model.layers.0.mlp.experts.7."); });
  EXPECT_EQ(messages(told(model)),
            Messages{"warning: 'model.layers.0' lacks 3 of the 29 tensors that the layers beside it have: 'mlp.experts.7.w1.weight', "
                     "'mlp.experts.7.w2.weight', 'mlp.experts.7.w3.weight'"});

  model = mixture(6, 8);
  model.erase("model.layers.2.mlp.experts.3.w2.weight");
  EXPECT_EQ(messages(told(model)), Messages{"warning: 'model.layers.2.mlp.experts.3' has no 'w2.weight', which the layers beside it have"});
}

TEST(DoctorRepeats, TellsWhatManyLayersShareOnce) {
  Model model = mixture(24, 8);
  std::erase_if(model, [](const auto& entry) { return entry.first.find(".experts.3.") != std::string::npos; });
  const auto findings = told(model);
  ASSERT_EQ(findings.size(), 8u);
  EXPECT_TRUE(findings.back().message.ends_with("; and so on, 16 places more")) << findings.back().message;
}

TEST(DoctorRepeats, NamesAShapeThatStandsAlone) {
  Model model = llama(12);
  model["model.layers.5.mlp.up_proj.weight"].shape = {7, 4};
  const auto findings = told(model);
  ASSERT_EQ(messages(findings), Messages{"warning: 'model.layers.5.mlp.up_proj.weight' has shape [7, 4], in the layers beside it [8, 4]"});
  EXPECT_EQ(findings[0].where.tensor, "model.layers.5.mlp.up_proj.weight");
}

TEST(DoctorRepeats, NotesALayerOfAnotherPrecision) {
  Model model = llama(12);
  model["model.layers.5.mlp.up_proj.weight"].dtype = DType::f32;
  EXPECT_EQ(messages(told(model)), Messages{"note: 'model.layers.5.mlp.up_proj.weight' is F32, in the layers beside it BF16"});
  for (const char* name : kAttention) model[concat("model.layers.5.", name)].dtype = DType::f32;
  EXPECT_EQ(
      messages(told(model)),
      Messages{"note: 'model.layers.5' is F32 in 5 tensors that are BF16 in the layers beside it: 'model.layers.5.mlp.up_proj.weight', "
               "'model.layers.5.self_attn.k_proj.weight', 'model.layers.5.self_attn.o_proj.weight' and 2 more"});
}

// Architectures whose layers differ by design.
struct Design {
  const char* name;
  std::function<Model()> make;
};

void PrintTo(const Design& design, std::ostream* out) { *out << design.name; }

Model dense_first() {  // DeepSeek: the first layers have no experts
  Model model;
  for (int i = 0; i < 20; ++i) {
    const std::string at = concat("model.layers.", i, ".");
    for (const char* name : kAttention) model[at + name];
    if (i < 1) {
      model[at + "mlp.up_proj.weight"];
      continue;
    }
    model[at + "mlp.gate.weight"];
    for (int e = 0; e < 6; ++e) model[concat(at, "mlp.experts.", e, ".up_proj.weight")];
  }
  return model;
}

Model hybrid() {  // Jamba, Granite: attention in every n-th layer, a state space model in the others
  Model model;
  for (int i = 0; i < 40; ++i) {
    const std::string at = concat("model.layers.", i, ".");
    model[at + "mlp.up_proj.weight"];
    if (i % 10 == 5)
      for (const char* name : kAttention) model[at + name];
    else
      for (const char* name : {"mamba.in_proj.weight", "mamba.A_log", "mamba.D"}) model[at + name];
  }
  return model;
}

Model global_attention() {  // SAM: larger position tables in every n-th block
  Model model;
  for (int i = 0; i < 32; ++i) {
    model[concat("image_encoder.blocks.", i, ".attn.qkv.weight")];
    model[concat("image_encoder.blocks.", i, ".attn.rel_pos_h")].shape = {i % 8 == 7 ? 127u : 27u, 4u};
  }
  return model;
}

Model last_differs() {  // Stable Diffusion 3: the last block has no context branch
  Model model;
  for (int i = 0; i < 24; ++i) {
    const std::string at = concat("transformer_blocks.", i, ".");
    model[at + "attn.to_q.weight"];
    model[at + "norm1_context.linear.weight"].shape = {i < 23 ? 24u : 8u, 4u};
    if (i < 23)
      for (const char* name : {"ff_context.net.0.weight", "ff_context.net.2.weight", "attn.to_add_out.weight"}) model[at + name];
  }
  return model;
}

Model first_has_no_norm() {  // ModernBERT
  Model model;
  for (int i = 0; i < 22; ++i) {
    model[concat("layers.", i, ".attn.Wqkv.weight")];
    model[concat("layers.", i, ".mlp.Wi.weight")];
    if (i > 0) model[concat("layers.", i, ".attn_norm.weight")];
  }
  return model;
}

Model stages() {  // ResNet: widths grow; the first block of a stage differs
  Model model;
  const int depths[] = {3, 4, 23, 3};
  for (int s = 0; s < 4; ++s)
    for (int b = 0; b < depths[s]; ++b) {
      const std::string at = concat("layer", s + 1, ".", b, ".");
      const std::uint64_t width = 4u << s;
      model[at + "conv1.weight"].shape = {width, b == 0 ? width * 2 : width * 4, 1, 1};
      model[at + "conv2.weight"].shape = {width, width, 3, 3};
      if (b == 0) model[at + "downsample.0.weight"].shape = {width * 4, width * 2, 1, 1};
    }
  return model;
}

Model flat_stages() {  // Hiera: one list whose widths step up
  Model model;
  for (int i = 0; i < 48; ++i) {
    const std::uint64_t width = i < 2 ? 4 : i < 8 ? 8 : i < 44 ? 16 : 32;
    const bool step = i == 2 || i == 8 || i == 44;
    model[concat("blocks.", i, ".attn.qkv.weight")].shape = {3 * width, step ? width / 2 : width};
    if (step) model[concat("blocks.", i, ".proj.weight")].shape = {width, width / 2};
  }
  return model;
}

Model unet() {  // Stable Diffusion's UNet: lists of blocks of many kinds
  Model model;
  for (int i = 0; i < 12; ++i) {
    const std::string at = concat("model.diffusion_model.input_blocks.", i, ".");
    if (i == 0) model[at + "0.weight"].shape = {8, 4, 3, 3};
    else if (i % 3 == 0) model[at + "0.op.weight"].shape = {8, 8, 3, 3};
    else {
      model[at + "0.in_layers.2.weight"].shape = {8u * (1u + static_cast<unsigned>(i) / 4), 8, 3, 3};
      model[at + "0.out_layers.3.weight"].shape = {8, 8, 3, 3};
      if (i < 9) model[at + "1.proj_in.weight"];
      if (i == 4 || i == 7) model[at + "0.skip_connection.weight"];
    }
  }
  return model;
}

Model sequential() {  // VGG, an MLP: numbers of layers without weights are left out
  Model model;
  for (const int i : {0, 2, 5, 7, 10, 12, 14, 17, 19, 21}) {
    model[concat("features.", i, ".weight")].shape = {8, 8, 3, 3};
    model[concat("features.", i, ".bias")].shape = {8};
  }
  for (int i = 0; i < 24; i += 2) model[concat("net.", i, ".linear.weight")];
  return model;
}

Model cross_attention() {  // Llama 3.2 Vision: layers of another kind at places of their own
  Model model;
  for (int i = 0; i < 40; ++i) {
    const std::string at = concat("language_model.model.layers.", i, ".");
    model[at + "mlp.up_proj.weight"];
    if (i == 3 || i == 18)
      for (const char* name : {"cross_attn.q_proj.weight", "cross_attn_attn_gate"}) model[at + name];
    else
      for (const char* name : kAttention) model[at + name];
  }
  return model;
}

Model quantised() {  // fp8 weights, some layers kept; scales in F32; 4-bit layers beside 8-bit ones
  Model model;
  for (int i = 0; i < 24; ++i) {
    const std::string at = concat("model.layers.", i, ".");
    model[at + "mlp.up_proj.weight"].dtype = i == 11 ? DType::bf16 : DType::f8_e4m3;
    if (i != 11) model[at + "mlp.up_proj.weight_scale_inv"] = {{1}, DType::f32};
    model[at + "mlp.down_proj.qweight"] = {{i == 7 ? 8u : 4u, 4u}, DType::i32};
    model[at + "mlp.down_proj.scales"] = {{i == 7 ? 2u : 1u, 4u}, DType::f16};
    model[at + "input_layernorm.weight"] = {{4}, DType::f32};
  }
  return model;
}

Model depths() {  // stages of different depth
  Model model;
  const int depth[] = {2, 3, 3, 1, 3, 3, 3, 1};
  for (int s = 0; s < 8; ++s)
    for (int b = 0; b < depth[s]; ++b)
      for (const char* name : {"conv_pw.weight", "bn1.weight"}) model[concat("blocks.", s, ".", b, ".", name)];
  return model;
}

Model optimizer() {
  Model model;
  for (int i = 0; i < 40; ++i) {
    if (i == 17) continue;  // a parameter that got no gradient
    for (const char* name : {"exp_avg", "exp_avg_sq"}) model[concat("optimizer.state.", i, ".", name)].shape = {i == 9 ? 8u : 4u, 4u};
    if (i != 20) model[concat("optimizer.state.", i, ".max_exp_avg_sq")];
  }
  return model;
}

class DoctorRepeatsDesign : public ::testing::TestWithParam<Design> {};

TEST_P(DoctorRepeatsDesign, IsLeftAlone) { EXPECT_EQ(messages(told(GetParam().make())), Messages{}); }

INSTANTIATE_TEST_SUITE_P(Architectures, DoctorRepeatsDesign,
                         ::testing::Values(Design{"llama", [] { return llama(32); }}, Design{"mixture", [] { return mixture(8, 8); }},
                                           Design{"dense_first", dense_first}, Design{"hybrid", hybrid},
                                           Design{"global_attention", global_attention}, Design{"last_differs", last_differs},
                                           Design{"first_has_no_norm", first_has_no_norm}, Design{"stages", stages},
                                           Design{"flat_stages", flat_stages}, Design{"unet", unet}, Design{"sequential", sequential},
                                           Design{"cross_attention", cross_attention}, Design{"quantised", quantised},
                                           Design{"depths", depths}, Design{"optimizer", optimizer}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace assay::analysis
