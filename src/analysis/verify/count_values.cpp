// SPDX-License-Identifier: Apache-2.0
// An element is told by its bits: without its sign it is zero, or compares with the code of infinity.
#include <algorithm>
#include <array>
#include <cstring>

#include "analysis/verify/pass.hpp"
#include "base/endian.hpp"
#include "values/decode.hpp"

namespace assay::analysis {

namespace {

/// Codes of an IEEE kind. Sums of a short stretch are kept in the code's own width, so that the loop works on whole vectors.
template <class Code, Code kInfinity>
ValueCounts count_ieee(const std::byte* bytes, std::uint64_t n) {
  constexpr Code kMagnitude = static_cast<Code>(static_cast<Code>(~Code{0}) >> 1);
  constexpr std::uint64_t kStretch = 64;
  ValueCounts counts;
  for (std::uint64_t at = 0; at < n; at += kStretch) {
    const std::uint64_t m = std::min(kStretch, n - at);
    Code codes[kStretch];
    std::memcpy(codes, bytes + at * sizeof(Code), static_cast<std::size_t>(m) * sizeof(Code));
    Code zeros = 0, special = 0;
    for (std::uint64_t i = 0; i < m; ++i) {
      const Code magnitude = codes[i] & kMagnitude;
      zeros = static_cast<Code>(zeros + (magnitude == 0));
      special = static_cast<Code>(special + (magnitude >= kInfinity));
    }
    counts.zeros += zeros;
    if (special == 0) continue;  // nearly always
    for (std::uint64_t i = 0; i < m; ++i) {
      const Code magnitude = codes[i] & kMagnitude;
      if (magnitude > kInfinity) ++counts.nan;
      else if (magnitude == kInfinity) ++(codes[i] == magnitude ? counts.pos_inf : counts.neg_inf);
    }
  }
  return counts;
}

/// Integers, and bits of whole bytes.
template <class Code>
ValueCounts count_zeros(const std::byte* bytes, std::uint64_t n) {
  ValueCounts counts;
  for (std::uint64_t i = 0; i < n; ++i) {
    Code code;
    std::memcpy(&code, bytes + i * sizeof(Code), sizeof(Code));
    counts.zeros += code == 0;
  }
  return counts;
}

/// Eight bits: how often each code occurs says it all.
ValueCounts count_bytes(DType dtype, const std::byte* bytes, std::uint64_t n) {
  std::array<std::uint64_t, 256> times{};
  for (std::uint64_t i = 0; i < n; ++i) ++times[std::to_integer<std::size_t>(bytes[i])];
  ValueCounts counts;
  for (std::size_t code = 0; code < times.size(); ++code) {
    if (times[code] == 0) continue;
    const auto byte = static_cast<std::byte>(code);
    double value = 0;
    values::decoder(dtype).to_f64(&byte, 1, &value);
    if (value != value) counts.nan += times[code];
    else if (value == 0) counts.zeros += times[code];
    else if (value - value != 0) (value > 0 ? counts.pos_inf : counts.neg_inf) += times[code];
  }
  return counts;
}

}  // namespace

ValueCounts count_values(DType dtype, const std::byte* bytes, std::uint64_t n) {
  switch (dtype) {
    case DType::f64: return count_ieee<std::uint64_t, 0x7ff0000000000000>(bytes, n);
    case DType::f32: return count_ieee<std::uint32_t, 0x7f800000>(bytes, n);
    case DType::f16: return count_ieee<std::uint16_t, 0x7c00>(bytes, n);
    case DType::bf16: return count_ieee<std::uint16_t, 0x7f80>(bytes, n);
    case DType::c128: return count_ieee<std::uint64_t, 0x7ff0000000000000>(bytes, 2 * n);
    case DType::c64: return count_ieee<std::uint32_t, 0x7f800000>(bytes, 2 * n);
    case DType::c32: return count_ieee<std::uint16_t, 0x7c00>(bytes, 2 * n);
    case DType::bc32: return count_ieee<std::uint16_t, 0x7f80>(bytes, 2 * n);
    default: break;
  }
  switch (dtype_bits(dtype)) {
    case 64: return count_zeros<std::uint64_t>(bytes, n);
    case 32: return count_zeros<std::uint32_t>(bytes, n);
    case 16: return count_zeros<std::uint16_t>(bytes, n);
    default: return count_bytes(dtype, bytes, n);
  }
}

namespace {

/// A matrix over the field of two elements, a column a word.
using Matrix = std::array<std::uint32_t, 32>;

std::uint32_t times(const Matrix& matrix, std::uint32_t vector) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; vector != 0; vector >>= 1, ++i)
    if (vector & 1) sum ^= matrix[i];
  return sum;
}

constexpr Matrix squared(const Matrix& matrix) {
  Matrix square{};
  for (std::size_t i = 0; i < square.size(); ++i) {
    std::uint32_t sum = 0, vector = matrix[i];
    for (std::size_t j = 0; vector != 0; vector >>= 1, ++j)
      if (vector & 1) sum ^= matrix[j];
    square[i] = sum;
  }
  return square;
}

/// What one further zero byte makes of a CRC.
constexpr Matrix make_zero() {
  Matrix bit{};
  bit[0] = 0xedb88320u;
  for (std::size_t i = 1; i < bit.size(); ++i) bit[i] = 1u << (i - 1);
  return squared(squared(squared(bit)));
}
constexpr Matrix kZero = make_zero();

}  // namespace

std::uint32_t join_crc32(std::uint32_t first, std::uint32_t second, std::uint64_t length) {
  Matrix zeros = kZero;  // 1, 2, 4 … of them
  for (; length != 0; length >>= 1, zeros = squared(zeros))
    if (length & 1) first = times(zeros, first);
  return first ^ second;
}

}  // namespace assay::analysis
