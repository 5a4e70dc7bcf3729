// SPDX-License-Identifier: Apache-2.0
// Every code of every kind of up to 16 bits against a reference that knows nothing but the formula, and the wide kinds by hand.
#include "values/decode.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

namespace assay::values {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// The value of a float of 1 + e + m bits by its textbook formula; specials are the caller's.
double textbook(unsigned code, int e, int m, int bias) {
  const unsigned mantissa = code % (1u << m);
  const int exponent = static_cast<int>(code >> m) % (1 << e);
  const bool minus = (code >> (e + m)) % 2 == 1;
  const double magnitude =
      exponent == 0 ? std::ldexp(mantissa, 1 - bias - m) : std::ldexp(1.0 + mantissa / static_cast<double>(1u << m), exponent - bias);
  return minus ? -magnitude : magnitude;
}

double ieee(unsigned code, int e, int m) {
  const int bias = (1 << (e - 1)) - 1;
  const unsigned exponent = (code >> m) % (1u << e), mantissa = code % (1u << m);
  if (exponent != (1u << e) - 1) return textbook(code, e, m, bias);
  if (mantissa != 0) return kNan;
  return code >> (e + m) ? -kInf : kInf;
}

double reference(DType dtype, unsigned code) {
  switch (dtype) {
    case DType::bool_: return code != 0;
    case DType::f4: return textbook(code, 2, 1, 1);
    case DType::f6_e2m3: return textbook(code, 2, 3, 1);
    case DType::f6_e3m2: return textbook(code, 3, 2, 3);
    case DType::f8_e4m3: return code == 0x7f || code == 0xff ? kNan : textbook(code, 4, 3, 7);
    case DType::f8_e5m2: return ieee(code, 5, 2);
    case DType::f8_e4m3fnuz: return code == 0x80 ? kNan : textbook(code, 4, 3, 8);
    case DType::f8_e5m2fnuz: return code == 0x80 ? kNan : textbook(code, 5, 2, 16);
    case DType::f8_e8m0: return code == 0xff ? kNan : std::ldexp(1.0, static_cast<int>(code) - 127);
    case DType::f16: return ieee(code, 5, 10);
    case DType::bf16: return ieee(code, 8, 7);
    case DType::i8:
    case DType::qi8: return code < 128 ? code : code - 256.0;
    case DType::i16: return code < 32768 ? code : code - 65536.0;
    default: return code;
  }
}

bool same(double a, double b) { return std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b); }

std::vector<std::byte> all_codes(unsigned bits) {
  std::vector<std::byte> bytes;
  for (unsigned code = 0; code < 1u << bits; ++code) {
    bytes.push_back(static_cast<std::byte>(code & 0xff));
    if (bits == 16) bytes.push_back(static_cast<std::byte>(code >> 8));
  }
  return bytes;
}

TEST(Decode, EveryCodeOfEveryNarrowKind) {
  int kinds = 0;
  for (int id = 1; id <= static_cast<int>(DType::bits16); ++id) {
    const auto dtype = static_cast<DType>(id);
    const unsigned bits = dtype_bits(dtype);
    if (bits > 16) continue;
    SCOPED_TRACE(std::string(dtype_name(dtype)));
    ++kinds;
    const Decoder& row = decoder(dtype);
    ASSERT_EQ(row.raw_size, bits == 16 ? 2 : 1);
    ASSERT_EQ(row.reals, 1);
    const auto codes = all_codes(bits);
    std::vector<double> wide(1u << bits);
    std::vector<float> narrow(1u << bits);
    row.to_f64(codes.data(), wide.size(), wide.data());
    row.to_f32(codes.data(), narrow.size(), narrow.data());
    for (unsigned code = 0; code < wide.size(); ++code) {
      const double expected = reference(dtype, code);
      ASSERT_TRUE(same(wide[code], expected)) << "code " << code << ": " << wide[code] << ", not " << expected;
      ASSERT_TRUE(same(narrow[code], expected)) << "code " << code << ": " << narrow[code] << ", not " << expected;
    }
    ASSERT_EQ(row.to_i64 != nullptr, dtype_info(dtype).kind != DTypeKind::real);
    if (!row.to_i64) continue;
    std::vector<std::int64_t> integers(1u << bits);
    row.to_i64(codes.data(), integers.size(), integers.data());
    for (unsigned code = 0; code < integers.size(); ++code) ASSERT_EQ(static_cast<double>(integers[code]), reference(dtype, code));
  }
  EXPECT_EQ(kinds, 24);
}

TEST(Decode, LeastNormalIsTheLeastNormal) {
  const struct {
    DType dtype;
    double least;
  } cases[] = {{DType::f4, 1},
               {DType::f6_e2m3, 1},
               {DType::f6_e3m2, 0x1p-2},
               {DType::f8_e4m3, 0x1p-6},
               {DType::f8_e5m2, 0x1p-14},
               {DType::f8_e4m3fnuz, 0x1p-7},
               {DType::f8_e5m2fnuz, 0x1p-15},
               {DType::f8_e8m0, 0},
               {DType::f16, 0x1p-14},
               {DType::bf16, 0x1p-126},
               {DType::f32, 0x1p-126},
               {DType::f64, 0x1p-1022},
               {DType::c32, 0x1p-14},
               {DType::i32, 0}};
  for (const auto& [dtype, least] : cases) EXPECT_EQ(decoder(dtype).least_normal, least) << dtype_name(dtype);
}

template <class Code>
std::vector<std::byte> bytes_of(std::initializer_list<Code> codes) {
  std::vector<std::byte> bytes(codes.size() * sizeof(Code));
  std::memcpy(bytes.data(), codes.begin(), bytes.size());
  return bytes;
}

TEST(Decode, WideIntegersRoundOnceAndKeepTheirBits) {
  const auto codes = bytes_of<std::int64_t>({-1, INT64_MIN, (std::int64_t{1} << 53) + 1, 16777217});
  double wide[4];
  float narrow[4];
  decoder(DType::i64).to_f64(codes.data(), 4, wide);
  decoder(DType::i64).to_f32(codes.data(), 4, narrow);
  EXPECT_EQ(wide[0], -1);
  EXPECT_EQ(wide[1], -0x1p63);
  EXPECT_EQ(wide[2], 0x1p53);
  EXPECT_EQ(narrow[3], 16777216.0f);
  const auto unsigned_codes = bytes_of<std::uint64_t>({UINT64_MAX});
  std::int64_t bits;
  decoder(DType::u64).to_f64(unsigned_codes.data(), 1, wide);
  decoder(DType::u64).to_i64(unsigned_codes.data(), 1, &bits);
  EXPECT_EQ(wide[0], 0x1p64);
  EXPECT_EQ(bits, -1);
  const auto negative = bytes_of<std::int32_t>({-7});
  decoder(DType::qi32).to_i64(negative.data(), 1, &bits);
  EXPECT_EQ(bits, -7);
  decoder(DType::u32).to_i64(negative.data(), 1, &bits);
  EXPECT_EQ(bits, 4294967289);
}

TEST(Decode, ComplexIsTwoReals) {
  const auto codes = bytes_of<std::uint16_t>({0x3c00, 0xc000});
  double parts[2];
  EXPECT_EQ(decoder(DType::c32).reals, 2);
  EXPECT_EQ(decoder(DType::c32).raw_size, 4);
  EXPECT_EQ(decoder(DType::c128).swap_unit(), 8u);
  decoder(DType::c32).to_f64(codes.data(), 2, parts);
  EXPECT_EQ(parts[0], 1);
  EXPECT_EQ(parts[1], -2);
  const auto brain = bytes_of<std::uint16_t>({0x3f80, 0xc040});
  decoder(DType::bc32).to_f64(brain.data(), 2, parts);
  EXPECT_EQ(parts[0], 1);
  EXPECT_EQ(parts[1], -3);
}

TEST(Decode, UnknownHasNoNumbers) {
  EXPECT_EQ(decoder(DType::unknown).raw_size, 0);
  EXPECT_EQ(decoder(DType::unknown).to_f64, nullptr);
}

TEST(Decode, UnpackTakesTheLowBitsFirst) {
  const std::byte nibbles[] = {std::byte{0x21}, std::byte{0x43}};
  std::byte out[4];
  unpack(nibbles, 0, 4, 4, 4, out);
  for (unsigned i = 0; i < 4; ++i) EXPECT_EQ(std::to_integer<unsigned>(out[i]), i + 1);
  unpack(nibbles, 12, 0, 4, 2, out);
  EXPECT_EQ(std::to_integer<unsigned>(out[1]), 4u);
  // 6-bit codes 1, 2, 3, 63 as one little-endian string of 24 bits: 111111 000011 000010 000001.
  const std::byte sixes[] = {std::byte{0x81}, std::byte{0x30}, std::byte{0xfc}};
  unpack(sixes, 0, 6, 6, 4, out);
  EXPECT_EQ(std::to_integer<unsigned>(out[0]), 1u);
  EXPECT_EQ(std::to_integer<unsigned>(out[1]), 2u);
  EXPECT_EQ(std::to_integer<unsigned>(out[2]), 3u);
  EXPECT_EQ(std::to_integer<unsigned>(out[3]), 63u);
}

TEST(Decode, SwapUnitsReversesEachUnit) {
  std::byte bytes[8];
  for (unsigned i = 0; i < 8; ++i) bytes[i] = static_cast<std::byte>(i);
  swap_units(bytes, 2);
  EXPECT_EQ(std::to_integer<unsigned>(bytes[0]), 1u);
  swap_units(bytes, 2);
  swap_units(bytes, 4);
  EXPECT_EQ(std::to_integer<unsigned>(bytes[0]), 3u);
  EXPECT_EQ(std::to_integer<unsigned>(bytes[7]), 4u);
  swap_units(bytes, 4);
  swap_units(bytes, 8);
  EXPECT_EQ(std::to_integer<unsigned>(bytes[0]), 7u);
  swap_units(bytes, 1);
  EXPECT_EQ(std::to_integer<unsigned>(bytes[0]), 7u);
}

}  // namespace
}  // namespace assay::values
