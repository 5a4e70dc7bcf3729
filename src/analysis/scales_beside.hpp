// SPDX-License-Identifier: Apache-2.0
// Scales of integers and 8-bit floats that are tensors of their own beside them: "x.weight" and "x.weight_scale".
#pragma once

#include <cstdint>
#include <span>

#include "assay/checkpoint.hpp"

namespace assay::analysis {

/// The tensor that by its name scales this one of at most 8 bits: its name with _scale, _scale_inv or _scales behind it, or .scale or
/// .scales in the place of .weight; null where there is none. In all of them a number is its code times the scale.
const Tensor* scales_beside(const Checkpoint& checkpoint, const Tensor& tensor);

/// Gives those of these tensors a quantizer whose scales are one number, or one for each row: reading them gives numbers then. Others
/// (scales of blocks) stay codes. Reads single scales.
void apply_scales_beside(Checkpoint& checkpoint, std::span<const std::uint32_t> tensors);

}  // namespace assay::analysis
