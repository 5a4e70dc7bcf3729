// SPDX-License-Identifier: Apache-2.0
// Many bytes at a time to the end of what is printable ASCII without escapes, as nearly all names are.
#pragma once

#include <bit>
#include <cstdint>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/endian.hpp"

namespace assay {

/// The first byte in [p, end) that is `stop`, a backslash, a control character, or beyond ASCII; `end` when there is none.
inline const char* plain_text_end(const char* p, const char* end, char stop) {
#ifdef __SSE2__
  const auto odd = [stops = _mm_set1_epi8(stop)](const char* at) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    const __m128i escapes = _mm_or_si128(_mm_cmpeq_epi8(bytes, stops), _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\')));
    // Signed: what is beyond ASCII is below every control character.
    const __m128i others = _mm_or_si128(_mm_cmplt_epi8(bytes, _mm_set1_epi8(0x20)), _mm_cmpeq_epi8(bytes, _mm_set1_epi8(0x7f)));
    return static_cast<unsigned>(_mm_movemask_epi8(_mm_or_si128(escapes, others)));
  };
  const bool large = end - p >= 16;
  for (; end - p >= 16; p += 16)
    if (const unsigned found = odd(p)) return p + std::countr_zero(found);
  if (large && p != end) {  // the last step looks at some bytes again
    const unsigned found = odd(end - 16);
    return found != 0 ? end - 16 + std::countr_zero(found) : end;
  }
#endif
  constexpr auto repeated = [](unsigned char c) { return 0x0101010101010101u * std::uint64_t{c}; };
  // High bits set where a byte is zero; exact for the lowest such byte.
  constexpr auto zeros = [](std::uint64_t word) { return (word - 0x0101010101010101u) & ~word; };
  for (; end - p >= 8; p += 8) {
    const auto word = load_le<std::uint64_t>(reinterpret_cast<const std::byte*>(p));
    const std::uint64_t control = (word - repeated(0x20)) & ~word;
    const std::uint64_t escapes = zeros(word ^ repeated(static_cast<unsigned char>(stop))) | zeros(word ^ repeated('\\'));
    const std::uint64_t found = (escapes | zeros(word ^ repeated(0x7f)) | control | word) & repeated(0x80);
    if (found != 0) return p + std::countr_zero(found) / 8;
  }
  for (; p != end; ++p) {
    const auto c = static_cast<unsigned char>(*p);
    if (*p == stop || c == '\\' || c < 0x20 || c >= 0x7f) break;
  }
  return p;
}

}  // namespace assay
