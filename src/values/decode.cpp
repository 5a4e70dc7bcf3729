// SPDX-License-Identifier: Apache-2.0
// Small floats, value = sign * 2^(e - bias) * (1 + m / 2^M), subnormal (e = 0) sign * 2^(1 - bias) * m / 2^M:
//
//     kind          e/m bits  bias  special codes
//     F4            2/1       1     none
//     F6_E2M3       2/3       1     none
//     F6_E3M2       3/2       3     none
//     F8_E4M3       4/3       7     NaN 0x7f 0xff, no infinity
//     F8_E5M2       5/2       15    infinity 0x7c 0xfc, NaN 0x7d-0x7f 0xfd-0xff
//     F8_E4M3FNUZ   4/3       8     0x80 is the only NaN; no -0, no infinity
//     F8_E5M2FNUZ   5/2       16    0x80 is the only NaN; no -0, no infinity
//     F8_E8M0       8/0       127   no sign, no zero: 2^(code - 127); 0xff is NaN
#include "values/decode.hpp"

#include <array>
#include <bit>
#include <concepts>
#include <cstring>
#include <limits>
#include <type_traits>

#include "base/endian.hpp"
#include "base/half.hpp"

namespace assay::values {

namespace {

enum class Special : std::uint8_t { none, nan_all_ones, ieee, nan_minus_zero };

constexpr double power_of_two(int exponent) {
  double power = 1;
  for (; exponent > 0; --exponent) power *= 2;
  for (; exponent < 0; ++exponent) power /= 2;
  return power;
}

constexpr float small_float(unsigned code, unsigned exponent_bits, unsigned mantissa_bits, int bias, Special special) {
  const unsigned sign = code >> (exponent_bits + mantissa_bits) & 1;
  const unsigned all_ones = (1u << exponent_bits) - 1;
  const unsigned exponent = code >> mantissa_bits & all_ones;
  const unsigned mantissa = code & ((1u << mantissa_bits) - 1);
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  if (special == Special::nan_minus_zero && sign == 1 && exponent == 0 && mantissa == 0) return kNan;
  if (special == Special::nan_all_ones && exponent == all_ones && mantissa == (1u << mantissa_bits) - 1) return kNan;
  if (special == Special::ieee && exponent == all_ones) {
    if (mantissa != 0) return kNan;
    return sign ? -std::numeric_limits<float>::infinity() : std::numeric_limits<float>::infinity();
  }
  const double fraction = mantissa * power_of_two(-static_cast<int>(mantissa_bits));
  const double magnitude =
      exponent == 0 ? fraction * power_of_two(1 - bias) : (1 + fraction) * power_of_two(static_cast<int>(exponent) - bias);
  return static_cast<float>(sign ? -magnitude : magnitude);
}

using FloatTable = std::array<float, 256>;

constexpr FloatTable small_floats(unsigned exponent_bits, unsigned mantissa_bits, int bias, Special special) {
  FloatTable table{};
  for (unsigned code = 0; code < 256; ++code) {
    // Codes beyond a sub-byte kind's width cannot come out of unpack(); they read as their low bits.
    table[code] = small_float(code, exponent_bits, mantissa_bits, bias, special);
  }
  return table;
}

constexpr FloatTable scale_exponents() {
  FloatTable table{};
  for (int code = 0; code < 255; ++code) table[static_cast<std::size_t>(code)] = static_cast<float>(power_of_two(code - 127));
  table[255] = std::numeric_limits<float>::quiet_NaN();
  return table;
}

constexpr FloatTable kF4 = small_floats(2, 1, 1, Special::none);
constexpr FloatTable kF6E2M3 = small_floats(2, 3, 1, Special::none);
constexpr FloatTable kF6E3M2 = small_floats(3, 2, 3, Special::none);
constexpr FloatTable kF8E4M3 = small_floats(4, 3, 7, Special::nan_all_ones);
constexpr FloatTable kF8E5M2 = small_floats(5, 2, 15, Special::ieee);
constexpr FloatTable kF8E4M3Fnuz = small_floats(4, 3, 8, Special::nan_minus_zero);
constexpr FloatTable kF8E5M2Fnuz = small_floats(5, 2, 16, Special::nan_minus_zero);
constexpr FloatTable kF8E8M0 = scale_exponents();

// What a code is and what it means, one struct per way of storing a real.
template <class T>
struct Plain {
  using Code = T;
  static T value(T code) { return code; }
};
struct Boolean {
  using Code = std::uint8_t;
  static std::uint8_t value(std::uint8_t code) { return code != 0; }
};
template <const FloatTable& kTable>
struct Looked {
  using Code = std::uint8_t;
  static float value(std::uint8_t code) { return kTable[code]; }
};
struct Half {
  using Code = std::uint16_t;
  static float value(std::uint16_t code) { return f16_to_f32(code); }
};
struct Brain {
  using Code = std::uint16_t;
  static float value(std::uint16_t code) { return std::bit_cast<float>(static_cast<std::uint32_t>(code) << 16); }
};

template <class Kind, class Out>
void decode(const std::byte* codes, std::size_t n, Out* out) {
  using Code = typename Kind::Code;
  for (std::size_t i = 0; i < n; ++i) out[i] = static_cast<Out>(Kind::value(load_le<Code>(codes + i * sizeof(Code))));
}

template <class Kind>
constexpr Decoder row(DType dtype, double least_normal = 0, std::uint8_t reals = 1) {
  using Code = typename Kind::Code;
  Decoder made{dtype,  static_cast<std::uint8_t>(sizeof(Code) * reals), reals, least_normal, decode<Kind, double>, decode<Kind, float>,
               nullptr};
  if constexpr (std::integral<std::remove_cvref_t<decltype(Kind::value(Code{}))>>) made.to_i64 = decode<Kind, std::int64_t>;
  return made;
}

constexpr double kF16Normal = power_of_two(-14);
constexpr double kF32Normal = power_of_two(-126);  // BF16 has the exponents of F32
constexpr double kF64Normal = std::numeric_limits<double>::min();

// In the order of dtypes.def.
constexpr Decoder kDecoders[] = {
    {DType::unknown, 0, 1, 0, nullptr, nullptr, nullptr},
    row<Boolean>(DType::bool_),
    row<Looked<kF4>>(DType::f4, 1),
    row<Looked<kF6E2M3>>(DType::f6_e2m3, 1),
    row<Looked<kF6E3M2>>(DType::f6_e3m2, power_of_two(-2)),
    row<Plain<std::uint8_t>>(DType::u8),
    row<Plain<std::int8_t>>(DType::i8),
    row<Looked<kF8E5M2>>(DType::f8_e5m2, power_of_two(-14)),
    row<Looked<kF8E4M3>>(DType::f8_e4m3, power_of_two(-6)),
    row<Looked<kF8E8M0>>(DType::f8_e8m0),
    row<Looked<kF8E4M3Fnuz>>(DType::f8_e4m3fnuz, power_of_two(-7)),
    row<Looked<kF8E5M2Fnuz>>(DType::f8_e5m2fnuz, power_of_two(-15)),
    row<Plain<std::int16_t>>(DType::i16),
    row<Plain<std::uint16_t>>(DType::u16),
    row<Half>(DType::f16, kF16Normal),
    row<Brain>(DType::bf16, kF32Normal),
    row<Plain<std::int32_t>>(DType::i32),
    row<Plain<std::uint32_t>>(DType::u32),
    row<Plain<float>>(DType::f32, kF32Normal),
    row<Plain<float>>(DType::c64, kF32Normal, 2),
    row<Plain<double>>(DType::f64, kF64Normal),
    row<Plain<std::int64_t>>(DType::i64),
    row<Plain<std::uint64_t>>(DType::u64),
    row<Half>(DType::c32, kF16Normal, 2),
    row<Brain>(DType::bc32, kF32Normal, 2),
    row<Plain<double>>(DType::c128, kF64Normal, 2),
    row<Plain<std::int8_t>>(DType::qi8),
    row<Plain<std::uint8_t>>(DType::qu8),
    row<Plain<std::int32_t>>(DType::qi32),
    row<Plain<std::uint8_t>>(DType::qu4x2),
    row<Plain<std::uint8_t>>(DType::qu2x4),
    row<Plain<std::uint8_t>>(DType::bits1x8),
    row<Plain<std::uint8_t>>(DType::bits2x4),
    row<Plain<std::uint8_t>>(DType::bits4x2),
    row<Plain<std::uint8_t>>(DType::bits8),
    row<Plain<std::uint16_t>>(DType::bits16),
};

constexpr DType kOrder[] = {
#define ASSAY_DTYPE(id, name, bits, kind, torch, storage_class) DType::id,
#include "assay/dtypes.def"
#undef ASSAY_DTYPE
};

constexpr bool follows_dtypes_def() {
  if (std::size(kDecoders) != std::size(kOrder)) return false;
  for (std::size_t i = 0; i < std::size(kOrder); ++i)
    if (kDecoders[i].dtype != kOrder[i]) return false;
  return true;
}
static_assert(follows_dtypes_def(), "a dtype lacks its row, or stands out of order");

template <class Unit>
void swap_all(std::byte* p, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i, p += sizeof(Unit)) store_le(p, load_be<Unit>(p));
}

}  // namespace

const Decoder& decoder(DType dtype) { return kDecoders[static_cast<std::size_t>(dtype)]; }

void unpack(const std::byte* packed, std::uint64_t at, std::uint64_t step, unsigned bits, std::size_t n, std::byte* out) {
  const unsigned mask = (1u << bits) - 1;
  for (std::size_t i = 0; i < n; ++i, at += step) {
    const std::byte* p = packed + at / 8;
    const unsigned shift = static_cast<unsigned>(at % 8);
    unsigned window = std::to_integer<unsigned>(p[0]);
    if (shift + bits > 8) window |= std::to_integer<unsigned>(p[1]) << 8;
    out[i] = static_cast<std::byte>(window >> shift & mask);
  }
}

void swap_units(std::span<std::byte> bytes, unsigned unit) {
  switch (unit) {
    case 2: return swap_all<std::uint16_t>(bytes.data(), bytes.size() / 2);
    case 4: return swap_all<std::uint32_t>(bytes.data(), bytes.size() / 4);
    case 8: return swap_all<std::uint64_t>(bytes.data(), bytes.size() / 8);
    default: return;
  }
}

}  // namespace assay::values
