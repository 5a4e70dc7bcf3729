// SPDX-License-Identifier: Apache-2.0
// Numbers and texts that protocol 0 spells out, as Python reads them.
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "containers/pickle/machine.hpp"

namespace assay::pickle {

namespace {

bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

int digit_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c = lower(c);
  return c >= 'a' && c <= 'z' ? c - 'a' + 10 : 99;
}

// The shape of an int text: its sign, base and the digits with their underscores.
struct IntShape {
  bool negative = false;
  int base = 10;
  std::string_view digits;
  std::uint64_t count = 0;
};

// A prefix 0x, 0o or 0b sets the base when it is open; other leading zeros are then only right for zero itself.
bool take_prefix(std::string_view& text, int& base, bool& only_zero) {
  if (base != 0) return true;
  base = 10;
  if (text.empty() || text[0] != '0') return true;
  const char mark = text.size() > 1 ? lower(text[1]) : '\0';
  if (mark != 'x' && mark != 'o' && mark != 'b') {
    only_zero = true;
    return true;
  }
  base = mark == 'x' ? 16 : mark == 'o' ? 8 : 2;
  text.remove_prefix(2);
  if (!text.empty() && text[0] == '_') text.remove_prefix(1);
  return true;
}

bool take_shape(std::string_view text, int base, IntShape& shape) {
  text = text.substr(0, text.find('\0'));
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
    shape.negative = text[0] == '-';
    text.remove_prefix(1);
  }
  bool only_zero = false;
  take_prefix(text, base, only_zero);
  shape.base = base;
  shape.digits = text;
  bool after_digit = false, zero = true;
  for (const char c : text) {
    if (c == '_') {
      if (!after_digit) return false;
      after_digit = false;
      continue;
    }
    if (digit_value(c) >= base) return false;
    after_digit = true;
    zero &= c == '0';
    ++shape.count;
  }
  return after_digit && (zero || !only_zero);
}

__extension__ typedef unsigned __int128 Wide;

// limbs = limbs * factor + added
void multiply_add(std::vector<std::uint64_t>& limbs, std::uint64_t factor, std::uint64_t added) {
  std::uint64_t carry = added;
  std::uint64_t* const p = limbs.data();
  for (std::size_t i = 0, n = limbs.size(); i < n; ++i) {
    const Wide wide = static_cast<Wide>(p[i]) * factor + carry;
    p[i] = static_cast<std::uint64_t>(wide);
    carry = static_cast<std::uint64_t>(wide >> 64);
  }
  if (carry != 0) limbs.push_back(carry);
}

std::vector<std::uint64_t> magnitude_of(const IntShape& shape) {
  std::vector<std::uint64_t> limbs;
  const auto base = static_cast<std::uint64_t>(shape.base);
  std::uint64_t factor = 1, chunk = 0;
  for (const char c : shape.digits) {
    if (c == '_') continue;
    chunk = chunk * base + static_cast<std::uint64_t>(digit_value(c));
    factor *= base;
    if (factor > std::uint64_t(-1) / 16 / 16) {
      multiply_add(limbs, factor, chunk);
      factor = 1, chunk = 0;
    }
  }
  if (factor != 1) multiply_add(limbs, factor, chunk);
  return limbs;
}

// The shortest two's complement bytes.
std::string two_complement(const std::vector<std::uint64_t>& limbs, bool negative) {
  std::string bytes;
  bytes.reserve(limbs.size() * 8 + 1);
  unsigned borrow = 1;
  for (const std::uint64_t limb : limbs) {
    for (unsigned shift = 0; shift < 64; shift += 8) {
      unsigned byte = static_cast<unsigned>(limb >> shift) & 0xff;
      if (negative) {
        byte = (byte ^ 0xff) + borrow;
        borrow = byte >> 8;
      }
      bytes.push_back(static_cast<char>(byte & 0xff));
    }
  }
  const char sign = negative ? '\xff' : '\0';
  bytes.push_back(sign);
  while (bytes.size() > 1 && bytes.back() == sign && ((bytes[bytes.size() - 2] ^ sign) & 0x80) == 0) bytes.pop_back();
  return bytes;
}

}  // namespace

IntText parse_int(std::string_view text, int base, std::uint64_t most_digits) {
  IntText number;
  IntShape shape;
  number.valid = take_shape(text, base, shape);
  number.digits = shape.count;
  // Short ones are always read: only long ones cost.
  if (!number.valid || (shape.count > most_digits && shape.count > 64)) return number;
  const auto limbs = magnitude_of(shape);
  const std::uint64_t low = limbs.empty() ? 0 : limbs[0];
  const std::uint64_t most = (std::uint64_t{1} << 63) - (shape.negative ? 0 : 1);
  number.fits = limbs.size() <= 1 && low <= most;
  if (number.fits) number.small = static_cast<std::int64_t>(shape.negative ? 0 - low : low);
  else number.large = two_complement(limbs, shape.negative);
  return number;
}

namespace {

// Length of a float text: digits with a point, an exponent; 0 when it is none. `scale` is the power of ten of its first digit
// that is not zero.
std::size_t measure_decimal(std::string_view text, std::int64_t& scale) {
  std::size_t i = 0, digits = 0;
  std::int64_t before = 0, after = 0;
  bool point = false, seen = false;
  for (; i < text.size(); ++i) {
    if (text[i] == '.' && !point) {
      point = true;
    } else if (text[i] >= '0' && text[i] <= '9') {
      ++digits;
      seen |= text[i] != '0';
      if (seen && !point) ++before;
      if (!seen && point) ++after;
    } else {
      break;
    }
  }
  if (digits == 0) return 0;
  scale = before > 0 ? before - 1 : -after - 1;
  if (i == text.size() || lower(text[i]) != 'e') return i;
  std::size_t e = i + 1;
  const bool negative = e < text.size() && text[e] == '-';
  if (e < text.size() && (text[e] == '-' || text[e] == '+')) ++e;
  const std::size_t first = e;
  std::int64_t exponent = 0;
  for (; e < text.size() && text[e] >= '0' && text[e] <= '9'; ++e)
    exponent = exponent > 1'000'000'000'000 ? exponent : exponent * 10 + (text[e] - '0');
  if (e == first) return i;
  scale += negative ? -exponent : exponent;
  return e;
}

// The value of a measured text. False when it is too large.
bool convert_decimal(std::string_view text, std::int64_t scale, double& value) {
#if defined(__cpp_lib_to_chars)
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc::result_out_of_range) return result.ec == std::errc{};
  value = 0.0;
  return scale < 0;
#else
  // libc++ has no from_chars for double; where it is used here (wasm) the C locale is the only one.
  static_cast<void>(scale);
  value = std::strtod(std::string(text).c_str(), nullptr);
  return value <= 1.7976931348623157e308;
#endif
}

}  // namespace

bool parse_float(std::string_view text, double& value) {
  const bool negative = !text.empty() && text[0] == '-';
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
  if (equals_ignoring_case(text, "inf") || equals_ignoring_case(text, "infinity")) {
    value = __builtin_inf();
  } else if (equals_ignoring_case(text, "nan")) {
    value = __builtin_nan("");
  } else {
    std::int64_t scale = 0;
    if (text.empty() || measure_decimal(text, scale) != text.size() || !convert_decimal(text, scale, value)) return false;
  }
  if (negative) value = -value;
  return true;
}

namespace {

constexpr std::string_view kEscapeLetters = "\\'\"abfnrtv";
constexpr std::string_view kEscapeValues = "\\'\"\a\b\f\n\r\t\v";

// Up to `most` digits of `base` at text[i]; their count.
std::size_t take_digits(std::string_view text, std::size_t i, int base, std::size_t most, std::uint32_t& value) {
  std::size_t n = 0;
  for (value = 0; n < most && i + n < text.size() && digit_value(text[i + n]) < base; ++n)
    value = value * static_cast<std::uint32_t>(base) + static_cast<std::uint32_t>(digit_value(text[i + n]));
  return n;
}

}  // namespace

bool decode_string_escapes(std::string_view text, std::string& out, std::string& why) {
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] != '\\') {
      const std::size_t end = std::min(text.find('\\', i), text.size());
      out.append(text, i, end - i);
      i = end;
      continue;
    }
    if (++i == text.size()) {
      why = "ends with a lone backslash";
      return false;
    }
    std::uint32_t value;
    if (const std::size_t known = kEscapeLetters.find(text[i]); known != std::string_view::npos) {
      out.push_back(kEscapeValues[known]);
      ++i;
    } else if (text[i] == 'x') {
      if (take_digits(text, i + 1, 16, 2, value) != 2) {
        why = concat("has a broken escape '", escape(text.substr(i - 1, 4)), '\'');
        return false;
      }
      out.push_back(static_cast<char>(value));
      i += 3;
    } else if (const std::size_t octal = take_digits(text, i, 8, 3, value); octal != 0) {
      out.push_back(static_cast<char>(value & 0xff));
      i += octal;
    } else {
      // Python keeps the backslash of an escape that it does not know.
      out.push_back('\\');
      out.push_back(text[i++]);
    }
  }
  return true;
}

bool decode_raw_unicode(std::string_view text, std::string& out, std::string& why) {
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i++];
    if (c != '\\' || i == text.size()) {
      append_utf8(out, static_cast<unsigned char>(c));
      continue;
    }
    const char kind = text[i++];
    if (kind != 'u' && kind != 'U') {
      out.push_back('\\');
      append_utf8(out, static_cast<unsigned char>(kind));
      continue;
    }
    const std::size_t digits = kind == 'u' ? 4 : 8;
    std::uint32_t value;
    if (take_digits(text, i, 16, digits, value) != digits || value > 0x10ffff) {
      why = concat("has a broken escape '", escape(text.substr(i - 2, digits + 2)), '\'');
      return false;
    }
    append_utf8(out, value);
    i += digits;
  }
  return true;
}

bool valid_utf8_with_surrogates(std::string_view text) {
  while (true) {
    const std::size_t bad = first_invalid_utf8(text);
    if (bad == std::string_view::npos) return true;
    const auto byte = [&](std::size_t i) { return bad + i < text.size() ? static_cast<unsigned char>(text[bad + i]) : 0u; };
    if (byte(0) != 0xed || byte(1) < 0xa0 || byte(1) > 0xbf || byte(2) < 0x80 || byte(2) > 0xbf) return false;
    text.remove_prefix(bad + 3);
  }
}

}  // namespace assay::pickle
