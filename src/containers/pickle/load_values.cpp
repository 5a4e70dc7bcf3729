// SPDX-License-Identifier: Apache-2.0
// Opcodes that push a plain value: numbers, texts and bytes.
#include <bit>
#include <cctype>

#include "base/endian.hpp"
#include "containers/pickle/machine.hpp"

namespace assay::pickle {

namespace {

// Integers of more digits than this count towards limits.int_digits together, since reading them costs their square.
constexpr std::uint64_t kLongInteger = 4300;

void push_int(Machine& m, std::int64_t value) { m.push_new(Kind::integer, static_cast<std::uint64_t>(value)); }

void push_int_text(Machine& m, std::string_view text) {
  const IntText number = parse_int(text, 0, m.limits.int_digits - m.long_digits);
  if (!number.valid) return m.malformed(concat('\'', escape(text, 40), "' is no integer"));
  if (number.digits > kLongInteger) {
    if (number.digits > m.limits.int_digits - m.long_digits) return m.limit("digits of long integers", m.limits.int_digits);
    m.long_digits += number.digits;
  }
  if (number.fits) return push_int(m, number.small);
  const std::size_t from = m.data.scratch.size();
  m.data.scratch += number.large;
  m.push(m.add_characters(Kind::big_integer, m.in_scratch(from)));
}

// What C's strtol(text, &end, 0) reads, when it reads all up to a NUL or the end and does not overflow.
bool parse_c_long(std::string_view text, std::int64_t& value) {
  std::size_t i = 0;
  while (i < text.size() && (text[i] == ' ' || (text[i] >= '\t' && text[i] <= '\r'))) ++i;
  const bool negative = i < text.size() && text[i] == '-';
  if (i < text.size() && (text[i] == '-' || text[i] == '+')) ++i;
  const auto digit_at = [&text](std::size_t at) {
    const char c = at < text.size() ? lower(text[at]) : '\0';
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : 99;
  };
  int base = 10;
  if (digit_at(i) == 0) {
    base = 8;
    if (i + 1 < text.size() && lower(text[i + 1]) == 'x' && digit_at(i + 2) < 16) base = 16, i += 2;
  }
  const std::uint64_t most = (std::uint64_t{1} << 63) - (negative ? 0 : 1);
  std::uint64_t magnitude = 0;
  const std::size_t first = i;
  for (; digit_at(i) < base; ++i) {
    const auto digit = static_cast<std::uint64_t>(digit_at(i));
    if (magnitude > (most - digit) / static_cast<std::uint64_t>(base)) return false;
    magnitude = magnitude * static_cast<std::uint64_t>(base) + digit;
  }
  if (i == first) i = 0;  // no number: strtol answers 0 and the start
  value = static_cast<std::int64_t>(negative ? 0 - magnitude : magnitude);
  return i == text.size() || text[i] == '\0';
}

void push_two_complement(Machine& m, const Step& step) {
  const ByteView bytes = m.stream.slice(step.argument, step.argument_size);
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes.size() && i < 8; ++i) value |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * i);
  if (bytes.empty()) return push_int(m, 0);
  const bool negative = (bytes[bytes.size() - 1] & std::byte{0x80}) != std::byte{0};
  if (bytes.size() < 8 && negative) value |= ~std::uint64_t{0} << (8 * bytes.size());
  const std::byte sign = negative ? std::byte{0xff} : std::byte{0};
  bool fits = bytes.size() <= 8 || (value >> 63 != 0) == negative;
  for (std::size_t i = 8; fits && i < bytes.size(); ++i) fits = bytes[i] == sign;
  if (fits) return push_int(m, static_cast<std::int64_t>(value));
  m.push(m.add_characters(Kind::big_integer, m.in_stream(step.argument, step.argument_size)));
}

}  // namespace

void load_none(Machine& m, const Step&) { m.push_new(Kind::none); }
void load_newtrue(Machine& m, const Step&) { m.push_new(Kind::boolean, 1); }
void load_newfalse(Machine& m, const Step&) { m.push_new(Kind::boolean, 0); }

void load_int_text(Machine& m, const Step& step) {
  const std::string_view text = m.argument(step);
  if (text.empty()) return m.malformed("has no number");
  std::int64_t value;
  if (!parse_c_long(text, value)) return push_int_text(m, text);
  // Protocols 0 and 1 write False and True as 00 and 01.
  if (text.size() == 2 && (value == 0 || value == 1)) return m.push_new(Kind::boolean, static_cast<std::uint64_t>(value));
  push_int(m, value);
}

void load_binint(Machine& m, const Step& step) { m.push_new(Kind::integer, step.number); }
void load_binint1(Machine& m, const Step& step) { m.push_new(Kind::integer, step.number); }
void load_binint2(Machine& m, const Step& step) { m.push_new(Kind::integer, step.number); }

void load_long_text(Machine& m, const Step& step) {
  std::string_view text = m.argument(step);
  if (text.empty()) return m.malformed("has no number");
  if (text.back() == 'L') text.remove_suffix(1);
  push_int_text(m, text);
}

void load_long1(Machine& m, const Step& step) { push_two_complement(m, step); }
void load_long4(Machine& m, const Step& step) { push_two_complement(m, step); }

void load_float_text(Machine& m, const Step& step) {
  const std::string_view text = m.argument(step);
  double value;
  if (!parse_float(text.substr(0, text.find('\0')), value)) return m.malformed(concat('\'', escape(text, 40), "' is no float"));
  m.push_new(Kind::real, std::bit_cast<std::uint64_t>(value));
}

void load_binfloat(Machine& m, const Step& step) {
  m.push_new(Kind::real, std::bit_cast<std::uint64_t>(load_be<double>(m.stream.slice(step.argument, 8).data())));
}

namespace {

// A Python 2 str: text where it is UTF-8, which is how torch reads it.
void push_python2_string(Machine& m, const Characters& where) {
  m.push(m.add_characters(valid_utf8(m.data.characters(where)) ? Kind::text : Kind::bytes, where));
}

void push_text(Machine& m, const Step& step) {
  if (!valid_utf8_with_surrogates(m.argument(step))) return m.malformed("is not UTF-8");
  m.push(m.add_characters(Kind::text, m.in_stream(step.argument, step.argument_size)));
}

void push_bytes(Machine& m, const Step& step, Kind kind) { m.push(m.add_characters(kind, m.in_stream(step.argument, step.argument_size))); }

}  // namespace

void load_string(Machine& m, const Step& step) {
  const std::string_view text = m.argument(step);
  if (text.size() < 2 || text.front() != text.back() || (text.front() != '\'' && text.front() != '"'))
    return m.malformed(concat(escape(text, 40), " is not quoted"));
  const std::string_view inner = text.substr(1, text.size() - 2);
  if (inner.find('\\') == std::string_view::npos) return push_python2_string(m, m.in_stream(step.argument + 1, inner.size()));
  const std::size_t from = m.data.scratch.size();
  std::string why;
  if (!decode_string_escapes(inner, m.data.scratch, why)) return m.malformed(why);
  push_python2_string(m, m.in_scratch(from));
}

void load_binstring(Machine& m, const Step& step) { push_python2_string(m, m.in_stream(step.argument, step.argument_size)); }
void load_short_binstring(Machine& m, const Step& step) { push_python2_string(m, m.in_stream(step.argument, step.argument_size)); }

void load_unicode(Machine& m, const Step& step) {
  const std::string_view text = m.argument(step);
  bool plain = true;
  for (const char c : text) plain &= c != '\\' && static_cast<unsigned char>(c) < 0x80;
  if (plain) return m.push(m.add_characters(Kind::text, m.in_stream(step.argument, step.argument_size)));
  const std::size_t from = m.data.scratch.size();
  std::string why;
  if (!decode_raw_unicode(text, m.data.scratch, why)) return m.malformed(why);
  m.push(m.add_characters(Kind::text, m.in_scratch(from)));
}

void load_binunicode(Machine& m, const Step& step) { push_text(m, step); }
void load_short_binunicode(Machine& m, const Step& step) { push_text(m, step); }
void load_binunicode8(Machine& m, const Step& step) { push_text(m, step); }

void load_binbytes(Machine& m, const Step& step) { push_bytes(m, step, Kind::bytes); }
void load_short_binbytes(Machine& m, const Step& step) { push_bytes(m, step, Kind::bytes); }
void load_binbytes8(Machine& m, const Step& step) { push_bytes(m, step, Kind::bytes); }
void load_bytearray8(Machine& m, const Step& step) { push_bytes(m, step, Kind::bytearray); }

void load_next_buffer(Machine& m, const Step&) {
  m.complain(Code::malformed_pickle, "refers to data that is not in the file");
  m.push_new(Kind::buffer);
}

void load_readonly_buffer(Machine& m, const Step&) {
  if (!m.need(1)) return;
  const Kind kind = m.kind(m.top());
  if (kind != Kind::bytes && kind != Kind::bytearray && !m.open_kind(m.top())) m.malformed(concat("of ", a_kind(kind)));
}

}  // namespace assay::pickle
