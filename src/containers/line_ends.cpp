// SPDX-License-Identifier: Apache-2.0
#include "containers/line_ends.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace assay {

std::optional<std::string> converted_line_ends(ByteView head, ByteView tail) {
  constexpr std::uint64_t kEnough = 4;
  std::uint64_t feeds = 0;
  bool binary = false;
  const ByteView front =
      head.slice(0, static_cast<std::size_t>(std::min<std::uint64_t>(head.size(), tail.offset())));  // what the tail has not
  for (const ByteView part : {front, tail}) {
    const std::string_view text = part.text();
    binary = binary || text.find('\0') != std::string_view::npos;
    for (std::size_t at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at + 1)) {
      // What stands before the first byte of the tail is not seen.
      if (at == 0) continue;
      if (text[at - 1] != '\r') return std::nullopt;
      ++feeds;
    }
  }
  if (!binary || feeds < kEnough) return std::nullopt;
  return concat("the file was taken for text: each of the ", feeds,
                " line feeds at its ends has a carriage return before it that does not belong there");
}

}  // namespace assay
