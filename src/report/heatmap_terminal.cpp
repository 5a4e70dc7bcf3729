// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.hpp"
#include "report/heatmap_report.hpp"
#include "report/units.hpp"

namespace assay::report {
namespace {

constexpr std::uint64_t kMostZoom = 8;
constexpr std::size_t kLegendCells = 24;

/// xterm's colours 16 to 255: a cube of six steps, then 24 greys.
Rgb indexed_colour(unsigned n) {
  constexpr std::uint8_t kSteps[] = {0, 95, 135, 175, 215, 255};
  if (n >= 232) {
    const auto grey = static_cast<std::uint8_t>(8 + 10 * (n - 232));
    return {grey, grey, grey};
  }
  n -= 16;
  return {kSteps[n / 36], kSteps[n / 6 % 6], kSteps[n % 6]};
}

unsigned nearest_indexed(const Rgb& colour) {
  unsigned best = 16, least = ~0u;
  for (unsigned n = 16; n < 256; ++n) {
    const Rgb c = indexed_colour(n);
    const int r = c.r - colour.r, g = c.g - colour.g, b = c.b - colour.b;
    // Eyes tell greens apart best, blues worst.
    const auto distance = static_cast<unsigned>(3 * r * r + 6 * g * g + 2 * b * b);
    if (distance < least) least = distance, best = n;
  }
  return best;
}

/// One of the 16 colours for every entry of a map: black or white about zero, then the dark, then the bright of a pair.
unsigned sixteen_colour(ColourKind kind, Theme theme, std::size_t index) {
  constexpr unsigned kBlack = 0, kGreen = 2, kYellow = 3, kBlue = 4, kBright = 8, kWhite = 15;
  const double t = kind == ColourKind::diverging ? (static_cast<double>(index) - 127.5) / 127.5 : static_cast<double>(index) / 255;
  const double size = std::abs(t);
  const unsigned hue = kind == ColourKind::sequential ? kGreen : t < 0 ? kBlue : kYellow;
  if (size < 0.25) return theme == Theme::dark ? kBlack : kWhite;
  const bool far = size > 0.65;
  return hue + ((theme == Theme::dark) == far ? kBright : 0);
}

/// What stands for every colour: the numbers of an SGR sequence after the 3 or 4 that says fore- or background.
class Codes {
 public:
  Codes(ColourKind kind, Theme theme, Depth depth) {
    const ColourMap map = colour_map(kind, theme);
    const auto code = [&](const Rgb& c, unsigned sixteen) {
      if (depth == Depth::colours24bit) return concat("8;2;", c.r, ";", c.g, ";", c.b);
      return depth == Depth::colours256 ? concat("8;5;", nearest_indexed(c)) : decimal(std::uint64_t{sixteen});
    };
    for (std::size_t i = 0; i < kColours; ++i) codes_[i] = code(map[i], sixteen_colour(kind, theme, i));
    constexpr unsigned kMagenta = 13, kBrightWhite = 15, kCyan = 14;
    codes_[kNan] = code(kMarkColours.nan, kMagenta);
    codes_[kPosInf] = code(kMarkColours.pos_inf, kBrightWhite);
    codes_[kNegInf] = code(kMarkColours.neg_inf, kCyan);
  }

  static constexpr std::size_t kNan = kColours, kPosInf = kColours + 1, kNegInf = kColours + 2, kNothing = kColours + 3;

  /// SGR numbers of a colour as foreground (ground 3) or background (ground 4).
  std::string sgr(std::size_t colour, unsigned ground) const {
    if (colour == kNothing) return concat(ground, "9");
    const std::string& code = codes_[colour];
    if (code.find(';') != std::string::npos) return concat(ground, code);
    const unsigned n = code.size() == 1 ? static_cast<unsigned>(code[0] - '0') : 10 + static_cast<unsigned>(code[1] - '0');
    return n < 8 ? concat(ground, n) : concat(ground + 6, n - 8);  // 90 to 97, 100 to 107
  }

 private:
  std::array<std::string, kColours + 3> codes_;
};

std::size_t mark_colour(std::uint8_t mark) {
  return mark & analysis::Heatmap::kNan ? Codes::kNan : mark & analysis::Heatmap::kPosInf ? Codes::kPosInf : Codes::kNegInf;
}

class Drawer {
 public:
  Drawer(Writer& out, const Style& style, const HeatmapScene& scene, Depth depth, GridRoom room)
      : out_(out), style_(style), scene_(scene), depth_(depth), codes_(scene.kind(), scene.theme, depth) {
    const std::uint64_t rows = std::max<std::uint64_t>(scene.map.rows, 1), cols = std::max<std::uint64_t>(scene.map.cols, 1);
    // A character is about twice as high as wide; a half block is square.
    const std::uint64_t aspect = depth == Depth::ascii ? 2 : 1;
    const std::uint64_t fits = std::clamp<std::uint64_t>(std::min(room.rows / rows, room.cols / (cols * aspect)), 1, kMostZoom);
    zoom_x_ = std::clamp<std::uint64_t>(room.cols / cols, 1, fits * aspect);
    zoom_y_ = std::max(fits, std::min(kMostZoom, 16 / aspect / rows));  // few rows are drawn high enough to be seen
  }

  void draw() {
    const analysis::Heatmap& map = scene_.map;
    const std::uint64_t lines = depth_ == Depth::ascii ? map.rows * zoom_y_ : (map.rows * zoom_y_ + 1) / 2;
    const std::uint64_t a_line = depth_ == Depth::ascii ? 1 : 2;
    const std::uint64_t step = tick_step(map.source_rows, std::max<std::uint64_t>(lines / 4, 2));
    for (std::uint64_t row = 0; row < map.source_rows; row += step) gutter_ = std::max(gutter_, row_label(scene_.view, row).size());
    std::uint64_t next = 0;
    for (std::uint64_t line = 0; line < lines; ++line) {
      const std::uint64_t top = line * a_line / zoom_y_;
      std::string label;
      const std::uint64_t bottom_row = std::min(map.source_rows, ((line + 1) * a_line - 1) / zoom_y_ * map.row_step + map.row_step);
      if (next < bottom_row) {
        label = row_label(scene_.view, next);
        while (next < bottom_row) next += step;
      }
      put_label(label);
      if (depth_ == Depth::ascii) put_characters(top);
      else put_blocks(top, std::min(map.rows, (line * a_line + 1) / zoom_y_));
      out_.put('\n');
    }
    put_ticks();
    put_legend();
  }

 private:
  std::size_t colour_at(std::uint64_t row, std::uint64_t col) const {
    const analysis::Heatmap& map = scene_.map;
    if (row >= map.rows) return Codes::kNothing;
    const auto i = static_cast<std::size_t>(row * map.cols + col);
    if (map.marks[i] != 0) return mark_colour(map.marks[i]);
    return std::isnan(map.data[i]) ? Codes::kNothing : colour_index(scene_.kind(), map.data[i], scene_.limit);
  }

  void put_label(std::string_view label) {
    out_.repeat(' ', gutter_ + 1 - label.size());
    out_.put(toned(style_, Tone::faint, label));
    out_.put(' ');
  }

  void put_blocks(std::uint64_t top, std::uint64_t bottom) {
    std::size_t fore = kColours + 4, back = kColours + 4;  // neither is set
    for (std::uint64_t col = 0; col < scene_.map.cols; ++col) {
      const std::size_t up = colour_at(top, col), down = colour_at(bottom, col);
      if (up != fore || down != back) {
        out_.put("\x1b[");
        if (up != fore) out_.put(codes_.sgr(up, 3));
        if (up != fore && down != back) out_.put(';');
        if (down != back) out_.put(codes_.sgr(down, 4));
        out_.put('m');
        fore = up, back = down;
      }
      for (std::uint64_t i = 0; i < zoom_x_; ++i) out_.put(up == Codes::kNothing && down == Codes::kNothing ? " " : "▀");
    }
    out_.put("\x1b[0m");
  }

  /// Shades of magnitude; a sign shows in the shape: dashes below zero, crosses above.
  std::string_view character(std::size_t colour) const {
    constexpr std::string_view kSigned[] = {"%", "=", "-", ":", " ", ".", "+", "*", "#"};
    constexpr std::string_view kShades[] = {" ", "░", "▒", "▓", "█"}, kPlain[] = {" ", ".", "+", "*", "#"};
    if (colour == Codes::kNan) return "N";
    if (colour == Codes::kPosInf) return "^";
    if (colour == Codes::kNegInf) return "v";
    if (colour == Codes::kNothing) return " ";
    const auto place = [&](std::size_t n) { return std::min(colour * n / kColours, n - 1); };
    if (scene_.kind() == ColourKind::diverging) return kSigned[place(std::size(kSigned))];
    return style_.unicode ? kShades[place(std::size(kShades))] : kPlain[place(std::size(kPlain))];
  }

  void put_characters(std::uint64_t row) {
    for (std::uint64_t col = 0; col < scene_.map.cols; ++col)
      for (std::uint64_t i = 0; i < zoom_x_; ++i) out_.put(character(colour_at(row, col)));
  }

  void put_ticks() {
    const analysis::Heatmap& map = scene_.map;
    if (!scene_.view.col_axis() || map.cols == 0) return;
    const std::size_t widest = col_label(scene_.view, map.source_cols - 1).size();
    const std::uint64_t step = tick_step(map.source_cols, map.cols * zoom_x_ / (widest + 3));
    std::string line(gutter_ + 2, ' ');
    for (std::uint64_t col = 0; col < map.source_cols; col += step) {
      const auto at = static_cast<std::size_t>(gutter_ + 2 + col / map.col_step * zoom_x_);
      if (at < line.size() && col > 0) continue;
      line.resize(at, ' ');
      line += col_label(scene_.view, col) + " ";
    }
    out_.put(toned(style_, Tone::faint, line.substr(0, line.find_last_not_of(' ') + 1)));
    out_.put('\n');
  }

  void put_swatch(std::size_t colour) {
    if (depth_ == Depth::ascii) return out_.put(character(colour));
    out_.put(concat("\x1b[", codes_.sgr(colour, 3), "m█\x1b[0m"));
  }

  void put_legend() {
    const bool both = scene_.kind() == ColourKind::diverging;
    out_.repeat(' ', gutter_ + 2);
    out_.put(both ? short_number(-scene_.limit) : "0");
    out_.put(' ');
    for (std::size_t i = 0; i < kLegendCells; ++i) put_swatch(i * (kColours - 1) / (kLegendCells - 1));
    out_.put(concat(" ", both ? "+" : "", short_number(scene_.limit)));
    if (const std::string beyond = beyond_text(scene_); !beyond.empty()) out_.put(concat("  ", beyond));
    std::uint8_t marks = 0;
    for (const std::uint8_t mark : scene_.map.marks) marks |= mark;
    constexpr std::pair<std::uint8_t, std::string_view> kNames[] = {
        {analysis::Heatmap::kNan, "NaN"}, {analysis::Heatmap::kPosInf, "+Inf"}, {analysis::Heatmap::kNegInf, "-Inf"}};
    for (const auto& [mark, name] : kNames) {
      if ((marks & mark) == 0) continue;
      out_.put("  ");
      put_swatch(mark_colour(mark));
      out_.put(concat(" ", name));
    }
    out_.put('\n');
  }

  Writer& out_;
  const Style& style_;
  const HeatmapScene& scene_;
  Depth depth_;
  Codes codes_;
  std::uint64_t zoom_x_ = 1, zoom_y_ = 1;
  std::size_t gutter_ = 0;
};

}  // namespace

GridRoom terminal_room(Depth depth, std::size_t width, std::size_t height, std::uint64_t source_rows) {
  constexpr std::size_t kUnknownWidth = 80, kUnknownHeight = 40, kOtherLines = 8, kLeast = 8;
  if (width == 0) width = kUnknownWidth;
  if (height == 0) height = kUnknownHeight;
  const std::size_t gutter = decimal(source_rows).size() + 3;
  const std::size_t cols = width > gutter + kLeast ? width - gutter : kLeast;
  const std::size_t lines = height > kOtherLines + kLeast ? height - kOtherLines : kLeast;
  // Square for what is square: a character is twice as high as wide.
  if (depth == Depth::ascii) return {std::min(lines, (cols + 1) / 2), cols};
  return {std::min(2 * lines, cols), cols};
}

void write_heatmap_text(Writer& out, const Style& style, const HeatmapScene& scene, Depth depth, GridRoom room) {
  out.put(concat(toned(style, Tone::strong, scene.title), "  ", scene.about, "\n"));
  out.put(toned(style, Tone::faint, concat("  ", cell_text(style, scene.map))));
  out.put('\n');
  if (scene.map.data.empty()) return out.put("  no elements\n");
  Drawer(out, style, scene, depth, room).draw();
}

}  // namespace assay::report
