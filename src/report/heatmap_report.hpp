// SPDX-License-Identifier: Apache-2.0
// How a heat map looks: as JSON, in a terminal's characters, as a picture with axes and legend, and what it shows in words.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "analysis/heatmap.hpp"
#include "report/canvas.hpp"
#include "report/colour_map.hpp"
#include "report/json_writer.hpp"
#include "report/style.hpp"
#include "report/writer.hpp"

namespace assay::report {

/// A heat map with all that is said about it. Refers to its parts.
struct HeatmapScene {
  const analysis::Heatmap& map;
  const analysis::MatrixView& view;  ///< where rows and columns are in the tensor
  std::string title;                 ///< the tensor's name, safe to print
  std::string about;                 ///< dtype, shape, slice
  double limit = 0;                  ///< the value of the last colour
  Theme theme = Theme::dark;
  bool change = false;  ///< of one tensor to another: what is zero is unchanged

  ColourKind kind() const { return analysis::is_signed(map.pooling) ? ColourKind::diverging : ColourKind::sequential; }
};

/// A limit that shows the bulk: the largest magnitude, but where a few cells are far beyond all others a half more than the
/// 95th percentile of the cells' magnitudes. 1 for shares.
double automatic_limit(const analysis::Heatmap& map);
/// "max", "auto", "p99.5" (of the cells' magnitudes) or a number above 0; nothing where the text is none of these.
std::optional<double> limit_from(std::string_view text, const analysis::Heatmap& map);
/// Cells beyond the limit.
std::uint64_t cells_beyond(const HeatmapScene& scene);

/// The key "grid" and what was found in rows and columns.
void write_heatmap_keys(JsonWriter& json, const HeatmapScene& scene);

/// What a terminal can do with a character cell.
enum class Depth : std::uint8_t { ascii, colours16, colours256, colours24bit };
/// How large a grid may be so that it fits `width` columns and `height` lines; labels are accounted for.
struct GridRoom {
  std::uint64_t rows, cols;
};
GridRoom terminal_room(Depth depth, std::size_t width, std::size_t height, const std::uint64_t source_rows);
/// Title, cells in half blocks (a character each with Depth::ascii), axes and legend. Small grids are drawn larger, as `room` allows.
void write_heatmap_text(Writer& out, const Style& style, const HeatmapScene& scene, Depth depth, GridRoom room);

/// The same as a picture, with the profiles of rows and columns along its sides.
Canvas heatmap_picture(const HeatmapScene& scene);

/// The cells alone as r, g, b, a, row by row; all 0 where a cell has no value. `out` has room for 4 * rows * cols.
void heatmap_rgba(const HeatmapScene& scene, std::uint8_t* out);

/// Hot and dead rows and columns, what is not finite, and where to look next; `shell` is "assay show FILE NAME".
void write_heatmap_notes(Writer& out, const Style& style, const HeatmapScene& scene, std::string_view shell);

// --- for the drawers ------------------------------------------------------------------------------------------------------------

/// "what one cell is": "64×75 elements a cell, the value of largest magnitude".
std::string cell_text(const Style& style, const analysis::Heatmap& map);
/// A tensor's index for a row of the matrix: "17", or "3,17" where several axes are stacked.
std::string row_label(const analysis::MatrixView& view, std::uint64_t row);
std::string col_label(const analysis::MatrixView& view, std::uint64_t col);
/// The distance between labels, a power of two, so that at most `most` fit `count`.
std::uint64_t tick_step(std::uint64_t count, std::uint64_t most);
/// "12 cells beyond, up to 12.6"; "" where there are none.
std::string beyond_text(const HeatmapScene& scene);

}  // namespace assay::report
