// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "report/heatmap_report.hpp"
#include "report/units.hpp"

namespace assay::report {
namespace {

using Point = Canvas::Point;

// Colours 0 to kLevels - 1 are the map's, thinned out to leave room for the rest.
constexpr std::size_t kLevels = 240;
enum Ink : std::uint8_t { kBackground = kLevels, kText, kFaint, kFrame, kProfile, kNan, kPosInf, kNegInf, kInks };

constexpr std::size_t kScale = 2;  // pixels of a dot of the font
constexpr std::size_t kLine = Canvas::kGlyphHeight * kScale + 4, kChar = Canvas::kGlyphWidth * kScale;
constexpr std::size_t kMargin = 16, kGap = 6, kTick = 6, kStrip = 48;  // pixels
constexpr std::size_t kLeastCells = 512;                               // pixels that the grid's longer side is drawn with
constexpr std::size_t kMostZoom = 64, kHatchFrom = 4;
constexpr std::size_t kLegendWidth = 320, kLegendHeight = 16;
constexpr std::size_t kLeastWidth = 720;

std::vector<Rgb> palette_of(ColourKind kind, Theme theme) {
  const ColourMap map = colour_map(kind, theme);
  std::vector<Rgb> palette;
  for (std::size_t i = 0; i < kLevels; ++i) palette.push_back(map[(i * (kColours - 1) + (kLevels - 1) / 2) / (kLevels - 1)]);
  const bool dark = theme == Theme::dark;
  palette.push_back(dark ? Rgb{24, 24, 27} : Rgb{255, 255, 255});
  palette.push_back(dark ? Rgb{235, 235, 235} : Rgb{25, 25, 25});
  palette.push_back(dark ? Rgb{160, 160, 165} : Rgb{95, 95, 100});
  palette.push_back(dark ? Rgb{90, 90, 95} : Rgb{170, 170, 175});
  palette.push_back(dark ? Rgb{185, 165, 225} : Rgb{100, 75, 150});
  for (const Rgb& mark : {kMarkColours.nan, kMarkColours.pos_inf, kMarkColours.neg_inf}) palette.push_back(mark);
  return palette;
}

std::uint8_t level_of(ColourKind kind, double value, double limit) {
  return static_cast<std::uint8_t>((colour_index(kind, value, limit) * (kLevels - 1) + (kColours - 1) / 2) / (kColours - 1));
}

/// ASCII for the picture's font, one character for each; cut in its middle to `most`.
std::string drawable(std::string_view text, std::size_t most) {
  constexpr std::string_view kTimes = "×";
  std::string out;
  for (; !text.empty(); text.remove_prefix(1)) {
    const auto u = static_cast<unsigned char>(text[0]);
    if (text.starts_with(kTimes)) out += 'x';
    else if (u < 0x80) out += text[0];
    else if (u >= 0xc0) out += '?';
  }
  if (out.size() > most && most > 3) out = concat(out.substr(0, most / 3), "...", out.substr(out.size() - (most - most / 3 - 3)));
  return out;
}

struct Plan {
  std::size_t zoom_x = 1, zoom_y = 1;
  Point grid;  // its upper left
  std::size_t grid_width = 0, grid_height = 0, text_columns = 0;
  Canvas::Size size;
};

Plan plan_of(const HeatmapScene& scene) {
  const analysis::Heatmap& map = scene.map;
  const auto rows = static_cast<std::size_t>(std::max<std::uint64_t>(map.rows, 1)),
             cols = static_cast<std::size_t>(std::max<std::uint64_t>(map.cols, 1));
  Plan plan;
  plan.zoom_x = plan.zoom_y = std::clamp<std::size_t>(kLeastCells / std::max(rows, cols), 1, kMostZoom);
  // What is long and thin is drawn wide enough to be seen.
  if (rows * plan.zoom_y < kStrip) plan.zoom_y = std::min(kStrip / rows, kMostZoom);
  if (cols * plan.zoom_x < kStrip) plan.zoom_x = std::min(kStrip / cols, kMostZoom);
  plan.grid_width = cols * plan.zoom_x;
  plan.grid_height = rows * plan.zoom_y;
  std::size_t labels = 3;  // "rms"
  for (const std::uint64_t row : {std::uint64_t{0}, map.source_rows / 2, map.source_rows - (map.source_rows > 0)})
    if (map.source_rows > 0) labels = std::max(labels, row_label(scene.view, row).size());
  plan.grid = {kMargin + labels * kChar + kTick + kGap, kMargin + 2 * kLine + kGap + kStrip + kGap};
  plan.size.width = std::max(plan.grid.x + plan.grid_width + kGap + kStrip + kMargin, kLeastWidth);
  plan.size.height = plan.grid.y + plan.grid_height + kTick + kLine + kGap + kLegendHeight + kGap + 2 * kLine + kMargin;
  plan.text_columns = (plan.size.width - 2 * kMargin) / kChar;
  return plan;
}

class Painter {
 public:
  explicit Painter(const HeatmapScene& scene)
      : scene_(scene), map_(scene.map), plan_(plan_of(scene)), canvas_(plan_.size, palette_of(scene.kind(), scene.theme)) {}

  Canvas paint() {
    canvas_.fill({0, 0}, plan_.size, kBackground);
    put_text({kMargin, kMargin}, concat(scene_.title, "  ", scene_.about), kText);
    put_text({kMargin, kMargin + kLine}, cell_text(Style{.unicode = false}, map_), kFaint);
    frame({plan_.grid.x - 1, plan_.grid.y - 1}, {plan_.grid_width + 2, plan_.grid_height + 2});
    paint_cells();
    paint_profiles();
    paint_ticks();
    paint_legend();
    return std::move(canvas_);
  }

 private:
  void put_text(Point at, std::string_view text, std::uint8_t ink) { canvas_.text(at, drawable(text, plan_.text_columns), kScale, ink); }

  void frame(Point at, Canvas::Size size) {
    canvas_.fill(at, {size.width, 1}, kFrame);
    canvas_.fill({at.x, at.y + size.height - 1}, {size.width, 1}, kFrame);
    canvas_.fill(at, {1, size.height}, kFrame);
    canvas_.fill({at.x + size.width - 1, at.y}, {1, size.height}, kFrame);
  }

  /// NaN hatched, infinities a triangle that points up or down, where there is room; else one plain colour.
  void paint_mark(Point at, Canvas::Size size, std::uint8_t mark) {
    const bool nan = (mark & analysis::Heatmap::kNan) != 0, up = (mark & analysis::Heatmap::kPosInf) != 0;
    const std::uint8_t ink = nan ? kNan : up ? kPosInf : kNegInf;
    if (std::min(size.width, size.height) < kHatchFrom) return canvas_.fill(at, size, ink);
    canvas_.fill(at, size, kBackground);
    for (std::size_t y = 0; y < size.height; ++y) {
      if (nan) {
        for (std::size_t x = 0; x < size.width; ++x)
          if ((x + y) % 4 < 2) canvas_.fill({at.x + x, at.y + y}, {1, 1}, ink);
        continue;
      }
      const std::size_t width = std::max<std::size_t>(size.width * (up ? y + 1 : size.height - y) / size.height, 1);
      canvas_.fill({at.x + (size.width - width) / 2, at.y + y}, {width, 1}, ink);
    }
  }

  void paint_cells() {
    const Canvas::Size cell = {plan_.zoom_x, plan_.zoom_y};
    for (std::uint64_t row = 0; row < map_.rows; ++row)
      for (std::uint64_t col = 0; col < map_.cols; ++col) {
        const auto i = static_cast<std::size_t>(row * map_.cols + col);
        const Point at = {plan_.grid.x + static_cast<std::size_t>(col) * plan_.zoom_x,
                          plan_.grid.y + static_cast<std::size_t>(row) * plan_.zoom_y};
        if (map_.marks[i] != 0) paint_mark(at, cell, map_.marks[i]);
        else
          canvas_.fill(
              at, cell,
              std::isnan(map_.data[i]) ? static_cast<std::uint8_t>(kBackground) : level_of(scene_.kind(), map_.data[i], scene_.limit));
      }
  }

  /// The largest rms of the rows, or columns, of every cell, as lengths of at most kStrip pixels.
  static std::vector<std::size_t> lengths(const std::vector<float>& rms, std::uint64_t step) {
    float most = 0;
    for (const float value : rms)
      if (std::isfinite(value)) most = std::max(most, value);
    std::vector<std::size_t> lengths(rms.empty() ? 0 : (rms.size() - 1) / static_cast<std::size_t>(step) + 1);
    for (std::size_t i = 0; i < rms.size() && most > 0; ++i) {
      const auto length = std::isfinite(rms[i]) ? static_cast<std::size_t>(std::lround(static_cast<double>(rms[i] / most) * kStrip)) : 0;
      std::size_t& cell = lengths[i / static_cast<std::size_t>(step)];
      cell = std::max({cell, length, std::size_t{rms[i] > 0 ? 1u : 0u}});
    }
    return lengths;
  }

  void paint_profiles() {
    const std::vector<std::size_t> up = lengths(map_.col_profile.rms, map_.col_step), right = lengths(map_.row_profile.rms, map_.row_step);
    for (std::size_t i = 0; i < up.size(); ++i)
      canvas_.fill({plan_.grid.x + i * plan_.zoom_x, plan_.grid.y - kGap - up[i]}, {plan_.zoom_x, up[i]}, kProfile);
    for (std::size_t i = 0; i < right.size(); ++i)
      canvas_.fill({plan_.grid.x + plan_.grid_width + kGap, plan_.grid.y + i * plan_.zoom_y}, {right[i], plan_.zoom_y}, kProfile);
    if (!up.empty()) canvas_.text({kMargin, plan_.grid.y - kGap - kLine}, "rms", kScale, kFaint);
  }

  void paint_ticks() {
    if (map_.data.empty()) return;
    const std::uint64_t row_step = tick_step(map_.source_rows, plan_.grid_height / (2 * kLine));
    for (std::uint64_t row = 0; row < map_.source_rows; row += row_step) {
      const std::string label = row_label(scene_.view, row);
      const std::size_t y = plan_.grid.y + static_cast<std::size_t>(row / map_.row_step) * plan_.zoom_y;
      canvas_.fill({plan_.grid.x - 1 - kTick, y}, {kTick, 1}, kFrame);
      const std::size_t width = Canvas::text_width(label, kScale), right = plan_.grid.x - kTick - kGap;
      canvas_.text({right > width ? right - width : 0, y}, label, kScale, kFaint);
    }
    if (!scene_.view.col_axis()) return;
    const std::size_t widest = Canvas::text_width(col_label(scene_.view, map_.source_cols - 1), kScale);
    const std::uint64_t col_step = tick_step(map_.source_cols, plan_.grid_width / (widest + 3 * kChar));
    const std::size_t bottom = plan_.grid.y + plan_.grid_height + 1;
    for (std::uint64_t col = 0; col < map_.source_cols; col += col_step) {
      const std::size_t x = plan_.grid.x + static_cast<std::size_t>(col / map_.col_step) * plan_.zoom_x;
      canvas_.fill({x, bottom}, {1, kTick}, kFrame);
      canvas_.text({x, bottom + kTick + 2}, col_label(scene_.view, col), kScale, kFaint);
    }
  }

  void paint_legend() {
    const bool both = scene_.kind() == ColourKind::diverging;
    const Point bar = {plan_.grid.x, plan_.grid.y + plan_.grid_height + kTick + kLine + kGap};
    const std::size_t width = std::min(kLegendWidth, plan_.size.width - kMargin - bar.x);
    for (std::size_t x = 0; x < width; ++x)
      canvas_.fill({bar.x + x, bar.y}, {1, kLegendHeight}, static_cast<std::uint8_t>(x * (kLevels - 1) / (width - 1)));
    frame({bar.x - 1, bar.y - 1}, {width + 2, kLegendHeight + 2});
    const std::size_t below = bar.y + kLegendHeight + kGap;
    const std::string high = concat(both ? "+" : "", short_number(scene_.limit));
    canvas_.text({bar.x, below}, both ? short_number(-scene_.limit) : "0", kScale, kText);
    if (both) canvas_.text({bar.x + (width - kChar) / 2, below}, "0", kScale, kText);
    canvas_.text({bar.x + width - Canvas::text_width(high, kScale), below}, high, kScale, kText);
    if (const std::string beyond = beyond_text(scene_); !beyond.empty())
      canvas_.text({bar.x, below + kLine}, drawable(beyond, (plan_.size.width - bar.x) / kChar), kScale, kFaint);
    paint_mark_names({bar.x + width + 2 * kChar, bar.y});
  }

  void paint_mark_names(Point at) {
    std::uint8_t marks = 0;
    for (const std::uint8_t mark : map_.marks) marks |= mark;
    constexpr std::pair<std::uint8_t, std::string_view> kNames[] = {
        {analysis::Heatmap::kNan, "NaN"}, {analysis::Heatmap::kPosInf, "+Inf"}, {analysis::Heatmap::kNegInf, "-Inf"}};
    for (const auto& [mark, name] : kNames) {
      if ((marks & mark) == 0) continue;
      paint_mark(at, {kLegendHeight, kLegendHeight}, mark);
      canvas_.text({at.x + kLegendHeight + kGap, at.y}, name, kScale, kText);
      at.x += kLegendHeight + kGap + Canvas::text_width(name, kScale) + kChar;
    }
  }

  const HeatmapScene& scene_;
  const analysis::Heatmap& map_;
  Plan plan_;
  Canvas canvas_;
};

}  // namespace

void heatmap_rgba(const HeatmapScene& scene, std::uint8_t* out) {
  const ColourMap colours = colour_map(scene.kind(), scene.theme);
  for (std::size_t i = 0; i < scene.map.data.size(); ++i, out += 4) {
    const std::uint8_t mark = scene.map.marks[i];
    const bool none = mark == 0 && std::isnan(scene.map.data[i]);
    const Rgb c = none                                ? Rgb{}
                  : mark & analysis::Heatmap::kNan    ? kMarkColours.nan
                  : mark & analysis::Heatmap::kPosInf ? kMarkColours.pos_inf
                  : mark & analysis::Heatmap::kNegInf ? kMarkColours.neg_inf
                                                      : colours[colour_index(scene.kind(), scene.map.data[i], scene.limit)];
    out[0] = c.r, out[1] = c.g, out[2] = c.b, out[3] = none ? 0 : 255;
  }
}

Canvas heatmap_picture(const HeatmapScene& scene) { return Painter(scene).paint(); }

}  // namespace assay::report
