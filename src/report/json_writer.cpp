// SPDX-License-Identifier: Apache-2.0
#include "report/json_writer.hpp"

#include <array>
#include <cmath>

#include "base/real_text.hpp"
#include "base/text.hpp"

namespace assay::report {
namespace {

constexpr std::size_t kLinedDepth = 2;  // deeper members share their parent's line

/// What stands for each byte below 0x80: 0 itself, 'u' \u00xx, else a backslash and the character.
constexpr std::array<char, 128> kEscapes = [] {
  std::array<char, 128> table{};
  for (std::size_t c = 0; c < 0x20; ++c) table[c] = 'u';
  table['\b'] = 'b';
  table['\f'] = 'f';
  table['\n'] = 'n';
  table['\r'] = 'r';
  table['\t'] = 't';
  table['"'] = '"';
  table['\\'] = '\\';
  table[0x7f] = 'u';
  return table;
}();

constexpr char kHex[] = "0123456789abcdef";

/// Plain ASCII without anything to escape: nearly every text there is.
bool stands_as_it_is(std::string_view text) {
  unsigned odd = 0;
  for (const char c : text) {
    const auto u = static_cast<unsigned char>(c);
    odd |= static_cast<unsigned>(u < 0x20) | static_cast<unsigned>(u > 0x7e) | static_cast<unsigned>(u == '"') |
           static_cast<unsigned>(u == '\\');
  }
  return odd == 0;
}

void write_unit(Writer& out, std::uint32_t unit) {
  out.put("\\u");
  for (int shift = 12; shift >= 0; shift -= 4) out.put(kHex[unit >> shift & 15]);
}

/// What does not show, or turns about what stands beside it, is written by its number: documents are read in terminals too.
void write_by_number(Writer& out, std::uint32_t code_point) {
  if (code_point <= 0xffff) return write_unit(out, code_point);
  write_unit(out, 0xd800 + ((code_point - 0x10000) >> 10));
  write_unit(out, 0xdc00 + (code_point & 0x3ff));
}

void write_valid(Writer& out, std::string_view text, bool double_backslash) {
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const std::uint32_t hidden = c >= 0xc2 ? unprintable_at(text, i) : 0;
    if (hidden == 0 && (c >= 0x80 || kEscapes[c] == 0)) continue;
    out.put(text.substr(begin, i - begin));
    if (hidden != 0) {
      write_by_number(out, hidden);
      i += hidden < 0x800 ? 1 : hidden < 0x10000 ? 2 : 3;
      begin = i + 1;
      continue;
    }
    begin = i + 1;
    if (kEscapes[c] == 'u') {
      write_unit(out, c);
    } else {
      out.put('\\');
      out.put(kEscapes[c]);
      if (c == '\\' && double_backslash) out.put("\\\\");
    }
  }
  out.put(text.substr(begin));
}

template <class T>
void write_real(Writer& out, T value) {
  if (std::isnan(value)) return out.put("NaN");
  if (std::isinf(value)) return out.put(value < 0 ? "-Infinity" : "Infinity");
  if (value == 0) return out.put(std::signbit(value) ? "-0.0" : "0");
  char digits[kRealText];
  const char* const end = write_shortest(digits, value);
  out.put(std::string_view(digits, static_cast<std::size_t>(end - digits)));
}

template <class T>
void write_json_number(Writer& out, T value) {
  const bool quoted = !std::isfinite(value);
  if (quoted) out.put('"');
  write_real(out, value);
  if (quoted) out.put('"');
}

}  // namespace

void write_number(Writer& out, float value) { write_real(out, value); }
void write_number(Writer& out, double value) { write_real(out, value); }

void write_numbers(Writer& out, std::span<const std::uint64_t> values) {
  out.put('[');
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) out.put(", ");
    out.number(values[i]);
  }
  out.put(']');
}

void write_json_text(Writer& out, std::string_view text) {
  out.put('"');
  if (stands_as_it_is(text)) {
    out.put(text);
    return out.put('"');
  }
  std::size_t bad = first_invalid_utf8(text);
  const bool mixed = bad != std::string_view::npos;
  while (bad != std::string_view::npos) {
    write_valid(out, text.substr(0, bad), true);
    const auto c = static_cast<unsigned char>(text[bad]);
    out.put("\\\\x");
    out.put(kHex[c >> 4]);
    out.put(kHex[c & 15]);
    text.remove_prefix(bad + 1);
    bad = first_invalid_utf8(text);
  }
  write_valid(out, text, mixed);
  out.put('"');
}

JsonWriter& JsonWriter::key(std::string_view key) {
  comma();
  write_json_text(out_, key);
  out_.put(": ");
  after_key_ = true;
  return *this;
}

void JsonWriter::text(std::string_view value) {
  comma();
  write_json_text(out_, value);
}

void JsonWriter::number(double value) {
  comma();
  write_json_number(out_, value);
}

void JsonWriter::number(float value) {
  comma();
  write_json_number(out_, value);
}

void JsonWriter::numbers(std::span<const std::uint64_t> values) {
  comma();
  write_numbers(out_, values);
}

void JsonWriter::open(char c) {
  comma();
  out_.put(c);
  filled_.push_back(false);
}

void JsonWriter::close(char c) {
  const bool filled = filled_.back();
  filled_.pop_back();
  if (filled && spaces_ > 0 && filled_.size() < kLinedDepth) line(filled_.size());
  out_.put(c);
  if (filled_.empty()) out_.put('\n');
}

void JsonWriter::comma() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (filled_.empty()) return;
  if (filled_.back()) out_.put(',');
  if (spaces_ > 0 && filled_.size() <= kLinedDepth) line(filled_.size());
  else if (filled_.back()) out_.put(' ');
  filled_.back() = true;
}

void JsonWriter::line(std::size_t depth) {
  out_.put('\n');
  out_.repeat(' ', depth * static_cast<std::size_t>(spaces_));
}

}  // namespace assay::report
