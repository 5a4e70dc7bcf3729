// SPDX-License-Identifier: Apache-2.0
// Exported programs made by hand: what a weights config may claim.
#include "unit/formats/torch_builder.hpp"

namespace assay::test {
namespace {

std::string entry(std::string_view sizes, std::string_view strides, std::string_view offset = "{\"as_int\": 0}",
                  std::string_view dtype = "7", std::string_view path = "weight_0") {
  return "{\"path_name\": \"" + std::string(path) +
         "\", \"is_param\": true, \"use_pickle\": false, \"tensor_meta\": {\"dtype\": " + std::string(dtype) +
         ", \"sizes\": " + std::string(sizes) + ", \"requires_grad\": true, \"device\": {\"type\": \"cpu\", \"index\": null}, " +
         "\"strides\": " + std::string(strides) + ", \"storage_offset\": " + std::string(offset) + ", \"layout\": 7}}";
}
const std::string kPair = "[{\"as_int\": 2}]", kOne = "[{\"as_int\": 1}]";

Result<Checkpoint> open_program(const std::string& config) {
  ZipBuilder zip;
  const auto add = [&](std::string_view name, std::vector<std::byte> bytes) {
    zip.add(assay::testing::torch_member("program/" + std::string(name), std::move(bytes)));
  };
  add("data/weights/weight_0", numbers_1_to_4());
  add("data/weights/nothing", {});
  add("data/weights/model_weights_config.json", bytes_of(config));
  add("archive_format", bytes_of("pt2"));
  return open_bytes(zip.build_torch());
}
Result<Checkpoint> open_entry(const std::string& text) {
  return open_program("{\"config\": {\"w\": " + text + ", \"ok\": " + entry(kPair, kOne) + "}}");
}

TEST(TorchExport, ConfigsAreBoundsChecked) {
  const struct {
    std::string entry;
    Code code;
  } kCases[] = {
      {entry("[{\"as_int\": 5}]", kOne), Code::out_of_storage},
      {entry(kPair, kOne, "{\"as_int\": 3}"), Code::out_of_storage},
      {entry(kPair, kOne, "{\"as_int\": 18446744073709551615}"), Code::out_of_storage},
      {entry("[{\"as_int\": 4294967296}, {\"as_int\": 4294967296}]", "[{\"as_int\": 1}, {\"as_int\": 1}]"), Code::shape_overflow},
      {entry("[{\"as_int\": -2}]", kOne), Code::bad_shape},
      {entry("[{\"as_expr\": {\"expr_str\": \"s0\"}}]", kOne), Code::bad_shape},
      {entry(kPair, "[]"), Code::bad_shape},
      {entry(kPair, kOne, "{\"as_int\": 0}", "7", "weight_9"), Code::missing_storage},
      {entry(kPair, kOne, "{\"as_int\": 0}", "7", "../weights/weight_0"), Code::missing_storage},
      {entry(kPair, kOne, "{\"as_int\": 0}", "99"), Code::unknown_dtype},
      {entry(kPair, kOne, "{\"as_int\": 0}", "7", "nothing"), Code::missing_storage},
  };
  for (const auto& [text, code] : kCases) {
    SCOPED_TRACE(text);
    auto checkpoint = open_entry(text);
    ASSERT_TRUE(checkpoint) << checkpoint.error().what();
    ASSERT_NE(checkpoint->find("w"), nullptr);
    EXPECT_FALSE(checkpoint->find("w")->readable);
    EXPECT_TRUE(checkpoint->find("ok")->readable);
    EXPECT_TRUE(checkpoint->findings.has(code)) << codes_of(*checkpoint);
  }
}

TEST(TorchExport, SymbolicSizesTakeTheirHint) {
  auto checkpoint = open_entry(entry("[{\"as_expr\": {\"expr_str\": \"s0\", \"hint\": {\"as_int\": 3}}}]", kOne));
  ASSERT_TRUE(checkpoint);
  EXPECT_TRUE(checkpoint->find("w")->readable) << codes_of(*checkpoint);
  EXPECT_EQ(checkpoint->find("w")->numel, 3u);
}

TEST(TorchExport, EmptyRecordsAreTensorsWithoutData) {
  auto checkpoint = open_entry(entry(kPair, kOne, "{\"as_int\": 0}", "7", "nothing"));
  ASSERT_TRUE(checkpoint);
  EXPECT_EQ(finding(*checkpoint, Code::missing_storage)->severity, Severity::note);
  EXPECT_TRUE(checkpoint->complete);
}

TEST(TorchExport, StoragesWithoutTheirListAreTold) {
  ZipBuilder zip;
  for (const char* const record : {"data/weights/weight_0", "data/weights/weight_1", "data/constants/tensor_0"})
    zip.add(assay::testing::torch_member(std::string("program/") + record, numbers_1_to_4()));
  zip.add(assay::testing::torch_member("program/archive_format", bytes_of("pt2")));
  auto checkpoint = open_bytes(zip.build_torch());
  ASSERT_TRUE(checkpoint);
  EXPECT_FALSE(checkpoint->complete);
  ASSERT_EQ(checkpoint->findings.counts().at(Code::missing_metadata), 2u) << codes_of(*checkpoint);
  EXPECT_EQ(
      finding(*checkpoint, Code::missing_metadata)->message,
      "the list of tensors data/weights/*_weights_config.json is not in the archive, so that its 2 storages of 32 bytes in data/weights/ "
      "cannot be told");
  EXPECT_EQ(finding(*checkpoint, Code::missing_metadata)->where.offset, zip.header_offsets[0]);
}

TEST(TorchExport, BrokenConfigsKeepWhatCameBefore) {
  auto checkpoint = open_program("{\"config\": {\"ok\": " + entry(kPair, kOne) + ", \"w\": {\"path_na");
  ASSERT_TRUE(checkpoint);
  EXPECT_NE(checkpoint->find("ok"), nullptr);
  EXPECT_FALSE(checkpoint->complete);
  EXPECT_TRUE(checkpoint->findings.has(Code::bad_header)) << codes_of(*checkpoint);
  for (const char* const text :
       {"", "[]", "7", "{\"config\": []}", "{\"config\": {\"w\": 7}}", "{\"config\": {\"w\": {\"tensor_meta\": []}}}"})
    EXPECT_TRUE(open_program(text)) << text;
}

}  // namespace
}  // namespace assay::test
