// SPDX-License-Identifier: Apache-2.0
#include "analysis/moments.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

namespace assay::analysis {

namespace {

constexpr std::size_t kLanes = 8;

/// The power of two to divide by before numbers up to `absmax` are raised to the fourth: 0 for all but extreme ones.
int safe_exponent(double absmax) {
  if (absmax >= 0x1p-128 && absmax <= 0x1p128) return 0;
  return std::clamp(std::ilogb(absmax), -1000, 1000);  // 2^-1000 and 2^1000 are normal, so multiplying by them is exact
}

using kernels::PowerSums;

void add(PowerSums& sums, const PowerSums& more) {
  sums.s1 += more.s1;
  sums.s2 += more.s2;
  sums.s3 += more.s3;
  sums.s4 += more.s4;
}

PowerSums power_sums(std::span<const double> values, double about) {
  double s1[kLanes] = {}, s2[kLanes] = {}, s3[kLanes] = {}, s4[kLanes] = {};
  const std::size_t whole = values.size() / kLanes * kLanes;
  const double* x = values.data();
  for (std::size_t i = 0; i < whole; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const double d = x[i + lane] - about;
      const double square = d * d;
      s1[lane] += d;
      s2[lane] += square;
      s3[lane] += square * d;
      s4[lane] += square * square;
    }
  }
  for (std::size_t i = whole; i < values.size(); ++i) {
    const double d = x[i] - about;
    s1[0] += d;
    s2[0] += d * d;
    s3[0] += d * d * d;
    s4[0] += d * d * d * d;
  }
  PowerSums total{};
  for (std::size_t lane = 0; lane < kLanes; ++lane) add(total, {s1[lane], s2[lane], s3[lane], s4[lane]});
  return total;
}

}  // namespace

Scan scan(std::span<const double> values) {
  double sum[kLanes], low[kLanes], high[kLanes], least[kLanes];
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    sum[lane] = 0;
    low[lane] = high[lane] = values[0];
    least[lane] = std::abs(values[0]);
  }
  const std::size_t whole = values.size() / kLanes * kLanes;
  const double* x = values.data();
  for (std::size_t i = 0; i < whole; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const double value = x[i + lane];
      const double magnitude = std::abs(value);
      sum[lane] += value;
      low[lane] = value < low[lane] ? value : low[lane];
      high[lane] = value > high[lane] ? value : high[lane];
      least[lane] = magnitude < least[lane] ? magnitude : least[lane];
    }
  }
  for (std::size_t i = whole; i < values.size(); ++i) {
    sum[0] += x[i];
    low[0] = std::min(low[0], x[i]);
    high[0] = std::max(high[0], x[i]);
    least[0] = std::min(least[0], std::abs(x[i]));
  }
  Scan total{sum[0], low[0], high[0], least[0]};
  for (std::size_t lane = 1; lane < kLanes; ++lane) {
    total.sum += sum[lane];
    total.min = std::min(total.min, low[lane]);
    total.max = std::max(total.max, high[lane]);
    total.least_magnitude = std::min(total.least_magnitude, least[lane]);
  }
  return total;
}

Moments Moments::of(std::span<double> values, Scan found) {
  Moments made;
  made.count_ = values.size();
  made.min_ = found.min;
  made.max_ = found.max;
  if (made.absmax() == 0) return made;
  made.exponent_ = safe_exponent(made.absmax());
  if (made.exponent_ != 0) {
    const double factor = std::ldexp(1.0, -made.exponent_);
    for (double& value : values) value *= factor;
    found = scan(values);
  }
  made.mean_ = found.min;
  if (found.min == found.max) return made;  // a constant has no spread, not even one of rounding
  // The first mean is off by its rounding; the sums about it say by how much, and are shifted to the true one.
  const double about = found.sum / static_cast<double>(values.size());
  made.shift(power_sums(values, about), about);
  return made;
}

Moments Moments::of(std::span<const std::pair<double, std::uint64_t>> counted) {
  Moments made;
  made.min_ = made.max_ = counted[0].first;
  for (const auto& [value, count] : counted) {
    made.count_ += count;
    made.min_ = std::min(made.min_, value);
    made.max_ = std::max(made.max_, value);
  }
  if (made.absmax() == 0) return made;
  made.exponent_ = safe_exponent(made.absmax());
  const double factor = std::ldexp(1.0, -made.exponent_);
  const auto n = static_cast<double>(made.count_);
  made.mean_ = made.min_ * factor;
  if (made.min_ == made.max_) return made;
  double sum = 0;
  for (const auto& [value, count] : counted) sum += value * factor * static_cast<double>(count);
  const double about = sum / n;
  PowerSums sums{};
  for (const auto& [value, count] : counted) {
    const double d = value * factor - about, square = d * d, times = static_cast<double>(count);
    add(sums, {times * d, times * square, times * square * d, times * square * square});
  }
  made.shift(sums, about);
  return made;
}

Moments Moments::about(double pivot, std::uint64_t count, const kernels::PowerSums& sums, double min, double max) {
  Moments made;
  made.count_ = count;
  made.min_ = min;
  made.max_ = max;
  if (made.absmax() == 0) return made;
  made.exponent_ = 0;
  made.mean_ = min;
  if (min != max) made.shift({sums.s1, sums.s2, sums.s3, sums.s4}, pivot);
  return made;
}

/// From sums about a pivot to moments about the mean.
void Moments::shift(const kernels::PowerSums& sums, double pivot) {
  const auto n = static_cast<double>(count_);
  const double d = sums.s1 / n;
  mean_ = pivot + d;
  m2_ = sums.s2 - n * d * d;
  m3_ = sums.s3 - 3 * d * sums.s2 + 2 * n * d * d * d;
  m4_ = sums.s4 - 4 * d * sums.s3 + 6 * d * d * sums.s2 - 3 * n * d * d * d * d;
}

void Moments::negate() {
  min_ = -std::exchange(max_, -min_);
  mean_ = -mean_;
  m3_ = -m3_;
}

/// To a larger exponent: what falls below the least double is nothing beside what asked for it.
void Moments::rescale(int exponent) {
  if (exponent == exponent_) return;
  const double factor = std::ldexp(1.0, exponent_ - exponent);
  mean_ *= factor;
  m2_ *= factor * factor;
  m3_ *= factor * factor * factor;
  m4_ *= factor * factor * factor * factor;
  exponent_ = exponent;
}

void Moments::merge(const Moments& other) {
  if (other.count_ == 0) return;
  if (count_ == 0) {
    *this = other;
    return;
  }
  Moments b = other;
  const int exponent = std::max(exponent_, b.exponent_);
  rescale(exponent);
  b.rescale(exponent);
  const auto na = static_cast<double>(count_), nb = static_cast<double>(b.count_);
  const double n = na + nb, delta = b.mean_ - mean_;
  const double fa = na / n, fb = nb / n;  // fractions keep every factor near 1
  const double d2 = delta * delta;
  m4_ += b.m4_ + d2 * d2 * na * fb * (fa * fa - fa * fb + fb * fb) + 6 * d2 * (fa * fa * b.m2_ + fb * fb * m2_) +
         4 * delta * (fa * b.m3_ - fb * m3_);
  m3_ += b.m3_ + d2 * delta * na * fb * (fa - fb) + 3 * delta * (fa * b.m2_ - fb * m2_);
  m2_ += b.m2_ + d2 * na * fb;
  mean_ += delta * fb;
  count_ += b.count_;
  min_ = std::min(min_, b.min_);
  max_ = std::max(max_, b.max_);
}

/// value * 2^exponent
double Moments::scaled(double value) const { return exponent_ == 0 ? value : std::ldexp(value, exponent_); }

double Moments::absmax() const { return std::max(std::abs(min_), std::abs(max_)); }
double Moments::mean() const { return scaled(mean_); }
double Moments::std() const { return scaled(std::sqrt(std::max(m2_, 0.0) / static_cast<double>(count_))); }

double Moments::l2(double weight) const {
  const auto n = static_cast<double>(count_);
  return scaled(std::sqrt(weight) * std::sqrt(std::max(m2_, 0.0) + n * mean_ * mean_));
}

std::optional<double> Moments::skew() const {
  if (!(m2_ > 0)) return std::nullopt;
  const double variance = m2_ / static_cast<double>(count_);
  return m3_ / static_cast<double>(count_) / (variance * std::sqrt(variance));
}

std::optional<double> Moments::kurtosis() const {
  if (!(m2_ > 0)) return std::nullopt;
  const double variance = m2_ / static_cast<double>(count_);
  return m4_ / static_cast<double>(count_) / (variance * variance) - 3;
}

}  // namespace assay::analysis
