// SPDX-License-Identifier: Apache-2.0
// Floating-point numbers as decimal text: to the character what std::to_chars writes, which is called where it costs nothing. In
// WebAssembly it would bring 20 KB of tables.
#pragma once

#include <cstdint>

namespace assay {

/// Room for any number in any form but `fixed`, which takes up to 330 more.
constexpr int kRealText = 40;

/// `general`: the shorter of the two others.
enum class RealForm : std::uint8_t { general, fixed, scientific };

/// The fewest digits that read back as the same number. `value` is finite. Writes from `out` on and returns the end.
char* write_shortest(char* out, double value, RealForm form = RealForm::general);
char* write_shortest(char* out, float value, RealForm form = RealForm::general);
/// `decimals` digits after the point, rounded to nearest, ties to even.
char* write_fixed(char* out, double value, int decimals);
/// At most `digits` significant digits, without trailing zeros: %g.
char* write_significant(char* out, double value, int digits);

}  // namespace assay
