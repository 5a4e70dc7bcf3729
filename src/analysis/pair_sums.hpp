// SPDX-License-Identifier: Apache-2.0
// Sums over pairs of finite numbers and their differences, from which norms, ratios and cosines follow.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "analysis/kernels/kernels.hpp"

namespace assay::analysis {

/// Kept relative to a power of two, so that neither 1e300 nor 1e-300 overflows or vanishes when squared.
class PairSums {
 public:
  /// `delta` is a - b, or a closer value of it where a and b are rounded. All finite but `delta`, which may have overflowed. The
  /// blocks may be scaled in place.
  void add(std::span<double> a, std::span<double> b, std::span<double> delta);

  /// The same of a block that a kernel has gone through.
  void add(std::uint64_t count, const kernels::Pairs& pairs);

  std::uint64_t count() const { return count_; }
  double max_abs() const { return max_abs_; }
  double mean_abs() const;
  double a_l2() const;
  double b_l2() const;
  double delta_l2() const;
  /// ||a - b|| / ||a||: 0 where nothing differs, infinite where a is all zero and b is not.
  double rel_l2() const;
  /// Absent where a or b is all zero.
  std::optional<double> cosine() const;
  /// What to multiply a by to come to b, present where what it leaves over is ten times less than what it makes.
  std::optional<double> factor() const;

 private:
  struct Block {
    double aa = 0, bb = 0, ab = 0, dd = 0, abs = 0;
  };
  void merge(Block block, int exponent);

  static constexpr int kNoExponent = -100000;  // of zeros alone: they take any other's
  std::uint64_t count_ = 0;
  double max_abs_ = 0;
  int exponent_ = kNoExponent;
  Block sums_;
};

}  // namespace assay::analysis
