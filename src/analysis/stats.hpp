// SPDX-License-Identifier: Apache-2.0
// Statistics of tensors in a full pass over their values.
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
  std::uint64_t measured = 0;  ///< elements looked at, of which all numbers below are; numel when exact
  bool exact = true;
  std::optional<double> min, max, mean, std, absmax, l2, skew, kurtosis;  ///< std is the population's, kurtosis is excess
  std::uint64_t zeros = 0, near_zeros = 0 /* |x| < 1e-6, zeros among them */, nan = 0, pos_inf = 0, neg_inf = 0, subnormal = 0;
  std::optional<std::uint64_t> distinct;             ///< distinct bit patterns, where counted: dtypes of up to 16 bits
  std::vector<std::pair<double, double>> quantiles;  ///< (p, value), ascending p, by nearest rank; where computed
};

struct StatsOptions {
  /// Also quantiles and distinct values. Without them BF16 and F16 are measured several times as fast, their moments then to some 1e-7;
  /// with them dtypes wider than 16 bits are gone through twice (32 bits) or four times.
  bool quantiles = true;
  bool sample = false;  ///< of a tensor above 16 MiB only one MiB in sixteen, evenly spaced
  Limits limits = {};
};

/// Reads every element (a stride of 0 is looked at once and counted by its weight). Memory: a block of elements, and with quantiles the
/// counts of a census. For many tensors at once see StatsRun.
Result<Stats> tensor_stats(const Checkpoint& checkpoint, const Tensor& tensor, const StatsOptions& options = {});

}  // namespace assay::analysis
