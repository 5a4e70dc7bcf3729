// SPDX-License-Identifier: Apache-2.0
// Histograms against counting every value by itself, bin by bin.
#include "analysis/histogram.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/half.hpp"
#include "checkpoint_builder.hpp"

namespace assay::analysis {
namespace {

using testing::CheckpointBuilder;
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

Distribution distribution_of(const CheckpointBuilder& builder, std::size_t tensor = 0) {
  auto made = distribution(builder.made, builder.made.tensors[tensor]);
  EXPECT_TRUE(made.has_value()) << made.error().what();
  return *std::move(made);
}

Bins bins_by_hand(const std::vector<double>& values, const Axis& axis) {
  Bins bins;
  bins.counts.resize(axis.edges.size() - 1);
  for (double v : values) {
    if (std::isnan(v)) {
      ++bins.nan;
      continue;
    }
    if (axis.magnitudes()) v = std::abs(v);
    if (v < axis.edges.front()) ++bins.below;
    if (v > axis.edges.back()) ++bins.above;
    for (std::size_t i = 0; i + 1 < axis.edges.size(); ++i)
      if (v >= axis.edges[i] && (v < axis.edges[i + 1] || (i + 2 == axis.edges.size() && v == axis.edges[i + 1]))) ++bins.counts[i];
  }
  return bins;
}

void expect_same(const Bins& found, const Bins& expected) {
  EXPECT_EQ(found.counts, expected.counts);
  EXPECT_EQ(found.below, expected.below);
  EXPECT_EQ(found.above, expected.above);
  EXPECT_EQ(found.nan, expected.nan);
}

TEST(Histogram, EveryScaleAndWidthOfDtype) {
  CheckpointBuilder builder;
  std::vector<float> values = builder.random({3000}, 2);
  for (std::size_t i = 0; i < 50; ++i) values[i * 7] = 0;
  values[1] = kNan, values[2] = kInf, values[3] = -kInf, values[4] = 1000, values[5] = -0.0f;
  std::vector<std::uint16_t> bf16, f16;
  std::vector<double> as_f32, as_bf16, as_f16;
  for (const float v : values) {
    bf16.push_back(static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(v) >> 16));
    f16.push_back(f32_to_f16(v));
    as_f32.push_back(v);
    as_bf16.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bf16.back()) << 16));
    as_f16.push_back(f16_to_f32(f16.back()));
  }
  builder.add("f32", {3000}, values);
  builder.add_raw("bf16", DType::bf16, {3000}, bf16.data(), 6000);
  builder.add_raw("f16", DType::f16, {3000}, f16.data(), 6000);
  builder.add_raw("f64", DType::f64, {3000}, as_f32.data(), 24000);
  const std::vector<double>* const numbers[] = {&as_f32, &as_bf16, &as_f16, &as_f32};
  for (std::size_t t = 0; t < 4; ++t) {
    const Distribution d = distribution_of(builder, t);
    EXPECT_EQ(d.exact, t == 1 || t == 2);
    EXPECT_EQ(d.nan, 1u);
    EXPECT_EQ(d.pos_inf, 1u);
    EXPECT_EQ(d.neg_inf, 1u);
    EXPECT_EQ(d.zeros, static_cast<std::uint64_t>(std::ranges::count(*numbers[t], 0.0)));
    EXPECT_EQ(d.max, 1000);
    std::uint64_t all = d.nan + d.pos_inf + d.neg_inf;
    for (const auto& [value, count] : d.finite) all += count;
    EXPECT_EQ(all, 3000u);
    EXPECT_TRUE(std::ranges::is_sorted(d.finite));
    const Distribution* const of[] = {&d};
    for (const Scale scale : {Scale::linear, Scale::log, Scale::symlog}) {
      const Axis axis = make_axis(scale, of, 37, false, {});
      ASSERT_EQ(axis.edges.size(), 38u);
      EXPECT_TRUE(std::ranges::is_sorted(axis.edges));
      const Bins found = d.exact ? bins_of(d, axis) : *count_bins(builder.made, builder.made.tensors[t], axis);
      expect_same(found, bins_by_hand(*numbers[t], axis));
      std::uint64_t sum = found.below + found.above + found.nan;
      for (const std::uint64_t count : found.counts) sum += count;
      EXPECT_EQ(sum, 3000u) << scale_name(scale);
    }
    // An outlier does not flatten a linear axis, and is in sight on the others.
    EXPECT_LT(make_axis(Scale::linear, of, 37, false, {}).edges.back(), 3);
    EXPECT_EQ(make_axis(Scale::log, of, 37, false, {}).edges.back(), 1000);
    EXPECT_EQ(make_axis(Scale::symlog, of, 37, false, {}).edges.back(), 1000);
  }
}

TEST(Histogram, Quantiles) {
  CheckpointBuilder builder;
  std::vector<std::int8_t> codes;
  for (int i = -50; i < 50; ++i) codes.push_back(static_cast<std::int8_t>(i));
  builder.add_raw("i8", DType::i8, {100}, codes.data(), codes.size());
  const Distribution d = distribution_of(builder);
  EXPECT_EQ(d.quantile(0), -50);
  EXPECT_EQ(d.quantile(0.01), -50);
  EXPECT_EQ(d.quantile(0.011), -49);
  EXPECT_EQ(d.quantile(0.5), -1);
  EXPECT_EQ(d.quantile(1), 49);
  EXPECT_EQ(d.magnitude_quantile(1), 50);
  std::vector<float> values = builder.random({10001});
  builder.add("f32", {10001}, values);
  const double found = distribution_of(builder, 1).quantile(0.99);
  std::ranges::sort(values);
  EXPECT_NEAR(found, values[9900], 0.004 * std::abs(values[9900]));
}

TEST(Histogram, WholeNumbersFillBinsEvenly) {
  CheckpointBuilder builder;
  std::vector<std::int32_t> values;
  for (int i = 0; i < 1000; ++i) values.push_back(i);
  builder.add_raw("i32", DType::i32, {1000}, values.data(), 4000);
  const Distribution d = distribution_of(builder);
  const Distribution* const of[] = {&d};
  const Axis axis = make_axis(Scale::linear, of, 64, true, std::pair(0.0, 999.0));
  const Bins bins = *count_bins(builder.made, builder.made.tensors[0], axis);
  ASSERT_EQ(bins.counts.size(), 63u);  // 16 a bin
  for (std::size_t i = 0; i < 62; ++i) EXPECT_EQ(bins.counts[i], 16u);
  EXPECT_EQ(bins.counts[62], 8u);
  EXPECT_EQ(make_axis(Scale::linear, of, 5000, true, std::pair(3.0, 3.0)).edges, (std::vector<double>{2.5, 3.5}));
}

TEST(Histogram, Extremes) {
  CheckpointBuilder builder;
  const double wide[] = {-1.7e308, 1.7e308, 5e-324, -5e-324, 0};
  builder.add_raw("f64", DType::f64, {5}, wide, sizeof wide);
  builder.add("none", {2}, {kNan, kInf});
  builder.add("same", {3}, {7, 7, 7});
  builder.add("zero", {3}, {0, -0.0f, 0});
  builder.add("empty", {0}, {});
  for (std::size_t t = 0; t < 5; ++t) {
    const Distribution d = distribution_of(builder, t);
    const Distribution* const of[] = {&d};
    for (const Scale scale : {Scale::linear, Scale::log, Scale::symlog}) {
      const Axis axis = make_axis(scale, of, 8, false, {});
      const Bins bins = *count_bins(builder.made, builder.made.tensors[t], axis);
      std::uint64_t sum = bins.below + bins.above + bins.nan;
      for (const std::uint64_t count : bins.counts) sum += count;
      EXPECT_EQ(sum, d.n) << t << " " << scale_name(scale);
      for (std::size_t i = 0; i + 1 < axis.edges.size(); ++i) EXPECT_LT(axis.edges[i], axis.edges[i + 1]) << t << " " << scale_name(scale);
    }
  }
  EXPECT_EQ(distribution_of(builder, 0).zeros, 1u);
  EXPECT_EQ(distribution_of(builder, 0).min, -1.7e308);
}

TEST(Histogram, ExpandedAndQuantised) {
  CheckpointBuilder builder;
  builder.add("base", {2}, {1, 3});
  builder.made.tensors[0].shape = builder.made.arena().numbers(std::vector<std::uint64_t>{2, 1000});
  builder.made.tensors[0].stride = builder.made.arena().numbers(std::vector<std::uint64_t>{1, 0});
  builder.made.tensors[0].numel = 2000;
  const Distribution d = distribution_of(builder);
  ASSERT_EQ(d.finite.size(), 2u);
  EXPECT_EQ(d.finite[0].second, 1000u);
  const Distribution* const of[] = {&d};
  EXPECT_EQ(count_bins(builder.made, builder.made.tensors[0], make_axis(Scale::linear, of, 2, false, {}))->counts,
            (std::vector<std::uint64_t>{1000, 1000}));
  const std::int8_t codes[] = {4, 6, 6};
  const auto q = builder.add_raw("q", DType::qi8, {3}, codes, sizeof codes);
  Quantizer quantizer;
  quantizer.scale = -0.5;
  quantizer.zero_point = 6;
  builder.made.quantizers.push_back(quantizer);
  builder.made.tensors[q].quantizer = 0;
  EXPECT_EQ(distribution_of(builder, q).finite, (std::vector<std::pair<double, std::uint64_t>>{{0, 2}, {1, 1}}));
}

}  // namespace
}  // namespace assay::analysis
