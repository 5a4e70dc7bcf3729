// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <set>

#include "formats/format.hpp"
#include "formats/write.hpp"
#include "unit/formats/formats_testing.hpp"

namespace assay::testing {
namespace {

using std::string_literals::operator""s;

const std::string kGood = safetensors("{" + entry("w", "U8", "3", 0, 3) + "}", 3);

TEST(Registry, RowsAreWholeAndFoundById) {
  std::set<std::string_view> ids;
  for (const formats::Format& format : formats::registry()) {
    EXPECT_TRUE(ids.insert(format.id).second) << format.id;
    EXPECT_FALSE(format.name.empty());
    EXPECT_TRUE(format.probe && format.open);
    EXPECT_EQ(formats::find_format(format.id), &format);
  }
  EXPECT_TRUE(ids.contains("safetensors") && ids.contains("torch-zip") && ids.contains("safetensors-sharded") &&
              ids.contains("torch-sharded"));
  EXPECT_EQ(formats::find_format("nothing"), nullptr);
}

TEST(Registry, ContentDecidesAndTheNameIsNoted) {
  for (const char* name : {"x.ckpt", "x.pt", "x.bin", "x.PTH"}) {
    const auto opened = open_file_named(name, kGood);
    ASSERT_TRUE(opened) << name;
    EXPECT_EQ(opened->format, "safetensors");
    EXPECT_TRUE(opened->complete);
    EXPECT_EQ(find(*opened, Code::extension_mismatch)->severity, Severity::note) << name;
  }
  for (const char* name : {"x.safetensors", "X.SAFETENSORS", "blob", "x.v2"})
    EXPECT_TRUE(open_file_named(name, kGood)->findings.empty()) << name;
}

TEST(Registry, AFileNamedSafetensorsIsToldByWhatItIs) {
  EXPECT_EQ(error_code(open_file_named("m.safetensors", "PK\x03\x04" + std::string(60, '\1'))) == Code::header_too_long, false);
  EXPECT_EQ(error_code(open_file_named("m.safetensors", "<!DOCTYPE html><html></html>")), Code::html_page);
  EXPECT_EQ(error_code(open_file_named("m.safetensors", "\x80\x02}q\0."s + std::string(20, '\1'))) == Code::header_too_long, false);
}

TEST(Registry, AHeaderLengthThatReadsAsAPickleIsNoPickle) {
  // 0x2e93 is STACK_GLOBAL, STOP.
  std::string header = "{" + entry("w", "U8", "3", 0, 3) + "}";
  header.resize(0x2e93, ' ');
  const auto opened = open_file_named("m.safetensors", safetensors(header, 3));
  ASSERT_TRUE(opened) << describe(opened);
  EXPECT_TRUE(opened->findings.empty());
}

TEST(Registry, AbsentFilesAndErrorsCarryTheName) {
  EXPECT_EQ(error_code(open_files({{"a", kGood}}, "b")), Code::no_such_file);
  EXPECT_EQ(open_file_named("m.safetensors", "{}{}").error().where().file, "m.safetensors");
}

TEST(WriteSafetensors, IsReadBackAsWritten) {
  const std::vector<std::byte> data(64, std::byte{7});
  const auto bytes = std::span(data);
  const std::vector<formats::TensorToWrite> tensors = {{"z", DType::f32, {2, 2}, bytes.first(16)},
                                                       {"a\n\"\\\x01", DType::f32, {}, bytes.first(4)},
                                                       {"u", DType::u8, {3}, bytes.first(3)},
                                                       {"d", DType::f64, {2}, bytes.first(16)},
                                                       {"e", DType::bf16, {0, 5}, {}}};
  const auto written = formats::write_safetensors(tensors, {{"format", "pt"}, {"k\t", "v"}});
  ASSERT_TRUE(written) << written.error().what();
  const std::string_view file(reinterpret_cast<const char*>(written->data()), written->size());
  EXPECT_EQ(load_le<std::uint64_t>(written->data()) % 8, 0u);
  const auto opened = open_file_named("m.safetensors", file);
  ASSERT_TRUE(opened) << describe(opened);
  EXPECT_TRUE(opened->complete);
  EXPECT_EQ(opened->findings.counts().size(), 1u) << describe(opened);  // the name with control characters
  std::vector<std::string> names;
  for (const Tensor& tensor : opened->tensors) names.emplace_back(tensor.name);
  EXPECT_EQ(names, (std::vector<std::string>{"d", "a\n\"\\\x01", "z", "e", "u"}));
  EXPECT_EQ(opened->metadata[1].key, "k\t");
  EXPECT_EQ(formats::write_safetensors(tensors, {{"format", "pt"}, {"k\t", "v"}}).value(), *written);
}

TEST(WriteSafetensors, TheReferenceHeaderByteForByte) {
  const std::vector<std::byte> data(8);
  const std::vector<formats::TensorToWrite> tensors = {{"b", DType::f16, {2}, std::span(data).first(4)},
                                                       {"a", DType::f32, {1, 2}, std::span(data)}};
  const auto written = formats::write_safetensors(tensors, {});
  ASSERT_TRUE(written);
  const std::string_view file(reinterpret_cast<const char*>(written->data()), written->size());
  const std::string expected =
      R"({"a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},"b":{"dtype":"F16","shape":[2],"data_offsets":[8,12]}})";
  EXPECT_EQ(file.substr(8, expected.size()), expected);
  EXPECT_EQ(file.size(), 8 + (expected.size() + 7) / 8 * 8 + 12);
}

TEST(WriteSafetensors, RefusesWhatTheFormatCannotHold) {
  const std::vector<std::byte> data(8);
  const auto code = [&](formats::TensorToWrite tensor, int copies = 1) {
    const std::vector<formats::TensorToWrite> tensors(static_cast<std::size_t>(copies), tensor);
    const auto written = formats::write_safetensors(tensors, {});
    return written ? Code::internal : written.error().code();
  };
  EXPECT_EQ(code({"w", DType::c128, {}, std::span(data)}), Code::unsupported);
  EXPECT_EQ(code({"w", DType::f32, {3}, std::span(data)}), Code::size_mismatch);
  EXPECT_EQ(code({"w", DType::f32, {std::uint64_t{1} << 62, 4}, std::span(data)}), Code::size_mismatch);
  EXPECT_EQ(code({"__metadata__", DType::f32, {2}, std::span(data)}), Code::reserved_name);
  EXPECT_EQ(code({"\xff", DType::f32, {2}, std::span(data)}), Code::unsupported);
  EXPECT_EQ(code({"w", DType::f32, {2}, std::span(data)}, 2), Code::duplicate_name);
  EXPECT_EQ(code({"w", DType::f32, {2}, std::span(data)}), Code::internal);
}

}  // namespace
}  // namespace assay::testing
