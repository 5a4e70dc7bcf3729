// SPDX-License-Identifier: Apache-2.0
// Quantised tensors: values by the formula, stored integers untouched.
#include "values/dequantise.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace assay {
namespace {

/// A checkpoint of one file: the tensor's bytes, then F64 scales, then I64 zero points.
struct Subject {
  Checkpoint checkpoint;
  std::vector<std::uint64_t> shape, stride, channels;

  Subject(DType dtype, std::vector<std::uint8_t> bytes, std::vector<std::uint64_t> shape_, std::vector<std::uint64_t> stride_ = {})
      : shape(std::move(shape_)), stride(std::move(stride_)) {
    add_storage(bytes.data(), bytes.size());
    Tensor tensor;
    tensor.name = "q";
    tensor.dtype = dtype;
    tensor.shape = shape;
    tensor.stride = stride;
    tensor.numel = 1;
    for (const std::uint64_t size : shape) tensor.numel *= size;
    tensor.storage = 0;
    tensor.quantizer = 0;
    checkpoint.tensors.push_back(tensor);
  }
  Subject(const Subject&) = delete;

  void add_storage(const void* bytes, std::size_t n) {
    std::vector<std::byte> copy(n);
    if (n > 0) std::memcpy(copy.data(), bytes, n);
    Storage storage;
    storage.file = static_cast<std::uint32_t>(checkpoint.files.size());
    storage.nbytes = n;
    checkpoint.files.push_back({"file", n, std::make_shared<MemorySource>(std::move(copy))});
    checkpoint.storages.push_back(storage);
  }
  void per_tensor(double scale, std::int64_t zero_point) {
    checkpoint.quantizers.resize(1);
    checkpoint.quantizers[0].scale = scale;
    checkpoint.quantizers[0].zero_point = zero_point;
  }
  void per_channel(std::uint32_t axis, const std::vector<double>& scales, const std::vector<std::int64_t>& zero_points) {
    channels = {scales.size()};
    Quantizer quantizer;
    quantizer.scheme = Quantizer::Scheme::per_channel_affine;
    quantizer.axis = axis;
    for (Tensor* const tensor : {&quantizer.scales, &quantizer.zero_points}) {
      tensor->dtype = tensor == &quantizer.scales ? DType::f64 : DType::i64;
      tensor->shape = channels;
      tensor->numel = channels[0];
      tensor->storage = static_cast<std::uint32_t>(checkpoint.storages.size());
      if (tensor == &quantizer.scales) add_storage(scales.data(), scales.size() * 8);
      else add_storage(zero_points.data(), zero_points.size() * 8);
    }
    checkpoint.quantizers = {quantizer};
  }
  Tensor& tensor() { return checkpoint.tensors[0]; }
  Result<TensorReader> open() { return TensorReader::open(checkpoint, tensor()); }
  std::vector<double> values() {
    auto reader = open();
    std::vector<double> out(static_cast<std::size_t>(tensor().numel));
    EXPECT_TRUE(reader && reader->read_f64(0, out));
    return out;
  }
};

using Doubles = std::vector<double>;

TEST(Dequantise, OneScaleForAll) {
  Subject subject(DType::qi8, {0, 1, 127, 128, 255}, {5});
  subject.per_tensor(0.5, 2);
  EXPECT_EQ(subject.values(), (Doubles{-1, -0.5, 62.5, -65, -1.5}));
  auto reader = subject.open();
  std::vector<std::int64_t> stored(5);
  ASSERT_TRUE(reader->read_i64(0, stored));
  EXPECT_EQ(stored, (std::vector<std::int64_t>{0, 1, 127, -128, -1}));
  std::vector<std::byte> raw(5);
  ASSERT_TRUE(reader->read_raw(0, 5, raw));
  EXPECT_EQ(raw[3], std::byte{128});
  ASSERT_TRUE(reader->plain_view());
  std::vector<std::complex<double>> complex(2);
  ASSERT_TRUE(reader->read_complex(3, complex));
  EXPECT_EQ(complex[0], std::complex<double>(-65, 0));
  std::vector<float> middle(2);
  ASSERT_TRUE(reader->read_f32(2, middle));
  EXPECT_EQ(middle, (std::vector<float>{62.5f, -65.0f}));
}

TEST(Dequantise, RoundsAsSinglePrecisionDoes) {
  Subject subject(DType::qi32, {1, 0, 0, 1, 255, 255, 255, 127}, {2});
  subject.per_tensor(0.1, -2147483647);
  const float scale = 0.1f;
  // 16777217 + 2147483647 and 2147483647 + 2147483647 pass the 32 bits of the stored numbers.
  EXPECT_EQ(subject.values(), (Doubles{static_cast<float>(2164260864.0) * scale, static_cast<float>(4294967294.0) * scale}));
  // What torch gives for these numbers: a scale of channels keeps its double precision.
  Subject channels(DType::qi8, {0xb7, 0xce}, {1, 2});
  channels.per_channel(0, {0.013}, {-23});
  EXPECT_EQ(channels.values(), (Doubles{static_cast<float>(-50 * 0.013), static_cast<float>(-27 * 0.013)}));
  EXPECT_NE(channels.values()[0], static_cast<double>(-50.0f * 0.013f));
}

TEST(Dequantise, ChannelsAlongEveryAxis) {
  for (std::uint32_t axis = 0; axis < 3; ++axis) {
    SCOPED_TRACE(axis);
    std::vector<std::uint8_t> bytes;
    for (unsigned i = 0; i < 24; ++i) bytes.push_back(static_cast<std::uint8_t>(i));
    Subject subject(DType::qu8, bytes, {2, 3, 4});
    const Doubles scales = {0.5, 2, 4, 0.25};
    const std::vector<std::int64_t> zero_points = {1, 0, -3, 7};
    const std::size_t n = subject.shape[axis];
    subject.per_channel(axis, {scales.begin(), scales.begin() + static_cast<long>(n)},
                        {zero_points.begin(), zero_points.begin() + static_cast<long>(n)});
    Doubles expected;
    for (unsigned i = 0; i < 24; ++i) {
      const unsigned index[] = {i / 12, i / 4 % 3, i % 4};
      expected.push_back((i - static_cast<double>(zero_points[index[axis]])) * scales[index[axis]]);
    }
    EXPECT_EQ(subject.values(), expected);
    auto reader = subject.open();
    for (std::uint64_t first = 0; first < 24; ++first) {
      Doubles part(std::min<std::size_t>(7, 24 - first));
      ASSERT_TRUE(reader->read_f64(first, part));
      EXPECT_EQ(part, Doubles(expected.begin() + static_cast<long>(first), expected.begin() + static_cast<long>(first + part.size())));
    }
  }
}

TEST(Dequantise, ChannelsFollowTheLogicalOrderOfStridedTensors) {
  Subject subject(DType::qu8, {0, 1, 2, 3, 4, 5}, {3, 2}, {1, 3});
  subject.per_channel(0, {1, 10, 100}, {0, 0, 0});
  EXPECT_EQ(subject.values(), (Doubles{0, 3, 10, 40, 200, 500}));
}

TEST(Dequantise, PackedValuesAreReadThroughStrides) {
  Subject four(DType::qu4x2, {0x21, 0x43, 0xf5, 0x87, 0xa9, 0xfb}, {2, 5}, {6, 1});
  four.per_tensor(1, 0);
  EXPECT_EQ(four.values(), (Doubles{1, 2, 3, 4, 5, 7, 8, 9, 10, 11}));
  Subject two(DType::qu2x4, {0xe4, 0xff, 0x1b, 0xfc}, {2, 5}, {8, 1});
  two.per_tensor(1, 1);
  EXPECT_EQ(two.values(), (Doubles{-1, 0, 1, 2, 2, 2, 1, 0, -1, -1}));
}

TEST(Dequantise, WhatDoesNotFitIsRefused) {
  Subject subject(DType::qi8, {0, 1, 2, 3}, {2, 2});
  EXPECT_EQ(subject.open().error().code(), Code::internal) << "no such quantizer";
  subject.per_channel(2, {1, 1}, {0, 0});
  EXPECT_EQ(subject.open().error().code(), Code::malformed_tensor);
  subject.per_channel(0, {1, 1, 1}, {0, 0, 0});
  EXPECT_EQ(subject.open().error().code(), Code::malformed_tensor);
  subject.per_channel(0, {1, 1}, {0, 0});
  EXPECT_TRUE(subject.open());
  subject.checkpoint.quantizers[0].scales.quantizer = 0;
  EXPECT_EQ(subject.open().error().code(), Code::malformed_tensor) << "scales that need scales";
  subject.per_channel(0, {1, 1}, {0, 0});
  subject.checkpoint.storages[subject.checkpoint.quantizers[0].zero_points.storage].nbytes = 1;
  EXPECT_EQ(subject.open().error().code(), Code::malformed_tensor);
}

}  // namespace
}  // namespace assay
