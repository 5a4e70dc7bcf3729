// SPDX-License-Identifier: Apache-2.0
// How a tensor's values are spread: counted once, then put into any bins.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "assay/checkpoint.hpp"

namespace assay::analysis {

/// Value by value for dtypes of up to 16 bits. Of wider ones, values whose doubles agree in sign, exponent and 8 bits of the
/// significand are one entry, which stands at the least magnitude of them: within 0.4 %. A complex element is its real part.
struct Distribution {
  bool exact = true;  ///< every entry is one value
  std::uint64_t n = 0, nan = 0, pos_inf = 0, neg_inf = 0, zeros = 0;
  std::vector<std::pair<double, std::uint64_t>> finite;  ///< ascending values and how often they occur
  double min = 0, max = 0;                               ///< of finite values, always exact; 0 without one

  /// The least value that at least a share p of the finite ones do not exceed (nearest rank); 0 without one.
  double quantile(double p) const;
  /// The same of magnitudes above 0.
  double magnitude_quantile(double p) const;
};
/// One pass over the elements. Memory: 8 MiB for wide dtypes, a table of codes for others.
Result<Distribution> distribution(const Checkpoint& checkpoint, const Tensor& tensor, const Limits& limits = {});

enum class Scale : std::uint8_t {
  linear,
  log,     ///< of magnitudes: bins grow by one factor; zeros are below
  symlog,  ///< log(1 + |x| / threshold) with the sign of x: nearly linear about 0, logarithmic far from it
};
std::string_view scale_name(Scale scale);
std::optional<Scale> scale_from_name(std::string_view name);

struct Axis {
  Scale scale = Scale::linear;
  std::vector<double> edges;  ///< ascending, at least 2; of magnitudes where the scale is log
  double threshold = 1;       ///< of symlog

  bool magnitudes() const { return scale == Scale::log; }
  /// Where a value stands between the first edge (0) and the last (1); beyond them outside of that.
  double position(double value) const;
};
/// About `bins` bins: of whole numbers every bin holds equally many. Without a range: all of it, but on a linear scale, where the ends
/// are far from the bulk, the 0.1 % to the 99.9 % quantile and a bit more.
Axis make_axis(Scale scale, std::span<const Distribution* const> of, std::size_t bins, bool whole_numbers,
               std::optional<std::pair<double, double>> range);

/// counts[i] is of edges[i] <= x < edges[i + 1], the last one of x <= edges.back() too. What is not finite is below or above, as -Inf
/// and +Inf are (with magnitudes: above), or NaN.
struct Bins {
  std::vector<std::uint64_t> counts;
  std::uint64_t below = 0, above = 0, nan = 0;
};
/// Precondition: the distribution is exact.
Bins bins_of(const Distribution& exact, const Axis& axis);
/// From a pass over the values, for those that are not.
Result<Bins> count_bins(const Checkpoint& checkpoint, const Tensor& tensor, const Axis& axis, const Limits& limits = {});

}  // namespace assay::analysis
