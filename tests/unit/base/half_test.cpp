// SPDX-License-Identifier: Apache-2.0
#include "base/half.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace assay {
namespace {

// The value of an f16 by definition, in double, where every f16 is exact.
double f16_value(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 0x3ff;
  const double sign = bits & 0x8000 ? -1 : 1;
  if (exponent == 31) return fraction ? std::numeric_limits<double>::quiet_NaN() : sign * std::numeric_limits<double>::infinity();
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024 + fraction, exponent - 25);
}

bool f16_nan(std::uint16_t bits) { return (bits & 0x7fff) > 0x7c00; }
bool bf16_nan(std::uint16_t bits) { return (bits & 0x7fff) > 0x7f80; }

TEST(F16, EveryValueIsItsDefinition) {
  for (std::uint32_t i = 0; i < 65536; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    const float value = f16_to_f32(bits);
    if (f16_nan(bits)) {
      EXPECT_TRUE(std::isnan(value)) << i;
    } else {
      EXPECT_EQ(static_cast<double>(value), f16_value(bits)) << i;
    }
    EXPECT_EQ(std::signbit(value), (bits & 0x8000) != 0) << i;
  }
}

TEST(F16, EveryValueComesBack) {
  for (std::uint32_t i = 0; i < 65536; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    const std::uint16_t quiet = f16_nan(bits) ? bits | 0x0200 : bits;
    ASSERT_EQ(f32_to_f16(f16_to_f32(bits)), quiet) << i;
  }
}

// Rounding is right when it is right on, just below and just above the middle of every pair of neighbours.
TEST(F16, RoundsToNearestEven) {
  for (std::uint16_t low = 0; low < 0x7bff; ++low) {
    const std::uint16_t high = low + 1;
    const float middle = static_cast<float>((f16_value(low) + f16_value(high)) / 2);
    const float below = std::nextafter(middle, 0.0f), above = std::nextafter(middle, 1e9f);
    ASSERT_EQ(f32_to_f16(below), low) << low;
    ASSERT_EQ(f32_to_f16(middle), low % 2 ? high : low) << low;
    ASSERT_EQ(f32_to_f16(above), high) << low;
    ASSERT_EQ(f32_to_f16(-above), high | 0x8000) << low;
  }
}

TEST(F16, OverflowsToInfinityFromHalfAStepAboveTheLargest) {
  EXPECT_EQ(f32_to_f16(65519.996f), 0x7bff);
  EXPECT_EQ(f32_to_f16(65520.0f), 0x7c00);
  EXPECT_EQ(f32_to_f16(-1e30f), 0xfc00);
  EXPECT_EQ(f32_to_f16(std::numeric_limits<float>::infinity()), 0x7c00);
}

TEST(F16, SmallestFloatsAreSignedZero) {
  EXPECT_EQ(f32_to_f16(std::numeric_limits<float>::denorm_min()), 0x0000);
  EXPECT_EQ(f32_to_f16(-std::numeric_limits<float>::denorm_min()), 0x8000);
  EXPECT_EQ(f32_to_f16(0x1p-25f), 0x0000);
  EXPECT_EQ(f32_to_f16(0x1.000002p-25f), 0x0001);
}

TEST(F16, NanWithALowPayloadStaysNan) {
  EXPECT_EQ(f32_to_f16(std::bit_cast<float>(0x7f800001u)), 0x7e00);
  EXPECT_EQ(f32_to_f16(std::bit_cast<float>(0xffc02000u)), 0xfe01);
}

TEST(Bf16, EveryValueIsTheUpperHalfAndComesBack) {
  for (std::uint32_t i = 0; i < 65536; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    ASSERT_EQ(std::bit_cast<std::uint32_t>(bf16_to_f32(bits)), i << 16) << i;
    const std::uint16_t quiet = bf16_nan(bits) ? bits | 0x0040 : bits;
    ASSERT_EQ(f32_to_bf16(bf16_to_f32(bits)), quiet) << i;
  }
}

TEST(Bf16, RoundsToNearestEven) {
  for (std::uint32_t low = 0; low < 0x7f80; ++low) {
    const std::uint32_t middle = low << 16 | 0x8000;
    const auto round = [](std::uint32_t bits) { return f32_to_bf16(std::bit_cast<float>(bits)); };
    ASSERT_EQ(round(middle - 1), low);
    ASSERT_EQ(round(middle), low + low % 2);
    ASSERT_EQ(round(middle + 1), low + 1);
    ASSERT_EQ(round(middle + 1 + 0x8000'0000u), (low + 1) | 0x8000);
  }
}

TEST(Bf16, NanWithALowPayloadStaysNan) { EXPECT_EQ(f32_to_bf16(std::bit_cast<float>(0x7f800001u)), 0x7fc0); }

}  // namespace
}  // namespace assay
