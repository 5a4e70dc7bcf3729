// SPDX-License-Identifier: Apache-2.0
// f16:  sign 1, exponent 5 (bias 15),  fraction 10.   f32: sign 1, exponent 8 (bias 127), fraction 23.
// bf16: the upper half of an f32.
// Whole-number arithmetic throughout: the result must not depend on the thread's rounding or flush-to-zero mode.
#include "base/half.hpp"

#include <bit>

namespace assay {

namespace {

constexpr std::uint32_t kInfinity32 = 0x7f80'0000;
constexpr std::uint32_t kRebias = (127 - 15) << 23;  // what separates the two exponents

/// value / 2^shift, rounded to nearest, ties to even.
constexpr std::uint32_t shift_to_nearest(std::uint32_t value, unsigned shift) {
  const std::uint32_t odd = value >> shift & 1;
  return (value + (1u << (shift - 1)) - 1 + odd) >> shift;
}

}  // namespace

float f16_to_f32(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000u) << 16;
  const std::uint32_t magnitude = bits & 0x7fffu;
  if (magnitude >= 0x7c00) return std::bit_cast<float>(sign | kInfinity32 | magnitude << 13);  // also NaN, payload kept
  if (magnitude >= 0x0400) return std::bit_cast<float>(sign | ((magnitude << 13) + kRebias));
  // A subnormal is a whole number of 2^-24, and every one of them is a normal f32.
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(static_cast<float>(magnitude) * 0x1p-24f));
}

float bf16_to_f32(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

std::uint16_t f32_to_f16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16 & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7fff'ffffu;
  const auto with_sign = [sign](std::uint32_t half) { return static_cast<std::uint16_t>(sign | half); };
  if (magnitude > kInfinity32) return with_sign(0x7e00 | (magnitude >> 13 & 0x3ff));
  if (magnitude >= 0x477f'f000) return with_sign(0x7c00);                                     // 65520 and above round to infinity
  if (magnitude >= 0x3880'0000) return with_sign(shift_to_nearest(magnitude - kRebias, 13));  // 2^-14: the least normal f16
  if (magnitude <= 0x3300'0000) return with_sign(0);                                          // 2^-25: a tie, and zero is even
  const std::uint32_t significand = (magnitude & 0x7f'ffff) | 0x80'0000;
  return with_sign(shift_to_nearest(significand, 126 - (magnitude >> 23)));
}

std::uint16_t f32_to_bf16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fff'ffffu) > kInfinity32) return static_cast<std::uint16_t>(bits >> 16 | 0x0040);
  return static_cast<std::uint16_t>(shift_to_nearest(bits, 16));
}

}  // namespace assay
