// SPDX-License-Identifier: Apache-2.0
// Which layers' weights have another spread than those around them: scaled twice, not dequantised, merged with a wrong weight.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace assay::analysis {

// A layer is odd when its standard deviation is kOddTimes that of its neighbours or more, or as many times less, and kOddDeviations times
// as far from it as layers of this role usually are. Neighbours are the kOddReach layers before it and as many behind it, of which the
// median counts: spreads drift with depth, and do so in every trained model, which is no fault. The usual distance is the median one of
// all layers, as a standard deviation, and kOddFloor, which is a difference of 5 %, besides: copies of one layer have none. Where more
// than a quarter are odd, that is a pattern. web/src/core/standouts.ts judges by the same numbers.
inline constexpr std::size_t kOddLeastLayers = 5, kOddReach = 4;
inline constexpr double kOddTimes = 2.5, kOddDeviations = 6, kOddFloor = 0.05;

struct OddSpread {
  std::size_t layer;
  double neighbours;  ///< their standard deviation
};
/// `stds` are those of one role in the order of the layers, all above 0.
std::vector<OddSpread> odd_spreads(std::span<const double> stds);

}  // namespace assay::analysis
