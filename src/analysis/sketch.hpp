// SPDX-License-Identifier: Apache-2.0
// The shape of a distribution in a dozen cells.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "analysis/stats.hpp"

namespace assay::analysis {

inline constexpr std::size_t kSketchCells = 12;
/// Heights from 0 to 8, 8 of the highest; above 0 where there is any value. The cells span three standard deviations on both sides of the
/// mean; what lies beyond stands in the outer ones. All 0 where there is nothing to draw: no finite value, or only one.
using Sketch = std::array<std::uint8_t, kSketchCells>;

/// Of at most 65536 elements, evenly spread in 16 stretches; of the real parts of complex ones.
Result<Sketch> sketch(const Checkpoint& checkpoint, const Tensor& tensor, const Stats& stats, const Limits& limits = {});

}  // namespace assay::analysis
