// SPDX-License-Identifier: Apache-2.0
// Equality of the short texts that headers are full of, in place: a call to memcmp costs more than comparing them does.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/endian.hpp"

namespace assay {

/// Whether `n` bytes are the same.
inline bool same_text(const char* a, const char* b, std::size_t n) {
  const auto differ = [a, b]<class Word>(std::size_t i, Word) {
    return load_le<Word>(reinterpret_cast<const std::byte*>(a + i)) != load_le<Word>(reinterpret_cast<const std::byte*>(b + i));
  };
  if (n >= 8) {
    for (std::size_t i = 0; i + 8 < n; i += 8)
      if (differ(i, std::uint64_t{})) return false;
    return !differ(n - 8, std::uint64_t{});  // some bytes again
  }
  if (n >= 4) return !differ(0, std::uint32_t{}) && !differ(n - 4, std::uint32_t{});
  for (std::size_t i = 0; i < n; ++i)
    if (a[i] != b[i]) return false;
  return true;
}

inline bool same_text(std::string_view a, std::string_view b) { return a.size() == b.size() && same_text(a.data(), b.data(), a.size()); }
inline bool begins_with(std::string_view text, std::string_view start) {
  return text.size() >= start.size() && same_text(text.data(), start.data(), start.size());
}

}  // namespace assay
