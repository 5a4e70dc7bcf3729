// SPDX-License-Identifier: Apache-2.0
// What differs between two tensors: dtype and shape, then every value.
//
// Values compare by position. NaN equals NaN and -0 equals 0; a NaN against a number is a change, counted apart, as is an infinity
// against anything but itself. The measures (max, mean, norms, cosine) are over positions where both values are finite. A complex
// element is two reals, and changed when one of them is. Integers of 64 bits compare exactly against their own dtype, and as
// doubles against another.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "analysis/low_rank.hpp"
#include "assay/checkpoint.hpp"
#include "base/work.hpp"

namespace assay::analysis {

struct DiffOptions {
  double absolute = 0;  ///< |a - b| <= absolute + relative * |a| is no change
  double relative = 0;
  bool tolerant = false;  ///< a tolerance was asked for: another dtype alone is no difference either
  bool values = true;     ///< false: names, dtypes and shapes only
  bool sample = false;    ///< of a pair above 16 MiB compare only one MiB in sixteen, evenly spaced, and estimate no rank
  bool reshape = false;   ///< compare values in row-major order where the shapes differ and the numbers of elements do not
  enum class Rank : std::uint8_t { never, small_matrices, all_matrices } rank = Rank::small_matrices;
  /// For every file of A the file of B that is the same one on disk, or kNone; may be empty. The same place in it needs no reading.
  std::span<const std::uint32_t> same_file = {};
  Limits limits = {};
  bool (*stop)() = nullptr;  ///< asked now and then; true ends the comparison with what it has
};

/// Absent measures: nothing was compared, or no position has two finite values.
struct Difference {
  bool dtype_differs = false;
  bool shape_differs = false;
  bool compared = false;               ///< the values were looked at, or stand at the same place of the same file
  bool same_bytes = false;             ///< same dtype and element codes
  bool whole = true;                   ///< false when stopped
  bool sampled = false;                ///< all below is of `measured` elements; what was not looked at may differ
  std::uint64_t numel = 0;             ///< of A
  std::uint64_t measured = 0;          ///< elements looked at, where compared
  std::uint64_t changed_elements = 0;  ///< beyond the tolerance, those below included
  std::uint64_t nan_changed = 0;       ///< a NaN on one side only
  std::uint64_t inf_changed = 0;       ///< an infinity on one side only, or of the other sign
  std::optional<double> max_abs, mean_abs;
  std::optional<double> rel_l2;           ///< ||a - b|| / ||a||
  std::optional<double> cosine;           ///< absent also where a or b is all zero
  std::optional<std::uint64_t> max_ulps;  ///< of floats of the same dtype
  double a_l2 = 0, b_l2 = 0, delta_l2 = 0;
  bool rounded = false;          ///< of BF16, F16 or F32 against another float dtype: one side is the other rounded to it, and nothing else
  std::optional<double> factor;  ///< b is a times this, but for a change far smaller than what the factor makes
  std::optional<RankEstimate> rank;

  /// B is no nearer to A than numbers that never had to do with it. False where there are too few elements to tell.
  bool keeps_nothing() const;
  /// Whether the pair counts as different.
  bool differs(const DiffOptions& options) const {
    return (shape_differs && !(options.reshape && compared)) || (dtype_differs && !options.tolerant) || changed_elements > 0;
  }
};

/// Equal codes are proven by comparing bytes; only where these differ are values decoded. Where both tensors repeat elements by a
/// stride of 0 these are read once. Memory: a few MiB and what readers hold. Fails where either tensor cannot be read.
Result<Difference> compare_tensors(const Checkpoint& a, const Tensor& tensor_a, const Checkpoint& b, const Tensor& tensor_b,
                                   const DiffOptions& options = {});
/// The same, waiting for what is not at hand. `options` must live as long.
Work<Difference> compare_work(const Checkpoint& a, const Tensor& tensor_a, const Checkpoint& b, const Tensor& tensor_b,
                              const DiffOptions& options);
/// Bytes that comparing two tensors reads at most, of both together.
std::uint64_t bytes_to_compare(const Tensor& a, const Tensor& b, const DiffOptions& options);

}  // namespace assay::analysis
