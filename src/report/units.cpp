// SPDX-License-Identifier: Apache-2.0
#include "report/units.hpp"

#include <algorithm>
#include <cmath>

#include "base/plain_text.hpp"
#include "base/real_text.hpp"
#include "base/text.hpp"
#include "model/naming.hpp"

namespace assay::report {
namespace {

/// Three significant digits without trailing zeros; all digits of what is 1000 or more.
std::string three_digits(double value) {
  char text[kRealText];
  const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  std::size_t n = static_cast<std::size_t>(write_fixed(text, value, decimals) - text);
  if (decimals > 0) {
    while (text[n - 1] == '0') --n;
    if (text[n - 1] == '.') --n;
  }
  return std::string(text, n);
}

std::string scaled(std::uint64_t value, double step, std::span<const std::string_view> units, bool space_before_first) {
  double scaled_value = static_cast<double>(value);
  std::size_t unit = 0;
  // Rounding must not show "1024 KiB" or "1000 K".
  while (unit + 1 < units.size() && scaled_value >= step - 0.5) scaled_value /= step, ++unit;
  if (unit == 0) return space_before_first ? concat(value, " ", units[0]) : concat(value, units[0]);
  return concat(three_digits(scaled_value), " ", units[unit]);
}

struct Range {
  std::uint32_t first, last;
};
constexpr Range kWide[] = {{0x1100, 0x115f},   {0x2e80, 0x303e},   {0x3041, 0x33ff},   {0x3400, 0x4dbf},
                           {0x4e00, 0x9fff},   {0xa000, 0xa4cf},   {0xa960, 0xa97f},   {0xac00, 0xd7a3},
                           {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},   {0xffe0, 0xffe6},
                           {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1faff}, {0x20000, 0x3fffd}};
constexpr Range kNarrowless[] = {{0x300, 0x36f},   {0x483, 0x489},   {0x591, 0x5bd},   {0x610, 0x61a},
                                 {0x64b, 0x65f},   {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff}, {0x200b, 0x200f},
                                 {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}, {0xe0100, 0xe01ef}};

bool in_any(std::span<const Range> ranges, std::uint32_t c) {
  return std::ranges::any_of(ranges, [c](const Range& range) { return c >= range.first && c <= range.last; });
}

struct Character {
  std::uint32_t code;
  std::size_t bytes;
};

/// The character at the front of printable text; a stray byte counts as one.
Character front(std::string_view text) {
  const auto at = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])); };
  const std::uint32_t lead = at(0);
  const std::size_t n = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  if (n == 1 || lead < 0xc0 || n > text.size()) return {lead, 1};
  std::uint32_t code = lead & (0x7fu >> n);
  for (std::size_t i = 1; i < n; ++i) code = code << 6 | (at(i) & 0x3f);
  return {code, n};
}

std::size_t columns(std::uint32_t code) { return code < 0x300 ? 1 : in_any(kNarrowless, code) ? 0 : in_any(kWide, code) ? 2 : 1; }

}  // namespace

std::string bytes_text(const Style& style, std::uint64_t bytes) {
  if (style.exact_bytes) return decimal(bytes);
  constexpr std::string_view kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  return scaled(bytes, 1024, kUnits, true);
}

std::string count_text(std::uint64_t count) {
  constexpr std::string_view kUnits[] = {"", "K", "M", "B", "T"};
  return scaled(count, 1000, kUnits, false);
}

std::string share_text(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return "";
  if (part >= whole) return "100 %";
  const double percent = 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  if (part > 0 && percent < 0.005) return "< 0.01 %";
  // What is not the whole must not read as the whole.
  if (percent > 99.5) {
    const auto hundredths = std::min<std::uint64_t>(static_cast<std::uint64_t>(percent * 100), 9999) - 9900;
    return concat("99.", hundredths, " %");
  }
  return concat(three_digits(percent), " %");
}

std::string short_number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
  char text[kRealText];
  return std::string(text, write_significant(text, value, 4));
}

std::string shape_text(const Style& style, std::span<const std::uint64_t> shape) {
  if (shape.empty()) return "scalar";
  std::string out;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) out += times_sign(style);
    out += decimal(shape[i]);
  }
  return out;
}

std::string shape_word(std::span<const std::uint64_t> shape) { return shape_text(Style{.unicode = false}, shape); }

std::string bar(const Style& style, std::uint64_t part, std::uint64_t whole, std::size_t cells) {
  constexpr std::string_view kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  if (whole == 0 || part == 0) return "";
  const double filled = std::min(1.0, static_cast<double>(part) / static_cast<double>(whole)) * static_cast<double>(cells);
  if (!style.unicode) return std::string(static_cast<std::size_t>(std::lround(filled)), '#');
  const auto eighths = static_cast<std::size_t>(std::lround(filled * 8));
  std::string out;
  for (std::size_t i = 0; i < eighths / 8; ++i) out += "█";
  out += kEighths[eighths % 8];
  return out;
}

std::size_t display_width(std::string_view text) {
  unsigned char any = 0;
  for (const char c : text) any |= static_cast<unsigned char>(c);
  if (any < 0x80) return text.size();
  std::size_t width = 0;
  for (std::size_t i = 0; i < text.size();) {
    if (static_cast<unsigned char>(text[i]) < 0x80) {
      ++width, ++i;
      continue;
    }
    const Character c = front(text.substr(i));
    width += columns(c.code);
    i += c.bytes;
  }
  return width;
}

namespace {

/// Bytes of the longest front part of at most `width` columns.
std::size_t fitting_front(std::string_view text, std::size_t width) {
  std::size_t n = 0, used = 0;
  while (n < text.size()) {
    const Character c = front(text.substr(n));
    if (used + columns(c.code) > width) break;
    used += columns(c.code), n += c.bytes;
  }
  return n;
}

}  // namespace

std::string clipped(const Style& style, std::string_view text, std::size_t width) {
  if (text.size() <= width || display_width(text) <= width) return std::string(text);
  const std::size_t dots = display_width(ellipsis(style));
  if (width <= dots) return std::string(text.substr(0, fitting_front(text, width)));
  return concat(text.substr(0, fitting_front(text, width - dots)), ellipsis(style));
}

std::string shortened(const Style& style, std::string_view text, std::size_t width) {
  // Every byte is at most one column, so most texts need no measuring.
  if (text.size() <= width || display_width(text) <= width) return std::string(text);
  const std::size_t dots = display_width(ellipsis(style));
  if (width <= dots) return clipped(style, text, width);
  const std::size_t room = width - dots;
  const std::size_t head = fitting_front(text, room / 3);  // the end of a tensor's name says more than its beginning
  const std::size_t used = display_width(text.substr(0, head));
  std::size_t tail = text.size(), tail_used = 0;
  while (tail > head) {
    std::size_t begin = tail - 1;
    while (begin > head && (static_cast<unsigned char>(text[begin]) & 0xc0) == 0x80) --begin;
    const std::size_t c = columns(front(text.substr(begin)).code);
    if (used + tail_used + c > room) break;
    tail_used += c, tail = begin;
  }
  return concat(text.substr(0, head), ellipsis(style), text.substr(tail));
}

std::string shortened_name(const Style& style, std::string_view name, std::size_t width) {
  constexpr std::size_t kLeastTail = 6;
  const std::size_t dots = display_width(ellipsis(style));
  if (name.size() <= width || display_width(name) != name.size()) return shortened(style, name, width);
  std::string numbers;  // those that the tail does not show: of layers, of experts
  for (std::size_t begin = 0; begin < name.size();) {
    const std::string_view component = name.substr(begin, name.find('.', begin) - begin);
    const std::size_t lead = numbers.empty() ? dots : numbers.size() + 2 * dots;
    if (lead + kLeastTail > width) break;
    std::string_view tail = name.substr(name.size() - (width - lead));
    const bool number = model::is_number(component);
    const bool shown = tail.data() <= name.data() + begin;
    // Whole components: from the first dot in the tail, or from the number itself.
    if (shown && numbers.empty() && number) {
      const std::size_t dot = name.find('.', name.size() - tail.size());
      return concat(ellipsis(style), name.substr(dot < begin ? dot + 1 : begin));
    }
    if (shown && !numbers.empty()) {
      // Whole components where two are left.
      const std::size_t dot = tail.find('.');
      if (dot != std::string_view::npos && tail.find('.', dot + 1) != std::string_view::npos) tail.remove_prefix(dot + 1);
      return concat(ellipsis(style), numbers, ellipsis(style), tail);
    }
    if (number) numbers += concat(numbers.empty() ? "" : ".", component);
    begin += component.size() + 1;
  }
  return shortened(style, name, width);
}

bool is_plain(std::string_view name) {
  const char* end = name.data() + name.size();
  return !name.empty() && plain_text_end(name.data(), end, '\\') == end;
}

std::string shown_name(const Style& style, std::string_view name) {
  if (name.empty()) return "''";
  if (is_plain(name)) return std::string(name);
  return within_ascii(style, escape(name));
}

std::string within_ascii(const Style& style, std::string safe) {
  if (style.unicode || std::ranges::none_of(safe, [](char c) { return static_cast<unsigned char>(c) >= 0x80; })) return safe;
  std::string out;
  for (std::string_view rest = safe; !rest.empty();) {
    const Character c = front(rest);
    if (c.code < 0x80) out += static_cast<char>(c.code);
    else out += concat("\\u{", hex(c.code).substr(2), "}");
    rest.remove_prefix(c.bytes);
  }
  return out;
}

}  // namespace assay::report
