// SPDX-License-Identifier: Apache-2.0
// Moments and counts of a stretch of codes at the speed of memory.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

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
  /// The next codes where they stand, a block at most.
  void add(const kernels::Runs& codes, std::size_t n);
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

  /// Codes of one block. `joined` are they in one stretch: a copy where they do not stand so, made when first needed.
  struct Block {
    kernels::Runs codes;
    std::size_t n;
    const std::byte* joined;
  };
  const std::byte* join(Block& block);
  void add_block(Block block);
  /// How a block is measured: as if all was well; without what is not finite; so and scaled.
  enum class Way : std::uint8_t { tame, finite, scaled };
  bool add_about(Block& block, Way way);
  bool add_scaled(Block& block);
  kernels::Measured measured(const Block& block, Way way) const;
  void add_slowly(const std::byte* codes, std::size_t n);
  static void close(const Group& group, Moments& into);
  void add_constant(std::size_t n, double value);
  void count_small(Block& block, const kernels::Measured& found, Way way);
  void count_special(Block& block, const kernels::Measured& found);
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
  Way last_ = Way::tame;
  double scale_ = 1;  // of the last scaled block
  std::unique_ptr<std::byte[]> joined_;
  std::vector<const std::byte*> begins_;  // of runs in it
  std::vector<std::size_t> counts_;
  Tally done_;
  Group pivoted_, scaled_;
};

}  // namespace assay::analysis
