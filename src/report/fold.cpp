// SPDX-License-Identifier: Apache-2.0
#include "report/fold.hpp"

#include <algorithm>

#include "report/units.hpp"

namespace assay::report {

namespace {

/// Bytes of a tone's mark ("\x1b[1;31m") at text[at], 0 where none stands, npos for what is no tone.
std::size_t mark_at(std::string_view text, std::size_t at) {
  if (text[at] != '\x1b') return 0;
  if (at + 1 >= text.size() || text[at + 1] != '[') return std::string_view::npos;
  std::size_t end = at + 2;
  while (end < text.size() && ((text[end] >= '0' && text[end] <= '9') || text[end] == ';')) ++end;
  return end < text.size() && text[end] == 'm' ? end + 1 - at : std::string_view::npos;
}

/// Where the text behind a label begins: behind the last run of blanks near the front.
std::size_t indent_of(std::string_view plain) {
  constexpr std::size_t kNear = 24;
  const std::size_t first = std::min(plain.find_first_not_of(' '), plain.size());
  std::size_t indent = first + 2;
  for (std::size_t at = plain.find("  ", first); at != std::string_view::npos; at = plain.find("  ", at)) {
    at = plain.find_first_not_of(' ', at);
    if (at == std::string_view::npos) break;
    const std::size_t column = display_width(plain.substr(0, at));
    if (column > kNear) break;
    indent = column;
  }
  return indent;
}

}  // namespace

void Folder::line(Writer& out, std::string_view text) const {
  if (text.size() <= width_ || width_ == 0) return out.put(text);
  std::string plain;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t mark = mark_at(text, i);
    if (mark == std::string_view::npos) return out.put(text);
    if (mark == 0) plain += text[i++];
    i += mark;
  }
  if (display_width(plain) <= width_) return out.put(text);
  const std::size_t indent = std::min(indent_of(plain), width_ / 2);
  std::size_t begin = 0, blank = 0, used = 0;  // of the line that is made; the last blank that it may be broken at
  const auto visible = [&](std::size_t from, std::size_t to) {
    std::string part;
    for (std::size_t i = from; i < to;) {
      const std::size_t mark = mark_at(text, i);
      if (mark == 0) part += text[i++];
      i += mark;
    }
    return display_width(part);
  };
  const std::size_t first = std::min(text.find_first_not_of(' '), text.size());
  for (std::size_t at = first; at <= text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    if (blank > begin && used + visible(begin, end) > width_) {
      out.put(text.substr(begin, blank - begin));
      out.put('\n');
      out.repeat(' ', indent);
      begin = std::min(text.find_first_not_of(' ', blank), text.size());
      used = indent;
      if (begin == text.size()) return;
    }
    if (end == text.size()) break;
    blank = end;
    at = std::min(text.find_first_not_of(' ', end), text.size());
  }
  out.put(text.substr(begin));
}

void Folder::put(Writer& out, std::string_view text) {
  if (width_ == 0) return out.put(text);
  while (true) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) break;
    if (waiting_.empty()) {
      line(out, text.substr(0, end));
    } else {
      waiting_ += text.substr(0, end);
      line(out, waiting_);
      waiting_.clear();
    }
    out.put('\n');
    text.remove_prefix(end + 1);
  }
  waiting_ += text;
}

void Folder::finish(Writer& out) {
  if (waiting_.empty()) return;
  line(out, waiting_);
  waiting_.clear();
}

}  // namespace assay::report
