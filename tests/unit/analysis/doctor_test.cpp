// SPDX-License-Identifier: Apache-2.0
// Each illness by itself, and healthy models left alone.
#include "analysis/doctor/doctor.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "analysis/doctor/roles.hpp"
#include "analysis/odd_spread.hpp"
#include "base/half.hpp"
#include "base/text.hpp"
#include "checkpoint_builder.hpp"
#include "model/synthetic.hpp"

namespace assay::analysis {
namespace {

using testing::CheckpointBuilder;

std::vector<Finding> examined(const CheckpointBuilder& builder, const ModelConfig& config = {}) {
  std::vector<Finding> findings;
  const auto checkup = examine(builder.made, config, {}, findings);
  EXPECT_TRUE(checkup.has_value());
  return findings;
}

/// "warning nan", … in order.
std::vector<std::string> said(const std::vector<Finding>& findings) {
  std::vector<std::string> list;
  for (const Finding& finding : findings) list.push_back(concat(severity_name(finding.severity), " ", code_name(finding.code)));
  return list;
}

using Said = std::vector<std::string>;

std::vector<float> counting(std::size_t n) {
  std::vector<float> values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = static_cast<float>(i);
  return values;
}

TEST(Doctor, FindsTheSyntheticModelHealthy) {
  CheckpointBuilder builder;
  for (const model::SyntheticTensor& tensor : model::synthetic_model()) builder.add(tensor.name, tensor.shape, tensor.values);
  EXPECT_EQ(said(examined(builder)), Said{});
}

TEST(Doctor, LeavesAFreshModelAtNotes) {
  CheckpointBuilder builder;
  for (int layer = 0; layer < 6; ++layer) {
    builder.add_random(concat("h.", layer, ".mlp.weight"), {16, 16});
    builder.add(concat("h.", layer, ".mlp.bias"), {16}, std::vector<float>(16, 0.0f));
    builder.add(concat("h.", layer, ".norm.weight"), {16}, std::vector<float>(16, 1.0f));
  }
  const auto findings = examined(builder);
  EXPECT_EQ(said(findings), Said{"note all-zero"});
  EXPECT_EQ(findings[0].message, "6 tensors are all 0: 'h.0.mlp.bias', 'h.1.mlp.bias', 'h.2.mlp.bias' and 3 more");
}

TEST(Doctor, WarnsOfANormThatShutsOffItsLayer) {
  CheckpointBuilder builder;
  for (int layer = 0; layer < 4; ++layer) {
    builder.add_random(concat("h.", layer, ".mlp.weight"), {16, 16});
    builder.add(concat("h.", layer, ".norm.weight"), {16}, std::vector<float>(16, layer == 2 ? 0.0f : 1.0f));
    builder.add(concat("h.", layer, ".norm.bias"), {16}, std::vector<float>(16, 0.0f));
  }
  const auto findings = examined(builder);
  ASSERT_FALSE(findings.empty());
  EXPECT_NE(std::ranges::find_if(findings,
                                 [](const Finding& f) {
                                   return f.code == Code::all_zero && f.severity == Severity::warning &&
                                          f.message == "'h.2.norm.weight' is all 0";
                                 }),
            findings.end());
}

TEST(Doctor, PlacesWhatIsNotFinite) {
  CheckpointBuilder builder;
  auto values = builder.random({4, 5});
  values[13] = values[17] = std::numeric_limits<float>::quiet_NaN();
  values[7] = -std::numeric_limits<float>::infinity();
  builder.add("w", {4, 5}, values);
  const auto findings = examined(builder);
  ASSERT_EQ(said(findings), (Said{"warning nan", "warning inf"}));
  EXPECT_EQ(findings[0].message, "'w' has 2 NaN among its 20 values, the first at [2, 3]");
  EXPECT_EQ(findings[1].message, "'w' has 1 infinity among its 20 values, the first at [1, 2]");
}

TEST(Doctor, FindsFlatMatricesAndDeadRows) {
  CheckpointBuilder builder;
  builder.add("a.weight", {8, 8}, std::vector<float>(64, 0.0f));
  builder.add("b.weight", {8, 8}, std::vector<float>(64, 0.25f));
  auto values = builder.random({8, 8});
  for (std::size_t i = 0; i < 8; ++i) values[3 * 8 + i] = values[5 * 8 + i] = values[i * 8 + 1] = 0;
  builder.add("c.weight", {8, 8}, values);
  builder.add("embed_tokens.weight", {8, 8}, values);
  const auto findings = examined(builder);
  // Of what is all 0 no rows are told besides; the gravest first.
  EXPECT_EQ(said(findings), (Said{"warning all-zero", "warning constant", "warning dead-rows", "warning dead-columns", "note dead-rows",
                                  "note dead-columns", "note duplicate-content"}));
  EXPECT_EQ(findings[2].message, "'c.weight' has 2 of 8 rows that are all 0: 3, 5");
}

TEST(Doctor, NamesDeadRowsThatFollowEachOtherAsOne) {
  CheckpointBuilder builder;
  auto values = builder.random({64, 8});
  std::fill_n(values.begin(), 32 * 8, 0.0f);
  builder.add("v.weight", {64, 8}, values);
  auto many = builder.random({64, 8});
  for (std::size_t row = 0; row < 64; row += 5) std::fill_n(many.begin() + static_cast<std::ptrdiff_t>(row * 8), 8, 0.0f);
  builder.add("w.weight", {64, 8}, many);
  const auto findings = examined(builder);
  ASSERT_EQ(said(findings), (Said{"warning dead-rows", "warning dead-rows"}));
  EXPECT_EQ(findings[0].message, "'v.weight' has 32 of 64 rows that are all 0: 0-31");
  EXPECT_EQ(findings[1].message, "'w.weight' has 13 of 64 rows that are all 0: 0, 5, 10, 15 and 9 more");
}

TEST(Doctor, SaysNothingOfAFreshNorm) {
  CheckpointBuilder builder;
  builder.add_random("model.layers.0.mlp.weight", {16, 16});
  builder.add("model.norm.weight", {16}, std::vector<float>(16, 1.0f));
  EXPECT_EQ(said(examined(builder)), Said{});
}

TEST(Doctor, FindsBrokenIndexBuffers) {
  const auto buffer = [](DType dtype, const auto& values) {
    CheckpointBuilder builder;
    builder.add_raw("text_model.embeddings.position_ids", dtype, {1, values.size()}, values.data(), values.size() * sizeof(values[0]));
    return said(examined(builder));
  };
  std::vector<std::int64_t> good(77);
  for (std::size_t i = 0; i < good.size(); ++i) good[i] = static_cast<std::int64_t>(i);
  EXPECT_EQ(buffer(DType::i64, good), Said{});
  std::vector<std::int64_t> bad = good;
  bad[40] = 39;
  EXPECT_EQ(buffer(DType::i64, bad), Said{"warning float-index-buffer"});
  EXPECT_EQ(buffer(DType::f32, counting(77)), Said{"warning float-index-buffer"});
  auto merged = counting(77);
  for (float& value : merged) value *= 0.58f;
  EXPECT_EQ(buffer(DType::f32, merged), Said{"warning float-index-buffer"});
}

template <class T>
std::vector<std::byte> swapped(const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  for (std::size_t i = 0; i < bytes.size(); i += sizeof(T)) std::reverse(&bytes[i], &bytes[i] + sizeof(T));
  return bytes;
}

TEST(Doctor, KnowsSwappedBytes) {
  CheckpointBuilder source;
  const auto trained = source.random({64, 64}, 0.05f);
  std::vector<std::uint16_t> half, brain;
  for (const float value : trained) {
    half.push_back(f32_to_f16(value));
    std::uint32_t bits;
    std::memcpy(&bits, &value, 4);
    brain.push_back(static_cast<std::uint16_t>(bits >> 16));
  }
  const auto answer = [](DType dtype, std::vector<std::uint64_t> shape, const void* data, std::size_t size) {
    CheckpointBuilder builder;
    builder.add_raw("w", dtype, shape, data, size);
    return said(examined(builder));
  };
  const auto both = [&](DType dtype, const auto& values) {
    const auto bytes = swapped(values);
    EXPECT_EQ(answer(dtype, {64, 64}, values.data(), bytes.size()), Said{}) << dtype_name(dtype);
    EXPECT_EQ(answer(dtype, {64, 64}, bytes.data(), bytes.size()), Said{"warning byte-swapped"}) << dtype_name(dtype);
  };
  both(DType::f32, trained);
  both(DType::f16, half);
  both(DType::bf16, brain);
  const auto few = swapped(counting(5));
  EXPECT_EQ(answer(DType::f32, {5}, few.data(), few.size()), Said{"warning byte-swapped"});
  // Tiny, but in either order.
  const std::vector<float> tiny = {1e-30f, 3e-31f, 2e-33f, 7e-32f};
  EXPECT_EQ(answer(DType::f32, {4}, tiny.data(), 16), Said{});
  std::vector<std::uint16_t> small, ones;  // codes of F16: multiples of 6e-8 of either sign; and 1, 0.5 and 2 in the other order
  for (unsigned i = 0; i < 256; ++i) {
    small.push_back(static_cast<std::uint16_t>((i % 2 << 15) + i * 7 % 45));
    ones.push_back(static_cast<std::uint16_t>(i % 3 == 0 ? 0x003c : i % 3 == 1 ? 0x0038 : 0x0040));
  }
  EXPECT_EQ(answer(DType::f16, {256}, small.data(), 512), Said{"note subnormal"});
  EXPECT_EQ(answer(DType::f16, {256}, ones.data(), 512), Said{"warning byte-swapped"});
  // 1, 2, 3, 4 in the other order; and numbers that are large or tiny by nature.
  const std::uint16_t half_counts[] = {0x003c, 0x0040, 0x0042, 0x0044}, brain_counts[] = {0x803f, 0x0040, 0x4040, 0x8040};
  EXPECT_EQ(answer(DType::f16, {2, 2}, half_counts, 8), Said{"warning byte-swapped"});
  EXPECT_EQ(answer(DType::bf16, {2, 2}, brain_counts, 8), Said{"warning byte-swapped"});
  const std::uint16_t large[] = {0x63d0, 0x61a8, 0x6010, 0x5ed0}, tiny_halfs[] = {0x0003, 0x0011, 0x8007, 0x0002};
  EXPECT_EQ(answer(DType::f16, {4}, large, 8), Said{});
  EXPECT_EQ(answer(DType::f16, {4}, tiny_halfs, 8), Said{});
}

TEST(Doctor, FindsAdaptersThatDoNothing) {
  CheckpointBuilder builder;
  builder.add_random("base_model.model.q.lora_A.weight", {2, 8});
  builder.add("base_model.model.q.lora_B.weight", {8, 2}, std::vector<float>(16, 0.0f));
  builder.add_random("base_model.model.k.lora_A.weight", {2, 8});
  builder.add_random("base_model.model.k.lora_B.weight", {8, 2});
  const auto findings = examined(builder);
  ASSERT_EQ(said(findings), Said{"warning dead-adapter"});
  EXPECT_EQ(findings[0].where.tensor, "base_model.model.q.lora_B.weight");
}

/// A pair of factors; `zero` is the name of the one that is 0.
CheckpointBuilder adapter_of(std::initializer_list<std::pair<std::string_view, std::string_view>> pairs, std::string_view zero) {
  CheckpointBuilder builder;
  for (const auto& [a, b] : pairs)
    for (const std::string_view name : {a, b}) {
      if (name.empty()) continue;
      const bool wide = name == a;
      const std::vector<std::uint64_t> shape = wide ? std::vector<std::uint64_t>{2, 8} : std::vector<std::uint64_t>{8, 2};
      if (name.find(zero) != name.npos) builder.add(std::string(name), shape, std::vector<float>(16, -0.0f));
      else builder.add_random(std::string(name), shape);
    }
  return builder;
}

TEST(Doctor, SaysThatAWholeAdapterDoesNothing) {
  const auto peft = examined(
      adapter_of({{"m.q.lora_A.default.weight", "m.q.lora_B.default.weight"}, {"m.k.lora_A.weight", "m.k.lora_B.weight"}}, "lora_B"));
  ASSERT_EQ(said(peft), Said{"warning dead-adapter"});
  EXPECT_EQ(peft[0].message, "the adapter changes nothing: all of its 2 modules have a factor that is all 0: 'm.k.lora_B.weight', "
                             "'m.q.lora_B.default.weight'");
  const auto kohya = examined(adapter_of(
      {{"lora_unet_a.lora_down.weight", "lora_unet_a.lora_up.weight"}, {"lora_te_b.lora_down.weight", "lora_te_b.lora_up.weight"}},
      "lora_down"));
  ASSERT_EQ(said(kohya), Said{"warning dead-adapter"});
  const auto diffusers = examined(
      adapter_of({{"unet.to_q_lora.down.weight", "unet.to_q_lora.up.weight"}, {"unet.k.lora.down.weight", "unet.k.lora.up.weight"}}, "up"));
  ASSERT_EQ(said(diffusers), Said{"warning dead-adapter"});
  const auto half = examined(adapter_of({{"m.q.lora_A.weight", "m.q.lora_B.weight"}, {"m.k.lora_A.weight", ""}}, "none"));
  ASSERT_EQ(said(half), Said{"warning dead-adapter"});
  EXPECT_EQ(half[0].message, "'m.k.lora_A.weight' has no other half: this part of the adapter cannot be applied");
  // The magnitudes of DoRA act without the product too.
  CheckpointBuilder dora = adapter_of({{"m.q.lora_A.weight", "m.q.lora_B.weight"}}, "lora_B");
  dora.add_random("m.q.lora_magnitude_vector", {8});
  EXPECT_EQ(said(examined(dora)), Said{});
}

TEST(Doctor, NotesNamesThatLoadersChange) {
  CheckpointBuilder builder;
  for (int layer = 0; layer < 2; ++layer)
    for (const char* part : {"gamma", "beta"}) builder.add_random(concat("bert.layer.", layer, ".LayerNorm.", part), {8});
  const auto findings = examined(builder);
  ASSERT_EQ(said(findings), Said{"note odd-name"});
  EXPECT_EQ(findings[0].message, "4 names end in LayerNorm.gamma or LayerNorm.beta, which transformers takes for .weight and .bias when it "
                                 "loads them: 'bert.layer.0.LayerNorm.gamma', 'bert.layer.0.LayerNorm.beta' and 2 more");
}

TEST(Doctor, FindsScalesOfNothing) {
  CheckpointBuilder builder;
  builder.add_random("a.weight", {8, 8});
  builder.add("a.weight_scale", {}, {0.0f});
  builder.add("a.input_scale", {}, {0.0f});
  builder.add("a.weight_zero_point", {8, 1}, std::vector<float>(8, 0.0f));
  const auto findings = examined(builder);
  ASSERT_EQ(said(findings), Said{"warning all-zero"});
  EXPECT_EQ(findings[0].message, "'a.weight_scale' is all 0: the weights that it scales become 0");
}

TEST(Doctor, FindsPlaceholders) {
  CheckpointBuilder all;
  for (int layer = 0; layer < 4; ++layer) all.add(concat("model.layers.", layer, ".w"), {0}, {});
  EXPECT_EQ(said(examined(all)), Said{"warning placeholders"});
  CheckpointBuilder some;
  some.add_random("a.weight", {4, 4});
  some.add("b.weight", {0}, {});
  EXPECT_EQ(said(examined(some)), Said{"warning placeholders"});
  CheckpointBuilder buffer;
  buffer.add_random("a.weight", {4, 4});
  buffer.add("cache", {0}, {});
  EXPECT_EQ(said(examined(buffer)), Said{});
}

TEST(Doctor, FindsALayerUnlikeItsNeighbours) {
  CheckpointBuilder builder;
  for (int layer = 0; layer < 12; ++layer)
    builder.add_random(concat("layers.", layer, ".w.weight"), {16, 16}, layer == 7 ? 5.0f : 0.02f * (1 + 0.1f * static_cast<float>(layer)));
  const auto findings = examined(builder);
  ASSERT_EQ(said(findings), Said{"warning odd-spread"});
  EXPECT_EQ(findings[0].where.tensor, "layers.7.w.weight");
}

TEST(Doctor, TellsALayerScaledAsAWholeOnce) {
  CheckpointBuilder builder;
  for (int layer = 0; layer < 12; ++layer)
    for (const char* part : {"k", "q", "v"})
      builder.add_random(concat("layers.", layer, ".", part, ".weight"), {16, 16}, layer == 4 && *part != 'v' ? 0.2f : 0.02f);
  const auto findings = examined(builder);
  ASSERT_EQ(said(findings), Said{"warning odd-spread"});
  EXPECT_EQ(findings[0].where.tensor, "");
  EXPECT_EQ(findings[0].message.find("2 of 3 weights of 'layers.4' have another standard deviation than in the layers around it, '"), 0u)
      << findings[0].message;
  const auto names = std::ranges::find(findings[0].facts, "names", &Fact::key);
  auto told = std::get<std::vector<std::string>>(names->value);
  std::ranges::sort(told);
  EXPECT_EQ(told, (std::vector<std::string>{"layers.4.k.weight", "layers.4.q.weight"}));
}

TEST(Doctor, TellsFewValuesFarOutAsWhatTheyAre) {
  CheckpointBuilder builder;
  for (int layer = 0; layer < 6; ++layer) {
    auto values = builder.random({16, 16}, 0.02f);
    if (layer == 3) values[77] = -4;
    builder.add(concat("layers.", layer, ".w.weight"), {16, 16}, values);
  }
  const auto findings = examined(builder);
  ASSERT_EQ(said(findings), Said{"warning odd-spread"});
  EXPECT_NE(findings[0].message.find("; a few values far out make it so, of up to 4"), std::string::npos) << findings[0].message;
}

TEST(Doctor, TellsTheGravestFirst) {
  CheckpointBuilder builder;
  for (int layer = 0; layer < 6; ++layer) {
    auto values = builder.random({16, 16}, layer == 0 ? 1 : 0.02f);
    if (layer == 5) values[9] = std::numeric_limits<float>::quiet_NaN();
    if (layer == 2) std::fill_n(values.begin(), 16, 0.0f);
    builder.add(concat("layers.", layer, ".w.weight"), {16, 16}, values);
  }
  EXPECT_EQ(said(examined(builder)), (Said{"warning nan", "warning dead-rows", "warning odd-spread"}));
}

TEST(Doctor, FindsATensorScaledByFour) {
  for (const float scale : {4.0f, 0.25f}) {
    for (const int odd : {0, 1, 13, 31}) {
      // Spreads that drift by a factor of three over the layers, and differ by a twentieth between neighbours, as in trained models.
      std::mt19937_64 random(static_cast<unsigned>(odd));
      std::normal_distribution<float> noise(0, 0.05f);
      CheckpointBuilder builder;
      for (int layer = 0; layer < 32; ++layer)
        builder.add_random(concat("layers.", layer, ".up.weight"), {32, 32},
                           0.02f * std::exp(static_cast<float>(layer) * 0.035f + noise(random)) * (layer == odd ? scale : 1));
      const auto findings = examined(builder);
      ASSERT_EQ(said(findings), Said{"warning odd-spread"}) << odd;
      EXPECT_EQ(findings[0].where.tensor, concat("layers.", odd, ".up.weight"));
    }
  }
}

TEST(Doctor, LeavesSpreadsThatDriftAlone) {
  // 2,000 roles of 32 layers: drift, neighbours apart by up to a third, a first layer of half as much again.
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal;
  int alarms = 0;
  for (int role = 0; role < 2000; ++role) {
    const double slope = 0.02 * normal(random), apart = 0.02 + 0.3 * std::generate_canonical<double, 32>(random);
    std::vector<double> stds;
    for (int layer = 0; layer < 32; ++layer)
      stds.push_back(0.02 * std::exp(slope * layer + apart * normal(random)) * (layer == 0 ? 1.5 : 1));
    alarms += !odd_spreads(stds).empty();
  }
  EXPECT_LE(alarms, 2);
  EXPECT_TRUE(odd_spreads(std::vector<double>{1, 1, 1, 9}).empty()) << "too few to say";
  EXPECT_TRUE(odd_spreads(std::vector<double>{1, 9, 1, 9, 1, 9, 1, 9}).empty()) << "a pattern";
  EXPECT_EQ(odd_spreads(std::vector<double>{1, 1, 1, 9, 1, 1}).size(), 1u);
}

TEST(Doctor, TellsCopiesFromTies) {
  CheckpointBuilder builder;
  const auto values = builder.random({8, 8});
  const auto first = builder.add("a.weight", {8, 8}, values);
  builder.add("b.weight", {8, 8}, values);
  Tensor tie = builder.made.tensors[first];
  tie.name = "c.weight";
  builder.made.tensors.push_back(tie);
  const auto findings = examined(builder);
  ASSERT_EQ(said(findings), (Said{"note tied-tensors", "note duplicate-content"}));
  EXPECT_EQ(findings[0].message, "'c.weight' is tied to 'a.weight': both are one storage");
  EXPECT_EQ(findings[1].message, "'b.weight' holds the same values as 'a.weight', stored again");
  for (int i = 0; i < 5; ++i) {
    tie.name = builder.made.arena().text(concat("tie", i));
    builder.made.tensors.push_back(tie);
  }
  EXPECT_EQ(examined(builder)[0].message,
            "6 tensors are tied to others, of whose storages they are a second name: 'c.weight', 'tie0', 'tie1' and 3 more");

  CheckpointBuilder layers;
  for (const char* part : {"q.weight", "k.weight"}) {
    const auto copied = layers.random({8, 8});
    layers.add(concat("layers.0.", part), {8, 8}, copied);
    layers.add(concat("layers.1.", part), {8, 8}, copied);
    layers.add_random(concat("layers.2.", part), {8, 8});
  }
  const auto whole = examined(layers);
  ASSERT_EQ(said(whole), Said{"warning identical-layers"});
  EXPECT_EQ(whole[0].message, "'layers.1' holds the same values as 'layers.0' in all its 2 tensors");
}

TEST(Doctor, ComparesTheOutputLayerWithTheConfiguration) {
  const auto answer = [](bool tied, bool head, bool same) {
    CheckpointBuilder builder;
    const auto values = builder.random({8, 4});
    builder.add("model.embed_tokens.weight", {8, 4}, values);
    if (head) builder.add("lm_head.weight", {8, 4}, same ? values : builder.random({8, 4}));
    ModelConfig config;
    config.file = "config.json";
    config.architectures = {"Qwen2ForCausalLM"};
    config.tie_word_embeddings = tied;
    return said(examined(builder, config));
  };
  EXPECT_EQ(answer(false, false, false), Said{"warning missing-tied-weight"});
  EXPECT_EQ(answer(true, true, false), Said{"warning missing-tied-weight"});
  EXPECT_EQ(answer(true, false, false), Said{});
  EXPECT_EQ(answer(false, true, false), Said{});
  EXPECT_EQ(answer(true, true, true), Said{"note duplicate-content"});
}

TEST(Doctor, AsksForTheScalesOfEightBits) {
  std::vector<std::uint8_t> codes(64);
  for (std::size_t i = 0; i < codes.size(); ++i)
    codes[i] = static_cast<std::uint8_t>(0x60 + i % 24 + (i % 2) * 128);  // to the end of the range
  CheckpointBuilder builder;
  builder.add_raw("a.weight", DType::f8_e4m3, {8, 8}, codes.data(), codes.size());
  EXPECT_EQ(said(examined(builder)), Said{"warning missing-scale"});
  builder.add_random("a.weight_scale", {1});
  EXPECT_EQ(said(examined(builder)), Said{});
  for (std::uint8_t& code : codes) code = static_cast<std::uint8_t>((code & 0x87) | 0x10);
  CheckpointBuilder cast;
  cast.add_raw("a.weight", DType::f8_e4m3, {8, 8}, codes.data(), codes.size());
  EXPECT_EQ(said(examined(cast)), Said{"note missing-scale"});
}

TEST(Doctor, KnowsSubnormals) {
  CheckpointBuilder builder;
  auto values = builder.random({8, 8});
  for (std::size_t i = 0; i < 10; ++i) values[i] = 1e-40f;
  builder.add("a.weight", {8, 8}, values);
  EXPECT_EQ(said(examined(builder)), (Said{"warning subnormal"}));
}

TEST(Doctor, GoesOnAroundWhatCannotBeRead) {
  CheckpointBuilder builder;
  builder.add_random("a.weight", {4, 4});
  builder.made.tensors[0].storage_offset = 99;
  builder.add("b.weight", {4, 4}, std::vector<float>(16, 0.0f));
  EXPECT_EQ(said(examined(builder)), (Said{"damage out-of-storage", "warning all-zero"}));

  builder.made.files[1].source = std::make_shared<RangeSource>(64);
  std::vector<Finding> findings;
  const auto result = examine(builder.made, {}, {}, findings);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code(), Code::need_range);
}

TEST(Roles, AreReadFromNames) {
  const auto role = [](std::string_view name, std::size_t rank) {
    const std::vector<std::uint64_t> shape(rank, 4);
    Tensor tensor;
    tensor.name = name;
    tensor.shape = shape;
    return role_of(tensor);
  };
  EXPECT_EQ(role("model.layers.0.input_layernorm.weight", 1), TensorRole::norm);
  EXPECT_EQ(role("model.layers.0.mlp.up_proj.weight", 2), TensorRole::weight);
  EXPECT_EQ(role("model.embed_tokens.weight", 2), TensorRole::embedding);
  EXPECT_EQ(role("h.0.attn.bias", 4), TensorRole::mask);
  EXPECT_EQ(role("h.0.attn.c_attn.bias", 1), TensorRole::bias);
  EXPECT_EQ(role("q.lora_A.default.weight", 2), TensorRole::adapter);
  EXPECT_EQ(role("bert.embeddings.position_ids", 2), TensorRole::index);
  EXPECT_EQ(numberless("a.12.b.3"), "a.#.b.#");
  EXPECT_EQ(layer_module("model.layers.12.q.weight"), "model.layers.12");
  EXPECT_EQ(layer_module("lm_head.weight"), "");
}

}  // namespace
}  // namespace assay::analysis
