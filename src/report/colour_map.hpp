// SPDX-License-Identifier: Apache-2.0
// Colours for numbers, the same in the terminal, in pictures and on the page. Made in OKLab, so that equal steps of a value look
// equally large; blue against orange and lightness alone tell sizes apart, for colour-blind eyes too.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace assay::report {

struct Rgb {
  std::uint8_t r = 0, g = 0, b = 0;
  friend bool operator==(const Rgb&, const Rgb&) = default;
};

/// What the colours stand on: zero has the background's colour and vanishes into it.
enum class Theme : std::uint8_t { dark, light };
enum class ColourKind : std::uint8_t {
  diverging,   ///< signed: entry 0 the most negative (blue), 127 and 128 about zero, 255 the most positive (orange)
  sequential,  ///< magnitudes: entry 0 zero, 255 the largest (green)
};

constexpr std::size_t kColours = 256;
using ColourMap = std::array<Rgb, kColours>;

/// Cost: some hundred microseconds; keep it.
ColourMap colour_map(ColourKind kind, Theme theme);
/// The entry for a value where `limit` > 0 is the value of the last entry; beyond it the ends. NaN is taken for 0.
std::size_t colour_index(ColourKind kind, double value, double limit);

/// Colours that no map has.
struct MarkColours {
  Rgb nan, pos_inf, neg_inf;
};
constexpr MarkColours kMarkColours = {{255, 0, 255}, {255, 240, 0}, {0, 240, 255}};

}  // namespace assay::report
