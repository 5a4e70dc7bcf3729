// SPDX-License-Identifier: Apache-2.0
// Every vector loop against the reference, bit by bit; and the meter on top of them against sums in long double.
#include "analysis/kernels/kernels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#ifdef __SSE2__
#include <xmmintrin.h>
#endif

#include "analysis/meter.hpp"
#include "base/half.hpp"

namespace assay::analysis {
namespace {

using kernels::Measured;
using kernels::Real;
using kernels::Table;
using Bytes = std::vector<std::byte>;

constexpr Real kAll[] = {Real::bf16, Real::f16, Real::f32, Real::f64, Real::i32, Real::u32};

std::vector<const Table*> tables() {
  const Table* found[kernels::kMostTables];
  return {found, found + kernels::available(found)};
}

template <class T>
void put(Bytes& bytes, T value) {
  const auto* p = reinterpret_cast<const std::byte*>(&value);
  bytes.insert(bytes.end(), p, p + sizeof value);
}

void put_real(Bytes& bytes, Real real, double value) {
  switch (real) {
    case Real::bf16: return put(bytes, f32_to_bf16(static_cast<float>(value)));
    case Real::f16: return put(bytes, f32_to_f16(static_cast<float>(value)));
    case Real::f32: return put(bytes, static_cast<float>(value));
    case Real::f64: return put(bytes, value);
    case Real::i32: return put(bytes, static_cast<std::int32_t>(value * 1e6));
    case Real::u32: return put(bytes, static_cast<std::uint32_t>(std::abs(value) * 1e6));
  }
}

double get_real(const Bytes& bytes, Real real, std::size_t i) {
  const auto load = [&]<class T>(T value) {
    std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
    return value;
  };
  switch (real) {
    case Real::bf16: return bf16_to_f32(load(std::uint16_t{}));
    case Real::f16: return f16_to_f32(load(std::uint16_t{}));
    case Real::f32: return load(float{});
    case Real::f64: return load(double{});
    case Real::i32: return load(std::int32_t{});
    default: return load(std::uint32_t{});
  }
}

/// The same bits, or both no number: of NaN nobody promises which.
bool same(double a, double b) { return std::memcmp(&a, &b, sizeof a) == 0 || (std::isnan(a) && std::isnan(b)); }

void expect_same(const Measured& a, const Measured& b) {
  EXPECT_TRUE(same(a.sums.s1, b.sums.s1)) << a.sums.s1 << ' ' << b.sums.s1;
  EXPECT_TRUE(same(a.sums.s2, b.sums.s2)) << a.sums.s2 << ' ' << b.sums.s2;
  EXPECT_TRUE(same(a.sums.s3, b.sums.s3)) << a.sums.s3 << ' ' << b.sums.s3;
  EXPECT_TRUE(same(a.sums.s4, b.sums.s4)) << a.sums.s4 << ' ' << b.sums.s4;
  EXPECT_EQ(a.extremes.min_signed, b.extremes.min_signed);
  EXPECT_EQ(a.extremes.max_signed, b.extremes.max_signed);
  EXPECT_EQ(a.extremes.min_unsigned, b.extremes.min_unsigned);
  EXPECT_EQ(a.extremes.max_unsigned, b.extremes.max_unsigned);
  EXPECT_EQ(a.small, b.small);
  EXPECT_EQ(a.zeros, b.zeros);
  EXPECT_EQ(a.lower, b.lower);
  EXPECT_EQ(a.special, b.special);
  EXPECT_EQ(a.infinities, b.infinities);
}

/// Bytes of several tempers: noise, weights, zeros, one bit pattern with rare others.
Bytes bytes_of(std::mt19937_64& random, int temper, std::size_t size) {
  Bytes bytes;
  std::normal_distribution<float> normal(0, 0.02f);
  while (bytes.size() < size) {
    if (temper == 0) put(bytes, random());
    else if (temper == 1) put(bytes, f32_to_bf16(normal(random)));
    else if (temper == 2) put(bytes, std::uint64_t{0});
    else put(bytes, random() % 50 == 0 ? random() : std::uint64_t{0x3c003c003f803c00});
  }
  bytes.resize(size);
  return bytes;
}

TEST(Kernels, AgreeWithTheReferenceBitByBit) {
  const auto all = tables();
  std::mt19937_64 random(3);
  std::vector<std::size_t> lengths;
  for (std::size_t n = 1; n <= 140; ++n) lengths.push_back(n);
  for (const std::size_t n : {4095u, 4096u, 4097u, 8191u, 12289u, 16383u, 16384u}) lengths.push_back(n);
  for (const std::size_t n : lengths) {
    for (int temper = 0; temper < 4; ++temper) {
      const std::size_t shift = random() % 9;
      const Bytes bytes = bytes_of(random, temper, n * 8 + shift);
      const std::byte* codes = bytes.data() + shift;
      for (std::size_t t = 1; t < all.size(); ++t) {
        SCOPED_TRACE(testing::Message() << all[t]->name << ' ' << n << " codes, temper " << temper << ", shift " << shift);
        for (const Real real : kAll) {
          const auto r = static_cast<std::size_t>(real);
          const std::byte* ahead = codes;
          const kernels::Runs whole{&codes, &n, &ahead};
          for (const double about : {0.0, 0.5})
            expect_same(all[0]->measure[r](whole, n, about, 0x3587), all[t]->measure[r](whole, n, about, 0x3587));
          if (!kernels::is_float(real)) continue;
          for (const auto& [about, scale] : {std::pair{0.0, 1.0}, {0.0, 0x1p-100}, {0.5, 1.0}})
            expect_same(all[0]->wild[r](whole, n, about, scale, {0x3587, 0x80}), all[t]->wild[r](whole, n, about, scale, {0x3587, 0x80}));
        }
        for (int width = 0; width < 3; ++width) {
          for (const std::uint64_t limit : {1u, 0x80u, 0x3587u})
            EXPECT_EQ(all[0]->below[width](codes, n, limit), all[t]->below[width](codes, n, limit));
          EXPECT_EQ(all[0]->equal[width](codes, n, 0), all[t]->equal[width](codes, n, 0));
        }
        if (testing::Test::HasFailure()) return;
      }
    }
  }
}

TEST(Kernels, CodesInRunsAreAsOneStretch) {
  std::mt19937_64 random(8);
  for (const std::size_t run : {32u, 64u, 96u, 4096u, 4128u}) {
    for (const std::size_t n : {1u, 40u, 100u, 4096u, 5000u, 16384u}) {
      for (const std::size_t head : {run, std::size_t{32}}) {
        const Bytes bytes = bytes_of(random, n % 3 == 0 ? 0 : 1, n * 8);
        for (const Real real : kAll) {
          // Each run by itself.
          const std::size_t width = kernels::code_bytes(real);
          std::vector<Bytes> parts;
          for (std::size_t done = 0; done < n; done += parts.size() == 1 ? head : run) {
            const std::size_t count = std::min(parts.empty() ? head : run, n - done);
            parts.emplace_back(bytes.begin() + static_cast<std::ptrdiff_t>(done * width),
                               bytes.begin() + static_cast<std::ptrdiff_t>((done + count) * width));
          }
          std::vector<const std::byte*> begins;
          std::vector<std::size_t> counts;
          for (const Bytes& part : parts) {
            begins.push_back(part.data());
            counts.push_back(part.size() / width);
          }
          const std::byte* codes = bytes.data();
          const kernels::Runs whole{&codes, &n, &codes}, apart{begins.data(), counts.data(), begins.data()};
          Bytes joined(n * width);
          kernels::join(apart, n, width, joined.data());
          ASSERT_TRUE(std::equal(joined.begin(), joined.end(), bytes.begin()));
          for (const Table* table : tables()) {
            SCOPED_TRACE(testing::Message() << table->name << ' ' << n << " codes in runs of " << run << ", the first " << head);
            const auto r = static_cast<std::size_t>(real);
            expect_same(table->measure[r](whole, n, 0.5, 0x3587), table->measure[r](apart, n, 0.5, 0x3587));
            if (!kernels::is_float(real)) continue;
            expect_same(table->wild[r](whole, n, 0, 1, {0x3587, 0x80}), table->wild[r](apart, n, 0, 1, {0x3587, 0x80}));
            if (testing::Test::HasFailure()) return;
          }
        }
      }
    }
  }
}

TEST(Kernels, PairsAgreeWithTheReferenceBitByBit) {
  const auto all = tables();
  std::mt19937_64 random(4);
  std::normal_distribution<double> normal(0, 0.02);
  for (const std::size_t n : {1u, 2u, 15u, 16u, 17u, 31u, 32u, 33u, 63u, 100u, 1000u, 4095u, 4096u, 4097u, 9000u, 16384u}) {
    for (const Real real : {Real::bf16, Real::f16, Real::f32}) {
      for (const bool close : {false, true}) {
        Bytes a(random() % 9, std::byte{}), b(random() % 9, std::byte{});
        const std::size_t shift_a = a.size(), shift_b = b.size();
        for (std::size_t i = 0; i < n; ++i) {
          const double x = i % 100 == 7 ? 0.0 : normal(random);
          put_real(a, real, x);
          put_real(b, real, close ? (i % 3 == 0 ? -x : x * (1 + 0.01 * static_cast<double>(i % 2))) : normal(random));
        }
        for (std::size_t t = 1; t < all.size(); ++t) {
          SCOPED_TRACE(testing::Message() << all[t]->name << ' ' << n << " pairs, kind " << static_cast<int>(real));
          const auto r = static_cast<std::size_t>(real);
          const auto x = all[0]->pairs[r](a.data() + shift_a, b.data() + shift_b, n),
                     y = all[t]->pairs[r](a.data() + shift_a, b.data() + shift_b, n);
          EXPECT_TRUE(same(x.aa, y.aa) && same(x.bb, y.bb) && same(x.ab, y.ab) && same(x.dd, y.dd) && same(x.abs, y.abs));
          EXPECT_TRUE(same(x.max_abs, y.max_abs)) << x.max_abs << ' ' << y.max_abs;
          EXPECT_EQ(x.changed, y.changed);
          EXPECT_EQ(x.max_a, y.max_a);
          EXPECT_EQ(x.max_b, y.max_b);
          EXPECT_EQ(x.max_steps, y.max_steps);
          ASSERT_FALSE(testing::Test::HasFailure());
        }
      }
    }
  }
}

TEST(Kernels, OneBitAnywhereIsADifference) {
  std::mt19937_64 random(5);
  for (const Table* table : tables()) {
    for (const std::size_t size : {0u, 1u, 63u, 64u, 4095u, 4096u, 4097u, 20000u}) {
      const Bytes a = bytes_of(random, 0, size + 3);
      Bytes b(a.begin() + 3, a.end());
      b.insert(b.begin(), 2, std::byte{});
      EXPECT_TRUE(table->same(a.data() + 3, b.data() + 2, size));
      for (int i = 0; i < 40 && size > 0; ++i) {
        std::byte& byte = b[2 + (i == 0 ? size - 1 : random() % size)];
        byte ^= std::byte{16};
        EXPECT_FALSE(table->same(a.data() + 3, b.data() + 2, size)) << table->name;
        byte ^= std::byte{16};
      }
    }
  }
}

Tally tally_of(Real real, const Bytes& bytes) {
  Meter meter(real);
  meter.add(bytes);
  return meter.tally();
}

void expect_close(std::optional<double> found, long double expected, long double allowed) {
  ASSERT_TRUE(found.has_value());
  EXPECT_LE(std::abs(*found - expected), allowed) << *found << ", not " << static_cast<double>(expected);
}

void expect_tally(Real real, const Bytes& bytes, double allowed) {
  const Tally tally = tally_of(real, bytes);
  const std::size_t n = bytes.size() / kernels::code_bytes(real);
  Tally expected;
  std::vector<double> finite;
  const double least_normal = real == Real::f16 ? 0x1p-14 : real == Real::f64 ? 0x1p-1022 : kernels::is_float(real) ? 0x1p-126 : 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double x = get_real(bytes, real, i);
    expected.nan += std::isnan(x);
    expected.pos_inf += x == std::numeric_limits<double>::infinity();
    expected.neg_inf += x == -std::numeric_limits<double>::infinity();
    expected.zeros += x == 0;
    expected.near_zeros += std::abs(x) < 1e-6;
    expected.subnormal += x != 0 && std::abs(x) < least_normal;
    if (std::isfinite(x)) finite.push_back(x);
  }
  EXPECT_EQ(tally.nan, expected.nan);
  EXPECT_EQ(tally.pos_inf, expected.pos_inf);
  EXPECT_EQ(tally.neg_inf, expected.neg_inf);
  EXPECT_EQ(tally.zeros, expected.zeros);
  EXPECT_EQ(tally.near_zeros, expected.near_zeros);
  EXPECT_EQ(tally.subnormal, expected.subnormal);
  ASSERT_EQ(tally.moments.count(), finite.size());
  if (finite.empty()) return;
  EXPECT_EQ(tally.moments.min(), *std::min_element(finite.begin(), finite.end()));
  EXPECT_EQ(tally.moments.max(), *std::max_element(finite.begin(), finite.end()));
  long double mean = 0, m2 = 0, m3 = 0, m4 = 0;
  for (const double x : finite) mean += static_cast<long double>(x) / static_cast<long double>(finite.size());
  for (const double x : finite) {
    const long double d = x - mean;
    m2 += d * d;
    m3 += d * d * d;
    m4 += d * d * d * d;
  }
  const auto count = static_cast<long double>(finite.size());
  const long double std = std::sqrt(m2 / count);
  expect_close(tally.moments.mean(), mean, allowed * std + std::abs(mean) * 1e-15L);
  if (std <= std::abs(mean) * 1e-9L) return;
  expect_close(tally.moments.std(), std, allowed * std);
  const long double skew = m3 / count / (std * std * std), kurtosis = m4 / count / (std * std * std * std);
  expect_close(tally.moments.skew(), skew, 4 * allowed * (1 + std::abs(skew)));
  expect_close(tally.moments.kurtosis(), kurtosis - 3, 4 * allowed * kurtosis);
}

struct Values {
  const char* name;
  double mean, std;
  int odd;  // what one in 50 values is instead: 0 nothing, 1 zero, 2 subnormal, 3 NaN, 4 infinity, 5 any bits
};

class MeterOfValues : public testing::TestWithParam<Values> {};

TEST_P(MeterOfValues, AgreesWithLongDouble) {
  const auto [name, mean, std, odd] = GetParam();
  std::mt19937_64 random(11);
  std::normal_distribution<double> normal(0, 1);
  for (const Real real : kAll) {
    for (const std::size_t n : {1u, 3u, 100u, 40000u}) {
      SCOPED_TRACE(testing::Message() << name << ", kind " << static_cast<int>(real) << ", " << n << " values");
      Bytes bytes;
      for (std::size_t i = 0; i < n; ++i) {
        const bool now = kernels::is_float(real) && odd > 0 && random() % 50 == 0;
        if (!now) put_real(bytes, real, mean + std * normal(random));
        else if (odd == 1) put_real(bytes, real, random() % 2 == 0 ? 0.0 : -0.0);
        else if (odd == 2) put_real(bytes, real, real == Real::f16 ? 1e-7 : real == Real::f64 ? -1e-310 : 1e-40);
        else if (odd == 3) put_real(bytes, real, std::numeric_limits<double>::quiet_NaN());
        else if (odd == 4) put_real(bytes, real, random() % 2 == 0 ? 1e308 * 10 : -1e308 * 10);
        else
          for (unsigned b = 0; b < kernels::code_bytes(real); ++b) bytes.push_back(static_cast<std::byte>(random() & 0xff));
      }
      // Any bits of F64 reach 1e308, whose fourth power long double holds no more.
      if (odd == 5 && real == Real::f64) continue;
      expect_tally(real, bytes, kernels::is_fast(real) ? 1e-7 : 1e-12);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, MeterOfValues,
                         testing::Values(Values{"weights", 0, 0.02, 0}, Values{"norms", 1, 1e-3, 0}, Values{"far", 1000, 1, 0},
                                         Values{"tiny", 0, 1e-7, 0}, Values{"zeros", 0, 0.02, 1}, Values{"subnormals", 0, 0.02, 2},
                                         Values{"nan", 0, 0.02, 3}, Values{"inf", 0, 0.02, 4}, Values{"norms with nan", 1, 0.01, 3},
                                         Values{"any bits", 0, 0.02, 5}, Values{"constant", 0.5, 0, 0}, Values{"positive", 3, 0.5, 2}),
                         [](const auto& tested) {
                           std::string name = tested.param.name;
                           for (char& c : name) c = c == ' ' ? '_' : c;
                           return name;
                         });

TEST(Meter, OneTemperAfterAnother) {
  // A block of each, so that pivots and ways change between them.
  std::mt19937_64 random(12);
  for (const Real real : {Real::bf16, Real::f16, Real::f32, Real::f64}) {
    SCOPED_TRACE(static_cast<int>(real));
    Bytes bytes;
    const std::size_t block = Meter::kBlockBytes / kernels::code_bytes(real);
    for (int turn = 0; turn < 12; ++turn) {
      std::normal_distribution<double> normal(turn % 3 == 0 ? 0 : turn % 3 == 1 ? 50 : -7, turn % 4 == 0 ? 0.02 : 1);
      for (std::size_t i = 0; i < block; ++i) {
        if (turn % 5 == 4 && i % 1000 == 7) put_real(bytes, real, std::numeric_limits<double>::quiet_NaN());
        else put_real(bytes, real, turn == 6 ? 0.0 : normal(random));
      }
    }
    expect_tally(real, bytes, kernels::is_fast(real) ? 1e-7 : 1e-12);
  }
}

TEST(Meter, OfTheLargestNumbers) {
  std::mt19937_64 random(14);
  for (const Real real : {Real::bf16, Real::f32}) {
    for (const bool nan : {false, true}) {
      Bytes bytes;
      for (int i = 0; i < 20000; ++i)
        put_real(bytes, real,
                 nan && i % 100 == 0 ? std::numeric_limits<double>::quiet_NaN()
                                     : (random() % 2 == 0 ? 1 : -1) * (1.8e38 + 1e34 * (random() % 10000)));
      expect_tally(real, bytes, 1e-7);
    }
  }
}

TEST(Meter, EveryCodeOfSixteenBits) {
  for (const Real real : {Real::bf16, Real::f16}) {
    Bytes bytes;
    for (unsigned code = 0; code < 65536; ++code) put(bytes, static_cast<std::uint16_t>(code));
    expect_tally(real, bytes, 1e-6);
  }
}

#ifdef __SSE2__
TEST(Meter, TheThreadsTreatmentOfSubnormalsChangesNothing) {
  std::mt19937_64 random(13);
  for (const Real real : {Real::bf16, Real::f16, Real::f32, Real::f64}) {
    for (const double scale : {1.0, 1e-20, 1e-38, 1e-310}) {
      Bytes bytes;
      std::normal_distribution<double> normal(0, scale);
      for (int i = 0; i < 20000; ++i) put_real(bytes, real, i % 64 == 0 ? normal(random) * 1e-3 : normal(random));
      const unsigned before = _mm_getcsr();
      const Tally exact = tally_of(real, bytes);
      _mm_setcsr(before | 0x8040);
      const Tally flushed = tally_of(real, bytes);
      EXPECT_EQ(_mm_getcsr() & 0x8040, 0x8040u);
      _mm_setcsr(before);
      EXPECT_EQ(exact.subnormal, flushed.subnormal);
      EXPECT_EQ(exact.zeros, flushed.zeros);
      EXPECT_TRUE(same(exact.moments.std(), flushed.moments.std())) << exact.moments.std() << ' ' << flushed.moments.std();
      EXPECT_TRUE(same(exact.moments.min(), flushed.moments.min()));
      EXPECT_TRUE(same(exact.moments.mean(), flushed.moments.mean()));
      expect_tally(real, bytes, kernels::is_fast(real) ? 1e-7 : 1e-12);
    }
  }
}
#endif

}  // namespace
}  // namespace assay::analysis
