// SPDX-License-Identifier: Apache-2.0
// What the terminal can show: by what the environment says, and by asking it.
#pragma once

#include <cstddef>

#include "report/heatmap_report.hpp"

namespace assay::cli {

/// Lines of the terminal on standard output; 0 where there is none.
std::size_t terminal_height();
/// Pixels of the terminal on standard output; 0 where it does not say.
struct Pixels {
  std::size_t width = 0, height = 0;
};
Pixels terminal_pixels();
/// The colours it has, by COLORTERM and TERM. Where colour is wanted at all: at least 16.
report::Depth terminal_depth();

enum class Graphics : unsigned char { none, kitty, iterm, sixel };
/// How it takes pictures. Asks the terminal where the environment does not say, for at most 80 ms. Nothing within tmux and screen.
Graphics terminal_graphics();

}  // namespace assay::cli
