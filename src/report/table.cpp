// SPDX-License-Identifier: Apache-2.0
#include "report/table.hpp"

#include <algorithm>

#include "report/units.hpp"

namespace assay::report {

constexpr std::size_t kGap = 2;          // columns between columns
constexpr std::size_t kLeastFlexible = 12;

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)), widest_(columns_.size(), 0) {}

void Table::cell(std::string_view text, Tone tone) {
  const std::size_t column = cells_.size() % columns_.size();
  const std::size_t width = display_width(text);
  widest_[column] = std::max(widest_[column], width);
  text_ += text;
  cells_.push_back({text_.size(), static_cast<std::uint32_t>(width), tone});
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
    const std::size_t least = std::min(plan.width[flexible], kLeastFlexible);
    plan.width[flexible] -= std::min(excess, plan.width[flexible] - least);
  }
  return plan;
}

void Table::write_cell(Writer& out, const Style& style, std::string_view text, std::size_t text_width, Tone tone, const Column& column,
                       std::size_t width, bool last) const {
  std::string cut;
  if (text_width > width) {
    cut = shortened(style, text, width);
    text = cut;
    text_width = display_width(cut);
  }
  const std::size_t padding = width - text_width;
  if (column.right) out.repeat(' ', padding);
  out.put(begin(style, tone));
  out.put(text);
  out.put(end(style, tone));
  if (last) return out.put('\n');
  out.repeat(' ', (column.right ? 0 : padding) + kGap);
}

void Table::write(Writer& out, const Style& style) const {
  const Plan plan = this->plan(style);
  if (plan.shown.empty()) return;
  const std::size_t last = plan.shown.back();
  const bool titled = std::ranges::any_of(columns_, [](const Column& column) { return !column.title.empty(); });
  if (titled)
    for (const std::size_t i : plan.shown)
      write_cell(out, style, columns_[i].title, display_width(columns_[i].title), Tone::faint, columns_[i], plan.width[i], i == last);
  for (std::size_t row = 0; row < rows(); ++row)
    for (const std::size_t i : plan.shown) {
      const std::size_t at = row * columns_.size() + i;
      const std::size_t from = at == 0 ? 0 : cells_[at - 1].end;
      write_cell(out, style, std::string_view(text_).substr(from, cells_[at].end - from), cells_[at].width, cells_[at].tone, columns_[i],
                 plan.width[i], i == last);
    }
}

}  // namespace assay::report
