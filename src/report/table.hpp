// SPDX-License-Identifier: Apache-2.0
// Columns of text that line up.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/style.hpp"
#include "report/units.hpp"
#include "report/writer.hpp"

namespace assay::report {

struct Column {
  std::string_view title = {};
  bool right = false;      ///< numbers stand at the right
  bool flexible = false;   ///< cut when the terminal is too narrow; one column of a table
  bool cut_end = false;    ///< cut at its end, not in its middle
  std::size_t least = 12;  ///< columns that stay of a flexible one
};

/// Printable text; its tone colours this cell.
struct Cell {
  std::string_view text = {};
  std::size_t width = 0;  ///< columns in a terminal
  Tone tone = Tone::plain;
};

/// Rows that are measured first and written then, and never kept: for tables of very many.
class TableLines {
 public:
  explicit TableLines(std::vector<Column> columns) : columns_(std::move(columns)), widths_(columns_.size(), 0) {}

  std::size_t columns() const { return columns_.size(); }
  void measure(std::size_t column, std::size_t width) { widths_[column] = std::max(widths_[column], width); }
  void measure(std::span<const Cell> row) {
    for (std::size_t i = 0; i < row.size(); ++i) measure(i, row[i].width);
  }
  /// Fixes the widths and writes the title line; false when every cell was empty. Columns whose every cell is empty are left out.
  bool begin(Writer& out, const Style& style);
  /// Writes a row of those that were measured.
  void write(Writer& out, const Style& style, std::span<const Cell> row) const;

 private:
  struct Shown {
    std::size_t index, width;
    bool right, cut_end;
  };
  void squeeze(std::size_t width, const Shown* flexible);
  static char* put_cell(char* to, const Style& style, const Shown& column, const Cell& cell, std::size_t& spaces);

  std::vector<Column> columns_;
  std::vector<std::size_t> widths_;  // of the widest cells
  std::vector<Shown> shown_;
  std::size_t all_ = 0;  // columns of a whole line
};

/// The same where cells are made one by one and kept.
class Table {
 public:
  explicit Table(std::vector<Column> columns) : lines_(std::move(columns)) {}
  /// The next cell of the current row; printable text. A row ends with its last cell. A tone colours this cell.
  void cell(std::string_view text, Tone tone = Tone::plain);
  std::size_t rows() const { return cells_.size() / lines_.columns(); }
  /// Writes the title line and all rows.
  void write(Writer& out, const Style& style) const;

 private:
  struct Kept {
    std::uint32_t size;   // bytes of text_, behind those of the cell before
    std::uint32_t width;  // columns
    Tone tone;
  };

  TableLines lines_;
  std::string text_;
  std::vector<Kept> cells_;
};

}  // namespace assay::report
