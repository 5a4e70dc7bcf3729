// SPDX-License-Identifier: Apache-2.0
#include "analysis/stats_tally.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "analysis/quantiles.hpp"
#include "base/sort.hpp"
#include "values/decode.hpp"
#include "values/dequantise.hpp"

namespace assay::analysis {

namespace {

constexpr double kNearZero = 1e-6;

/// Sorts values whose codes ascend: they rise, then, where codes have a sign bit, fall (floats) or rise once more (integers).
Counted sorted_by_value(Counted counted) {
  const auto less = [](const auto& a, const auto& b) { return a.first < b.first; };
  const auto middle = std::is_sorted_until(counted.begin(), counted.end(), less);
  if (!std::is_sorted(middle, counted.end(), less)) std::reverse(middle, counted.end());
  Counted sorted(counted.size());
  std::merge(counted.begin(), middle, middle, counted.end(), sorted.begin(), less);
  return sorted;
}

}  // namespace

void set_tally(Stats& stats, const Tally& tally, std::uint64_t weight) {
  stats.zeros = tally.zeros * weight;
  stats.near_zeros = tally.near_zeros * weight;
  stats.nan = tally.nan * weight;
  stats.pos_inf = tally.pos_inf * weight;
  stats.neg_inf = tally.neg_inf * weight;
  stats.subnormal = tally.subnormal * weight;
  const Moments& moments = tally.moments;
  if (moments.count() == 0) return;
  stats.min = moments.min() + 0.0;  // not -0
  stats.max = moments.max() + 0.0;
  stats.absmax = moments.absmax();
  stats.mean = moments.mean();
  stats.std = moments.std();
  stats.l2 = moments.l2(static_cast<double>(weight));
  stats.skew = moments.skew();
  stats.kurtosis = moments.kurtosis();
}

Tally tally_of(const Census& census, const Tensor& tensor, const Quantizer* quantizer, Stats& stats) {
  const values::Decoder& decoder = values::decoder(tensor.dtype);
  const double least_normal = quantizer ? kF32Normal : decoder.least_normal;
  const std::vector<Census::Entry> entries = census.entries();
  const std::size_t width = decoder.raw_size / decoder.reals;
  std::vector<std::byte> codes(entries.size() * width);
  for (std::size_t i = 0; i < entries.size(); ++i) std::memcpy(codes.data() + i * width, &entries[i].code, width);  // little endian
  std::vector<double> values(entries.size());
  decoder.to_f64(codes.data(), values.size(), values.data());
  Tally tally;
  Counted finite;
  finite.reserve(entries.size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::uint64_t count = entries[i].count;
    double value = values[i];
    if (quantizer) value = values::dequantised(value, static_cast<double>(quantizer->zero_point), values::whole_scale(*quantizer));
    if (tensor.neg) value = -value;
    const double magnitude = std::abs(value);
    if (std::isnan(value)) tally.nan += count;
    else if (std::isinf(value)) (value > 0 ? tally.pos_inf : tally.neg_inf) += count;
    else finite.emplace_back(value, count);
    if (magnitude == 0) tally.zeros += count;
    else if (magnitude < least_normal) tally.subnormal += count;
    if (magnitude < kNearZero) tally.near_zeros += count;
  }
  stats.distinct = entries.size();
  // What turns the order around, a scale or a sign, does so once more.
  if (quantizer || tensor.neg) sort_stable(finite);
  else finite = sorted_by_value(std::move(finite));
  if (!finite.empty()) tally.moments = Moments::of(finite);
  stats.quantiles = quantiles_of(finite);
  return tally;
}

}  // namespace assay::analysis
