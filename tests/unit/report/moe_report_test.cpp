// SPDX-License-Identifier: Apache-2.0
// The screens of moe and doctor, word for word.
#include "report/moe_report.hpp"

#include <gtest/gtest.h>

#include "analysis/doctor/doctor.hpp"
#include "base/text.hpp"
#include "report/doctor_report.hpp"
#include "unit/analysis/checkpoint_builder.hpp"

namespace assay::report {
namespace {

TEST(MoeScreen, SaysWhenThereAreNoExperts) {
  Writer out;
  write_moe_screen(out, {}, "dense.safetensors", Checkpoint(), {}, nullptr);
  EXPECT_EQ(out.text(), "dense.safetensors: no experts\n");
}

TEST(MoeScreen, NotesWhatIsMissingAndDead) {
  testing::CheckpointBuilder builder;
  builder.add_random("model.layers.0.mlp.gate.weight", {6, 4});
  for (const int e : {0, 1, 2, 4}) {
    builder.add_random(concat("model.layers.0.mlp.experts.", e, ".up_proj.weight"), {3, 4});
    builder.add(concat("model.layers.0.mlp.experts.", e, ".down_proj.weight"), {4, 3},
                e == 1 ? std::vector<float>(12, 0.0f) : builder.random({4, 3}));
  }
  std::vector<Finding> findings;
  analysis::Moe moe = analysis::find_experts(builder.made, {}, findings);
  ASSERT_TRUE(analysis::measure_experts(builder.made, moe, {.watch = {}}, findings).has_value());
  Writer out;
  write_moe_screen(out, {}, "odd.safetensors", builder.made, moe, nullptr);
  EXPECT_NE(out.text().find("4 of 6"), std::string::npos) << out.text();
  EXPECT_NE(out.text().find("dead 1  missing 3, 5\n"), std::string::npos) << out.text();

  Writer text;
  JsonWriter json(text);
  json.begin_object();
  write_moe_keys(json, builder.made, moe, nullptr);
  json.end_object();
  EXPECT_NE(text.text().find("\"expert_count\": 6"), std::string::npos) << text.text();
  EXPECT_NE(text.text().find("\"missing\": [3, 5]"), std::string::npos) << text.text();
  EXPECT_NE(text.text().find("\"dead\": [1]"), std::string::npos) << text.text();
}

TEST(DoctorScreen, GroupsFindingsByKindTheWorstFirst) {
  testing::CheckpointBuilder builder;
  builder.add("a.weight", {4, 4}, std::vector<float>(16, 0.0f));
  builder.add("a.bias", {4}, std::vector<float>(4, 0.0f));
  builder.add_random("b.weight", {4, 4});
  std::vector<Finding> found;
  const auto checkup = analysis::examine(builder.made, {}, {}, found);
  ASSERT_TRUE(checkup.has_value());
  Findings findings;
  for (Finding& finding : found) findings.add(std::move(finding));
  Writer out;
  write_doctor_screen(out, {}, "model.safetensors", *checkup, findings);
  EXPECT_EQ(out.text(), R"(model.safetensors: 3 tensors checked, 144 B: 1 finding, 1 note

warning: all-zero
  'a.weight' is all 0
  weights of zero pass nothing on; they were never trained, were wiped, or lost in a conversion

note: all-zero
  'a.bias' is all 0
  weights of zero pass nothing on; they were never trained, were wiped, or lost in a conversion
)");
}

}  // namespace
}  // namespace assay::report
