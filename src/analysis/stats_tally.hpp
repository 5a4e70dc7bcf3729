// SPDX-License-Identifier: Apache-2.0
// From tallies and counts to the statistics that are shown.
#pragma once

#include <cstdint>
#include <limits>

#include "analysis/census.hpp"
#include "analysis/meter.hpp"
#include "analysis/stats.hpp"

namespace assay::analysis {

inline constexpr double kF32Normal = std::numeric_limits<float>::min();  // of dequantised values

/// Each value stands for `weight` elements.
void set_tally(Stats& stats, const Tally& tally, std::uint64_t weight);

/// Everything from the counts of codes; sets distinct values and quantiles. `quantizer` is null, or the one that all codes share.
Tally tally_of(const Census& census, const Tensor& tensor, const Quantizer* quantizer, Stats& stats);

}  // namespace assay::analysis
