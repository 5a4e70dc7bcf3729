// SPDX-License-Identifier: Apache-2.0
// Text helpers: escaping names from files, numbers to text, UTF-8, natural order, nearest names.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

/// A name from a file made safe to print: controls, what hides or turns text (zero width, direction marks), bytes that are not
/// UTF-8 and backslashes become \n, \0, \x1b, \u202e, \U000e0041. Other UTF-8 stays. Different names stay different.
std::string escape(std::string_view name);
/// escape(), cut between characters to at most `max_bytes`, of which a last "…" stands for what is left out.
std::string escape(std::string_view name, std::size_t max_bytes);
/// Escaped, in single quotes, and so are those within: 'it\'s.weight'.
std::string quote(std::string_view name);
/// quote() of a text that may be long: between the quotes stand at most `max_bytes`, and before a "…" what fits.
std::string quote(std::string_view name, std::size_t max_bytes);
/// "'a', 'b' and 3 more": the first `most` names that are given of `count` in all, each quoted and cut at 100 bytes; "" for none.
std::string name_list(std::span<const std::string> names, std::size_t most, std::uint64_t count);
inline std::string name_list(std::span<const std::string> names, std::size_t most) { return name_list(names, most, names.size()); }

std::string decimal(std::uint64_t value);
std::string decimal(std::int64_t value);
namespace detail {
inline const char* piece(const char* text) { return text; }
inline const std::string& piece(const std::string& text) { return text; }
inline std::string_view piece(std::string_view text) { return text; }
inline char piece(char c) { return c; }
template <std::integral T>
auto piece(T value) {
  if constexpr (std::signed_integral<T>) return std::int64_t{value};
  else return std::uint64_t{value};
}
template <class Text>
void append(std::string& out, const Text& text) {
  out += text;
}
inline void append(std::string& out, std::int64_t value) { out += decimal(value); }
inline void append(std::string& out, std::uint64_t value) { out += decimal(value); }
/// Out of line: a thousand messages share some hundred of these.
template <class... Pieces>
[[gnu::noinline]] std::string join(Pieces... pieces) {
  std::string out;
  (append(out, pieces), ...);
  return out;
}
}  // namespace detail
/// Text and numbers put together: concat("shape ", 3, " exceeds ", limit).
template <class... Parts>
std::string concat(const Parts&... parts) {
  return detail::join<decltype(detail::piece(parts))...>(detail::piece(parts)...);
}
/// "0x1f40"
std::string hex(std::uint64_t value);
/// 1234567 -> "1,234,567", for messages.
std::string grouped(std::uint64_t value);
/// {2, 3} -> "[2, 3]"
std::string bracketed(std::span<const std::uint64_t> numbers);
/// 3 files, 1 file
std::string counted(std::uint64_t n, std::string_view singular, std::string_view plural);

/// Offset of the first byte that is not part of valid UTF-8 (no overlong forms, no surrogates, at most U+10FFFF); npos when all is.
std::size_t first_invalid_utf8(std::string_view text);
inline bool valid_utf8(std::string_view text) { return first_invalid_utf8(text) == std::string_view::npos; }
/// Appends a code point as UTF-8; surrogates in their 3-byte form.
void append_utf8(std::string& out, std::uint32_t code_point);

/// The code point at text[at] where it is one beyond ASCII that does not show or turns its surroundings about (controls, direction marks);
/// 0 where it is another.
std::uint32_t unprintable_at(std::string_view text, std::size_t at);

char lower(char c);  ///< ASCII only
std::string lowered(std::string_view text);
bool equals_ignoring_case(std::string_view a, std::string_view b);
bool starts_with_ignoring_case(std::string_view text, std::string_view prefix);

/// How many bytes at the front are the same.
std::size_t common_prefix(std::string_view a, std::string_view b);
/// "layer.2" before "layer.10": runs of digits compare as numbers. A total order, equal only for equal texts.
bool natural_less(std::string_view a, std::string_view b);
/// '*' any text, '?' one character; everything else itself.
bool glob_match(std::string_view pattern, std::string_view text);
/// Up to `count` of `names` closest to `name` by edit distance, closest first, equals in the order given. Close is
/// what differs in at most a third, and what is a part of the other. Cost: a few us for a name of 60 bytes.
std::vector<std::string_view> nearest(std::string_view name, std::span<const std::string_view> names, std::size_t count = 3);

}  // namespace assay
