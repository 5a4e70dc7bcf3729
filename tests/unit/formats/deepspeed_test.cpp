// SPDX-License-Identifier: Apache-2.0
// ZeRO folders: every tensor compared with what the published rules give, and folders of which a part is missing.
#include <algorithm>
#include <filesystem>
#include <map>

#include "unit/formats/formats_testing.hpp"
#include "unit/formats/torch_builder.hpp"
#include "unit/formats/torch_values.hpp"

namespace assay::testing {
namespace {

using test::ExpectedFile;

constexpr const char* kTag = "global_step4/";

/// The files of a written folder by their names, "absent" ones left out, others cut to as many bytes as the number says.
Files files_of(const std::string& run, bool with_latest, const std::map<std::string, std::string>& changes = {}) {
  Files files;
  const auto add = [&](const std::string& path, const std::string& name) {
    const auto bytes = test::read_data(run + "/" + path, "deepspeed");
    std::string content(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    const auto change = changes.find(path);
    if (change != changes.end() && change->second == "absent") return;
    if (change != changes.end()) content.resize(std::stoul(change->second));
    files.push_back({name, content});
  };
  const auto folder = open_path(std::string(ASSAY_TEST_DATA) + "/deepspeed/" + run + "/" + kTag);
  const auto entries = (*folder)->list();
  for (const FileSet::Entry& entry : *entries) add(kTag + entry.name, (with_latest ? kTag : "") + entry.name);
  if (with_latest) add("latest", "latest");
  return files;
}

class Zero : public ::testing::TestWithParam<ExpectedFile> {};

TEST_P(Zero, RebuildsAsTheRulesSay) {
  const auto set = open_path(std::string(ASSAY_TEST_DATA) + "/deepspeed/" + GetParam().name);
  ASSERT_TRUE(set);
  auto checkpoint = open(**set);
  ASSERT_TRUE(checkpoint) << checkpoint.error().what();
  EXPECT_EQ(checkpoint->format, "deepspeed-zero");
  EXPECT_TRUE(checkpoint->complete);
  EXPECT_TRUE(checkpoint->findings.empty()) << describe(*checkpoint);
  EXPECT_EQ(checkpoint->tensors.size(), GetParam().tensors.size());
  test::expect_tensors(*checkpoint, GetParam(), "tensor");
  for (const Storage& storage : checkpoint->storages) EXPECT_TRUE(!storage.producer || storage.producer->parts() != nullptr);
}

TEST_P(Zero, TheFolderOfTheTagOpensTheSame) {
  const auto inner = open_files(files_of(GetParam().name, false), "");
  ASSERT_TRUE(inner) << describe(inner);
  EXPECT_EQ(inner->format, "deepspeed-zero");
  test::expect_tensors(*inner, GetParam(), "tensor");
}

TEST_P(Zero, SharedParametersShareTheirStorage) {
  const auto opened = open_files(files_of(GetParam().name, true), "");
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->find("head.weight")->storage, opened->find("embed.weight")->storage);
}

std::string run_name(const ::testing::TestParamInfo<ExpectedFile>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Written, Zero, ::testing::ValuesIn(test::expected_files("deepspeed")), run_name);

std::string unreadable(const Checkpoint& checkpoint) {
  std::string names;
  for (const Tensor& tensor : checkpoint.tensors)
    if (!tensor.readable) names += concat(tensor.name, ' ');
  return names;
}

TEST(ZeroDamage, OfStage2OnlyWhatTheRankHeldIsLost) {
  const auto opened = open_files(files_of("stage1", true, {{"global_step4/zero_pp_rank_1_mp_rank_00_optim_states.pt", "absent"}}), "");
  ASSERT_TRUE(opened) << describe(opened);
  EXPECT_FALSE(opened->complete);
  EXPECT_EQ(message_of(opened, Code::missing_shard),
            "'zero_pp_rank_1_mp_rank_00_optim_states.pt' is not there, nor under another of its names; the partition count is 2");
  EXPECT_EQ(unreadable(*opened), "layers.0.fc.weight layers.1.fc.weight layers.1.fc.bias ");
  const auto reader = TensorReader::open(*opened, *opened->find("scale"));
  float value = 0;
  ASSERT_TRUE(reader && reader->read_f32(0, {&value, 1}));
  EXPECT_FLOAT_EQ(value, 2.059164F);
}

TEST(ZeroDamage, OfStage3EveryParameterIsLost) {
  const auto opened = open_files(files_of("stage3", true, {{"global_step4/zero_pp_rank_0_mp_rank_00_optim_states.pt", "absent"}}), "");
  ASSERT_TRUE(opened) << describe(opened);
  EXPECT_EQ(unreadable(*opened), "embed.weight layers.0.fc.weight layers.1.fc.weight layers.0.fc.bias scale layers.1.fc.bias head.weight ");
  EXPECT_TRUE(opened->find("frozen.weight")->readable);
}

TEST(ZeroDamage, AnyRanksModelStatesTellTheShapes) {
  const auto opened = open_files(files_of("stage3", true, {{"global_step4/zero_pp_rank_0_mp_rank_00_model_states.pt", "absent"}}), "");
  ASSERT_TRUE(opened) << describe(opened);
  EXPECT_EQ(unreadable(*opened), "frozen.weight ");
  EXPECT_TRUE(opened->findings.has(Code::missing_shard));
}

TEST(ZeroDamage, WithoutModelStatesNothingSaysWhatThePartsMean) {
  const auto opened = open_files(files_of("stage2", true, {{"global_step4/mp_rank_00_model_states.pt", "absent"}}), "");
  ASSERT_TRUE(opened) << describe(opened);
  EXPECT_TRUE(opened->tensors.empty());
  EXPECT_FALSE(opened->complete);
}

TEST(ZeroDamage, ACutFileIsTold) {
  for (const char* cut : {"0", "100", "1700", "4400"}) {
    const auto opened = open_files(files_of("stage2", true, {{"global_step4/bf16_zero_pp_rank_2_mp_rank_00_optim_states.pt", cut}}), "");
    ASSERT_TRUE(opened) << cut << describe(opened);
    EXPECT_FALSE(opened->complete) << cut;
    for (const Tensor& tensor : opened->tensors) {
      std::vector<double> values(static_cast<std::size_t>(tensor.numel));
      const auto reader = TensorReader::open(*opened, tensor);
      EXPECT_EQ(reader.has_value(), tensor.readable);
      EXPECT_TRUE(!reader || reader->read_f64(0, values)) << tensor.name;
    }
  }
}

TEST(ZeroDamage, GroupsThatShareTheirParametersAreNotListedWithoutEnd) {
  std::string shapes = "(d", groups = "(l";
  for (int i = 0; i < 300; ++i) shapes += test::text("w" + std::to_string(i)) + "(I1\nts";
  for (int i = 0; i < 300; ++i) groups += i == 0 ? shapes + "p0\na" : "g0\na";
  const auto model = test::archive_of("(d" + test::text("param_shapes") + groups + "s.").build_torch();
  Files files = files_of("stage2", true, {{"global_step4/mp_rank_00_model_states.pt", "absent"}});
  files.push_back({"global_step4/mp_rank_00_model_states.pt", {reinterpret_cast<const char*>(model.data()), model.size()}});
  const auto opened = open_files(files, "");
  ASSERT_TRUE(opened) << describe(opened);
  EXPECT_TRUE(std::ranges::any_of(opened->findings.list(), [](const Finding& finding) {
    return finding.message == "groups name more parameters than the file has values; not all are listed";
  })) << describe(*opened);
  EXPECT_GE(opened->tensors.size(), 300u);
  EXPECT_LT(opened->tensors.size(), 3000u);
}

TEST(ZeroFolder, GatheredWeightsBesideItCount) {
  Files files = files_of("stage2", true);
  files.push_back({"model.safetensors", safetensors(concat('{', entry("w", "U8", "2", 0, 2), '}'), 2)});
  const auto opened = open_files(files, "");
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->format, "safetensors");
}

TEST(ZeroFolder, WithoutATagTheLastStepCounts) {
  const std::string top = ::testing::TempDir() + "assay_zero_steps";
  std::filesystem::remove_all(top);
  for (const char* step : {"/global_step4", "/global_step10"}) {
    std::filesystem::create_directories(top + step);
    const std::string run = std::string(step) == "/global_step10" ? "stage3" : "stage2";
    for (const auto& entry : std::filesystem::directory_iterator(std::string(ASSAY_TEST_DATA) + "/deepspeed/" + run + "/global_step4"))
      std::filesystem::copy(entry.path(), top + step);
  }
  const auto set = open_path(top);
  ASSERT_TRUE(set);
  const auto opened = open(**set);
  ASSERT_TRUE(opened) << describe(opened);
  EXPECT_EQ(opened->files[0].name, "global_step10/zero_pp_rank_0_mp_rank_00_model_states.pt");
  std::filesystem::remove_all(top);
}

TEST(ZeroFolder, ATagThatLeadsNowhereIsNoCheckpoint) {
  for (const char* tag : {"global_step9", "", "../x", "a\nb", "/etc"})
    EXPECT_EQ(error_code(open_files({{"latest", tag}, {"x.txt", "hello"}}, "")), Code::unknown_format) << tag;
}

}  // namespace
}  // namespace assay::testing
