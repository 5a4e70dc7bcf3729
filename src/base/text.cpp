// SPDX-License-Identifier: Apache-2.0
#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>

namespace assay {

namespace {

constexpr bool digit(char c) { return c >= '0' && c <= '9'; }
constexpr std::uint8_t byte_of(char c) { return static_cast<std::uint8_t>(c); }

std::uint64_t load8(const char* p) {
  std::uint64_t word;
  std::memcpy(&word, p, sizeof word);
  return word;
}

/// One UTF-8 sequence; a length of 0 when the bytes are none.
struct Decoded {
  std::uint32_t code_point = 0;
  std::size_t length = 0;
};

/// The sequence that starts at text[at]. Precondition: at < text.size().
Decoded decode(std::string_view text, std::size_t at) {
  const std::uint32_t lead = byte_of(text[at]);
  if (lead < 0x80) return {lead, 1};
  if (lead < 0xc2 || lead > 0xf4) return {};  // a continuation byte, an overlong form, or beyond U+10FFFF
  const std::size_t length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  if (text.size() - at < length) return {};
  std::uint32_t code_point = lead & (0x7fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    const std::uint32_t next = byte_of(text[at + i]);
    if ((next & 0xc0) != 0x80) return {};
    code_point = code_point << 6 | (next & 0x3f);
  }
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code_point < kLeast[length] || code_point > 0x10ffff || (code_point >= 0xd800 && code_point <= 0xdfff)) return {};
  return {code_point, length};
}

/// Bytes from `at` to the next character; a byte that is not UTF-8 counts as one.
std::size_t character_length(std::string_view text, std::size_t at) { return std::max<std::size_t>(decode(text, at).length, 1); }

// Code points that print nothing, or that change how what is beside them prints.
struct CodePointRange {
  std::uint32_t first, last;
};
constexpr CodePointRange kUnprintable[] = {
    {0x0080, 0x009f},     // C1 controls: some terminals obey them
    {0x00ad, 0x00ad},     // soft hyphen
    {0x061c, 0x061c},     // Arabic letter mark
    {0x180e, 0x180e},     // Mongolian vowel separator
    {0x200b, 0x200f},     // zero width, direction marks
    {0x2028, 0x202e},     // line and paragraph separators, direction embeddings and overrides
    {0x2060, 0x206f},     // invisible operators, direction isolates
    {0xe000, 0xf8ff},     // private use
    {0xfeff, 0xfeff},     // byte order mark
    {0xfff0, 0xfffb},     // interlinear annotation
    {0xfffe, 0xffff},     // not characters
    {0xe0000, 0xe0fff},   // tags
    {0xf0000, 0x10ffff},  // private use
};

bool printable(std::uint32_t code_point) {
  return std::none_of(std::begin(kUnprintable), std::end(kUnprintable),
                      [=](const CodePointRange& range) { return code_point >= range.first && code_point <= range.last; });
}

constexpr std::array<bool, 256> kPlain = [] {
  std::array<bool, 256> plain{};
  for (std::size_t c = 0x20; c < 0x7f; ++c) plain[c] = c != '\\';
  return plain;
}();

std::size_t plain_run(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && kPlain[byte_of(text[end])]) ++end;
  return end - at;
}

void append_hex(std::string& out, std::uint32_t value, int digits) {
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) out += "0123456789abcdef"[value >> shift & 15];
}

void append_escaped_byte(std::string& out, char c) {
  switch (c) {
    case '\0': out += "\\0"; return;
    case '\t': out += "\\t"; return;
    case '\n': out += "\\n"; return;
    case '\r': out += "\\r"; return;
    case '\\': out += "\\\\"; return;
    default: out += "\\x"; append_hex(out, byte_of(c), 2);
  }
}

/// Appends the character at text[at], printable or escaped; returns how many bytes it was.
std::size_t append_escaped(std::string& out, std::string_view text, std::size_t at) {
  const Decoded character = decode(text, at);
  if (character.length < 2) {
    if (kPlain[byte_of(text[at])]) out += text[at];
    else append_escaped_byte(out, text[at]);
    return 1;
  }
  if (printable(character.code_point)) out += text.substr(at, character.length);
  else if (character.code_point <= 0xffff) out += "\\u", append_hex(out, character.code_point, 4);
  else out += "\\U", append_hex(out, character.code_point, 8);
  return character.length;
}

constexpr std::string_view kEllipsis = "…";

}  // namespace

std::uint32_t unprintable_at(std::string_view text, std::size_t at) {
  const Decoded character = decode(text, at);
  return character.length < 2 || printable(character.code_point) ? 0 : character.code_point;
}

std::string escape(std::string_view name) {
  std::string out;
  out.reserve(name.size());
  for (std::size_t at = 0; at < name.size();) {
    const std::size_t run = plain_run(name, at);
    out.append(name, at, run);
    at += run;
    if (at < name.size()) at += append_escaped(out, name, at);
  }
  return out;
}

std::string escape(std::string_view name, std::size_t max_bytes) {
  std::string out;
  std::size_t fits = 0;  // the longest whole characters that leave room for the ellipsis
  for (std::size_t at = 0; at < name.size() && out.size() <= max_bytes;) {
    if (out.size() + kEllipsis.size() <= max_bytes) fits = out.size();
    at += append_escaped(out, name, at);
  }
  if (out.size() <= max_bytes) return out;
  out.resize(fits);
  if (kEllipsis.size() <= max_bytes) out += kEllipsis;
  return out;
}

namespace {
std::string in_quotes(std::string_view escaped) {
  std::string out = "'";
  for (const char c : escaped) {
    if (c == '\'') out += '\\';
    out += c;
  }
  out += '\'';
  return out;
}
}  // namespace

std::string quote(std::string_view name) { return in_quotes(escape(name)); }
std::string quote(std::string_view name, std::size_t max_bytes) { return in_quotes(escape(name, max_bytes)); }

std::string name_list(std::span<const std::string> names, std::size_t most, std::uint64_t count) {
  constexpr std::size_t kLongestName = 100;
  std::string out;
  const std::size_t named = std::min(names.size(), most);
  for (std::size_t i = 0; i < named; ++i) out += concat(i == 0 ? "" : ", ", quote(names[i], kLongestName));
  if (named > 0 && count > named) out += concat(" and ", grouped(count - named), " more");
  return out;
}

namespace {
template <class T>
std::string in_base(T value, int base) {
  char digits[24];
  return {digits, std::to_chars(digits, digits + sizeof digits, value, base).ptr};
}
}  // namespace

std::string decimal(std::uint64_t value) { return in_base(value, 10); }
std::string decimal(std::int64_t value) { return in_base(value, 10); }
std::string hex(std::uint64_t value) { return "0x" + in_base(value, 16); }

std::string grouped(std::uint64_t value) {
  std::string text = decimal(value);
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, 1, ',');
  return text;
}

std::string bracketed(std::span<const std::uint64_t> numbers) {
  std::string out = "[";
  for (const std::uint64_t number : numbers) {
    if (out.size() > 1) out += ", ";
    out += decimal(number);
  }
  return out += ']';
}

std::string counted(std::uint64_t n, std::string_view singular, std::string_view plural) {
  return concat(grouped(n), ' ', n == 1 ? singular : plural);
}

std::size_t first_invalid_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    if (text.size() - at >= 8 && (load8(text.data() + at) & 0x8080'8080'8080'8080) == 0) {
      at += 8;
      continue;
    }
    const std::size_t length = decode(text, at).length;
    if (length == 0) return at;
    at += length;
  }
  return std::string_view::npos;
}

void append_utf8(std::string& out, std::uint32_t code_point) {
  const auto tail = [&](int shift) { out += static_cast<char>(0x80 | (code_point >> shift & 0x3f)); };
  if (code_point < 0x80) {
    out += static_cast<char>(code_point);
  } else if (code_point < 0x800) {
    out += static_cast<char>(0xc0 | code_point >> 6);
    tail(0);
  } else if (code_point < 0x10000) {
    out += static_cast<char>(0xe0 | code_point >> 12);
    tail(6), tail(0);
  } else {
    out += static_cast<char>(0xf0 | code_point >> 18);
    tail(12), tail(6), tail(0);
  }
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string lowered(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), lower);
  return out;
}

bool equals_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return lower(x) == lower(y); });
}

bool starts_with_ignoring_case(std::string_view text, std::string_view prefix) {
  return equals_ignoring_case(text.substr(0, prefix.size()), prefix);
}

std::size_t common_prefix(std::string_view a, std::string_view b) {
  const std::size_t shorter = std::min(a.size(), b.size());
  const auto differing = [&](std::size_t at) { return load8(a.data() + at) ^ load8(b.data() + at); };
  std::size_t i = 0;
  if (shorter >= 8) {
    while (i + 8 < shorter && differing(i) == 0) i += 8;
    i = std::min(i, shorter - 8);                                             // the last step may look at some bytes again
    return i + static_cast<std::size_t>(std::countr_zero(differing(i))) / 8;  // no difference: 64 zeros
  }
  while (i < shorter && a[i] == b[i]) ++i;
  return i;
}

namespace {

/// Cuts the run of digits off the front of `text`; the run is returned without leading zeros.
std::string_view take_number(std::string_view& text) {
  std::size_t end = 0, zeros = 0;
  while (end < text.size() && digit(text[end])) ++end;
  while (zeros < end && text[zeros] == '0') ++zeros;
  const std::string_view number = text.substr(zeros, end - zeros);
  text.remove_prefix(end);
  return number;
}

}  // namespace

bool natural_less(std::string_view a, std::string_view b) {
  std::size_t same = common_prefix(a, b);
  while (same > 0 && digit(a[same - 1])) --same;  // the difference may lie within a number
  std::string_view rest_a = a.substr(same), rest_b = b.substr(same);
  while (!rest_a.empty() && !rest_b.empty()) {
    if (digit(rest_a[0]) && digit(rest_b[0])) {
      const std::string_view number_a = take_number(rest_a), number_b = take_number(rest_b);
      if (number_a.size() != number_b.size()) return number_a.size() < number_b.size();
      if (const int order = number_a.compare(number_b)) return order < 0;
    } else {
      if (rest_a[0] != rest_b[0]) return byte_of(rest_a[0]) < byte_of(rest_b[0]);
      rest_a.remove_prefix(1);
      rest_b.remove_prefix(1);
    }
  }
  if (rest_a.empty() != rest_b.empty()) return rest_a.empty();
  return a < b;  // the same but for leading zeros
}

bool glob_match(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0;
  // The last '*' and how far it reaches: on a mismatch it takes one character more. Earlier stars need not be revisited.
  std::size_t star = std::string_view::npos, reach = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      reach = t;
    } else if (p < pattern.size() && pattern[p] == '?') {
      ++p;
      t += character_length(text, t);
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = reach += character_length(text, reach);
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

namespace {

/// Edits (insert, remove, replace one byte) from a to b; limit + 1 when there are more than `limit`. `row` is scratch space.
std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t limit, std::vector<std::size_t>& row) {
  const std::size_t prefix = common_prefix(a, b);
  a.remove_prefix(prefix);
  b.remove_prefix(prefix);
  while (!a.empty() && !b.empty() && a.back() == b.back()) a.remove_suffix(1), b.remove_suffix(1);
  if (a.size() > b.size()) std::swap(a, b);
  if (b.size() - a.size() > limit) return limit + 1;
  // Row i holds the distances from a[0, i) to every b[0, j); only cells within `limit` of the diagonal can matter.
  row.resize(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = std::min(j, limit + 1);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    const std::size_t first = i > limit ? i - limit : 1, last = std::min(b.size(), i + limit);
    std::size_t diagonal = row[first - 1], least = limit + 1;
    row[first - 1] = first == 1 ? std::min(i, limit + 1) : limit + 1;
    for (std::size_t j = first; j <= last; ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1, limit + 1});
      least = std::min(least, row[j]);
    }
    if (least > limit) return limit + 1;
  }
  return row[b.size()];
}

}  // namespace

std::vector<std::string_view> nearest(std::string_view name, std::span<const std::string_view> names, std::size_t count) {
  struct Candidate {
    std::size_t distance;
    std::string_view name;
  };
  std::vector<Candidate> best;  // closest first
  std::vector<std::size_t> row;
  for (const std::string_view other : names) {
    if (count == 0) break;
    const std::size_t shorter = std::min(name.size(), other.size()), longer = std::max(name.size(), other.size());
    // Close means that two thirds are shared, or that one is a part of the other.
    const bool part = shorter >= 3 && (other.find(name) != std::string_view::npos || name.find(other) != std::string_view::npos);
    std::size_t limit = part ? longer : std::max<std::size_t>(longer / 3, 1);
    if (best.size() == count) limit = std::min(limit, best.back().distance == 0 ? 0 : best.back().distance - 1);
    const std::size_t distance = part ? longer - shorter : edit_distance(name, other, limit, row);
    if (distance > limit || distance >= longer) continue;
    const auto place =
        std::upper_bound(best.begin(), best.end(), distance, [](std::size_t d, const Candidate& c) { return d < c.distance; });
    best.insert(place, {distance, other});
    if (best.size() > count) best.pop_back();
  }
  std::vector<std::string_view> found;
  for (const Candidate& candidate : best) found.push_back(candidate.name);
  return found;
}

}  // namespace assay
