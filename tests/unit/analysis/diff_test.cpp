// SPDX-License-Identifier: Apache-2.0
// Differences against numbers worked out by hand and against a plain reference in long double.
#include "analysis/diff.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "base/half.hpp"

namespace assay::analysis {
namespace {

using Bytes = std::vector<std::byte>;
using Numbers = std::vector<std::uint64_t>;
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

template <class T>
Bytes bytes_of(const std::vector<T>& values) {
  Bytes bytes(values.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

/// A source that counts how often it is read, and cannot be mapped.
class CountingSource final : public ByteSource {
 public:
  explicit CountingSource(Bytes bytes) : bytes_(std::move(bytes)) {}
  std::uint64_t size() const override { return bytes_.size(); }
  Result<void> read(std::uint64_t offset, std::span<std::byte> out) const override {
    ++reads;
    std::memcpy(out.data(), bytes_.data() + offset, out.size());
    return {};
  }
  mutable int reads = 0;

 private:
  Bytes bytes_;
};

struct Subject {
  Checkpoint checkpoint;
  Numbers shape, stride;

  Subject(DType dtype, std::shared_ptr<ByteSource> source, Numbers shape_, Numbers stride_ = {})
      : shape(std::move(shape_)), stride(std::move(stride_)) {
    Storage storage;
    storage.nbytes = source->size();
    checkpoint.files.push_back({"file", source->size(), std::move(source)});
    checkpoint.storages.push_back(storage);
    Tensor tensor;
    tensor.name = "t";
    tensor.dtype = dtype;
    tensor.shape = shape;
    tensor.stride = stride;
    tensor.numel = 1;
    for (const std::uint64_t size : shape) tensor.numel *= size;
    tensor.storage = 0;
    checkpoint.tensors.push_back(tensor);
  }
  Subject(DType dtype, const Bytes& bytes, Numbers shape_, Numbers stride_ = {})
      : Subject(dtype, std::make_shared<MemorySource>(bytes), std::move(shape_), std::move(stride_)) {}
  Subject(const Subject&) = delete;
  Tensor& tensor() { return checkpoint.tensors[0]; }
};

Difference compare(Subject& a, Subject& b, const DiffOptions& options = {}) {
  auto result = compare_tensors(a.checkpoint, a.tensor(), b.checkpoint, b.tensor(), options);
  EXPECT_TRUE(result.has_value()) << result.error().what();
  return result ? *std::move(result) : Difference{};
}

Difference compare_f32(const std::vector<float>& a, const std::vector<float>& b, const DiffOptions& options = {}) {
  Subject x(DType::f32, bytes_of(a), {a.size()}), y(DType::f32, bytes_of(b), {b.size()});
  return compare(x, y, options);
}

TEST(Diff, EqualBytesAreIdenticalWithoutMeasures) {
  const Difference found = compare_f32({1, static_cast<float>(kNan), -0.0f}, {1, static_cast<float>(kNan), -0.0f});
  EXPECT_TRUE(found.compared);
  EXPECT_TRUE(found.same_bytes);
  EXPECT_FALSE(found.differs({}));
  EXPECT_FALSE(found.max_abs);
}

TEST(Diff, MeasuresByHand) {
  const Difference found = compare_f32({3, 4, 0, 1}, {3, 4, 0, 3});
  EXPECT_EQ(found.changed_elements, 1u);
  EXPECT_EQ(found.max_abs, 2.0);
  EXPECT_EQ(found.mean_abs, 0.5);
  EXPECT_DOUBLE_EQ(*found.rel_l2, 2 / std::sqrt(26.0));
  EXPECT_DOUBLE_EQ(*found.cosine, 28 / std::sqrt(26.0 * 34.0));
  EXPECT_EQ(found.max_ulps, 0x40400000u - 0x3f800000u);
  EXPECT_TRUE(found.differs({}));
}

TEST(Diff, ZerosOfEitherSignAndAnyNanAreEqual) {
  const float other_nan = std::bit_cast<float>(0x7fc00001u);
  const Difference found = compare_f32({0.0f, static_cast<float>(kNan), 5}, {-0.0f, other_nan, 5});
  EXPECT_FALSE(found.same_bytes);
  EXPECT_EQ(found.changed_elements, 0u);
  EXPECT_EQ(found.nan_changed, 0u);
  EXPECT_EQ(found.max_abs, 0.0);
  EXPECT_EQ(found.max_ulps, 0u);
  EXPECT_FALSE(found.differs({}));
}

TEST(Diff, NanAndInfinityAgainstNumbersAreCountedApart) {
  const auto nan = static_cast<float>(kNan), inf = static_cast<float>(kInf);
  const Difference found = compare_f32({1, nan, 2, inf, inf, -inf, 4}, {nan, nan, 2, inf, -inf, 3, 5});
  EXPECT_EQ(found.changed_elements, 4u);
  EXPECT_EQ(found.nan_changed, 1u);
  EXPECT_EQ(found.inf_changed, 2u);
  EXPECT_EQ(found.max_abs, 1.0);
  EXPECT_EQ(found.mean_abs, 0.5);  // of (2, 2) and (4, 5)
}

TEST(Diff, NoPairOfFiniteValuesHasNoMeasures) {
  const Difference found = compare_f32({static_cast<float>(kNan)}, {1});
  EXPECT_EQ(found.changed_elements, 1u);
  EXPECT_FALSE(found.max_abs);
  EXPECT_FALSE(found.rel_l2);
}

TEST(Diff, ChangeOfAllZerosIsInfiniteAndHasNoCosine) {
  const Difference found = compare_f32({0, 0}, {0, 1});
  EXPECT_EQ(found.rel_l2, kInf);
  EXPECT_FALSE(found.cosine);
}

TEST(Diff, ToleranceIsOfTheFirstSidesValue) {
  const DiffOptions options{.absolute = 0.5, .relative = 0.1, .tolerant = true};
  EXPECT_EQ(compare_f32({10, 10, -10}, {11.5, 11.625, -8.25}, options).changed_elements, 2u);
  // Not even a relative tolerance lets an infinity be a number.
  EXPECT_EQ(compare_f32({static_cast<float>(kInf), 1}, {1, static_cast<float>(kNan)}, options).changed_elements, 2u);
}

TEST(Diff, AnotherDtypeIsADifferenceUnlessTolerated) {
  const std::vector<float> values = {1, -2, 0.5f};
  std::vector<std::uint16_t> codes;
  for (const float value : values) codes.push_back(f32_to_bf16(value));
  Subject a(DType::f32, bytes_of(values), {3}), b(DType::bf16, bytes_of(codes), {3});
  const Difference found = compare(a, b);
  EXPECT_TRUE(found.dtype_differs);
  EXPECT_FALSE(found.same_bytes);
  EXPECT_EQ(found.changed_elements, 0u);
  EXPECT_EQ(found.rel_l2, 0.0);
  EXPECT_FALSE(found.max_ulps);
  EXPECT_TRUE(found.differs({}));
  EXPECT_FALSE(found.differs({.tolerant = true}));
}

TEST(Diff, EqualCodesOfAnotherDtypeAreNotEqualValues) {
  const std::vector<std::uint16_t> codes = {0x3c00, 0x4200};  // 1 and 3, or 0.0078125 and 32
  Subject a(DType::f16, bytes_of(codes), {2}), b(DType::bf16, bytes_of(codes), {2});
  EXPECT_EQ(compare(a, b).changed_elements, 2u);
}

TEST(Diff, WideIntegersAreExact) {
  const std::vector<std::int64_t> x = {(std::int64_t{1} << 53), std::numeric_limits<std::int64_t>::min()};
  const std::vector<std::int64_t> y = {(std::int64_t{1} << 53) + 1, std::numeric_limits<std::int64_t>::max()};
  Subject a(DType::i64, bytes_of(x), {2}), b(DType::i64, bytes_of(y), {2});
  const Difference found = compare(a, b);
  EXPECT_EQ(found.changed_elements, 2u);
  EXPECT_EQ(found.max_abs, 0x1p64);
  Subject c(DType::u64, bytes_of(std::vector<std::uint64_t>{~0ull}), {1}),
      d(DType::u64, bytes_of(std::vector<std::uint64_t>{~0ull - 1}), {1});
  EXPECT_EQ(compare(c, d).max_abs, 1.0);
}

TEST(Diff, ComplexElementsChangeByEitherPart) {
  Subject a(DType::c64, bytes_of(std::vector<float>{1, 2, 3, 4, 5, 6}), {3}),
      b(DType::c64, bytes_of(std::vector<float>{1, 9, 3, 4, 6, 7}), {3});
  const Difference found = compare(a, b);
  EXPECT_EQ(found.changed_elements, 2u);
  EXPECT_EQ(found.max_abs, 7.0);
  Subject real(DType::f32, bytes_of(std::vector<float>{1, 3, 5}), {3}),
      imaginary(DType::c64, bytes_of(std::vector<float>{1, 0, 3, 0, 5, 1}), {3});
  EXPECT_EQ(compare(real, imaginary).changed_elements, 1u);
  EXPECT_EQ(compare(imaginary, real).max_abs, 1.0);
}

TEST(Diff, ConjugateViewsCompareByValue) {
  const Bytes bytes = bytes_of(std::vector<float>{1, 2, 3, -4});
  Subject a(DType::c64, bytes, {2}), b(DType::c64, bytes, {2}), c(DType::c64, bytes_of(std::vector<float>{1, -2, 3, 4}), {2});
  b.tensor().conj = true;
  EXPECT_EQ(compare(a, b).changed_elements, 2u);
  EXPECT_EQ(compare(b, c).changed_elements, 0u);
}

TEST(Diff, UlpsCrossZero) {
  Subject a(DType::bf16, bytes_of(std::vector<std::uint16_t>{0x0001, 0x3f80}), {2}),
      b(DType::bf16, bytes_of(std::vector<std::uint16_t>{0x8002, 0x3f81}), {2});
  EXPECT_EQ(compare(a, b).max_ulps, 3u);
  Subject c(DType::f8_e8m0, Bytes{std::byte{10}}, {1}), d(DType::f8_e8m0, Bytes{std::byte{200}}, {1});
  EXPECT_EQ(compare(c, d).max_ulps, 190u);
}

TEST(Diff, ExtremeMagnitudesNeitherOverflowNorVanish) {
  for (const double unit : {1e300, 1e-300, 1.0}) {
    Subject a(DType::f64, bytes_of(std::vector<double>{3 * unit, 4 * unit}), {2}),
        b(DType::f64, bytes_of(std::vector<double>{3 * unit, -4 * unit}), {2});
    const Difference found = compare(a, b);
    EXPECT_DOUBLE_EQ(*found.rel_l2, 8.0 / 5) << unit;
    EXPECT_DOUBLE_EQ(*found.cosine, -7.0 / 25) << unit;
    EXPECT_DOUBLE_EQ(*found.mean_abs, 4 * unit);
  }
  // A block of ordinary numbers before one of huge ones.
  std::vector<double> x(5000, 1.0), y(5000, 1.0);
  x[4999] = 1e200;
  y[4999] = 2e200;
  Subject a(DType::f64, bytes_of(x), {5000}), b(DType::f64, bytes_of(y), {5000});
  EXPECT_DOUBLE_EQ(*compare(a, b).rel_l2, 1.0);
}

TEST(Diff, LongTensorsMatchTheReference) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  std::vector<float> x(200001), y;
  for (float& value : x) value = normal(random);
  y = x;
  for (std::size_t i = 0; i < y.size(); i += 3) y[i] += 1e-3f * normal(random);
  long double aa = 0, dd = 0, abs = 0;
  std::uint64_t changed = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const long double d = static_cast<long double>(x[i]) - y[i];
    aa += static_cast<long double>(x[i]) * x[i];
    dd += d * d;
    abs += std::abs(d);
    changed += d != 0 ? 1 : 0;
  }
  Subject a(DType::f32, std::make_shared<CountingSource>(bytes_of(x)), {x.size()}), b(DType::f32, bytes_of(y), {y.size()});
  const Difference found = compare(a, b);
  EXPECT_EQ(found.changed_elements, changed);
  EXPECT_NEAR(*found.rel_l2, static_cast<double>(std::sqrt(dd / aa)), 1e-13);
  EXPECT_NEAR(*found.mean_abs, static_cast<double>(abs / x.size()), 1e-15);
}

TEST(Diff, StridesAreFollowed) {
  Subject a(DType::f32, bytes_of(std::vector<float>{1, 2, 3, 4, 5, 6}), {2, 3}),
      b(DType::f32, bytes_of(std::vector<float>{1, 4, 2, 5, 3, 6}), {2, 3}, {1, 2});
  EXPECT_TRUE(compare(a, b).same_bytes);
}

TEST(Diff, RepeatedElementsAreReadOnceAndCountedOften) {
  const std::uint64_t many = std::uint64_t{1} << 40;
  Subject a(DType::f32, bytes_of(std::vector<float>{1, 2}), {many, 2}, {0, 1}),
      b(DType::f32, bytes_of(std::vector<float>{1, 3}), {many, 2}, {0, 1});
  const Difference found = compare(a, b);
  EXPECT_EQ(found.changed_elements, many);
  EXPECT_EQ(found.max_abs, 1.0);
  EXPECT_DOUBLE_EQ(found.delta_l2, 0x1p20);
}

TEST(Diff, AnotherShapeIsComparedOnlyWhenAsked) {
  Subject a(DType::f32, bytes_of(std::vector<float>{1, 2, 3, 4}), {2, 2}), b(DType::f32, bytes_of(std::vector<float>{1, 2, 3, 4}), {4});
  EXPECT_FALSE(compare(a, b).compared);
  EXPECT_TRUE(compare(a, b).differs({}));
  const DiffOptions reshape{.reshape = true};
  EXPECT_TRUE(compare(a, b, reshape).same_bytes);
  EXPECT_FALSE(compare(a, b, reshape).differs(reshape));
  Subject c(DType::f32, bytes_of(std::vector<float>{1, 2}), {2});
  EXPECT_TRUE(compare(a, c, reshape).differs(reshape));
}

TEST(Diff, ThePlaceInOneFileProvesEqualityWithoutReading) {
  const auto source = std::make_shared<CountingSource>(bytes_of(std::vector<float>(100000, 1.0f)));
  Subject a(DType::f32, source, {100000}), b(DType::f32, source, {100000});
  EXPECT_TRUE(compare(a, b).same_bytes);
  const auto twin = std::make_shared<CountingSource>(bytes_of(std::vector<float>(100000, 1.0f)));
  Subject c(DType::f32, twin, {100000});
  const std::vector<std::uint32_t> same = {0};
  EXPECT_TRUE(compare(a, c, {.same_file = same}).same_bytes);
  EXPECT_EQ(source->reads + twin->reads, 0);
  EXPECT_TRUE(compare(a, c).same_bytes);
  EXPECT_GT(source->reads, 0);
}

TEST(Diff, EmptyAndScalarTensors) {
  Subject a(DType::f32, Bytes(), {0, 3}), b(DType::f32, Bytes(), {0, 3});
  EXPECT_TRUE(compare(a, b).same_bytes);
  Subject c(DType::f32, bytes_of(std::vector<float>{1}), {}), d(DType::f32, bytes_of(std::vector<float>{2}), {});
  EXPECT_EQ(compare(c, d).max_abs, 1.0);
}

TEST(Diff, UnreadableTensorsFail) {
  Subject a(DType::f32, bytes_of(std::vector<float>{1}), {1}), b(DType::f32, bytes_of(std::vector<float>{1}), {1});
  b.tensor().readable = false;
  EXPECT_FALSE(compare_tensors(a.checkpoint, a.tensor(), b.checkpoint, b.tensor()).has_value());
  b.tensor().readable = true;
  b.tensor().storage = kNone;
  EXPECT_FALSE(compare_tensors(a.checkpoint, a.tensor(), b.checkpoint, b.tensor()).has_value());
}

TEST(Diff, StopsWhenAsked) {
  Subject a(DType::f32, bytes_of(std::vector<float>{1}), {1}), b(DType::f32, bytes_of(std::vector<float>{2}), {1});
  EXPECT_FALSE(compare(a, b, {.stop = [] { return true; }}).whole);
}

/// B = A + U V with U of `rank` columns, plus `noise`.
Difference low_rank_change(std::size_t rows, std::size_t columns, std::size_t rank, float noise) {
  std::mt19937 random(11);
  std::normal_distribution<float> normal;
  std::vector<float> x(rows * columns), u(rows * rank), v(rank * columns);
  for (auto* values : {&x, &u, &v})
    for (float& value : *values) value = normal(random);
  std::vector<float> y = x;
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j) {
      for (std::size_t k = 0; k < rank; ++k) y[i * columns + j] += 0.01f * u[i * rank + k] * v[k * columns + j];
      if (noise > 0) y[i * columns + j] += noise * normal(random);
    }
  Subject a(DType::f32, bytes_of(x), {rows, columns}), b(DType::f32, bytes_of(y), {rows, columns});
  return compare(a, b);
}

TEST(DiffRank, FindsTheRankOfAnAddedProduct) {
  for (const std::size_t rank : {1u, 4u, 16u, 30u}) {
    const Difference found = low_rank_change(200, 130, rank, 0);
    ASSERT_TRUE(found.rank && found.rank->rank) << rank;
    EXPECT_NEAR(static_cast<double>(*found.rank->rank), static_cast<double>(rank), rank > 16 ? 1.0 : 0.0);
    EXPECT_EQ(found.rank->rows, 200u);
  }
}

TEST(DiffRank, FullRankChangeHasNone) {
  const Difference noise = low_rank_change(200, 130, 0, 0.01f);
  ASSERT_TRUE(noise.rank);
  EXPECT_FALSE(noise.rank->rank);
  const Difference both = low_rank_change(200, 130, 4, 0.01f);
  ASSERT_TRUE(both.rank);
  EXPECT_FALSE(both.rank->rank);
  EXPECT_FALSE(low_rank_change(20, 130, 2, 0).rank);  // too small to tell
}

TEST(DiffRank, CountsRowsAndColumnsThatChange) {
  std::vector<float> x(64 * 64, 1.0f), y = x;
  for (std::size_t j = 0; j < 64; ++j) y[5 * 64 + j] = static_cast<float>(j);
  Subject a(DType::f32, bytes_of(x), {64, 64}), b(DType::f32, bytes_of(y), {64, 64});
  const Difference found = compare(a, b);
  ASSERT_TRUE(found.rank);
  EXPECT_EQ(found.rank->rank, 1u);
  EXPECT_EQ(found.rank->rows, 1u);
  EXPECT_EQ(found.rank->columns, 63u);
}

TEST(DiffRank, NamesTheColumnThatHoldsTheChangeAndWhatDied) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  std::vector<float> x(64 * 64);
  for (float& value : x) value = normal(random);
  std::vector<float> y = x;
  for (float& value : y) value += 0.001f * normal(random);
  for (std::size_t i = 0; i < 64; ++i) y[i * 64 + 33] *= 100;
  Subject a(DType::f32, bytes_of(x), {64, 64}), hot(DType::f32, bytes_of(y), {64, 64});
  Difference found = compare(a, hot);
  ASSERT_TRUE(found.rank);
  EXPECT_EQ(found.rank->main_column, 33u);
  EXPECT_FALSE(found.rank->main_row);
  EXPECT_EQ(found.rank->columns, 64u);
  for (std::size_t i = 0; i < 64; ++i) y[i * 64 + 33] = y[i * 64 + 7] = 0;
  for (std::size_t j = 0; j < 64; ++j) y[5 * 64 + j] = 0;
  Subject dead(DType::f32, bytes_of(y), {64, 64});
  found = compare(a, dead);
  ASSERT_TRUE(found.rank);
  EXPECT_EQ(found.rank->zero_columns, 2u);
  EXPECT_EQ(found.rank->zero_rows, 1u);
  EXPECT_FALSE(found.rank->main_column);
}

TEST(Diff, TellsAFactor) {
  std::mt19937 random(4);
  std::normal_distribution<float> normal;
  std::vector<float> x(1000);
  for (float& value : x) value = normal(random);
  const auto factor = [&](float times, float noise) {
    std::vector<float> y(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) y[i] = times * (x[i] + noise * normal(random));
    return compare_f32(x, y).factor;
  };
  ASSERT_TRUE(factor(50, 0.001f));
  EXPECT_NEAR(*factor(50, 0.001f), 50, 0.01);
  ASSERT_TRUE(factor(-2, 0));
  EXPECT_NEAR(*factor(-2, 0), -2, 1e-9);
  EXPECT_FALSE(factor(50, 0.05f)) << "other directions";
  EXPECT_FALSE(factor(1.05f, 0)) << "training does as much";
  EXPECT_FALSE(factor(0, 0));
}

TEST(Diff, TellsWhetherAnythingIsLeft) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  std::vector<float> x(4096), y(4096), half(4096);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = normal(random), y[i] = normal(random), half[i] = x[i] + y[i];
  EXPECT_TRUE(compare_f32(x, y).keeps_nothing());
  EXPECT_FALSE(compare_f32(x, half).keeps_nothing());
  EXPECT_FALSE(compare_f32(x, std::vector<float>(4096)).keeps_nothing()) << "zeros have no direction";
  EXPECT_FALSE(compare_f32({1, 0}, {0, 1}).keeps_nothing()) << "too few to tell";
}

TEST(Diff, TellsWhatRoundingAloneDid) {
  std::mt19937 random(6);
  std::normal_distribution<float> normal;
  std::vector<float> x(1000);
  for (float& value : x) value = normal(random);
  x[3] = static_cast<float>(kNan);
  x[4] = 1e5f;  // becomes infinite in F16
  std::vector<std::uint16_t> bf16(x.size()), f16(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) bf16[i] = f32_to_bf16(x[i]), f16[i] = f32_to_f16(x[i]);
  Subject wide(DType::f32, bytes_of(x), {1000});
  Subject b(DType::bf16, bytes_of(bf16), {1000}), h(DType::f16, bytes_of(f16), {1000});
  EXPECT_TRUE(compare(wide, b).rounded);
  EXPECT_TRUE(compare(b, wide).rounded) << "either side";
  EXPECT_TRUE(compare(wide, h).rounded);
  EXPECT_FALSE(compare(h, b).rounded) << "both were rounded from elsewhere";
  std::vector<double> y(x.begin(), x.end());
  for (double& value : y) value *= 1 + 1e-9;
  Subject widest(DType::f64, bytes_of(y), {1000});
  EXPECT_TRUE(compare(widest, wide).rounded);
  y[7] *= 1.001;
  Subject moved(DType::f64, bytes_of(y), {1000});
  EXPECT_FALSE(compare(moved, wide).rounded);
  ++bf16[999];
  Subject other(DType::bf16, bytes_of(bf16), {1000});
  EXPECT_FALSE(compare(wide, other).rounded);
  EXPECT_FALSE(compare(b, other).rounded) << "one dtype";
}

}  // namespace
}  // namespace assay::analysis
