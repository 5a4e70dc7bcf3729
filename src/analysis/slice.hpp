// SPDX-License-Identifier: Apache-2.0
// Slices as numpy writes them: "[3, :, -8::2]".
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "assay/result.hpp"

namespace assay::analysis {

/// Indices first, first + step, …, `count` of them, along one axis.
struct AxisRange {
  std::uint64_t first = 0;
  std::int64_t step = 1;  ///< never 0; 1 where count is below 2
  std::uint64_t count = 0;
  bool single = false;  ///< written as one index: the axis is not one of the result

  /// Index i of the range; i < count.
  std::uint64_t at(std::uint64_t i) const { return first + i * static_cast<std::uint64_t>(step); }
};

/// All of every axis.
std::vector<AxisRange> whole(std::span<const std::uint64_t> shape);
/// numpy's basic indexing: indices, start:stop:step, negative ones from the end, one "..."; axes not named are whole. Brackets
/// may be left out, and "" is everything. Ranges are cut to the axis as numpy does, an index outside is an error. One AxisRange an axis.
/// Fails with `usage`.
Result<std::vector<AxisRange>> parse_slice(std::string_view text, std::span<const std::uint64_t> shape);
/// As it would be written: "[3, 0:8, ::2]", without axes that are whole at the end; "" for everything.
std::string slice_text(std::span<const AxisRange> slice, std::span<const std::uint64_t> shape);

}  // namespace assay::analysis
