// SPDX-License-Identifier: Apache-2.0
// A picture of at most 256 colours: rectangles, and text in a small font of its own; and the forms it leaves in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "report/colour_map.hpp"

namespace assay::report {

class Canvas {
 public:
  static constexpr std::size_t kGlyphWidth = 6, kGlyphHeight = 9;  ///< pixels of one character and the gaps behind and below it

  struct Point {
    std::size_t x = 0, y = 0;
  };
  struct Size {
    std::size_t width = 0, height = 0;
  };

  /// All of it in colour 0. `palette` has 1 to 256 colours.
  Canvas(Size size, std::vector<Rgb> palette);

  Size size() const { return size_; }
  const std::vector<Rgb>& palette() const { return palette_; }
  const std::vector<std::uint8_t>& pixels() const { return pixels_; }  ///< row-major indices into the palette

  // What lies outside the canvas is cut off.
  void fill(Point at, Size size, std::uint8_t colour);
  /// ASCII; other bytes become '?'. Every dot is `scale` pixels wide.
  void text(Point at, std::string_view text, std::size_t scale, std::uint8_t colour);
  static std::size_t text_width(std::string_view text, std::size_t scale) { return text.size() * kGlyphWidth * scale; }

 private:
  Size size_;
  std::vector<Rgb> palette_;
  std::vector<std::uint8_t> pixels_;
};

/// A PNG file of palette colours.
std::string png_of(const Canvas& canvas);
/// DEC sixel graphics, from the introducer to the terminator.
std::string sixel_of(const Canvas& canvas);
/// The kitty graphics protocol: the PNG file in base64, in pieces.
std::string kitty_of(const Canvas& canvas);
/// iTerm2's inline image: the PNG file in base64.
std::string iterm_of(const Canvas& canvas);

std::string base64(std::string_view bytes);

}  // namespace assay::report
