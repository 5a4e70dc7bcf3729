// SPDX-License-Identifier: Apache-2.0
#include "analysis/histogram.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <limits>

#include "analysis/census.hpp"
#include "base/sort.hpp"
#include "base/try.hpp"
#include "values/blocks.hpp"
#include "values/decode.hpp"
#include "values/dequantise.hpp"
#include "values/storage_order.hpp"

namespace assay::analysis {
namespace {

constexpr unsigned kDropped = 44;  // bits of a double that do not tell entries apart
constexpr std::size_t kKeys = std::size_t{1} << (64 - kDropped), kNegative = kKeys / 2;

constexpr std::string_view kScales[] = {"linear", "log", "symlog"};

std::size_t key_of(double value) { return static_cast<std::size_t>(std::bit_cast<std::uint64_t>(value) >> kDropped); }
double value_of(std::size_t key) { return std::bit_cast<double>(static_cast<std::uint64_t>(key) << kDropped); }

void count_special(Distribution& to, double value, std::uint64_t times) {
  (std::isnan(value) ? to.nan : value > 0 ? to.pos_inf : to.neg_inf) += times;
}

/// `quantizer` is null, or the one that all codes share.
Result<void> count_codes(const TensorReader& reader, const Quantizer* quantizer, std::uint64_t weight, Distribution& to) {
  const values::Decoder& decoder = values::decoder(reader.tensor().dtype);
  Census census(reader.raw_size(), reader.tensor().numel);
  ASSAY_CHECK(values::for_each_raw_block(reader, [&](std::uint64_t, std::span<const std::byte> codes) -> Result<void> {
    census.add(codes);
    return {};
  }));
  for (const auto& [code, count] : census.entries()) {
    double value;
    decoder.to_f64(std::as_bytes(std::span(&code, 1)).data(), 1, &value);
    if (quantizer != nullptr)
      value = values::dequantised(value, static_cast<double>(quantizer->zero_point), values::whole_scale(*quantizer));
    if (reader.tensor().neg) value = -value;
    if (!std::isfinite(value)) count_special(to, value, count * weight);
    else to.finite.emplace_back(value + 0.0, count * weight);  // + 0.0: -0 and 0 are one value
  }
  sort_stable(to.finite, {}, &std::pair<double, std::uint64_t>::first);
  std::size_t last = 0;
  for (std::size_t i = 1; i < to.finite.size(); ++i) {
    if (to.finite[i].first == to.finite[last].first) to.finite[last].second += to.finite[i].second;
    else to.finite[++last] = to.finite[i];
  }
  if (!to.finite.empty()) {
    to.finite.resize(last + 1);
    to.min = to.finite.front().first;
    to.max = to.finite.back().first;
  }
  const auto zero = std::ranges::find(to.finite, 0.0, &std::pair<double, std::uint64_t>::first);
  if (zero != to.finite.end()) to.zeros = zero->second;
  return {};
}

Result<void> count_keys(const TensorReader& reader, std::uint64_t weight, Distribution& to) {
  std::vector<std::uint64_t> counts(kKeys);
  double min = std::numeric_limits<double>::infinity(), max = -min;
  ASSAY_CHECK(values::for_each_block(reader, [&](std::uint64_t, std::span<const double> block) -> Result<void> {
    for (const double value : block) {
      ++counts[key_of(value)];
      to.zeros += value == 0;
      if (!std::isfinite(value)) continue;
      min = std::min(min, value);
      max = std::max(max, value);
    }
    return {};
  }));
  to.exact = false;
  to.zeros *= weight;
  // From the most negative key down to 0, then up.
  for (std::size_t i = 0; i < kKeys; ++i) {
    const std::size_t key = i < kNegative ? kKeys - 1 - i : i - kNegative;
    if (counts[key] == 0) continue;
    const double value = value_of(key);
    if (!std::isfinite(value)) count_special(to, value, counts[key] * weight);
    else if (!to.finite.empty() && to.finite.back().first == value) to.finite.back().second += counts[key] * weight;  // -0 and 0
    else to.finite.emplace_back(value + 0.0, counts[key] * weight);
  }
  if (!to.finite.empty()) to.min = min + 0.0, to.max = max + 0.0;  // no -0
  return {};
}

double nearest_rank(std::span<const std::pair<double, std::uint64_t>> sorted, double p) {
  std::uint64_t total = 0;
  for (const auto& [value, count] : sorted) total += count;
  if (total == 0) return 0;
  const auto rank = static_cast<std::uint64_t>(std::max(1.0, std::ceil(p * static_cast<double>(total))));
  std::uint64_t below = 0;
  for (const auto& [value, count] : sorted)
    if ((below += count) >= rank) return value;
  return sorted.back().first;
}

std::vector<std::pair<double, std::uint64_t>> magnitudes_of(const Distribution& distribution) {
  std::vector<std::pair<double, std::uint64_t>> sizes;
  for (const auto& [value, count] : distribution.finite)
    if (value != 0) sizes.emplace_back(std::abs(value), count);
  sort_stable(sizes);
  return sizes;
}

double to_symlog(double value, double threshold) { return std::copysign(std::log1p(std::abs(value) / threshold), value); }
double from_symlog(double position, double threshold) { return std::copysign(threshold * std::expm1(std::abs(position)), position); }

/// What a linear axis shows of one tensor.
std::pair<double, double> linear_range(const Distribution& of) {
  constexpr double kTail = 0.001, kMargin = 0.1, kFar = 1.6;
  const double low = of.quantile(kTail), high = of.quantile(1 - kTail), width = high - low;
  if (!(of.max - of.min > kFar * width) || width == 0) return {of.min, of.max};
  return {std::max(of.min, low - kMargin * width), std::min(of.max, high + kMargin * width)};
}

std::pair<double, double> automatic_range(Scale scale, std::span<const Distribution* const> of) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const Distribution* one : of) {
    if (one->finite.empty()) continue;
    std::pair<double, double> range = {one->min, one->max};
    if (scale == Scale::linear) range = linear_range(*one);
    if (scale == Scale::log) {
      const double least = one->magnitude_quantile(0.001);
      if (least == 0) continue;
      range = {least, std::max(-one->min, one->max)};
    }
    low = std::min(low, range.first);
    high = std::max(high, range.second);
  }
  return low <= high ? std::pair(low, high) : std::pair(scale == Scale::log ? 1.0 : 0.0, scale == Scale::log ? 10.0 : 1.0);
}

/// A range of one value gets some width, so that its bins have.
void widen(double& low, double& high, Scale scale) {
  if (low < high) return;
  if (scale == Scale::log) low *= 0.5, high = std::max(high * 2, std::numeric_limits<double>::min());
  else if (const double margin = low == 0 ? 0.5 : std::abs(low) / 2; true) low -= margin, high += margin;
}

/// The bin of a finite value within the edges.
std::size_t bin_of(const std::vector<double>& edges, double value) {
  const auto after = std::ranges::upper_bound(edges, value);
  const auto i = static_cast<std::size_t>(after - edges.begin());
  return std::min(i, edges.size() - 1) - 1;
}

void put(Bins& bins, const Axis& axis, double value, std::uint64_t times) {
  if (std::isnan(value)) {
    bins.nan += times;
    return;
  }
  if (axis.magnitudes()) value = std::abs(value);
  if (value < axis.edges.front()) bins.below += times;
  else if (value > axis.edges.back()) bins.above += times;
  else bins.counts[bin_of(axis.edges, value)] += times;
}

}  // namespace

double Distribution::quantile(double p) const { return nearest_rank(finite, p); }
double Distribution::magnitude_quantile(double p) const { return nearest_rank(magnitudes_of(*this), p); }

Result<Distribution> distribution(const Checkpoint& checkpoint, const Tensor& tensor, const Limits& limits) {
  const values::StorageOrder order(tensor);
  ASSAY_TRY(const TensorReader reader, TensorReader::open(checkpoint, order.tensor(), limits));
  Distribution made;
  made.n = tensor.numel;
  const Quantizer* const quantizer = tensor.quantizer != kNone ? &checkpoint.quantizers[tensor.quantizer] : nullptr;
  const bool countable =
      reader.raw_size() <= 2 && dtype_info(tensor.dtype).kind != DTypeKind::complex && (quantizer == nullptr || !quantizer->per_channel());
  ASSAY_CHECK(countable ? count_codes(reader, quantizer, order.weight(), made) : count_keys(reader, order.weight(), made));
  return made;
}

std::string_view scale_name(Scale scale) { return kScales[static_cast<std::size_t>(scale)]; }
std::optional<Scale> scale_from_name(std::string_view name) {
  const auto* found = std::ranges::find(kScales, name);
  if (found == std::end(kScales)) return std::nullopt;
  return static_cast<Scale>(found - kScales);
}

double Axis::position(double value) const {
  const double low = edges.front(), high = edges.back();
  switch (scale) {
    case Scale::linear: return (value - low) / (high - low);
    case Scale::log: return std::log(std::abs(value) / low) / std::log(high / low);
    case Scale::symlog: break;
  }
  const double first = to_symlog(low, threshold);
  return (to_symlog(value, threshold) - first) / (to_symlog(high, threshold) - first);
}

Axis make_axis(Scale scale, std::span<const Distribution* const> of, std::size_t bins, bool whole_numbers,
               std::optional<std::pair<double, double>> range) {
  Axis axis;
  axis.scale = scale;
  bins = std::max<std::size_t>(bins, 1);
  auto [low, high] = range ? *range : automatic_range(scale, of);
  if (whole_numbers && scale == Scale::linear && high - low < 0x1p52) {
    const double step = std::max(1.0, std::ceil((std::floor(high) - std::ceil(low) + 1) / static_cast<double>(bins)));
    for (double edge = std::ceil(low) - 0.5; axis.edges.empty() || axis.edges.back() < std::floor(high) + 0.5; edge += step)
      axis.edges.push_back(edge);
    if (axis.edges.size() < 2) axis.edges.push_back(axis.edges.back() + step);
    return axis;
  }
  widen(low, high, scale);
  if (scale == Scale::symlog) {
    for (const Distribution* one : of)
      if (const double middle = one->magnitude_quantile(0.5); middle > 0)
        axis.threshold = one == of.front() ? middle : std::min(axis.threshold, middle);
  }
  const double first = scale == Scale::log ? std::log(low) : scale == Scale::symlog ? to_symlog(low, axis.threshold) : low;
  const double last = scale == Scale::log ? std::log(high) : scale == Scale::symlog ? to_symlog(high, axis.threshold) : high;
  for (std::size_t i = 0; i <= bins; ++i) {
    // Halves first: last - first may be more than a double holds.
    const double at =
        first * (1 - static_cast<double>(i) / static_cast<double>(bins)) + last * (static_cast<double>(i) / static_cast<double>(bins));
    axis.edges.push_back(scale == Scale::log ? std::exp(at) : scale == Scale::symlog ? from_symlog(at, axis.threshold) : at);
  }
  axis.edges.front() = low;  // what rounding has moved
  axis.edges.back() = high;
  return axis;
}

Bins bins_of(const Distribution& exact, const Axis& axis) {
  Bins bins;
  bins.counts.resize(axis.edges.size() - 1);
  for (const auto& [value, count] : exact.finite) put(bins, axis, value, count);
  bins.nan = exact.nan;
  bins.above += exact.pos_inf + (axis.magnitudes() ? exact.neg_inf : 0);
  bins.below += axis.magnitudes() ? 0 : exact.neg_inf;
  return bins;
}

Result<Bins> count_bins(const Checkpoint& checkpoint, const Tensor& tensor, const Axis& axis, const Limits& limits) {
  const values::StorageOrder order(tensor);
  ASSAY_TRY(const TensorReader reader, TensorReader::open(checkpoint, order.tensor(), limits));
  Bins bins;
  bins.counts.resize(axis.edges.size() - 1);
  ASSAY_CHECK(values::for_each_block(reader, [&](std::uint64_t, std::span<const double> block) -> Result<void> {
    for (const double value : block) put(bins, axis, value, order.weight());
    return {};
  }));
  return bins;
}

}  // namespace assay::analysis
