// SPDX-License-Identifier: Apache-2.0
#include "report/canvas.hpp"

#include <algorithm>
#include <array>

namespace assay::report {
namespace {

constexpr std::size_t kRows = 8, kColumns = 5;
constexpr unsigned char kFirstGlyph = ' ', kLastGlyph = '~';

struct Glyph {
  char character;
  const char* rows;  // of '.' and '#', a space after each
};
constexpr Glyph kGlyphs[] = {
#define GLYPH(character, rows) {character, rows},
#include "report/font.def"
#undef GLYPH
};

constexpr bool is_complete() {
  if (std::size(kGlyphs) != kLastGlyph - kFirstGlyph + 1) return false;
  for (std::size_t i = 0; i < std::size(kGlyphs); ++i)
    if (kGlyphs[i].character != static_cast<char>(kFirstGlyph + i) ||
        std::string_view(kGlyphs[i].rows).size() != kRows * (kColumns + 1) - 1)
      return false;
  return true;
}
static_assert(is_complete(), "font.def lacks a glyph, or one is out of order or of another size");

}  // namespace

Canvas::Canvas(Size size, std::vector<Rgb> palette) : size_(size), palette_(std::move(palette)), pixels_(size.width * size.height) {}

void Canvas::fill(Point at, Size size, std::uint8_t colour) {
  if (at.x >= size_.width || at.y >= size_.height) return;
  const std::size_t width = std::min(size.width, size_.width - at.x), bottom = at.y + std::min(size.height, size_.height - at.y);
  for (std::size_t y = at.y; y < bottom; ++y)
    std::fill_n(pixels_.begin() + static_cast<std::ptrdiff_t>(y * size_.width + at.x), width, colour);
}

void Canvas::text(Point at, std::string_view text, std::size_t scale, std::uint8_t colour) {
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    const Glyph& glyph = kGlyphs[(code >= kFirstGlyph && code <= kLastGlyph ? code : static_cast<unsigned char>('?')) - kFirstGlyph];
    for (std::size_t row = 0; row < kRows; ++row)
      for (std::size_t column = 0; column < kColumns; ++column)
        if (glyph.rows[row * (kColumns + 1) + column] == '#') fill({at.x + column * scale, at.y + row * scale}, {scale, scale}, colour);
    at.x += kGlyphWidth * scale;
  }
}

}  // namespace assay::report
