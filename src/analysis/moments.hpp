// SPDX-License-Identifier: Apache-2.0
// Mean, variance, skewness and kurtosis in one pass, without the cancellation of sums of squares.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "analysis/kernels/kernels.hpp"

namespace assay::analysis {

/// Sum, extremes and least magnitude of a block in one loop that the compiler can spread over vector lanes.
struct Scan {
  double sum, min, max, least_magnitude;
};
/// Precondition: n > 0. The sum is not finite exactly when a value is not, or when it overflows; the rest then means nothing.
Scan scan(std::span<const double> values);

/// Central moments of finite values. Each block is measured about its own mean and merged by Chan's and Pébay's formulas, in the
/// order given. Kept relative to a power of two, so that neither 1e300 nor 1e-300 overflows or vanishes when squared.
class Moments {
 public:
  Moments() = default;
  /// Of a block of finite values, which may be scaled in place, and its scan. Precondition: not empty. Cost: one more pass.
  static Moments of(std::span<double> values, Scan found);
  /// Of values that occur a number of times each, by the same formulas. Precondition: not empty, all counts above 0.
  static Moments of(std::span<const std::pair<double, std::uint64_t>> counted);

  /// Of values of which sums of powers about a pivot near their mean are known. Precondition: all magnitudes from 2^-128 to 2^200, or 0.
  static Moments about(double pivot, std::uint64_t count, const kernels::PowerSums& sums, double min, double max);

  void merge(const Moments& other);
  /// As if every value had the other sign.
  void negate();

  std::uint64_t count() const { return count_; }
  double min() const { return min_; }
  double max() const { return max_; }
  double absmax() const;
  double mean() const;
  double std() const;                      ///< of the population
  double l2(double weight = 1) const;      ///< of all values, each taken `weight` times; infinite only where the true one is no double
  std::optional<double> skew() const;      ///< absent where all values are equal
  std::optional<double> kurtosis() const;  ///< excess; absent where all values are equal

 private:
  void shift(const kernels::PowerSums& sums, double pivot);
  void rescale(int exponent);
  double scaled(double value) const;

  static constexpr int kNoExponent = -100000;  // of zeros alone: they take any other's
  std::uint64_t count_ = 0;
  double min_ = 0, max_ = 0;
  int exponent_ = kNoExponent;  // the numbers below are of x / 2^exponent
  double mean_ = 0, m2_ = 0, m3_ = 0, m4_ = 0;
};

}  // namespace assay::analysis
