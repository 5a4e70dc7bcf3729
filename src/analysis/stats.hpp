// SPDX-License-Identifier: Apache-2.0
// Exact statistics of one tensor in a full pass.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "assay/checkpoint.hpp"

namespace assay::analysis {

/// Moments are over finite values; a complex element counts as two values, its real and imaginary part. Of no finite
/// value at all, min, max and the moments are absent; of a constant, skew and kurtosis are.
struct Stats {
  std::uint64_t numel = 0;
  std::uint64_t measured = 0;  ///< elements looked at; numel when exact
  bool exact = true;
  std::optional<double> min, max, mean, std, absmax, l2, skew, kurtosis;  ///< std is the population's, kurtosis is excess
  std::uint64_t zeros = 0, near_zeros = 0 /* |x| < 1e-6, zeros among them */, nan = 0, pos_inf = 0, neg_inf = 0, subnormal = 0;
  std::optional<std::uint64_t> distinct;             ///< distinct bit patterns, where counted
  std::vector<std::pair<double, double>> quantiles;  ///< (p, value), ascending p; where computed
};

/// Reads every element once (a stride of 0 is looked at once and counted by its weight). Memory: a block of elements.
Result<Stats> tensor_stats(const Checkpoint& checkpoint, const Tensor& tensor, const Limits& limits = {});

}  // namespace assay::analysis
