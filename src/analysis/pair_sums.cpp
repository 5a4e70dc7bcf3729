// SPDX-License-Identifier: Apache-2.0
#include "analysis/pair_sums.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace assay::analysis {
namespace {

constexpr std::size_t kLanes = 4;

double largest(std::span<const double> values) {
  double lanes[kLanes] = {};
  const std::size_t whole = values.size() / kLanes * kLanes;
  for (std::size_t i = 0; i < whole; i += kLanes)
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const double magnitude = std::abs(values[i + lane]);
      lanes[lane] = magnitude > lanes[lane] ? magnitude : lanes[lane];
    }
  for (std::size_t i = whole; i < values.size(); ++i) lanes[0] = std::max(lanes[0], std::abs(values[i]));
  return std::max(std::max(lanes[0], lanes[1]), std::max(lanes[2], lanes[3]));
}

/// The power of two to divide by before numbers up to `absmax` are squared: 0 for all but extreme ones.
int safe_exponent(double absmax) {
  if (absmax >= 0x1p-256 && absmax <= 0x1p256) return 0;
  return std::clamp(std::ilogb(absmax), -1000, 1000);
}

void scale(std::span<double> values, double factor) {
  for (double& value : values) value *= factor;
}

}  // namespace

void PairSums::add(std::span<double> a, std::span<double> b, std::span<double> delta) {
  count_ += a.size();
  max_abs_ = std::max(max_abs_, largest(delta));
  const double absmax = std::max(largest(a), largest(b));
  if (absmax == 0) return;
  const int exponent = safe_exponent(absmax);
  if (exponent != 0) {
    const double factor = std::ldexp(1.0, -exponent);
    scale(a, factor);
    scale(b, factor);
    for (std::size_t i = 0; i < a.size(); ++i) delta[i] = a[i] - b[i];
  }
  double aa[kLanes] = {}, bb[kLanes] = {}, ab[kLanes] = {}, dd[kLanes] = {}, abs[kLanes] = {};
  const auto step = [&](std::size_t i, std::size_t lane) {
    aa[lane] += a[i] * a[i];
    bb[lane] += b[i] * b[i];
    ab[lane] += a[i] * b[i];
    dd[lane] += delta[i] * delta[i];
    abs[lane] += std::abs(delta[i]);
  };
  const std::size_t whole = a.size() / kLanes * kLanes;
  for (std::size_t i = 0; i < whole; i += kLanes)
    for (std::size_t lane = 0; lane < kLanes; ++lane) step(i + lane, lane);
  for (std::size_t i = whole; i < a.size(); ++i) step(i, 0);
  const auto total = [](const double(&lanes)[kLanes]) { return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]); };
  merge({total(aa), total(bb), total(ab), total(dd), total(abs)}, exponent);
}

void PairSums::add(std::uint64_t count, const kernels::Pairs& pairs) {
  count_ += count;
  max_abs_ = std::max(max_abs_, pairs.max_abs);
  if (pairs.max_a == 0 && pairs.max_b == 0) return;
  merge({pairs.aa, pairs.bb, pairs.ab, pairs.dd, pairs.abs}, 0);
}

void PairSums::merge(Block block, int exponent) {
  const int common = std::max(exponent, exponent_);
  const auto shift = [&](Block& sums, int from) {
    if (from == common || from == kNoExponent) return;
    const double once = std::ldexp(1.0, from - common), twice = std::ldexp(1.0, 2 * (from - common));
    for (double* square : {&sums.aa, &sums.bb, &sums.ab, &sums.dd}) *square *= twice;
    sums.abs *= once;
  };
  shift(sums_, exponent_);
  shift(block, exponent);
  exponent_ = common;
  sums_.aa += block.aa;
  sums_.bb += block.bb;
  sums_.ab += block.ab;
  sums_.dd += block.dd;
  sums_.abs += block.abs;
}

double PairSums::mean_abs() const {
  if (count_ == 0 || exponent_ == kNoExponent) return 0;
  return std::ldexp(sums_.abs / static_cast<double>(count_), exponent_);
}

double PairSums::a_l2() const { return exponent_ == kNoExponent ? 0 : std::ldexp(std::sqrt(sums_.aa), exponent_); }
double PairSums::b_l2() const { return exponent_ == kNoExponent ? 0 : std::ldexp(std::sqrt(sums_.bb), exponent_); }
double PairSums::delta_l2() const { return exponent_ == kNoExponent ? 0 : std::ldexp(std::sqrt(sums_.dd), exponent_); }

double PairSums::rel_l2() const {
  if (sums_.dd == 0) return 0;
  return sums_.aa == 0 ? std::numeric_limits<double>::infinity() : std::sqrt(sums_.dd) / std::sqrt(sums_.aa);
}

std::optional<double> PairSums::factor() const {
  constexpr std::uint64_t kLeast = 4;
  constexpr double kNear = 0.9999, kTold = 0.1;
  const auto near = cosine();
  if (count_ < kLeast || !near || std::abs(*near) < kNear) return std::nullopt;
  const double factor = sums_.ab / sums_.aa;
  const double rest = std::sqrt(1 - *near * *near) * std::abs(factor);
  if (std::abs(factor - 1) < std::max(kTold, 10 * rest)) return std::nullopt;
  return factor;
}

std::optional<double> PairSums::cosine() const {
  if (sums_.aa == 0 || sums_.bb == 0) return std::nullopt;
  return std::clamp(sums_.ab / (std::sqrt(sums_.aa) * std::sqrt(sums_.bb)), -1.0, 1.0);
}

}  // namespace assay::analysis
