// SPDX-License-Identifier: Apache-2.0
// Statistics against a two-pass reference in long double, over the dtypes and values where a careless sum goes wrong.
#include "analysis/stats.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "base/half.hpp"
#include "values/decode.hpp"

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

struct Subject {
  Checkpoint checkpoint;
  Numbers shape, stride;

  Subject(DType dtype, const Bytes& bytes, Numbers shape_, Numbers stride_ = {}) : shape(std::move(shape_)), stride(std::move(stride_)) {
    checkpoint.files.push_back({"file", bytes.size(), std::make_shared<MemorySource>(bytes)});
    Storage storage;
    storage.nbytes = bytes.size();
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
  Subject(const Subject&) = delete;
  Tensor& tensor() { return checkpoint.tensors[0]; }
  Stats stats() {
    auto result = tensor_stats(checkpoint, tensor());
    EXPECT_TRUE(result.has_value()) << result.error().what();
    return result ? *std::move(result) : Stats{};
  }
};

template <class T>
Stats stats_of(DType dtype, const std::vector<T>& values) {
  return Subject(dtype, bytes_of(values), {values.size() * sizeof(T) / values::decoder(dtype).raw_size}).stats();
}

struct Reference {
  long double mean = 0, std = 0, l2 = 0, skew = 0, kurtosis = 0;
};

Reference reference(const std::vector<double>& values) {
  Reference made;
  const auto n = static_cast<long double>(values.size());
  for (const double x : values) made.mean += x / n;
  long double m2 = 0, m3 = 0, m4 = 0, squares = 0;
  for (const double x : values) {
    const long double d = x - made.mean;
    m2 += d * d;
    m3 += d * d * d;
    m4 += d * d * d * d;
    squares += static_cast<long double>(x) * x;
  }
  made.std = std::sqrt(m2 / n);
  made.l2 = std::sqrt(squares);
  made.skew = m3 / n / std::pow(m2 / n, 1.5L);
  made.kurtosis = n * m4 / (m2 * m2) - 3;
  return made;
}

void expect_moments(const Stats& stats, const std::vector<double>& values, double relative) {
  const Reference truth = reference(values);
  const auto close = [&](std::optional<double> found, long double expected, long double scale) {
    ASSERT_TRUE(found.has_value());
    EXPECT_LE(std::abs(static_cast<long double>(*found) - expected), relative * scale)
        << *found << ", not " << static_cast<double>(expected);
  };
  close(stats.mean, truth.mean, truth.std + std::abs(truth.mean) * 0x1p-52 / relative);  // a double's own rounding is no error
  close(stats.std, truth.std, truth.std);
  close(stats.l2, truth.l2, truth.l2);
  close(stats.skew, truth.skew, 1 + std::abs(truth.skew));
  close(stats.kurtosis, truth.kurtosis, 3 + std::abs(truth.kurtosis));
}

/// By nearest rank.
void expect_quantiles(const Stats& stats, std::vector<double> values) {
  std::sort(values.begin(), values.end());
  ASSERT_EQ(stats.quantiles.size(), 9u);
  for (const auto& [p, value] : stats.quantiles) {
    const auto rank = static_cast<std::size_t>(std::ceil(static_cast<long double>(std::lround(p * 1000)) * values.size() / 1000));
    EXPECT_EQ(value, values[std::max<std::size_t>(rank, 1) - 1]) << p;
  }
}

struct Normal {
  double mean, std;
};

class MomentsOfFloats : public ::testing::TestWithParam<Normal> {};

TEST_P(MomentsOfFloats, AgreeWithTwoPassesInLongDouble) {
  const auto [mean, std] = GetParam();
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal(mean, std);
  std::vector<double> wide;
  std::vector<float> narrow;
  for (int i = 0; i < 100003; ++i) {
    wide.push_back(normal(random));
    narrow.push_back(static_cast<float>(wide.back()));
  }
  expect_moments(stats_of(DType::f64, wide), wide, 1e-10);
  if (std::abs(mean) + std > 1e37 || std < 1e-37) return;
  const Stats stats = stats_of(DType::f32, narrow);
  const std::vector<double> stored(narrow.begin(), narrow.end());
  expect_moments(stats, stored, 1e-10);
  EXPECT_EQ(*stats.min, *std::min_element(stored.begin(), stored.end()));
  EXPECT_EQ(*stats.max, *std::max_element(stored.begin(), stored.end()));
  EXPECT_EQ(*stats.absmax, std::max(std::abs(*stats.min), std::abs(*stats.max)));
  EXPECT_TRUE(stats.exact);
  EXPECT_FALSE(stats.distinct.has_value());
  expect_quantiles(stats, stored);
}

INSTANTIATE_TEST_SUITE_P(Values, MomentsOfFloats,
                         ::testing::Values(Normal{0, 0.02}, Normal{1, 1e-3}, Normal{1000, 1}, Normal{-1e6, 0.5}, Normal{0, 1e-22},
                                           Normal{0, 1e25}, Normal{0, 1e300}, Normal{0, 1e-300}, Normal{3e305, 1e304}));

TEST(Stats, MixedScalesMergeSoundly) {
  // Blocks of zeros, of tiny and of huge numbers: each block is measured at its own scale.
  std::mt19937_64 random(6);
  std::normal_distribution<double> normal;
  std::vector<double> values(5000, 0.0);
  for (const double scale : {1e-300, 1.0, 1e-40, 1e250, 1e-5}) {
    for (int i = 0; i < 9001; ++i) values.push_back(scale * normal(random));
  }
  const Stats stats = stats_of(DType::f64, values);
  expect_moments(stats, values, 1e-10);
  EXPECT_EQ(stats.zeros, 5000u);
}

TEST(Stats, CountedKindsAgreeToo) {
  std::mt19937_64 random(7);
  std::normal_distribution<float> normal(0.5f, 0.1f);
  for (const int n : {1, 2, 3, 100, 2048, 2049, 50000}) {
    SCOPED_TRACE(n);
    std::vector<std::uint16_t> halves, brains;
    std::vector<double> half_values, brain_values;
    for (int i = 0; i < n; ++i) {
      const float x = normal(random);
      halves.push_back(f32_to_f16(x));
      half_values.push_back(f16_to_f32(halves.back()));
      brains.push_back(f32_to_bf16(x));
      brain_values.push_back(bf16_to_f32(brains.back()));
    }
    if (n > 2) {
      expect_moments(stats_of(DType::f16, halves), half_values, 1e-11);
      expect_moments(stats_of(DType::bf16, brains), brain_values, 1e-11);
    }
    const Stats stats = stats_of(DType::f16, halves);
    std::sort(half_values.begin(), half_values.end());
    EXPECT_EQ(*stats.distinct, static_cast<std::uint64_t>(
                                   std::unique(halves.begin(), (std::sort(halves.begin(), halves.end()), halves.end())) - halves.begin()));
    ASSERT_EQ(stats.quantiles.size(), 9u);
    for (const auto& [p, value] : stats.quantiles) {
      const auto rank = static_cast<std::size_t>(std::ceil(static_cast<long double>(std::lround(p * 1000)) * n / 1000));
      EXPECT_EQ(value, half_values[std::max<std::size_t>(rank, 1) - 1]) << p;
    }
  }
}

TEST(Stats, QuantilesOfFewWideValuesAndOfMany) {
  // Few are sorted, more are searched for.
  std::mt19937_64 random(8);
  std::normal_distribution<double> normal(0, 0.02);
  for (const int n : {1, 2, 10, 999, 1001, 16384, 16385}) {
    SCOPED_TRACE(n);
    std::vector<float> floats;
    std::vector<double> doubles, finite;
    std::vector<std::int64_t> integers;
    std::vector<std::uint32_t> naturals;
    for (int i = 0; i < n; ++i) {
      const double x = i % 7 == 5 ? std::nan("") : i % 9 == 8 ? -HUGE_VAL : normal(random);
      floats.push_back(static_cast<float>(x));
      doubles.push_back(floats.back());
      if (std::isfinite(x)) finite.push_back(floats.back());
      integers.push_back(static_cast<std::int64_t>(random() >> 14) - (std::int64_t{1} << 49));
      naturals.push_back(static_cast<std::uint32_t>(random()));
    }
    expect_quantiles(stats_of(DType::f32, floats), finite);
    expect_quantiles(stats_of(DType::f64, doubles), finite);
    expect_quantiles(stats_of(DType::i64, integers), std::vector<double>(integers.begin(), integers.end()));
    expect_quantiles(stats_of(DType::u32, naturals), std::vector<double>(naturals.begin(), naturals.end()));
  }
}

TEST(Stats, EveryNarrowCodeOnce) {
  for (const DType dtype : {DType::f16, DType::bf16, DType::i16, DType::u16, DType::f8_e4m3, DType::f8_e5m2, DType::f8_e4m3fnuz,
                            DType::f8_e5m2fnuz, DType::f8_e8m0, DType::i8, DType::bool_}) {
    SCOPED_TRACE(std::string(dtype_name(dtype)));
    const std::size_t size = values::decoder(dtype).raw_size, codes = std::size_t{1} << (8 * size);
    Bytes bytes;
    for (std::size_t code = 0; code < codes; ++code)
      for (std::size_t byte = 0; byte < size; ++byte) bytes.push_back(static_cast<std::byte>(code >> (8 * byte) & 0xff));
    std::vector<double> decoded(codes);
    values::decoder(dtype).to_f64(bytes.data(), codes, decoded.data());
    Stats expected;
    for (const double x : decoded) {
      expected.nan += std::isnan(x);
      expected.pos_inf += x == kInf;
      expected.neg_inf += x == -kInf;
      expected.zeros += x == 0;
      expected.near_zeros += std::abs(x) < 1e-6;
    }
    const Stats stats = Subject(dtype, bytes, {codes}).stats();
    EXPECT_EQ(stats.nan, expected.nan);
    EXPECT_EQ(stats.pos_inf, expected.pos_inf);
    EXPECT_EQ(stats.neg_inf, expected.neg_inf);
    EXPECT_EQ(stats.zeros, expected.zeros);
    EXPECT_EQ(stats.near_zeros, expected.near_zeros);
    EXPECT_EQ(*stats.distinct, codes);
  }
}

TEST(Stats, SubnormalIsInTheSenseOfTheDtype) {
  const auto all = [](DType dtype) {
    const std::size_t size = values::decoder(dtype).raw_size, codes = std::size_t{1} << (8 * size);
    Bytes bytes;
    for (std::size_t code = 0; code < codes; ++code)
      for (std::size_t byte = 0; byte < size; ++byte) bytes.push_back(static_cast<std::byte>(code >> (8 * byte) & 0xff));
    return Subject(dtype, bytes, {codes}).stats().subnormal;
  };
  EXPECT_EQ(all(DType::f16), 2u * 1023);
  EXPECT_EQ(all(DType::bf16), 2u * 127);
  EXPECT_EQ(all(DType::f8_e4m3), 2u * 7);
  EXPECT_EQ(all(DType::f8_e5m2), 2u * 3);
  EXPECT_EQ(all(DType::f8_e4m3fnuz), 2u * 7);
  EXPECT_EQ(all(DType::f8_e8m0), 0u);
  EXPECT_EQ(all(DType::i16), 0u);
  EXPECT_EQ(stats_of<float>(DType::f32, {0, 1e-40f, -1e-45f, 0x1p-126f, 1}).subnormal, 2u);
  EXPECT_EQ(stats_of<double>(DType::f64, {0, 1e-310, 1e-300}).subnormal, 1u);
  EXPECT_EQ(stats_of<std::uint16_t>(DType::c32, {0x0001, 0x0400, 0x8001, 0x0000}).subnormal, 2u);
}

TEST(Stats, HostileValuesAreCountedAndLeftOut) {
  std::vector<float> values(10000, 0.25f);
  values[0] = std::numeric_limits<float>::quiet_NaN();
  values[4095] = std::numeric_limits<float>::infinity();
  values[4096] = -std::numeric_limits<float>::infinity();
  values[4097] = -std::numeric_limits<float>::infinity();
  values[9999] = -3;
  values[5] = -0.0f;
  values[6] = 1e-7f;
  const Stats stats = stats_of(DType::f32, values);
  EXPECT_EQ(stats.nan, 1u);
  EXPECT_EQ(stats.pos_inf, 1u);
  EXPECT_EQ(stats.neg_inf, 2u);
  EXPECT_EQ(stats.zeros, 1u);
  EXPECT_EQ(stats.near_zeros, 2u);
  EXPECT_EQ(*stats.min, -3);
  EXPECT_EQ(*stats.max, 0.25);
  EXPECT_EQ(*stats.absmax, 3);
  std::vector<double> finite;
  for (const float x : values)
    if (std::isfinite(x)) finite.push_back(x);
  expect_moments(stats, finite, 1e-12);
}

TEST(Stats, OfNoFiniteValueThereAreNoMoments) {
  for (const Stats& stats : {stats_of<float>(DType::f32, {static_cast<float>(kNan), static_cast<float>(kInf)}),
                             stats_of<std::uint16_t>(DType::f16, {0x7e00, 0x7c00})}) {
    EXPECT_EQ(stats.nan, 1u);
    EXPECT_EQ(stats.pos_inf, 1u);
    EXPECT_FALSE(stats.min || stats.max || stats.mean || stats.std || stats.absmax || stats.l2 || stats.skew || stats.kurtosis);
    EXPECT_TRUE(stats.quantiles.empty());
  }
  const Stats empty = Subject(DType::f32, {}, {0, 3}).stats();
  EXPECT_EQ(empty.numel, 0u);
  EXPECT_FALSE(empty.mean.has_value());
}

TEST(Stats, AConstantHasNoSpread) {
  for (const Stats& stats :
       {stats_of(DType::f32, std::vector<float>(10001, 0.1f)), stats_of(DType::bf16, std::vector<std::uint16_t>(10001, 0x3dcd)),
        stats_of(DType::f64, std::vector<double>(9, 1e-310)), stats_of(DType::f64, std::vector<double>(5000, 1.7e308))}) {
    EXPECT_EQ(*stats.std, 0);
    EXPECT_EQ(*stats.mean, *stats.min);
    EXPECT_EQ(*stats.max, *stats.min);
    EXPECT_FALSE(stats.skew.has_value());
    EXPECT_FALSE(stats.kurtosis.has_value());
  }
  const Stats zeros = stats_of(DType::f32, std::vector<float>(5000, 0.0f));
  EXPECT_EQ(zeros.zeros, 5000u);
  EXPECT_EQ(zeros.near_zeros, 5000u);
  EXPECT_EQ(*zeros.l2, 0);
  EXPECT_EQ(zeros.subnormal, 0u);
}

TEST(Stats, RepeatedElementsAreWeighed) {
  const std::vector<float> three{1, 2, 0};
  Subject expanded(DType::f32, bytes_of(three), {1 << 20, 3, 1 << 20}, {0, 1, 0});
  const Stats stats = expanded.stats();
  EXPECT_EQ(stats.numel, std::uint64_t{3} << 40);
  EXPECT_EQ(stats.measured, stats.numel);
  EXPECT_EQ(stats.zeros, std::uint64_t{1} << 40);
  EXPECT_EQ(*stats.mean, 1);
  EXPECT_DOUBLE_EQ(*stats.std, std::sqrt(2.0 / 3));
  EXPECT_DOUBLE_EQ(*stats.l2, std::sqrt(5 * 0x1p40));
  const std::vector<std::uint16_t> halves{0x3c00, 0x7e00};
  Subject counted(DType::f16, bytes_of(halves), {5, 2}, {0, 1});
  EXPECT_EQ(counted.stats().nan, 5u);
  EXPECT_EQ(*counted.stats().distinct, 2u);
  EXPECT_DOUBLE_EQ(*counted.stats().l2, std::sqrt(5.0));
}

TEST(Stats, StridesAndOrderDoNotMatterButWhichElementsDo) {
  std::vector<float> values(600);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  const Stats plain = Subject(DType::f32, bytes_of(values), {20, 30}).stats();
  const Stats transposed = Subject(DType::f32, bytes_of(values), {30, 20}, {1, 30}).stats();
  EXPECT_EQ(*plain.mean, *transposed.mean);
  EXPECT_EQ(*plain.std, *transposed.std);
  const Stats even = Subject(DType::f32, bytes_of(values), {20, 15}, {30, 2}).stats();
  EXPECT_EQ(*even.max, 598);
  EXPECT_DOUBLE_EQ(*even.mean, 299);
  EXPECT_EQ(even.zeros, 1u);
}

TEST(Stats, ComplexNegatedAndConjugated) {
  const std::vector<float> pairs{1, 2, 3, -4};
  Subject subject(DType::c64, bytes_of(pairs), {2});
  EXPECT_EQ(subject.stats().numel, 2u);
  EXPECT_DOUBLE_EQ(*subject.stats().mean, 0.5);
  EXPECT_EQ(*subject.stats().min, -4);
  subject.tensor().conj = true;
  EXPECT_DOUBLE_EQ(*subject.stats().mean, 1.5);
  EXPECT_EQ(*subject.stats().max, 4);
  subject.tensor().neg = true;
  EXPECT_DOUBLE_EQ(*subject.stats().mean, -1.5);
  Subject half(DType::f16, bytes_of(std::vector<std::uint16_t>{0x3c00, 0x7c00}), {2});
  half.tensor().neg = true;
  EXPECT_EQ(*half.stats().max, -1);
  EXPECT_EQ(half.stats().neg_inf, 1u);
}

TEST(Stats, IntegersAndPackedKinds) {
  const Stats wide = stats_of<std::int64_t>(DType::i64, {-5, 0, 1, std::int64_t{1} << 40});
  EXPECT_EQ(*wide.min, -5);
  EXPECT_EQ(*wide.max, 0x1p40);
  EXPECT_EQ(wide.zeros, 1u);
  EXPECT_EQ(*stats_of<std::uint32_t>(DType::u32, {UINT32_MAX}).max, 4294967295.0);
  // F4 codes 0 … 15 in eight bytes.
  Bytes packed;
  for (unsigned i = 0; i < 8; ++i) packed.push_back(static_cast<std::byte>(2 * i | (2 * i + 1) << 4));
  const Stats four = Subject(DType::f4, packed, {16}).stats();
  EXPECT_EQ(*four.min, -6);
  EXPECT_EQ(*four.max, 6);
  EXPECT_EQ(four.zeros, 2u);
  EXPECT_EQ(four.subnormal, 2u);
  EXPECT_EQ(*four.distinct, 16u);
}

TEST(Stats, QuantilesOrderByValueNotByCode) {
  const auto ends = [](const Stats& stats) { return std::pair(stats.quantiles.front().second, stats.quantiles.back().second); };
  const auto pair = [](double a, double b) { return std::pair(a, b); };
  Subject integers(DType::i16, bytes_of(std::vector<std::int16_t>{5, -1, -300, 7, 0}), {5});
  EXPECT_EQ(ends(integers.stats()), pair(-300, 7));
  EXPECT_EQ(integers.stats().quantiles[4].second, 0);
  integers.tensor().neg = true;
  EXPECT_EQ(ends(integers.stats()), pair(-7, 300));
  EXPECT_EQ(integers.stats().quantiles[3].second, -5);
  Subject halves(DType::f16, bytes_of(std::vector<std::uint16_t>{0x3c00, 0xbc00, 0xc000, 0x8000, 0x0000, 0xfc00, 0x7e00}), {7});
  EXPECT_EQ(ends(halves.stats()), pair(-2, 1));
  EXPECT_EQ(halves.stats().quantiles[3].second, -1);
  halves.tensor().neg = true;
  EXPECT_EQ(ends(halves.stats()), pair(-1, 2));
  EXPECT_EQ(halves.stats().pos_inf, 1u);
}

TEST(Stats, QuantilesOfWideKindsAreExact) {
  std::mt19937_64 random(21);
  std::normal_distribution<double> normal(0.1, 3);
  std::vector<double> doubles, floats_as_doubles, longs_as_doubles, unsigned_as_doubles;
  std::vector<float> floats;
  std::vector<std::int64_t> longs;
  std::vector<std::uint32_t> unsigneds;
  for (int i = 0; i < 30011; ++i) {
    doubles.push_back(i % 7 == 0 ? -0.5 : normal(random));
    floats.push_back(i % 3 == 0 ? 0.0f : static_cast<float>(normal(random)) * (i % 5 == 0 ? 1e-30f : 1));
    floats_as_doubles.push_back(floats.back());
    longs.push_back(static_cast<std::int64_t>(random() >> 12) - (std::int64_t{1} << 51));  // whole as doubles
    longs_as_doubles.push_back(static_cast<double>(longs.back()));
    unsigneds.push_back(static_cast<std::uint32_t>(random()));
    unsigned_as_doubles.push_back(unsigneds.back());
  }
  expect_quantiles(stats_of(DType::f64, doubles), doubles);
  expect_quantiles(stats_of(DType::f32, floats), floats_as_doubles);
  expect_quantiles(stats_of(DType::i64, longs), longs_as_doubles);
  expect_quantiles(stats_of(DType::u32, unsigneds), unsigned_as_doubles);
  // What is not finite has no rank; a sign for all turns the order around.
  std::vector<float> hostile = floats;
  for (std::size_t i = 0; i < 500; ++i) hostile.push_back(static_cast<float>(i % 3 == 0 ? kNan : i % 3 == 1 ? kInf : -kInf));
  expect_quantiles(stats_of(DType::f32, hostile), floats_as_doubles);
  Subject negated(DType::f32, bytes_of(floats), {floats.size()});
  negated.tensor().neg = true;
  std::vector<double> turned;
  for (const double x : floats_as_doubles) turned.push_back(-x);
  expect_quantiles(negated.stats(), turned);
  expect_quantiles(stats_of(DType::f32, std::vector<float>(5, 0.5f)), std::vector<double>(5, 0.5));
}

TEST(Stats, UnreadableTensorsAreErrors) {
  Subject subject(DType::f32, Bytes(16), {5});
  const auto result = tensor_stats(subject.checkpoint, subject.tensor());
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code(), Code::out_of_storage);
  EXPECT_EQ(result.error().where().tensor, "t");
  Subject bad_stride(DType::f32, Bytes(16), {2, 2}, {0});
  EXPECT_EQ(tensor_stats(bad_stride.checkpoint, bad_stride.tensor()).error().code(), Code::bad_stride);
  Subject bad_numel(DType::f32, Bytes(16), {2, 2}, {0, 1});
  bad_numel.tensor().numel = 5;
  EXPECT_EQ(tensor_stats(bad_numel.checkpoint, bad_numel.tensor()).error().code(), Code::bad_shape);
}

TEST(Stats, QuantisedTensorsAreMeasuredAsValues) {
  // By codes, by values in channels, and by values of a kind too wide for codes.
  Subject counted(DType::qi8, bytes_of<std::int8_t>({-2, 0, 2, 2, 4, 127}), {6});
  counted.tensor().quantizer = 0;
  counted.checkpoint.quantizers.resize(1);
  counted.checkpoint.quantizers[0].scale = -0.5;
  counted.checkpoint.quantizers[0].zero_point = 2;
  const Stats codes = counted.stats();
  EXPECT_EQ(codes.min, -62.5);
  EXPECT_EQ(codes.max, 2.0);
  EXPECT_EQ(codes.zeros, 2u);
  EXPECT_EQ(codes.distinct, 5u);
  ASSERT_FALSE(codes.quantiles.empty());
  EXPECT_EQ(codes.quantiles.front().second, -62.5);
  EXPECT_EQ(codes.quantiles.back().second, 2.0);

  Subject wide(DType::qi32, bytes_of<std::int32_t>({-2, 0, 2, 2, 4, 127}), {6});
  wide.tensor().quantizer = 0;
  wide.checkpoint.quantizers = counted.checkpoint.quantizers;
  const Stats values = wide.stats();
  EXPECT_EQ(values.min, codes.min);
  EXPECT_DOUBLE_EQ(*values.mean, *codes.mean);
  EXPECT_EQ(values.zeros, codes.zeros);

  Subject channels(DType::qi8, bytes_of<std::int8_t>({1, 2, 3, 4}), {2, 2}, {1, 2});
  const Bytes scales = bytes_of<double>({1, 100});
  channels.checkpoint.files.push_back({"scales", scales.size(), std::make_shared<MemorySource>(scales)});
  Storage storage;
  storage.file = 1;
  storage.nbytes = scales.size();
  channels.checkpoint.storages.push_back(storage);
  const Numbers two = {2};
  Quantizer quantizer;
  quantizer.scheme = Quantizer::Scheme::per_channel_affine;
  quantizer.scales.dtype = DType::f64;
  quantizer.scales.shape = two;
  quantizer.scales.numel = 2;
  quantizer.scales.storage = 1;
  quantizer.zero_points = quantizer.scales;
  channels.tensor().quantizer = 0;
  channels.checkpoint.quantizers = {quantizer};
  // (1 - 1) * 1, (3 - 1) * 1, (2 - 100) * 100, (4 - 100) * 100
  EXPECT_EQ(channels.stats().min, -9800.0);
  EXPECT_EQ(channels.stats().max, 2.0);
}

}  // namespace
}  // namespace assay::analysis
