// SPDX-License-Identifier: Apache-2.0
// Whether the difference of two matrices has low rank, as that of a merged adapter has.
#pragma once

#include <cstdint>
#include <optional>

#include "assay/checkpoint.hpp"
#include "base/work.hpp"

namespace assay::analysis {

struct RankEstimate {
  static constexpr std::uint32_t kMost = 32;
  /// The least rank that holds 99.9 % of the difference's energy; absent where none up to kMost and a fourth of the lesser side does.
  std::optional<std::uint32_t> rank;
  double captured = 0;        ///< share of the energy that it, or else the largest rank tried, holds
  std::uint64_t rows = 0;     ///< rows that differ anywhere
  std::uint64_t columns = 0;  ///< columns that differ anywhere
  /// The one row or column that holds 99 % of the energy.
  std::optional<std::uint64_t> main_row, main_column;
  std::uint64_t zero_rows = 0, zero_columns = 0;  ///< all zero in B and not in A
};

/// Multiplies B - A by a seeded random matrix of kMost + 8 columns, a few rows at a time, and looks at the singular values of
/// the product. Absent where a value is not finite, or the matrix has fewer than 32 rows or columns or too many columns to sketch.
/// Precondition: two dimensions, equal shapes. Cost: 40 multiplications an element. Memory: 160 bytes a column.
Work<std::optional<RankEstimate>> delta_rank(const Checkpoint& a, const Tensor& tensor_a, const Checkpoint& b, const Tensor& tensor_b,
                                             const Limits& limits);

}  // namespace assay::analysis
