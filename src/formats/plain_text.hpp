// SPDX-License-Identifier: Apache-2.0
// Eight bytes at a time to the end of a JSON string that is printable ASCII without escapes, as nearly all names are.
#pragma once

#include <bit>
#include <cstdint>

#include "base/endian.hpp"

namespace assay::formats {

/// The first byte in [p, end) that is a quote, a backslash, a control character, or beyond ASCII; `end` when there is none.
inline const char* plain_text_end(const char* p, const char* end) {
  constexpr auto repeated = [](unsigned char c) { return 0x0101010101010101u * std::uint64_t{c}; };
  // High bits set where a byte is zero; exact for the lowest such byte.
  constexpr auto zeros = [](std::uint64_t word) { return (word - 0x0101010101010101u) & ~word; };
  for (; end - p >= 8; p += 8) {
    const auto word = load_le<std::uint64_t>(reinterpret_cast<const std::byte*>(p));
    const std::uint64_t control = (word - repeated(0x20)) & ~word;
    const std::uint64_t stop =
        (zeros(word ^ repeated('"')) | zeros(word ^ repeated('\\')) | zeros(word ^ repeated(0x7f)) | control | word) & repeated(0x80);
    if (stop != 0) return p + std::countr_zero(stop) / 8;
  }
  for (; p != end; ++p) {
    const auto c = static_cast<unsigned char>(*p);
    if (c == '"' || c == '\\' || c < 0x20 || c >= 0x7f) break;
  }
  return p;
}

}  // namespace assay::formats
