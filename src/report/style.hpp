// SPDX-License-Identifier: Apache-2.0
// How text may look where it is going. The host decides; the library never asks the environment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace assay::report {

struct Style {
  bool color = false;
  bool unicode = true;
  bool exact_bytes = false;  ///< sizes as plain numbers of bytes
  std::size_t width = 0;     ///< columns; 0 means as wide as the text needs
};

/// What colour says in addition to the words.
enum class Tone : std::uint8_t { plain, strong, faint, good, caution, bad, accent };

/// The escape sequence that begins a tone, "" without colour.
inline std::string_view begin(const Style& style, Tone tone) {
  constexpr std::string_view kCodes[] = {"", "\x1b[1m", "\x1b[2m", "\x1b[32m", "\x1b[33m", "\x1b[1;31m", "\x1b[36m"};
  return style.color ? kCodes[static_cast<std::size_t>(tone)] : "";
}
inline std::string_view end(const Style& style, Tone tone) { return style.color && tone != Tone::plain ? "\x1b[0m" : ""; }

/// `text` in a tone.
inline std::string toned(const Style& style, Tone tone, std::string_view text) {
  if (text.empty()) return "";
  std::string out(begin(style, tone));
  out += text;
  out += end(style, tone);
  return out;
}

/// Signs that have a plain form.
inline std::string_view times_sign(const Style& style) { return style.unicode ? "×" : "x"; }
inline std::string_view ellipsis(const Style& style) { return style.unicode ? "…" : "..."; }
inline std::string_view dot_sign(const Style& style) { return style.unicode ? "·" : "-"; }

}  // namespace assay::report
