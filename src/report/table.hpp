// SPDX-License-Identifier: Apache-2.0
// Columns of text that line up. All cells live in one string; a table of 100,000 rows costs a few milliseconds.
#pragma once

#include <cstdint>
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

class Table {
 public:
  explicit Table(std::vector<Column> columns);
  /// The next cell of the current row; printable text. A row ends with its last cell. A tone colours this cell.
  void cell(std::string_view text, Tone tone = Tone::plain) { cell(text, display_width(text), tone); }
  /// The same for text of ASCII alone, which needs no measuring.
  void ascii_cell(std::string_view text, Tone tone = Tone::plain) { cell(text, text.size(), tone); }
  /// The same for text whose columns are known.
  void cell(std::string_view text, std::size_t width, Tone tone);
  /// Makes room for that many rows at once.
  void reserve(std::size_t rows);
  std::size_t rows() const { return cells_.size() / columns_.size(); }
  /// Writes the title line and all rows. Columns whose every cell is empty are left out.
  void write(Writer& out, const Style& style) const;

 private:
  struct Cell {
    std::uint32_t size;        // bytes of text_, behind those of the cell before
    std::uint32_t width : 28;  // columns
    std::uint32_t tone : 4;
  };
  struct Plan {
    std::vector<std::size_t> shown;  // columns in order
    std::vector<std::size_t> width;  // per column
  };
  Plan plan(const Style& style) const;
  void write_row(Writer& out, const Style& style, const Plan& plan, const Cell* cells, const char* text) const;

  std::vector<Column> columns_;
  std::vector<std::size_t> widest_;
  std::size_t column_ = 0;  // of the next cell
  Writer text_;
  std::vector<Cell> cells_;
};

}  // namespace assay::report
