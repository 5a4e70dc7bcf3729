// SPDX-License-Identifier: Apache-2.0
// Mobile FlatBuffers and model.json that are not as their writers left them. What they are when they are is in torch_real_files_test.cpp.
#include "unit/formats/formats_testing.hpp"
#include "unit/formats/torch_values.hpp"

namespace assay::testing {
namespace {

std::string written(const std::string& name) {
  const auto bytes = test::read_data(name, "special");
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void read_all(const Result<Checkpoint>& opened) {
  if (!opened) return;
  for (const Tensor& tensor : opened->tensors) {
    EXPECT_TRUE(tensor.readable || !opened->findings.empty());
    if (tensor.numel > 4096) continue;
    std::vector<double> values(static_cast<std::size_t>(tensor.numel));
    if (const auto reader = TensorReader::open(*opened, tensor)) (void)reader->read_f64(0, values);
  }
}

TEST(TorchMobile, EveryCutAndEveryFlippedByteEnds) {
  const std::string good = written("mobile.ptl");
  for (std::size_t i = 0; i < good.size(); i += i < 4096 ? 1 : 7) {
    read_all(open_file_named("x.ptl", good.substr(0, i)));
    for (const unsigned flip : {1u, 0x80u, 0xffu}) {
      std::string bad = good;
      bad[i] = static_cast<char>(static_cast<unsigned char>(bad[i]) ^ flip);
      read_all(open_file_named("x.ptl", bad));
    }
  }
}

TEST(TorchMobile, AttributesAreMetadata) {
  const auto opened = open_file_named("mobile.ptl", written("mobile.ptl"));
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->format, "torch-mobile");
  std::string text;
  for (const MetadataEntry& entry : opened->metadata)
    if (!entry.key.starts_with('_') && entry.key.find('.') == std::string_view::npos)
      text += concat(entry.key, '=', entry.text, entry.integer != 0 ? decimal(entry.integer) : "", ' ');
  EXPECT_EQ(text, "bytecode_version=9 training= scale= flag= n=7 sizes=[1, 2, 3] ");
}

std::string model(const std::string& json, const std::string& floats = std::string(16, '\0')) {
  const Bytes bytes =
      ZipBuilder().add("net/version", bytes_of("1\n")).add("net/tensors/0", bytes_of(floats)).add("net/model.json", bytes_of(json)).build();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string parameter(const std::string& tensor, const std::string& id = "0") {
  return R"({"protoVersion": "5", "mainModule": {"name": "Net", "parameters": [{"name": "w", "tensorId": ")" + id +
         R"("}]}, "tensors": [)" + tensor + "]}";
}

TEST(TorchModelJson, WhatCannotBeIsRefused) {
  const auto code_of = [](const std::string& json) {
    const auto opened = open_file_named("net.pt", model(json));
    EXPECT_TRUE(opened) << describe(opened);
    if (!opened || opened->tensors.size() != 1 || opened->tensors[0].readable) return std::string("readable");
    return std::string(code_name(opened->findings.list()[0].code));
  };
  const auto tensor = [](const std::string& more) { return R"({"dataType": "FLOAT", "data": {"key": "tensors/0"}, )" + more + "}"; };
  EXPECT_EQ(code_of(parameter(tensor(R"("dims": ["4"], "strides": ["1"], "offset": "0")"))), "readable");
  EXPECT_EQ(code_of(parameter(tensor(R"("dims": [4], "strides": [1])"))), "readable");
  EXPECT_EQ(code_of(parameter(tensor(R"("dims": ["5"], "strides": ["1"])"))), "out-of-storage");
  EXPECT_EQ(code_of(parameter(tensor(R"("dims": ["2"], "strides": ["1"], "offset": "3")"))), "out-of-storage");
  EXPECT_EQ(code_of(parameter(tensor(R"("dims": ["-2"], "strides": ["1"])"))), "bad-shape");
  EXPECT_EQ(code_of(parameter(tensor(R"("dims": ["2"], "strides": ["-1"])"))), "bad-stride");
  EXPECT_EQ(code_of(parameter(tensor(R"("dims": ["2"], "strides": [])"))), "malformed-tensor");
  EXPECT_EQ(code_of(parameter(tensor(R"("dims": ["2"], "strides": ["1"])"), "7")), "malformed-tensor");
  EXPECT_EQ(code_of(parameter(R"({"dims": ["2"], "strides": ["1"], "dataType": "FLOAT", "data": {"key": "../../etc"}})")),
            "missing-storage");
}

TEST(TorchModelJson, OtherArchivesWithSuchAFileAreNoCheckpoint) {
  EXPECT_EQ(error_code(open_file_named("x.zip", model(R"({"layers": [1, 2]})"))), Code::zip_without_checkpoint);
  EXPECT_NE(error_code(open_file_named("x.zip", model("not json"))), Code::internal);
}

TEST(AotiWeights, ViewsThatLeaveTheirStorageAreRefused) {
  std::string bytes = written("compiled.pt2");
  const std::string good = "\"b\": [\"weight_0\", [2, 4], [4, 1], 4]";
  const std::size_t at = bytes.find(good);
  ASSERT_NE(at, std::string::npos);
  bytes.replace(at, good.size(), "\"b\": [\"weight_0\", [2, 4], [4, 1], 5]");
  const auto opened = open_file_named("compiled.pt2", bytes);
  ASSERT_TRUE(opened) << describe(opened);
  EXPECT_FALSE(opened->find("b")->readable);
  EXPECT_TRUE(opened->findings.has(Code::out_of_storage));
  EXPECT_TRUE(opened->find("a")->readable);
}

TEST(AotiWeights, AStrideShortIsRefusedAndListed) {
  std::string bytes = written("compiled.pt2");
  const std::string good = "\"a\": [\"weight_0\", [3, 4], [4, 1], 0]";
  const std::size_t at = bytes.find(good);
  ASSERT_NE(at, std::string::npos);
  bytes.replace(at, good.size(), "\"a\": [\"weight_0\", [3, 4], [4   ], 0]");
  const auto opened = open_file_named("compiled.pt2", bytes);
  ASSERT_TRUE(opened) << describe(opened);
  const Tensor& a = *opened->find("a");
  EXPECT_FALSE(a.readable);
  EXPECT_TRUE(a.stride.empty());
  EXPECT_EQ(a.stride_of(1), 1u);
  EXPECT_EQ(a.numel, 12u);
  EXPECT_TRUE(opened->findings.has(Code::bad_shape));
  EXPECT_TRUE(opened->find("b")->readable);
}

}  // namespace
}  // namespace assay::testing
