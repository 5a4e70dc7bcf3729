// SPDX-License-Identifier: Apache-2.0
// From the raw codes of each dtype to numbers: one table, a row per dtype.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "assay/dtype.hpp"

namespace assay::values {

/// How the codes of one dtype are read. A complex element is two reals, its real part first; every other element is one.
/// The functions take `n` reals as unaligned little-endian codes; sub-byte codes have been unpacked to a byte each.
struct Decoder {
  DType dtype;
  std::uint8_t raw_size;  ///< bytes of one unpacked element; 0 where the dtype has no numbers
  std::uint8_t reals;     ///< in one element: 1, or 2 for complex kinds
  double least_normal;    ///< smaller magnitudes but 0 are subnormal; 0 where the dtype has no subnormals
  void (*to_f64)(const std::byte* codes, std::size_t n, double* out);        ///< exact but for 64-bit integers beyond 2^53
  void (*to_f32)(const std::byte* codes, std::size_t n, float* out);         ///< rounded once, to nearest
  void (*to_i64)(const std::byte* codes, std::size_t n, std::int64_t* out);  ///< U64 as its two's complement; null for reals

  /// Bytes of the unit that a big-endian file reverses.
  unsigned swap_unit() const { return raw_size / reals; }
};

/// The row of a dtype; its functions are null where the dtype has no numbers.
const Decoder& decoder(DType dtype);

/// Unpacks `n` elements of `bits` < 8 bits each to a byte each, element i from bits [at + i*step, at + i*step + bits) counted from
/// the least significant bit of packed[0]. For F4 that is "low nibble first". No document orders the bits of the F6 kinds;
/// this is the order of a little-endian bit string, the one F4 has too. Reads only bytes that hold a bit it needs.
void unpack(const std::byte* packed, std::uint64_t at, std::uint64_t step, unsigned bits, std::size_t n, std::byte* out);

/// Reverses the bytes of every whole `unit` in place.
void swap_units(std::span<std::byte> bytes, unsigned unit);

}  // namespace assay::values
