// SPDX-License-Identifier: Apache-2.0
// Scales of integers and 8-bit floats that are tensors of their own beside them: "x.weight" and "x.weight_scale".
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "assay/checkpoint.hpp"

namespace assay::analysis {

/// Finds scales by their names. The checkpoint's tensors must stay where they are. Cost: an entry for each name, where any tensor has at
/// most 8 bits.
class ScalesBeside {
 public:
  explicit ScalesBeside(const Checkpoint& checkpoint);
  /// The tensor that by its name scales this one of at most 8 bits: its name with _scale, _scale_inv or _scales behind it, or .scale or
  /// .scales in the place of .weight; null where there is none. In all of them a number is its code times the scale.
  const Tensor* of(const Tensor& tensor) const;

 private:
  const Tensor* find(const std::string& name) const;
  const Checkpoint& checkpoint_;
  std::unordered_map<std::string_view, std::uint32_t> tensors_;  // the first of each name
};

/// Gives those of these tensors a quantizer whose scales are one number, or one for each row: reading them gives numbers then. Others
/// (scales of blocks) stay codes. Reads single scales.
void apply_scales_beside(Checkpoint& checkpoint, const ScalesBeside& scales, std::span<const std::uint32_t> tensors);

}  // namespace assay::analysis
