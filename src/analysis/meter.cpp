// SPDX-License-Identifier: Apache-2.0
// A block is measured as if nothing was wrong with it: about a pivot, with extremes of codes instead of tests. These tell afterwards
// whether that was so. If not, the block, which is in the cache by then, is gone through again in the way it needs:
//   - the mean is far from the pivot: about its own mean;
//   - values that are not finite: without them;
//   - values that are too large or small for sums of single precision: scaled, without what is not finite, about 0;
//   - what neither can do: in double, value by value.
#include "analysis/meter.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>

#include "analysis/kernels/lanes.hpp"

namespace assay::analysis {
namespace {

using kernels::Extremes;
using kernels::Measured;
using kernels::PowerSums;
using kernels::Real;
using kernels::Subnormals;

constexpr double kNearZero = 1e-6;

struct Kind {
  std::uint64_t infinity;
  std::uint64_t near;    ///< the least magnitude of at least 1e-6
  std::uint64_t normal;  ///< the least magnitude that is normal
  double least_normal;
};

// In the order of kernels::Real.
constexpr Kind kKinds[] = {
    {0x7f80, 0x3587, 0x0080, 0x1p-126},
    {0x7c00, 0x0011, 0x0400, 0x1p-14},
    {0x7f800000, 0x358637be, 0x00800000, 0x1p-126},
    {0x7ff0000000000000, std::bit_cast<std::uint64_t>(kNearZero), 0x0010000000000000, 0x1p-1022},
    {0, 0, 0, 0},
    {0, 0, 0, 0},
};

/// Also of subnormal numbers where the processor takes them as 0: they are whole numbers of 2^-149.
double exact_f32(std::uint32_t code) {
  const std::uint32_t magnitude = code & 0x7fffffff;
  if (magnitude >= 0x00800000) return static_cast<double>(std::bit_cast<float>(code));
  const double value = static_cast<double>(magnitude) * 0x1p-149;
  return magnitude == code ? value : -value;
}

double decoded(Real real, const std::byte* code) {
  using namespace kernels;
  switch (real) {
    case Real::bf16: return exact_f32(std::uint32_t{load_le<std::uint16_t>(code)} << 16);
    case Real::f16: return number<Real::f16>(load_le<std::uint16_t>(code));
    case Real::f32: return exact_f32(load_le<std::uint32_t>(code));
    case Real::f64: return number<Real::f64>(load_le<std::uint64_t>(code));
    case Real::i32: return number<Real::i32>(load_le<std::uint32_t>(code));
    default: return number<Real::u32>(load_le<std::uint32_t>(code));
  }
}

/// Whether a pivot is further from the mean than the values are from each other.
bool far_off(const PowerSums& sums, double n) { return sums.s1 * sums.s1 > 0.5 * n * sums.s2; }

/// A pivot of the precision of the values: what stands for values that are not finite is then nothing, and where sums are of single
/// precision, differences have few bits, and their sums hardly a rounding. With other pivots the few values there are would be rounded the
/// same way again and again.
double rounded(Real real, double pivot) {
  if (real == Real::bf16) return bf16_to_f32(f32_to_bf16(static_cast<float>(pivot)));
  if (real == Real::f16) return f16_to_f32(f32_to_f16(static_cast<float>(pivot)));
  if (real == Real::f32) return static_cast<float>(pivot);
  return pivot;
}

// Fourth powers stay within single precision, and what is lost below them is nothing beside the largest.
constexpr double kFastLeast = 0x1p-20, kFastMost = 0x1p28;
// Subnormal numbers are nothing beside the least of these, and fourth powers of the most are doubles.
constexpr double kLeast = 0x1p-60, kMost = 0x1p200;

}  // namespace

void Tally::merge(const Tally& other) {
  moments.merge(other.moments);
  zeros += other.zeros;
  near_zeros += other.near_zeros;
  nan += other.nan;
  pos_inf += other.pos_inf;
  neg_inf += other.neg_inf;
  subnormal += other.subnormal;
}

void Tally::negate() {
  moments.negate();
  std::swap(pos_inf, neg_inf);
}

Meter::Meter(Real real, double least_normal)
    : table_(&kernels::best()), real_(real), width_(kernels::code_bytes(real)), row_(width_ == 2   ? 0
                                                                                     : width_ == 4 ? 1
                                                                                                   : 2),
      sign_(std::uint64_t{1} << (8 * width_ - 1)), infinity_(kKinds[static_cast<std::size_t>(real)].infinity),
      near_(kKinds[static_cast<std::size_t>(real)].near), normal_(kKinds[static_cast<std::size_t>(real)].normal),
      mode_(real == Real::f64 ? Subnormals::Mode::exact : Subnormals::Mode::flushed),
      least_normal_(kKinds[static_cast<std::size_t>(real)].least_normal) {
  // Values that were decoded keep the limit of what they were decoded from.
  if (least_normal > 0 && real == Real::f64) {
    least_normal_ = least_normal;
    normal_ = std::bit_cast<std::uint64_t>(least_normal);
  }
}

void Meter::add(std::span<const std::byte> codes) {
  const Subnormals mode(mode_);
  while (codes.size() >= width_) {
    const std::span<const std::byte> now = codes.first(std::min(codes.size(), kBlockBytes));
    const std::byte *at = now.data(), *ahead = at + kernels::kAheadBytes;
    const std::size_t n = now.size() / width_;
    add_block({{&at, &n, &ahead}, n, at});
    codes = codes.subspan(now.size());
  }
}

void Meter::add(const kernels::Runs& codes, std::size_t n) {
  const Subnormals mode(mode_);
  Block block{codes, n, nullptr};
  std::size_t in_rows = 0;
  for (const std::size_t* count = codes.counts; in_rows < n && *count % kernels::kRunStep == 0; ++count) in_rows += *count;
  if (in_rows >= n) return add_block(block);
  // From a copy, cut where rows end, so that memory is still asked for what comes after.
  const std::byte* joined = join(block);
  begins_.clear();
  counts_.clear();
  for (std::size_t done = 0, cut = 0, i = 0; done < n; ++i) {
    done += codes.counts[i];
    const std::size_t next = done < n ? done / kernels::kRunStep * kernels::kRunStep : n;
    begins_.push_back(joined + cut * width_);
    counts_.push_back(next - cut);
    cut = next;
  }
  add_block({{begins_.data(), counts_.data(), codes.ahead}, n, joined});
}

Tally Meter::tally() const {
  std::optional<Subnormals> exact;  // the moments of all but doubles are the same in any mode
  if (real_ == Real::f64) exact.emplace(Subnormals::Mode::exact);
  Tally all = done_;
  close(pivoted_, all.moments);
  close(scaled_, all.moments);
  return all;
}

void Meter::Group::add(std::uint64_t n, const PowerSums& more, Range range) {
  min = count == 0 ? range.min : std::min(min, range.min);
  max = count == 0 ? range.max : std::max(max, range.max);
  count += n;
  sums.s1 += more.s1;
  sums.s2 += more.s2;
  sums.s3 += more.s3;
  sums.s4 += more.s4;
}

void Meter::close(const Group& group, Moments& into) {
  if (group.count > 0) into.merge(Moments::about(group.pivot, group.count, group.sums, group.min, group.max));
}

/// 0 for -0 too.
double Meter::value_of(std::uint64_t code) const { return decoded(real_, std::as_bytes(std::span(&code, 1)).data()) + 0.0; }

bool Meter::any_special(const Extremes& extremes) const {
  if (!kernels::is_float(real_)) return false;
  return (extremes.max_signed >= 0 && static_cast<std::uint64_t>(extremes.max_signed) >= infinity_) ||
         extremes.max_unsigned >= (sign_ | infinity_);
}

Meter::Range Meter::range_of(const Extremes& extremes) const {
  const auto bits = [&](std::int64_t code) { return static_cast<std::uint64_t>(code) & (sign_ | (sign_ - 1)); };
  if (real_ == Real::i32) return {value_of(bits(extremes.min_signed)), value_of(bits(extremes.max_signed))};
  if (real_ == Real::u32) return {value_of(extremes.min_unsigned), value_of(extremes.max_unsigned)};
  // Of floats with a sign the larger code is the smaller number; where all have one, the least code is the largest number.
  return {value_of(extremes.max_unsigned >= sign_ ? extremes.max_unsigned : extremes.min_unsigned),
          value_of(extremes.max_signed >= 0 ? bits(extremes.max_signed) : extremes.min_unsigned)};
}

void Meter::add_constant(std::size_t n, double value) {
  const auto times = static_cast<double>(n);
  const double d = value - pivoted_.pivot, square = d * d;
  pivoted_.add(n, {times * d, times * square, times * square * d, times * square * square}, {value, value});
}

/// Magnitudes below 1e-6, subnormal ones and zeros. The loop has told how many are below the larger limit; what is below the smaller one,
/// or is 0, is counted where there is any.
void Meter::count_small(Block& block, const Measured& found, Way way) {
  if (found.small == 0) return;
  if (!kernels::is_float(real_)) {
    done_.zeros += found.small;
    done_.near_zeros += found.small;
    return;
  }
  std::size_t zeros = found.zeros, lower = found.lower;
  if (way == Way::tame) {
    const Extremes& extremes = found.extremes;
    std::uint64_t least = sign_;
    if (extremes.max_signed >= 0) least = std::min(least, extremes.min_unsigned);
    if (extremes.max_unsigned >= sign_) least = std::min(least, static_cast<std::uint64_t>(extremes.min_signed) & (sign_ - 1));
    const auto below = [&](std::uint64_t limit) { return table_->below[row_](join(block), block.n, limit); };
    const std::uint64_t lower_limit = std::min(near_, normal_);
    zeros = least == 0 ? extremes.max_unsigned == 0 ? found.small : below(1) : 0;
    lower = least >= lower_limit ? 0 : zeros == found.small ? found.small : below(lower_limit);
  }
  done_.zeros += zeros;
  done_.near_zeros += near_ > normal_ ? found.small : lower;
  done_.subnormal += (near_ > normal_ ? lower : found.small) - zeros;
}

void Meter::count_special(Block& block, const Measured& found) {
  const std::size_t negative = found.infinities > 0 ? table_->equal[row_](join(block), block.n, sign_ | infinity_) : 0;
  done_.nan += found.special - found.infinities;
  done_.neg_inf += negative;
  done_.pos_inf += found.infinities - negative;
}

const std::byte* Meter::join(Block& block) {
  if (block.joined) return block.joined;
  if (!joined_) joined_ = std::make_unique_for_overwrite<std::byte[]>(kBlockBytes);
  kernels::join(block.codes, block.n, width_, joined_.get());
  return block.joined = joined_.get();
}

void Meter::add_block(Block block) {
  // Blocks of one kind come in swarms.
  const Way last = last_;
  if (last == Way::scaled && add_scaled(block)) return;
  if (add_about(block, last == Way::finite ? last : Way::tame)) return;
  if (last != Way::scaled && add_scaled(block)) return;
  last_ = Way::tame;
  add_slowly(join(block), block.n);
}

/// Small numbers are taken as 0 in the loops: where that matters a block is not measured by them.
Measured Meter::measured(const Block& block, Way way) const {
  std::optional<Subnormals> flushed;
  if (mode_ != Subnormals::Mode::flushed) flushed.emplace(Subnormals::Mode::flushed);
  const auto kind = static_cast<std::size_t>(real_);
  const kernels::Below below{std::max(near_, normal_), std::min(near_, normal_)};
  if (way == Way::tame) return table_->measure[kind](block.codes, block.n, pivoted_.pivot, below.limit);
  const bool scaled = way == Way::scaled;
  return table_->wild[kind](block.codes, block.n, scaled ? 0 : pivoted_.pivot, scaled ? scale_ : 1, below);
}

/// About the pivot. False, and nothing done, where the block is not for this way.
bool Meter::add_about(Block& block, Way way) {
  Measured found = measured(block, way);
  if (way == Way::tame && any_special(found.extremes)) return add_about(block, Way::finite);
  const std::size_t n = block.n - found.special;
  if (n == 0) {
    last_ = way;
    count_special(block, found);
    return true;
  }
  const Range range = range_of(found.extremes);
  const double absmax = std::max(std::abs(range.min), std::abs(range.max));
  if (absmax != 0 && !(absmax >= kLeast && absmax <= kMost)) return false;
  if (range.min == range.max) {
    add_constant(n, range.min);
  } else {
    const auto too_wild = [&] {
      const double furthest = std::max(range.max - pivoted_.pivot, pivoted_.pivot - range.min);
      return kernels::is_fast(real_) && !(furthest >= kFastLeast && furthest <= kFastMost);
    };
    if (too_wild()) return false;
    if (far_off(found.sums, static_cast<double>(n))) {
      const double pivot = rounded(real_, pivoted_.pivot + found.sums.s1 / static_cast<double>(n));
      if (pivot != pivoted_.pivot) {
        close(pivoted_, done_.moments);
        pivoted_ = {.pivot = pivot};
        if (too_wild()) return false;
        found = measured(block, way);
      }
    }
    pivoted_.add(n, found.sums, range);
  }
  last_ = found.special > 0 ? Way::finite : Way::tame;
  count_small(block, found, way);
  count_special(block, found);
  return true;
}

/// About 0 with a scale of its own. The same.
bool Meter::add_scaled(Block& block) {
  if (!kernels::is_float(real_)) return false;
  Measured found = measured(block, Way::scaled);
  const std::size_t n = block.n - found.special;
  if (n > 0) {
    const Range range = range_of(found.extremes);
    const double absmax = std::max(std::abs(range.min), std::abs(range.max));
    if (!(absmax >= kLeast && absmax <= kMost)) return false;
    if (kernels::is_fast(real_) && !(absmax * scale_ >= 0x1p-4 && absmax * scale_ <= 0x1p4)) {
      scale_ = std::ldexp(1.0, -std::min(std::ilogb(absmax), 126));  // 2^-127 is no normal float
      found = measured(block, Way::scaled);
    }
    if (far_off(found.sums, static_cast<double>(n))) return false;
    const double once = 1 / scale_, twice = once * once;
    scaled_.add(n, {found.sums.s1 * once, found.sums.s2 * twice, found.sums.s3 * twice * once, found.sums.s4 * twice * twice}, range);
    count_small(block, found, Way::scaled);
  }
  last_ = Way::scaled;
  count_special(block, found);
  return true;
}

void Meter::add_slowly(const std::byte* codes, std::size_t n) {
  const Subnormals exact(Subnormals::Mode::exact);
  constexpr std::size_t kPart = 1024;
  double values[kPart];
  for (std::size_t done = 0; done < n; done += kPart) {
    std::size_t kept = 0;
    for (std::size_t i = done; i < std::min(n, done + kPart); ++i) {
      const double value = decoded(real_, codes + i * width_), magnitude = std::abs(value);
      if (std::isnan(value)) ++done_.nan;
      else if (std::isinf(value)) ++(value > 0 ? done_.pos_inf : done_.neg_inf);
      else values[kept++] = value;
      done_.zeros += magnitude == 0;
      done_.near_zeros += magnitude < kNearZero;
      done_.subnormal += magnitude != 0 && magnitude < least_normal_;
    }
    if (kept > 0) done_.moments.merge(Moments::of(std::span(values, kept), scan(std::span(values, kept))));
  }
}

}  // namespace assay::analysis
