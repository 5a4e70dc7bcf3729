// SPDX-License-Identifier: Apache-2.0
// What write_torch_zip writes, read back by our own reader; tests/make/check_written.py has the real torch read it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "containers/zip.hpp"
#include "formats/write.hpp"
#include "unit/formats/torch_expected.hpp"

namespace assay::test {
namespace {

using formats::TensorToWrite;
using formats::write_torch_zip;

std::vector<std::byte> counting(std::size_t n) {
  std::vector<std::byte> bytes(n);
  for (std::size_t i = 0; i < n; ++i) bytes[i] = static_cast<std::byte>(i * 7 % 119);
  return bytes;
}

// One tensor of every type that torch can hold, a scalar, an empty one, a tied pair and more names than one batch.
std::vector<TensorToWrite> sample(const std::vector<std::byte>& bytes) {
  std::vector<TensorToWrite> tensors;
  const std::span<const std::byte> all(bytes);
  for (const DType dtype :
       {DType::bool_,   DType::u8,      DType::i8,      DType::i16,         DType::u16,         DType::i32, DType::u32, DType::i64,
        DType::u64,     DType::f16,     DType::bf16,    DType::f32,         DType::f64,         DType::c32, DType::c64, DType::c128,
        DType::f8_e5m2, DType::f8_e4m3, DType::f8_e8m0, DType::f8_e4m3fnuz, DType::f8_e5m2fnuz, DType::f4})
    tensors.push_back({"type." + std::string(dtype_name(dtype)), dtype, {2, 1, 1, 4}, all.first(dtype_bits(dtype))});
  tensors[0].bytes = all.first(8);
  tensors.push_back({"scalar", DType::f32, {}, all.subspan(8, 4)});
  tensors.push_back({"empty", DType::f32, {3, 0}, {}});
  tensors.push_back({"tied_a", DType::i16, {100}, all.subspan(256, 200)});
  tensors.push_back({"tied_b", DType::i16, {10, 10}, all.subspan(256, 200)});
  for (int i = 0; i < 1200; ++i)
    tensors.push_back({"many." + std::to_string(i), DType::u8, {1}, all.subspan(static_cast<std::size_t>(i % 256), 1)});
  return tensors;
}

std::vector<std::byte> sample_bytes() {
  auto bytes = counting(512);
  for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<std::byte>(i % 2);  // booleans
  return bytes;
}

TEST(WriteTorchZip, IsReadBackByteForByte) {
  const auto bytes = sample_bytes();
  const auto tensors = sample(bytes);
  auto written = write_torch_zip(tensors, "written");
  ASSERT_TRUE(written) << written.error().what();
  auto checkpoint = open_bytes(*written);
  ASSERT_TRUE(checkpoint) << checkpoint.error().what();
  EXPECT_TRUE(checkpoint->findings.empty()) << checkpoint->findings.list().front().message;
  ASSERT_EQ(checkpoint->tensors.size(), tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& tensor = checkpoint->tensors[i];
    SCOPED_TRACE(tensors[i].name);
    EXPECT_EQ(tensor.name, tensors[i].name);
    EXPECT_EQ(tensor.dtype, tensors[i].dtype);
    EXPECT_EQ(std::vector(tensor.shape.begin(), tensor.shape.end()), tensors[i].shape);
    EXPECT_TRUE(tensor.contiguous());
    const auto offset = static_cast<std::size_t>(*checkpoint->file_offset(tensor));
    EXPECT_EQ(offset % 64, 0u);
    const auto stored = std::span(*written).subspan(offset, tensors[i].bytes.size());
    EXPECT_TRUE(std::ranges::equal(stored, tensors[i].bytes));
  }
  EXPECT_EQ(checkpoint->find("tied_a")->storage, checkpoint->find("tied_b")->storage);
  if (const char* const path = std::getenv("ASSAY_WRITTEN_TORCH_ZIP"))
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(written->data()), static_cast<std::streamsize>(written->size()));
}

TEST(WriteTorchZip, IsDeterministicAndWhole) {
  const auto bytes = sample_bytes();
  const auto tensors = sample(bytes);
  const auto first = write_torch_zip(tensors, "a"), second = write_torch_zip(tensors, "a");
  ASSERT_TRUE(first && second);
  EXPECT_EQ(*first, *second);
  const MemorySource source(*first);
  const auto directory = zip::read_directory(source, {});
  ASSERT_TRUE(directory);
  EXPECT_TRUE(directory->findings.empty());
  EXPECT_EQ(directory->members.front().name, "a/data.pkl");
  EXPECT_EQ(directory->members[3].name, "a/byteorder");
  EXPECT_EQ(directory->members.back().name, "a/.data/serialization_id");
  EXPECT_EQ(directory->members.back().size, 40u);
  const auto differences = zip::compare_local_headers(source, *directory);
  ASSERT_TRUE(differences);
  EXPECT_TRUE(differences->empty());
}

TEST(WriteTorchZip, RefusesWhatTorchCannotHold) {
  const auto bytes = counting(16);
  const auto code = [](const std::vector<TensorToWrite>& tensors, std::string_view root = "a") {
    const auto written = write_torch_zip(tensors, root);
    return written ? std::string("written") : std::string(code_name(written.error().code()));
  };
  EXPECT_EQ(code({{"x", DType::f32, {4}, bytes}}), "written");
  EXPECT_EQ(code({{"x", DType::f32, {5}, bytes}}), "size-mismatch");
  EXPECT_EQ(code({{"x", DType::f6_e2m3, {4}, std::span(bytes).first(3)}}), "unsupported");
  EXPECT_EQ(code({{"x", DType::f4, {2, 3}, std::span(bytes).first(3)}}), "bad-shape");
  EXPECT_EQ(code({{"x", DType::f32, {0, std::uint64_t{1} << 63, 4}, {}}}), "shape-overflow");
  EXPECT_EQ(code({{"x", DType::f32, {4}, bytes}, {"x", DType::f32, {4}, bytes}}), "duplicate-name");
  EXPECT_EQ(code({{"\xff", DType::f32, {4}, bytes}}), "odd-name");
  EXPECT_EQ(code({}, "a/b"), "usage");
  EXPECT_EQ(code({}, ""), "usage");
  EXPECT_EQ(code({}), "written");
}

}  // namespace
}  // namespace assay::test
