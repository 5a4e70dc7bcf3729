// SPDX-License-Identifier: Apache-2.0
#include "report/table.hpp"

#include <algorithm>
#include <cstring>

namespace assay::report {

namespace {

constexpr std::size_t kGap = 2;     // spaces between columns
constexpr std::size_t kTones = 24;  // bytes that begin and end a tone and tell a cut, at most
constexpr std::size_t kBlock = 16;  // what blank() may write beyond its end

/// Short texts without a call: most cells are.
char* put(char* to, std::string_view text) {
  const std::size_t n = text.size();
  const char* from = text.data();
  const auto ends = [&](auto size) {  // two pieces that may overlap
    std::memcpy(to, from, size());
    std::memcpy(to + n - size(), from + n - size(), size());
  };
  if (n >= 16) {
    for (std::size_t i = 16; i + 16 < n; i += 16) std::memcpy(to + i, from + i, 16);
    ends(std::integral_constant<std::size_t, 16>());
  } else if (n >= 8) {
    ends(std::integral_constant<std::size_t, 8>());
  } else if (n >= 4) {
    ends(std::integral_constant<std::size_t, 4>());
  } else {
    for (std::size_t i = 0; i < n; ++i) to[i] = from[i];
  }
  return to + n;
}

char* blank(char* to, std::size_t n) {
  for (std::size_t i = 0; i < n; i += kBlock) std::memset(to + i, ' ', kBlock);
  return to + n;
}

}  // namespace

bool TableLines::begin(Writer& out, const Style& style) {
  Shown* flexible = nullptr;
  std::vector<Cell> titles(columns_.size());
  bool titled = false;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const Column& column = columns_[i];
    titled = titled || !column.title.empty();
    if (widths_[i] == 0) continue;
    titles[i] = {column.title, display_width(column.title), Tone::faint};
    const std::size_t width = std::max(widths_[i], titles[i].width);
    all_ += width + (shown_.empty() ? 0 : kGap);
    shown_.push_back({i, width, column.right, column.cut_end});
  }
  for (Shown& shown : shown_)
    if (columns_[shown.index].flexible) flexible = &shown;
  if (style.width > 0 && all_ > style.width && flexible != nullptr) {
    const std::size_t least = std::min(flexible->width, columns_[flexible->index].least);
    const std::size_t taken = std::min(all_ - style.width, flexible->width - least);
    flexible->width -= taken;
    all_ -= taken;
  }
  if (style.width > 0 && all_ > style.width) squeeze(style.width, flexible);
  if (titled && !shown_.empty()) write(out, style, titles);
  return !shown_.empty();
}

/// What a narrow terminal has no room for: of texts their middles, and then columns from the right.
void TableLines::squeeze(std::size_t width, const Shown* flexible) {
  constexpr std::size_t kText = 16, kLeast = 10;
  const auto shrink = [&](Shown& column, std::size_t least) {
    const std::size_t taken = std::min(all_ - std::min(all_, width), column.width - std::min(column.width, least));
    column.width -= taken;
    all_ -= taken;
  };
  for (Shown& column : shown_)
    if (!column.right && &column != flexible) shrink(column, kText);
  for (Shown& column : shown_)
    if (&column == flexible) shrink(column, kLeast);
  const std::size_t kept = flexible == nullptr ? 0 : flexible->index;
  while (all_ > width && shown_.size() > 1 && shown_.back().index != kept) {
    all_ -= shown_.back().width + kGap;
    shown_.pop_back();
  }
}

void TableLines::write(Writer& out, const Style& style, std::span<const Cell> row) const {
  std::size_t most = all_ + columns_.size() * (kGap + kTones) + kBlock + 1;
  for (const Cell& cell : row) most += cell.text.size();
  char* to = out.room(most);
  std::size_t spaces = 0;  // owed from the cells before, and only paid when something follows
  for (const Shown& column : shown_) {
    const Cell& cell = row[column.index];
    if (cell.text.empty()) {
      spaces += column.width + kGap;
      continue;
    }
    if (cell.width > column.width) {
      const std::string cut = column.cut_end ? clipped(style, cell.text, column.width) : shortened_name(style, cell.text, column.width);
      to = put_cell(to, style, column, {cut, display_width(cut), cell.tone}, spaces);
    } else {
      to = put_cell(to, style, column, cell, spaces);
    }
  }
  *to++ = '\n';
  out.took(to);
}

char* TableLines::put_cell(char* to, const Style& style, const Shown& column, const Cell& cell, std::size_t& spaces) {
  const std::size_t padding = column.width - cell.width;
  to = blank(to, spaces + (column.right ? padding : 0));
  if (style.color) to = put(to, report::begin(style, cell.tone));
  to = put(to, cell.text);
  if (style.color) to = put(to, end(style, cell.tone));
  spaces = (column.right ? 0 : padding) + kGap;
  return to;
}

void Table::cell(std::string_view text, Tone tone) {
  const std::size_t width = display_width(text);
  lines_.measure(cells_.size() % lines_.columns(), width);
  text_ += text;
  cells_.push_back({static_cast<std::uint32_t>(text.size()), static_cast<std::uint32_t>(width), tone});
}

void Table::write(Writer& out, const Style& style) const {
  TableLines lines = lines_;
  if (!lines.begin(out, style)) return;
  std::vector<Cell> row(lines.columns());
  const char* text = text_.data();
  for (std::size_t at = 0; at < cells_.size(); at += row.size()) {
    for (std::size_t i = 0; i < row.size(); text += cells_[at + i++].size) {
      const Kept& kept = cells_[at + i];
      row[i] = {{text, kept.size}, kept.width, kept.tone};
    }
    lines.write(out, style, row);
  }
}

}  // namespace assay::report
