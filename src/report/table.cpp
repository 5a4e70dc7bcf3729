// SPDX-License-Identifier: Apache-2.0
#include "report/table.hpp"

#include <algorithm>

namespace assay::report {

constexpr std::size_t kGap = 2;  // spaces between columns

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)), widest_(columns_.size(), 0) {}

void Table::reserve(std::size_t rows) {
  constexpr std::size_t kUsualRow = 96;  // bytes of text
  cells_.reserve(rows * columns_.size());
  text_.reserve(rows * kUsualRow);
}

void Table::cell(std::string_view text, std::size_t width, Tone tone) {
  const std::size_t column = cells_.size() % columns_.size();
  widest_[column] = std::max(widest_[column], width);
  text_ += text;
  cells_.push_back({static_cast<std::uint32_t>(text.size()), static_cast<std::uint32_t>(width), static_cast<std::uint32_t>(tone)});
}

Table::Plan Table::plan(const Style& style) const {
  Plan plan;
  plan.width = widest_;
  std::size_t total = 0, flexible = columns_.size();
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (widest_[i] == 0) continue;
    plan.width[i] = std::max(plan.width[i], display_width(columns_[i].title));
    total += plan.width[i] + (plan.shown.empty() ? 0 : kGap);
    plan.shown.push_back(i);
    if (columns_[i].flexible) flexible = i;
  }
  if (style.width > 0 && total > style.width && flexible < columns_.size()) {
    const std::size_t excess = total - style.width;
    const std::size_t least = std::min(plan.width[flexible], columns_[flexible].least);
    plan.width[flexible] -= std::min(excess, plan.width[flexible] - least);
  }
  return plan;
}

void Table::write_cell(Writer& out, const Style& style, Piece piece, const Column& column, std::size_t width, std::size_t& spaces) const {
  if (piece.text.empty()) {
    spaces += width + kGap;
    return;
  }
  std::string cut;
  if (piece.width > width) {
    cut = column.cut_end ? clipped(style, piece.text, width) : shortened(style, piece.text, width);
    piece.text = cut;
    piece.width = display_width(cut);
  }
  const std::size_t padding = width - piece.width;
  out.repeat(' ', spaces + (column.right ? padding : 0));
  out.put(begin(style, piece.tone));
  out.put(piece.text);
  out.put(end(style, piece.tone));
  spaces = (column.right ? 0 : padding) + kGap;
}

void Table::write(Writer& out, const Style& style) const {
  const Plan plan = this->plan(style);
  if (plan.shown.empty()) return;
  const bool titled = std::ranges::any_of(columns_, [](const Column& column) { return !column.title.empty(); });
  if (titled) {
    std::size_t spaces = 0;
    for (const std::size_t i : plan.shown)
      write_cell(out, style, {columns_[i].title, display_width(columns_[i].title), Tone::faint}, columns_[i], plan.width[i], spaces);
    out.put('\n');
  }
  std::size_t from = 0;
  for (std::size_t row = 0; row < rows(); ++row) {
    std::size_t spaces = 0;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const Cell& cell = cells_[row * columns_.size() + i];
      // Columns that are left out have empty cells only.
      if (plan.width[i] > 0)
        write_cell(out, style, {std::string_view(text_.data() + from, cell.size), cell.width, static_cast<Tone>(cell.tone)}, columns_[i], plan.width[i], spaces);
      from += cell.size;
    }
    out.put('\n');
  }
}

}  // namespace assay::report
