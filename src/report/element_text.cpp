// SPDX-License-Identifier: Apache-2.0
#include "report/element_text.hpp"

#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "base/try.hpp"
#include "report/json_writer.hpp"
#include "report/units.hpp"

namespace assay::report {
namespace {

struct Row {
  DType dtype;
  BitFields fields;
};
constexpr Row kFields[] = {
    {DType::f4, {1, 2, 1}},      {DType::f6_e2m3, {1, 2, 3}}, {DType::f6_e3m2, {1, 3, 2}},     {DType::f8_e5m2, {1, 5, 2}},
    {DType::f8_e4m3, {1, 4, 3}}, {DType::f8_e8m0, {0, 8, 0}}, {DType::f8_e4m3fnuz, {1, 4, 3}}, {DType::f8_e5m2fnuz, {1, 5, 2}},
    {DType::f16, {1, 5, 10}},    {DType::bf16, {1, 8, 7}},    {DType::f32, {1, 8, 23}},        {DType::f64, {1, 11, 52}},
    {DType::c32, {1, 5, 10}},    {DType::bc32, {1, 8, 7}},    {DType::c64, {1, 8, 23}},        {DType::c128, {1, 11, 52}},
};

/// A code's bits, most significant first: one text of 0 and 1 for each part of a complex element.
Result<std::vector<std::string>> bits_of(const analysis::MatrixView& view, std::uint64_t row, std::uint64_t col) {
  const TensorReader& reader = view.reader();
  std::array<std::byte, 16> code = {};
  const std::size_t size = reader.raw_size();
  ASSAY_CHECK(reader.read_raw(view.stored_index(row, col), 1, std::span(code).first(size)));
  const bool complex = dtype_info(view.dtype()).kind == DTypeKind::complex;
  const std::size_t parts = complex ? 2 : 1, bits = dtype_bits(view.dtype()) / parts;
  std::vector<std::string> out;
  for (std::size_t part = 0; part < parts; ++part) {
    std::string text;
    for (std::size_t bit = bits; bit-- > 0;)
      text += std::to_integer<unsigned>(code[part * size / parts + bit / 8] >> (bit % 8)) & 1u ? '1' : '0';
    out.push_back(std::move(text));
  }
  return out;
}

std::string hex_of(std::string_view bits) {
  std::string out;
  const std::size_t front = bits.size() % 4;
  for (std::size_t at = 0; at < bits.size();) {
    const std::size_t n = at == 0 && front != 0 ? front : 4;
    unsigned digit = 0;
    for (const char bit : bits.substr(at, n)) digit = digit * 2 + (bit == '1');
    out += "0123456789abcdef"[digit];
    at += n;
  }
  return out;
}

std::string grouped_bits(std::string_view bits, const BitFields& fields) {
  std::string out;
  const auto put = [&](std::size_t n) {
    if (n == 0) return;
    if (!out.empty()) out += ' ';
    out += bits.substr(0, n);
    bits.remove_prefix(n);
  };
  if (fields.exponent > 0) {
    for (const unsigned n : {fields.sign, fields.exponent, fields.mantissa}) put(n);
  } else {
    while (!bits.empty()) put(bits.size() % 8 != 0 ? bits.size() % 8 : 8);
  }
  return out;
}

std::uint64_t value_of(std::string_view bits) {
  std::uint64_t value = 0;
  for (const char bit : bits) value = value * 2 + (bit == '1');
  return value;
}

/// Exact for every dtype: written as dump writes it.
Result<void> write_element(Writer& out, const analysis::MatrixView& view, std::uint64_t row, std::uint64_t col, ValueStyle style) {
  if (!view.quantised()) {
    ASSAY_CHECK(write_values(out, view.reader(), {view.stored_index(row, col), 1}, style, ""));
    return {};
  }
  float value;
  ASSAY_CHECK(view.read(row * view.cols() + col, std::span(&value, 1)));
  if (style == ValueStyle::json) JsonWriter(out).number(value);
  else write_number(out, value);
  return {};
}

}  // namespace

BitFields bit_fields(DType dtype) {
  const auto* found = std::ranges::find(kFields, dtype, &Row::dtype);
  return found == std::end(kFields) ? BitFields() : found->fields;
}

Result<std::string> element_text(const analysis::MatrixView& view, std::uint64_t row, std::uint64_t col, ElementForm form) {
  if (form == ElementForm::number && dtype_info(view.dtype()).kind == DTypeKind::real) {
    double value;
    ASSAY_CHECK(view.read(row * view.cols() + col, std::span(&value, 1)));
    return short_number(value);
  }
  if (form == ElementForm::number || form == ElementForm::exact) {
    Writer out;
    ASSAY_CHECK(write_element(out, view, row, col, ValueStyle::text));
    return std::string(out.text());
  }
  ASSAY_TRY(const std::vector<std::string> parts, bits_of(view, row, col));
  std::string out;
  for (const std::string& bits : parts) {
    if (!out.empty()) out += form == ElementForm::hex ? " " : ", ";
    out += form == ElementForm::hex ? hex_of(bits) : grouped_bits(bits, bit_fields(view.dtype()));
  }
  return out;
}

Result<void> write_elements_json(Writer& out, const analysis::MatrixView& view, bool (*stop)()) {
  const std::uint64_t n = view.rows() * view.cols();
  if (!view.quantised() && !view.reversed()) {
    ASSAY_CHECK(write_values(out, view.reader(), {0, n}, ValueStyle::json, ", ", stop));
    return {};
  }
  for (std::uint64_t i = 0; i < n && !stop(); ++i) {
    if (i > 0) out.put(", ");
    ASSAY_CHECK(write_element(out, view, i / view.cols(), i % view.cols(), ValueStyle::json));
  }
  return {};
}

Result<std::string> fields_text(const analysis::MatrixView& view, std::uint64_t row, std::uint64_t col) {
  const BitFields fields = bit_fields(view.dtype());
  if (fields.exponent == 0) return std::string();
  ASSAY_TRY(const std::vector<std::string> parts, bits_of(view, row, col));
  std::string out;
  for (const std::string_view bits : parts) {
    if (!out.empty()) out += "; ";
    if (fields.sign > 0) out += concat("sign ", bits.substr(0, 1), ", ");
    out += concat("exponent ", value_of(bits.substr(fields.sign, fields.exponent)));
    if (fields.mantissa > 0)
      out += concat(", mantissa ", value_of(bits.substr(fields.sign + fields.exponent)), "/", std::uint64_t{1} << fields.mantissa);
  }
  return out;
}

}  // namespace assay::report
