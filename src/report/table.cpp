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
  std::size_t flexible = columns_.size(), shown = 0;
  bool titled = false;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    titled = titled || !columns_[i].title.empty();
    if (widths_[i] == 0) continue;
    widths_[i] = std::max(widths_[i], display_width(columns_[i].title));
    all_ += widths_[i] + (shown++ == 0 ? 0 : kGap);
    if (columns_[i].flexible) flexible = i;
  }
  if (shown == 0) return false;
  if (style.width > 0 && all_ > style.width && flexible < columns_.size()) {
    const std::size_t excess = all_ - style.width;
    const std::size_t least = std::min(widths_[flexible], columns_[flexible].least);
    const std::size_t taken = std::min(excess, widths_[flexible] - least);
    widths_[flexible] -= taken;
    all_ -= taken;
  }
  if (!titled) return true;
  std::vector<Cell> titles;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const std::string_view title = widths_[i] == 0 ? std::string_view() : columns_[i].title;
    titles.push_back({title, display_width(title), Tone::faint});
  }
  write(out, style, titles);
  return true;
}

void TableLines::write(Writer& out, const Style& style, std::span<const Cell> row) const {
  std::size_t most = all_ + columns_.size() * (kGap + kTones) + kBlock + 1;
  for (const Cell& cell : row) most += cell.text.size();
  char* to = out.room(most);
  std::size_t spaces = 0;  // owed from the cells before, and only paid when something follows
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const std::size_t width = widths_[i];
    if (width == 0) continue;  // a column without text
    const auto& [text, columns, tone] = row[i];
    if (text.empty()) {
      spaces += width + kGap;
      continue;
    }
    std::string_view piece = text;
    std::size_t padding = width - columns;
    std::string cut;
    if (columns > width) {
      cut = columns_[i].cut_end ? clipped(style, text, width) : shortened(style, text, width);
      piece = cut;
      padding = width - display_width(cut);
    }
    to = blank(to, spaces + (columns_[i].right ? padding : 0));
    if (style.color) to = put(to, report::begin(style, tone));
    to = put(to, piece);
    if (style.color) to = put(to, end(style, tone));
    spaces = (columns_[i].right ? 0 : padding) + kGap;
  }
  *to++ = '\n';
  out.took(to);
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
