// SPDX-License-Identifier: Apache-2.0
// Arithmetic on numbers that a file claims: every operation says when it cannot be right.
#pragma once

#include <cstdint>
#include <optional>

namespace assay {

inline std::optional<std::uint64_t> checked_add(std::uint64_t a, std::uint64_t b) {
  std::uint64_t sum;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

inline std::optional<std::uint64_t> checked_mul(std::uint64_t a, std::uint64_t b) {
  std::uint64_t product;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

/// True when [offset, offset + n) lies within `size`; never forms offset + n.
inline bool within(std::uint64_t offset, std::uint64_t n, std::uint64_t size) { return offset <= size && n <= size - offset; }

/// bits -> bytes, rounded up, without overflow.
inline std::uint64_t bits_to_bytes(std::uint64_t bits) { return bits / 8 + (bits % 8 != 0); }

}  // namespace assay
