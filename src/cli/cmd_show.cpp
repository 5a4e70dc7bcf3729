// SPDX-License-Identifier: Apache-2.0
// show: a slice's numbers as a table, in any of three forms.
#include <algorithm>
#include <optional>

#include "analysis/matrix_view.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "cli/choose.hpp"
#include "cli/run.hpp"
#include "report/element_text.hpp"
#include "report/heatmap_report.hpp"
#include "report/table.hpp"
#include "report/units.hpp"

namespace assay::cli {
namespace {

using report::ElementForm;

constexpr std::pair<std::string_view, ElementForm> kForms[] = {
    {"number", ElementForm::number}, {"exact", ElementForm::exact}, {"hex", ElementForm::hex}, {"bits", ElementForm::bits}};

Result<std::vector<ElementForm>> forms_from(std::string_view text) {
  std::vector<ElementForm> forms;
  for (std::string_view rest = text;;) {
    const std::size_t comma = rest.find(',');
    const std::string_view word = rest.substr(0, comma);
    const auto* found = std::ranges::find(kForms, word, [](const auto& form) { return form.first; });
    if (found == std::end(kForms))
      return fail(Error(Code::usage, concat("--format needs number, exact, hex or bits, or several with commas, not ", quote(text))));
    forms.push_back(found->second);
    if (comma == std::string_view::npos) return forms;
    rest.remove_prefix(comma + 1);
  }
}

/// All of `count` places, or the first and last ones with a gap between.
struct Shown {
  std::vector<std::uint64_t> places;
  std::size_t gap = 0;  ///< places before it; 0 without a gap
};

Shown shown_of(std::uint64_t count, std::uint64_t most) {
  Shown shown;
  const std::uint64_t front = count <= most ? count : std::max<std::uint64_t>((most + 1) / 2, 1), back = count <= most ? 0 : most / 2;
  for (std::uint64_t i = 0; i < front; ++i) shown.places.push_back(i);
  if (front < count) shown.gap = shown.places.size();
  for (std::uint64_t i = count - back; i < count; ++i) shown.places.push_back(i);
  return shown;
}

Result<std::string> cell_of(const analysis::MatrixView& view, std::span<const ElementForm> forms, std::uint64_t row, std::uint64_t col) {
  std::string out;
  for (const ElementForm form : forms) {
    ASSAY_TRY(const std::string text, report::element_text(view, row, col, form));
    out += concat(out.empty() ? "" : " ", text);
  }
  return out;
}

/// The texts of the table: one row of cells per row shown.
using Cells = std::vector<std::vector<std::string>>;

/// As many columns as fit, from both ends.
Shown fitting(const Shown& columns, const Cells& cells, std::size_t gutter, std::size_t width) {
  if (width == 0) return columns;
  std::vector<std::size_t> widest(columns.places.size());
  for (const auto& row : cells)
    for (std::size_t i = 0; i < row.size(); ++i) widest[i] = std::max(widest[i], row[i].size());
  constexpr std::size_t kBetween = 2, kEllipsis = 3 + kBetween;
  std::size_t all = gutter, front = 0, back = columns.places.size(), used = gutter + kEllipsis;
  for (const std::size_t w : widest) all += w + kBetween;
  if (all + (columns.gap != 0 ? kEllipsis : 0) <= width) return columns;
  for (bool at_front = true; front < back; at_front = !at_front) {
    const std::size_t next = widest[at_front ? front : back - 1] + kBetween;
    if (used + next > width && front > 0) break;
    used += next;
    if (at_front) ++front;
    else --back;
  }
  Shown fit;
  for (std::size_t i = 0; i < columns.places.size(); ++i)
    if (i < front || i >= back) fit.places.push_back(columns.places[i]);
  fit.gap = front;
  return fit;
}

/// `stacked`: the one row stands as a column.
Result<void> put_table(Context& context, const analysis::MatrixView& view, std::span<const ElementForm> forms, bool stacked) {
  constexpr std::uint64_t kRows = 24, kColumns = 64;
  const bool all = context.options.has("--all");
  const std::uint64_t all_rows = stacked ? view.cols() : view.rows(), all_columns = stacked ? 1 : view.cols();
  const auto label = [&](std::uint64_t row) { return stacked ? report::col_label(view, row) : report::row_label(view, row); };
  const Shown rows = shown_of(all_rows, all ? all_rows : context.options.number("--limit", kRows));
  const Shown candidates = shown_of(all_columns, all ? all_columns : kColumns);
  Cells cells;
  std::size_t gutter = 0;
  for (const std::uint64_t row : rows.places) {
    if (interrupted()) return {};
    gutter = std::max(gutter, label(row).size());
    cells.emplace_back();
    for (const std::uint64_t col : candidates.places) {
      ASSAY_TRY(std::string text, stacked ? cell_of(view, forms, 0, row) : cell_of(view, forms, row, col));
      cells.back().push_back(std::move(text));
    }
  }
  const Shown columns = all ? candidates : fitting(candidates, cells, gutter, context.style.width);

  std::vector<std::string> titles;
  std::vector<report::Column> layout = {{.title = "", .right = true}};
  const std::string_view dots = report::ellipsis(context.style);
  titles.reserve(columns.places.size());
  for (std::size_t i = 0; i < columns.places.size(); ++i) {
    if (columns.gap == i && i > 0) layout.push_back({.title = dots});
    titles.push_back(stacked ? std::string() : report::col_label(view, columns.places[i]));
    layout.push_back({.title = titles.back(), .right = true});
  }
  report::Table table(layout);
  for (std::size_t r = 0; r < rows.places.size(); ++r) {
    if (rows.gap == r && r > 0)
      for (std::size_t i = 0; i < layout.size(); ++i) table.cell(dots, report::Tone::faint);
    table.cell(label(rows.places[r]), report::Tone::faint);
    for (std::size_t i = 0; i < columns.places.size(); ++i) {
      if (columns.gap == i && i > 0) table.cell(dots, report::Tone::faint);
      const auto place =
          static_cast<std::size_t>(std::ranges::lower_bound(candidates.places, columns.places[i]) - candidates.places.begin());
      table.cell(cells[r][place]);
    }
  }
  report::Style style = context.style;
  style.width = 0;  // it fits
  table.write(context.out, style);
  return {};
}

/// One element is told in full.
Result<void> put_element(Context& context, const Checkpoint& checkpoint, const analysis::MatrixView& view) {
  const auto put = [&](std::string_view label, std::string_view text) {
    if (text.empty()) return;
    context.out.put(toned(context.style, report::Tone::faint, concat("  ", label, std::string(8 - label.size(), ' '))));
    context.out.put(concat(text, "\n"));
  };
  ASSAY_TRY(const std::string number, report::element_text(view, 0, 0, ElementForm::exact));
  ASSAY_TRY(const std::string hex, report::element_text(view, 0, 0, ElementForm::hex));
  ASSAY_TRY(const std::string bits, report::element_text(view, 0, 0, ElementForm::bits));
  ASSAY_TRY(const std::string fields, report::fields_text(view, 0, 0));
  put("value", number);
  put("hex", hex);
  put("bits", concat(bits, fields.empty() ? "" : concat("  (", fields, ")")));
  if (const auto offset = checkpoint.file_offset(view.reader().tensor()))
    put("offset", concat(assay::hex(*offset), " of ", report::shown_name(context.style, checkpoint.file_of(view.reader().tensor())->name)));
  return {};
}

Result<void> put_json(Context& context, report::JsonWriter& json, const analysis::MatrixView& view, std::span<const ElementForm> forms) {
  constexpr std::uint64_t kMostValues = std::uint64_t{1} << 24;
  if (view.rows() != 0 && view.cols() > kMostValues / view.rows())
    return fail(std::move(Error(Code::limit_exceeded, concat("the slice has more than ", kMostValues, " values")))
                    .advise("take a smaller slice, or see assay dump"));
  json.key("values").begin_value();
  context.out.put('[');
  ASSAY_CHECK(report::write_elements_json(context.out, view, interrupted));
  context.out.put(']');
  for (const auto& [name, form] : kForms) {
    if ((form != ElementForm::hex && form != ElementForm::bits) || std::ranges::find(forms, form) == forms.end()) continue;
    json.key(name).begin_value();
    context.out.put('[');
    for (std::uint64_t i = 0; i < view.rows() * view.cols() && !interrupted(); ++i) {
      ASSAY_TRY(const std::string text, report::element_text(view, i / view.cols(), i % view.cols(), form));
      if (i > 0) context.out.put(", ");
      report::write_json_text(context.out, text);
    }
    context.out.put(']');
  }
  return {};
}

Result<void> answer_show(Context& context, Answer& answer, const Checkpoint& checkpoint, const Tensor& tensor) {
  ASSAY_TRY(const std::vector<ElementForm> forms, forms_from(context.options.text("--format", "number")));
  ASSAY_TRY(const std::vector<analysis::AxisRange> slice, analysis::parse_slice(context.options.word(2), tensor.shape));
  ASSAY_TRY(const analysis::MatrixView view, analysis::MatrixView::make(checkpoint, tensor, slice));
  const std::string written = analysis::slice_text(slice, tensor.shape);
  std::vector<std::uint64_t> shape;
  for (const analysis::AxisRange& range : slice)
    if (!range.single) shape.push_back(range.count);
  if (report::JsonWriter* json = answer.json()) {
    json->key("name").text(tensor.name);
    json->key("dtype").text(dtype_name(tensor.dtype));
    json->key("shape").numbers(tensor.shape);
    json->key("slice").text(written);
    json->key("slice_shape").numbers(shape);
    return put_json(context, *json, view, forms);
  }
  context.out.put(toned(context.style, report::Tone::strong, report::shown_name(context.style, tensor.name)));
  context.out.put(concat("  ", dtype_name(tensor.dtype), " ", report::shape_text(context.style, tensor.shape), written.empty() ? "" : " ",
                         written, "\n"));
  if (view.rows() == 0 || view.cols() == 0) {
    context.out.put("  no elements\n");
    return {};
  }
  if (view.rows() == 1 && view.cols() == 1) return put_element(context, checkpoint, view);
  // A column of the tensor is one here too, and a number of rows is asked of rows.
  const bool stacked = view.rows() == 1 && (slice.back().single || context.options.has("--limit"));
  return put_table(context, view, forms, stacked);
}

}  // namespace

int run_show(Context& context) {
  Answer answer(context);
  const auto opened = answer.open();
  if (!opened) return answer.fail(opened.error());
  const auto tensor = choose_one(context, **opened, context.options.word(1));
  if (!tensor) return answer.fail(tensor.error());
  if (auto answered = answer_show(context, answer, **opened, **tensor); !answered) return answer.fail(answered.error());
  return answer.done();
}

}  // namespace assay::cli
