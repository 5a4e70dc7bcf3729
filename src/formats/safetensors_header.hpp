// SPDX-License-Identifier: Apache-2.0
// Reading the JSON header of a safetensors file: a scanner for the one spelling that the reference writes, and an exact reader for
// everything else. Where both can read a header they give the same answer.
#pragma once

#include "assay/limits.hpp"
#include "base/arena.hpp"
#include "formats/safetensors_layout.hpp"

namespace assay::formats::safetensors {

/// The scanner: about 30 ns a tensor. False when the header is spelled in any other way (blanks, escapes, other key order, text
/// beyond ASCII, anything wrong); the layout is then of no use. Names point into `header`, dimensions live in `arena`.
bool scan_header(ByteView header, Arena& arena, const Limits& limits, Layout& layout);

/// The exact reader. Fails with `bad-header` where the text is not JSON or not UTF-8; entries of a wrong form are listed as broken.
/// Names point into `header` where they are written plainly, else into `arena`.
Result<void> parse_header(ByteView header, Arena& arena, const Limits& limits, Layout& layout);

}  // namespace assay::formats::safetensors
