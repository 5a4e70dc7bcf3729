// SPDX-License-Identifier: Apache-2.0
// Kinds of up to 16 bits are counted code by code, and everything follows from the counts. Wider ones are decoded to double, a
// block that stays in the cache at a time, and measured there.
#include "analysis/stats.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "analysis/census.hpp"
#include "analysis/moments.hpp"
#include "base/try.hpp"
#include "values/blocks.hpp"
#include "values/decode.hpp"
#include "values/dequantise.hpp"
#include "values/storage_order.hpp"

namespace assay::analysis {

namespace {

constexpr double kNearZero = 1e-6;
constexpr double kF32Normal = std::numeric_limits<float>::min();  // of dequantised values
constexpr std::size_t kBlock = 4096;  // reals; 32 KiB, and even, so that a complex element is not torn
constexpr unsigned kThousandths[] = {1, 10, 50, 250, 500, 750, 950, 990, 999};

void set_moments(Stats& stats, const Moments& moments, std::uint64_t weight) {
  if (moments.count() == 0) return;
  stats.min = moments.min();
  stats.max = moments.max();
  stats.absmax = moments.absmax();
  stats.mean = moments.mean();
  stats.std = moments.std();
  stats.l2 = moments.l2(static_cast<double>(weight));
  stats.skew = moments.skew();
  stats.kurtosis = moments.kurtosis();
}

void add_weight(Stats& stats, std::uint64_t weight) {
  for (std::uint64_t* count : {&stats.zeros, &stats.near_zeros, &stats.nan, &stats.pos_inf, &stats.neg_inf, &stats.subnormal})
    *count *= weight;
}

/// Counts a value that is not finite.
void count_special(Stats& stats, double value, std::uint64_t times) {
  if (std::isnan(value)) stats.nan += times;
  else (value > 0 ? stats.pos_inf : stats.neg_inf) += times;
}

void count_small(Stats& stats, double value, double least_normal, std::uint64_t times) {
  const double magnitude = std::abs(value);
  if (magnitude == 0) stats.zeros += times;
  else if (magnitude < least_normal) stats.subnormal += times;
  if (magnitude < kNearZero) stats.near_zeros += times;
}

/// Nearest rank: the least value that at least p of all values do not exceed. `sorted` ascends.
std::vector<std::pair<double, double>> quantiles(std::span<const std::pair<double, std::uint64_t>> sorted) {
  std::uint64_t total = 0;
  for (const auto& [value, count] : sorted) total += count;
  std::vector<std::pair<double, double>> found;
  if (total == 0) return found;
  std::uint64_t below = 0;
  std::size_t at = 0;
  for (const unsigned thousandths : kThousandths) {
    // ceil(total * p) without leaving 64 bits.
    const std::uint64_t rank = std::max<std::uint64_t>(1, total / 1000 * thousandths + (total % 1000 * thousandths + 999) / 1000);
    while (below + sorted[at].second < rank) below += sorted[at++].second;
    found.emplace_back(thousandths / 1000.0, sorted[at].first);
  }
  return found;
}

using Counted = std::vector<std::pair<double, std::uint64_t>>;

/// Sorts values whose codes ascend: they rise, then, where codes have a sign bit, fall (floats) or rise once more (integers).
Counted sorted_by_value(Counted counted) {
  const auto less = [](const auto& a, const auto& b) { return a.first < b.first; };
  const auto middle = std::is_sorted_until(counted.begin(), counted.end(), less);
  if (!std::is_sorted(middle, counted.end(), less)) std::reverse(middle, counted.end());
  Counted sorted(counted.size());
  std::merge(counted.begin(), middle, middle, counted.end(), sorted.begin(), less);
  return sorted;
}

/// `quantizer` is null, or the one that all codes share.
Result<void> count_codes(const TensorReader& reader, const Quantizer* quantizer, Stats& stats, std::uint64_t weight) {
  const values::Decoder& decoder = values::decoder(reader.tensor().dtype);
  Census census(reader.raw_size(), reader.tensor().numel);
  ASSAY_CHECK(values::for_each_raw_block(reader, [&](std::uint64_t, std::span<const std::byte> codes) -> Result<void> {
    census.add(codes);
    return {};
  }));
  const std::vector<Census::Entry> entries = census.entries();
  Counted finite;
  finite.reserve(entries.size());
  for (const auto& [code, count] : entries) {
    double value;
    decoder.to_f64(std::as_bytes(std::span(&code, 1)).data(), 1, &value);
    if (quantizer) value = values::dequantised(value, static_cast<double>(quantizer->zero_point), values::whole_scale(*quantizer));
    if (!std::isfinite(value)) {
      count_special(stats, reader.tensor().neg ? -value : value, count);
      continue;
    }
    count_small(stats, value, quantizer ? kF32Normal : decoder.least_normal, count);
    finite.emplace_back(value, count);
  }
  stats.distinct = entries.size();
  // A negative scale turns the order around.
  if (quantizer) std::ranges::sort(finite);
  else finite = sorted_by_value(std::move(finite));
  if (reader.tensor().neg) {
    std::reverse(finite.begin(), finite.end());
    for (auto& [value, count] : finite) value = -value;
  }
  if (!finite.empty()) set_moments(stats, Moments::of(finite), weight);
  stats.quantiles = quantiles(finite);
  return {};
}

/// Takes the values that are not finite out of a block; the others keep their order.
std::span<double> drop_special(std::span<double> block, Stats& stats) {
  std::size_t kept = 0;
  for (const double value : block) {
    if (std::isfinite(value)) block[kept++] = value;
    else count_special(stats, value, 1);
  }
  return block.first(kept);
}

void measure_block(std::span<double> block, double least_normal, Stats& stats, Moments& moments) {
  Scan found = scan(block);
  if (!std::isfinite(found.sum)) {
    block = drop_special(block, stats);
    if (block.empty()) return;
    found = scan(block);
  }
  // Small values are rare: know that there is one before counting them.
  if (found.least_magnitude < std::max(kNearZero, least_normal))
    for (const double value : block) count_small(stats, value, least_normal, 1);
  moments.merge(Moments::of(block, found));
}

Result<void> measure_values(const TensorReader& reader, Stats& stats, std::uint64_t weight) {
  const Tensor& tensor = reader.tensor();
  const values::Decoder& decoder = values::decoder(tensor.dtype);
  const std::size_t real_size = reader.raw_size() / decoder.reals;
  const auto buffer = std::make_unique_for_overwrite<double[]>(kBlock);
  Moments moments;
  ASSAY_CHECK(values::for_each_raw_block(reader, [&](std::uint64_t, std::span<const std::byte> codes) -> Result<void> {
    for (std::size_t done = 0; done < codes.size(); done += kBlock * real_size) {
      const std::size_t n = std::min(kBlock, (codes.size() - done) / real_size);
      decoder.to_f64(codes.data() + done, n, buffer.get());
      if (tensor.neg)
        for (std::size_t i = 0; i < n; ++i) buffer[i] = -buffer[i];
      if (tensor.conj && decoder.reals == 2)
        for (std::size_t i = 1; i < n; i += 2) buffer[i] = -buffer[i];
      measure_block(std::span(buffer.get(), n), decoder.least_normal, stats, moments);
    }
    return {};
  }));
  set_moments(stats, moments, weight);
  return {};
}

/// For quantizers per channel, and codes too wide to count.
Result<void> measure_dequantised(const TensorReader& reader, Stats& stats, std::uint64_t weight) {
  const auto buffer = std::make_unique_for_overwrite<double[]>(kBlock);
  Moments moments;
  ASSAY_CHECK(values::for_each_block(
      reader,
      [&](std::uint64_t, std::span<const double> block) -> Result<void> {
        std::ranges::copy(block, buffer.get());
        measure_block(std::span(buffer.get(), block.size()), kF32Normal, stats, moments);
        return {};
      },
      kBlock));
  set_moments(stats, moments, weight);
  return {};
}

}  // namespace

Result<Stats> tensor_stats(const Checkpoint& checkpoint, const Tensor& tensor, const Limits& limits) {
  const values::StorageOrder order(tensor);
  ASSAY_TRY(const TensorReader reader, TensorReader::open(checkpoint, order.tensor(), limits));
  Stats stats;
  stats.numel = stats.measured = tensor.numel;
  const Quantizer* const quantizer = tensor.quantizer != kNone ? &checkpoint.quantizers[tensor.quantizer] : nullptr;
  const bool countable = dtype_bits(tensor.dtype) <= 16 && (!quantizer || !quantizer->per_channel());
  ASSAY_CHECK(countable   ? count_codes(reader, quantizer, stats, order.weight())
              : quantizer ? measure_dequantised(reader, stats, order.weight())
                          : measure_values(reader, stats, order.weight()));
  add_weight(stats, order.weight());
  return stats;
}

}  // namespace assay::analysis
