// SPDX-License-Identifier: Apache-2.0
// Comparing what is listed and read with what the libraries that wrote a file read back: names, types, shapes and each value's bits.
#pragma once

#include <cctype>
#include <cmath>
#include <cstdlib>
#include <sstream>

#include "unit/formats/torch_expected.hpp"

namespace assay::test {

inline std::string shape_text(const Tensor& tensor) {
  std::string text;
  for (const std::uint64_t size : tensor.shape) text += (text.empty() ? "" : "x") + std::to_string(size);
  return text;
}

inline std::string hex_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char text[64];
  std::snprintf(text, sizeof text, "%a", value);
  return text;
}

// Python writes 0x1.8000000000000p+1, C writes 0x1.8p+1: compare the numbers' own text.
inline std::string normal_text(const std::string& word) {
  if (word.find("0x") == std::string::npos && word.find("nan") == std::string::npos && word.find("inf") == std::string::npos) return word;
  const std::size_t comma = word.find(',');
  if (comma != std::string::npos) return normal_text(word.substr(0, comma)) + "," + normal_text(word.substr(comma + 1));
  return hex_text(std::strtod(word.c_str(), nullptr));
}

inline void append_stored(const TensorReader& reader, std::vector<std::string>& words) {
  std::vector<std::int64_t> stored(static_cast<std::size_t>(reader.tensor().numel));
  if (!reader.read_i64(0, stored)) words.push_back("read_i64 failed");
  for (const std::int64_t value : stored) words.push_back(std::to_string(value));
}

// Of a quantised tensor what torch's dequantize() gives, then the stored integers.
inline std::vector<std::string> read_values(const Checkpoint& checkpoint, const Tensor& tensor) {
  std::vector<std::string> words;
  auto reader = TensorReader::open(checkpoint, tensor);
  if (!reader) return {"error: " + reader.error().what()};
  const auto n = static_cast<std::size_t>(tensor.numel);
  const DTypeKind kind = dtype_info(tensor.dtype).kind;
  if (tensor.quantizer != kNone) {
    std::vector<double> values(n);
    std::vector<float> singles(n);
    if (!reader->read_f64(0, values) || !reader->read_f32(0, singles)) return {"dequantising failed"};
    for (std::size_t i = 0; i < n; ++i) words.push_back(values[i] == singles[i] ? hex_text(values[i]) : "f64 and f32 differ");
    append_stored(*reader, words);
  } else if (kind == DTypeKind::complex) {
    std::vector<std::complex<double>> values(n);
    if (!reader->read_complex(0, values)) return {"read_complex failed"};
    for (const auto& value : values) words.push_back(hex_text(value.real()) + "," + hex_text(value.imag()));
  } else if (kind == DTypeKind::real) {
    std::vector<double> values(n);
    if (!reader->read_f64(0, values)) return {"read_f64 failed"};
    for (const double value : values) words.push_back(hex_text(value));
  } else if (kind == DTypeKind::bits) {
    std::vector<std::byte> raw(n * reader->raw_size());
    if (!reader->read_raw(0, n, raw)) return {"read_raw failed"};
    for (std::size_t i = 0; i < n; ++i) {
      unsigned value = 0;
      for (std::size_t b = reader->raw_size(); b-- > 0;) value = value << 8 | std::to_integer<unsigned>(raw[i * reader->raw_size() + b]);
      words.push_back(std::to_string(value));
    }
  } else if (kind == DTypeKind::signed_integer) {
    std::vector<std::int64_t> values(n);
    if (!reader->read_i64(0, values)) return {"read_i64 failed"};
    for (const std::int64_t value : values) words.push_back(std::to_string(value));
  } else {
    std::vector<std::uint64_t> values(n);
    if (!reader->read_u64(0, values)) return {"read_u64 failed"};
    for (const std::uint64_t value : values) words.push_back(std::to_string(value));
  }
  return words;
}

/// `bare` is what a tensor is called whose file has no name for it.
inline void expect_tensors(const Checkpoint& checkpoint, const ExpectedFile& file, const std::string& bare) {
  for (const ExpectedTensor& expected : file.tensors) {
    SCOPED_TRACE(expected.name);
    const Tensor* const tensor = checkpoint.find(expected.name.empty() && file.tensors.size() == 1 ? bare : expected.name);
    ASSERT_NE(tensor, nullptr);
    EXPECT_TRUE(tensor->readable);
    EXPECT_EQ(dtype_name(tensor->dtype), expected.dtype);
    EXPECT_EQ(shape_text(*tensor), expected.shape);
    std::istringstream in(expected.values);
    std::vector<std::string> words;
    for (std::string word; in >> word;) words.push_back(normal_text(word));
    EXPECT_EQ(read_values(checkpoint, *tensor), words);
  }
}

inline std::string test_name(const ::testing::TestParamInfo<ExpectedFile>& info) {
  std::string name = info.param.name;
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
}

}  // namespace assay::test
