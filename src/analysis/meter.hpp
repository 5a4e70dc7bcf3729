// SPDX-License-Identifier: Apache-2.0
// Moments and counts of a stretch of codes at the speed of memory.
#pragma once

#include <cstdint>
#include <span>

#include "analysis/kernels/kernels.hpp"
#include "analysis/moments.hpp"

namespace assay::analysis {

/// What is known of some values. Adds up; the order decides the last bits of the moments.
struct Tally {
  Moments moments;  ///< of finite values
  std::uint64_t zeros = 0, near_zeros = 0 /* |x| < 1e-6, zeros among them */, nan = 0, pos_inf = 0, neg_inf = 0, subnormal = 0;

  void merge(const Tally& other);
  /// As if every value had the other sign.
  void negate();
};

/// Takes a stretch of codes of one kind in blocks. What it finds depends on the codes alone, not on the machine, its threads or their
/// treatment of subnormal numbers, when every call but the last brings whole blocks.
class Meter {
 public:
  static constexpr std::size_t kBlockBytes = kernels::Table::kMostCodes * 2;

  /// Smaller magnitudes than `least_normal` but 0 are counted as subnormal; 0 for the kind's own.
  explicit Meter(kernels::Real real, double least_normal = 0);
  void add(std::span<const std::byte> codes);
  Tally tally() const;

 private:
  struct Range {
    double min, max;
  };
  struct Group {  // values measured about one pivot
    std::uint64_t count = 0;
    double pivot = 0;
    kernels::PowerSums sums{};
    double min = 0, max = 0;
    void add(std::uint64_t n, const kernels::PowerSums& more, Range range);
  };

  template <class Loop>
  kernels::Measured flushed(const Loop& loop) const;
  void add_block(const std::byte* codes, std::size_t n);
  bool add_tame(const std::byte* codes, std::size_t n);
  bool add_wild(const std::byte* codes, std::size_t n);
  template <class Code>
  std::size_t keep_finite(const std::byte* codes, std::size_t n, std::byte* kept);
  void add_finite(const std::byte* codes, std::size_t n);
  void add_slowly(const std::byte* codes, std::size_t n);
  static void close(const Group& group, Moments& into);
  void add_constant(std::size_t n, double value);
  void count_small(const std::byte* codes, std::size_t n, const kernels::Extremes& extremes, std::size_t small);
  bool any_special(const kernels::Extremes& extremes) const;
  Range range_of(const kernels::Extremes& extremes) const;
  double value_of(std::uint64_t code) const;

  const kernels::Table* table_;
  kernels::Real real_;
  unsigned width_, row_;  // bytes of a code, and which of the functions by width
  std::uint64_t sign_, infinity_, near_, normal_;
  /// Of all but the loops. Changing it takes as long as a few hundred codes, and only numbers of double precision can become subnormal
  /// outside the loops: the least of the others has a fourth power that is normal.
  kernels::Subnormals::Mode mode_;
  double least_normal_;
  bool wild_last_ = false;
  double scale_ = 1;  // of the last wild block
  Tally done_;
  Group pivoted_, wild_;
};

}  // namespace assay::analysis
