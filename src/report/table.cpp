// SPDX-License-Identifier: Apache-2.0
#include "report/table.hpp"

#include <algorithm>

namespace assay::report {

constexpr std::size_t kGap = 2;  // spaces between columns

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)), widest_(columns_.size(), 0) {}

void Table::reserve(std::size_t rows) {
  constexpr std::size_t kUsualRow = 96;  // bytes of text
  cells_.reserve(rows * columns_.size());
  text_.room(rows * kUsualRow);
}

void Table::cell(std::string_view text, std::size_t width, Tone tone) {
  widest_[column_] = std::max(widest_[column_], width);
  if (++column_ == columns_.size()) column_ = 0;
  text_.put(text);
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

void Table::write_row(Writer& out, const Style& style, const Plan& plan, const Cell* cells, const char* text) const {
  constexpr std::size_t kTones = 24;  // bytes that begin and end a tone and tell a cut, at most
  std::size_t most = 1;
  for (std::size_t i = 0; i < columns_.size(); ++i) most += cells[i].size + plan.width[i] + kGap + kTones;
  char* to = out.room(most);
  const auto put = [&to](std::string_view piece) { to = std::copy(piece.begin(), piece.end(), to); };
  const auto blank = [&to](std::size_t n) { to = std::fill_n(to, n, ' '); };
  std::size_t spaces = 0;  // owed from the cells before, and only paid when something follows
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const Cell& cell = cells[i];
    const std::size_t width = plan.width[i];
    std::string_view piece(text, cell.size);
    text += cell.size;
    if (width == 0) continue;  // a column without text
    if (piece.empty()) {
      spaces += width + kGap;
      continue;
    }
    std::size_t columns = cell.width;
    std::string cut;
    if (columns > width) {
      cut = columns_[i].cut_end ? clipped(style, piece, width) : shortened(style, piece, width);
      piece = cut;
      columns = display_width(cut);
    }
    const std::size_t padding = width - columns;
    const Tone tone = static_cast<Tone>(cell.tone);
    blank(spaces + (columns_[i].right ? padding : 0));
    if (style.color) put(begin(style, tone));
    put(piece);
    if (style.color) put(end(style, tone));
    spaces = (columns_[i].right ? 0 : padding) + kGap;
  }
  *to++ = '\n';
  out.took(to);
}

void Table::write(Writer& out, const Style& style) const {
  const Plan plan = this->plan(style);
  if (plan.shown.empty()) return;
  if (std::ranges::any_of(columns_, [](const Column& column) { return !column.title.empty(); })) {
    std::string text;
    std::vector<Cell> titles(columns_.size());
    for (const std::size_t i : plan.shown) {
      text += columns_[i].title;
      titles[i] = {static_cast<std::uint32_t>(columns_[i].title.size()), static_cast<std::uint32_t>(display_width(columns_[i].title)),
                   static_cast<std::uint32_t>(Tone::faint)};
    }
    write_row(out, style, plan, titles.data(), text.data());
  }
  const char* text = text_.text().data();
  for (std::size_t at = 0; at < cells_.size(); at += columns_.size()) {
    write_row(out, style, plan, &cells_[at], text);
    for (std::size_t i = 0; i < columns_.size(); ++i) text += cells_[at + i].size;
  }
}

}  // namespace assay::report
