// SPDX-License-Identifier: Apache-2.0
// Heat maps against loops over all elements, one by one.
#include "analysis/heatmap.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <thread>

#include "base/half.hpp"
#include "checkpoint_builder.hpp"

namespace assay::analysis {
namespace {

using testing::CheckpointBuilder;
using Numbers = std::vector<std::uint64_t>;
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

Heatmap run(HeatmapJob& job) {
  for (std::size_t part = 0; part < job.parts(); ++part)
    for (bool last = false; !last;) {
      const auto advanced = job.advance(part);
      EXPECT_TRUE(advanced.has_value());
      last = !advanced || *advanced;
    }
  EXPECT_EQ(job.done(), job.total());
  return job.finish();
}

Heatmap heatmap(const CheckpointBuilder& builder, const HeatmapRequest& request, std::size_t tensor = 0) {
  auto job = HeatmapJob::make(builder.made, builder.made.tensors[tensor], request);
  EXPECT_TRUE(job.has_value()) << job.error().what();
  return run(*job);
}

/// What a cell must come to, by the definition.
double reference(const std::vector<double>& values, Pooling pooling) {
  double best = 0, sum = 0, squares = 0, zeros = 0, n = 0;
  for (const double v : values) {
    if (!std::isfinite(v)) continue;
    if (std::abs(v) > std::abs(best) || (v == -best && v > 0)) best = v;
    sum += v, squares += v * v, zeros += v == 0, n += 1;
  }
  if (n == 0) return std::numeric_limits<double>::quiet_NaN();
  switch (pooling) {
    case Pooling::absmax: return best;
    case Pooling::mean: return sum / n;
    case Pooling::rms: return std::sqrt(squares / n);
    case Pooling::zeros: return zeros / n;
  }
  return 0;
}

void check(const Heatmap& map, const std::vector<double>& matrix, std::uint64_t cols) {
  for (std::uint64_t r = 0; r < map.rows; ++r)
    for (std::uint64_t c = 0; c < map.cols; ++c) {
      std::vector<double> values;
      for (std::uint64_t i = r * map.row_step; i < std::min((r + 1) * map.row_step, map.source_rows); ++i)
        for (std::uint64_t j = c * map.col_step; j < std::min((c + 1) * map.col_step, map.source_cols); ++j)
          values.push_back(matrix[i * cols + j]);
      const double expected = reference(values, map.pooling), found = map.data[r * map.cols + c];
      if (std::isnan(expected)) EXPECT_TRUE(std::isnan(found)) << r << ", " << c;
      else EXPECT_NEAR(found, expected, 1e-12 * (1 + std::abs(expected))) << pooling_name(map.pooling) << " " << r << ", " << c;
    }
}

TEST(Heatmap, PoolsAsDefined) {
  for (const auto& [rows, cols, most_rows, most_cols] :
       {std::array<std::uint64_t, 4>{7, 13, 3, 4}, {1, 1, 5, 5}, {64, 64, 64, 64}, {300, 5, 16, 16}, {3, 70000, 2, 100}, {129, 65, 8, 8}}) {
    CheckpointBuilder builder;
    auto values = builder.random({rows, cols});
    values[values.size() / 2] = 0;
    values[values.size() / 3] = kNan;
    values[values.size() / 5] = -kInf;
    builder.add("t", {rows, cols}, values);
    const std::vector<double> wide(values.begin(), values.end());
    for (const Pooling pooling : {Pooling::absmax, Pooling::mean, Pooling::rms, Pooling::zeros}) {
      const Heatmap map = heatmap(builder, {.pooling = pooling, .most_rows = most_rows, .most_cols = most_cols, .slice = {}, .axes = {}});
      EXPECT_LE(map.rows, most_rows);
      EXPECT_LE(map.cols, most_cols);
      EXPECT_TRUE(map.exact);
      check(map, wide, cols);
    }
  }
}

TEST(Heatmap, EveryDtypeAsItsNumbers) {
  CheckpointBuilder builder;
  const std::int64_t big[] = {std::int64_t{1} << 53, -((std::int64_t{1} << 53) - 1), 0, 1};
  builder.add_raw("i64", DType::i64, {2, 2}, big, sizeof big);
  const std::uint16_t halves[] = {0x3c00, 0xc000, 0x7c00, 0x0001};  // 1, -2, inf, 2^-24
  builder.add_raw("f16", DType::f16, {2, 2}, halves, sizeof halves);
  const std::uint8_t bits[] = {0, 1, 1, 0};
  builder.add_raw("bool", DType::bool_, {4}, bits, sizeof bits);
  const float complex[] = {1, 9, -3, 9};
  builder.add_raw("c64", DType::c64, {2}, complex, sizeof complex);
  EXPECT_EQ(heatmap(builder, {}, 0).data, (std::vector<double>{9007199254740992.0, -9007199254740991.0, 0, 1}));
  const Heatmap f16 = heatmap(builder, {}, 1);
  EXPECT_EQ(f16.data[1], -2);
  EXPECT_TRUE(std::isnan(f16.data[2]));
  EXPECT_EQ(f16.marks[2], Heatmap::kPosInf);
  EXPECT_EQ(f16.data[3], std::ldexp(1, -24));
  EXPECT_EQ(heatmap(builder, {}, 2).data, (std::vector<double>{0, 1, 1, 0}));
  EXPECT_EQ(heatmap(builder, {}, 3).data, (std::vector<double>{1, -3}));
}

TEST(Heatmap, MarksWhatIsNotFinite) {
  CheckpointBuilder builder;
  std::vector<float> values(16, 1);
  values[0] = kNan, values[1] = kInf, values[5] = -kInf;
  values[10] = values[11] = values[14] = values[15] = kNan;
  builder.add("t", {4, 4}, values);
  const Heatmap map = heatmap(builder, {.most_rows = 2, .most_cols = 2, .slice = {}, .axes = {}});
  EXPECT_EQ(map.marks, (std::vector<std::uint8_t>{7, 0, 0, 1}));
  EXPECT_EQ(map.data[0], 1);
  EXPECT_TRUE(std::isnan(map.data[3]));
  EXPECT_EQ(map.nan, 5u);
  EXPECT_EQ(map.inf, 2u);
  EXPECT_EQ(map.absmax, 1);
}

TEST(Heatmap, NamesHotColumnsAndDeadRows) {
  CheckpointBuilder builder;
  auto values = builder.random({50, 40});
  for (std::size_t r = 0; r < 50; ++r) {
    values[r * 40 + 17] = 30 * (values[r * 40 + 17] + 2);
    values[r * 40 + 5] = 0;
  }
  for (std::size_t c = 0; c < 40; ++c) values[21 * 40 + c] = 0, values[22 * 40 + c] = -0.0f;
  values[3 * 40] = kNan;
  builder.add("t", {50, 40}, values);
  const Heatmap map = heatmap(builder, {.most_rows = 4, .most_cols = 4, .slice = {}, .axes = {}});
  EXPECT_EQ(map.row_profile.dead, (Numbers{21, 22}));
  EXPECT_EQ(map.col_profile.dead, Numbers{5});
  ASSERT_EQ(map.col_profile.hot_count, 1u);
  EXPECT_EQ(map.col_profile.hot[0].index, 17u);
  EXPECT_GT(map.col_profile.hot[0].ratio, 50);
  double squares = 0;
  for (std::size_t c = 0; c < 40; ++c) squares += static_cast<double>(values[c]) * values[c];
  EXPECT_FLOAT_EQ(map.row_profile.rms[0], static_cast<float>(std::sqrt(squares / 40)));
}

TEST(Heatmap, AxesAndSlices) {
  // Element (i, j, k) is 100 i + 10 j + k.
  CheckpointBuilder builder;
  std::vector<float> values;
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j)
      for (int k = 0; k < 4; ++k) values.push_back(static_cast<float>(100 * i + 10 * j + k));
  builder.add("t", {2, 3, 4}, values);
  const Numbers shape = {2, 3, 4};
  EXPECT_EQ(heatmap(builder, {}).rows, 6u);
  const Heatmap turned = heatmap(builder, {.slice = {}, .axes = {.rows = 2, .cols = 0}});
  EXPECT_EQ(turned.rows, 12u);  // j slower than k
  EXPECT_EQ(turned.data[0 * 2 + 1], 100);
  EXPECT_EQ(turned.data[5 * 2 + 1], 111);
  auto job = HeatmapJob::make(builder.made, builder.made.tensors[0], {.slice = *parse_slice("[1, ::-1, 3:0:-2]", shape), .axes = {}});
  ASSERT_TRUE(job.has_value());
  EXPECT_EQ(run(*job).data, (std::vector<double>{123, 121, 113, 111, 103, 101}));
  EXPECT_EQ(job->view().place(2, 1), (Numbers{1, 0, 1}));
  EXPECT_EQ(heatmap(builder, {.slice = *parse_slice("[1, 2, 3]", shape), .axes = {}}).data, std::vector<double>{123});
  EXPECT_EQ(heatmap(builder, {.slice = *parse_slice("[0:0]", shape), .axes = {}}).rows, 0u);
  for (const MatrixAxes axes : {MatrixAxes{3, {}}, MatrixAxes{1, 1}, MatrixAxes{{}, 7}}) {
    const auto refused = HeatmapJob::make(builder.made, builder.made.tensors[0], {.slice = {}, .axes = axes});
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code(), Code::usage);
  }
  EXPECT_FALSE(HeatmapJob::make(builder.made, builder.made.tensors[0], {.slice = *parse_slice("[1]", shape), .axes = {0, {}}}).has_value());
}

TEST(Heatmap, Sampling) {
  CheckpointBuilder builder;
  const auto values = builder.random({100, 90});
  builder.add("t", {100, 90}, values);
  const Heatmap map = heatmap(builder, {.most_rows = 10, .most_cols = 7, .sample = true, .slice = {}, .axes = {}});
  EXPECT_FALSE(map.exact);
  EXPECT_TRUE(map.row_profile.rms.empty());
  EXPECT_EQ(map.col_step, 13u);
  for (std::uint64_t r = 0; r < 10; ++r)
    for (std::uint64_t c = 0; c < 7; ++c)
      EXPECT_EQ(map.data[r * 7 + c],
                static_cast<double>(values[(r * 10 + 5) * 90 + c * 13 + std::min<std::uint64_t>(13, 90 - c * 13) / 2]));
}

TEST(Heatmap, SameBitsOnAnyThreads) {
  CheckpointBuilder builder;
  builder.add_random("t", {3000, 1000});
  auto one = HeatmapJob::make(builder.made, builder.made.tensors[0], {.pooling = Pooling::mean, .slice = {}, .axes = {}});
  auto many = HeatmapJob::make(builder.made, builder.made.tensors[0], {.pooling = Pooling::mean, .slice = {}, .axes = {}});
  ASSERT_TRUE(one && many);
  ASSERT_GT(one->parts(), 1u);
  {
    std::vector<std::jthread> threads;
    for (std::size_t part = many->parts(); part-- > 0;)
      threads.emplace_back([&, part] {
        while (!*many->advance(part)) {
        }
      });
  }
  const Heatmap a = run(*one), b = many->finish();
  EXPECT_EQ(a.data, b.data);
  EXPECT_EQ(a.col_profile.rms, b.col_profile.rms);
  EXPECT_EQ(a.row_profile.rms, b.row_profile.rms);
}

TEST(Heatmap, Difference) {
  CheckpointBuilder builder;
  builder.add("a", {2, 3}, {1, 2, kNan, kInf, 5, kNan});
  const std::uint16_t b[] = {0x3f80, 0x4080, 0x7fc0, 0x7f80, 0x4080, 0x3f80};  // BF16: 1, 4, NaN, inf, 4, 1
  builder.add_raw("b", DType::bf16, {2, 3}, b, sizeof b);
  builder.add("c", {3, 2}, {0, 0, 0, 0, 0, 0});
  const auto& tensors = builder.made.tensors;
  auto job = HeatmapJob::make_difference(builder.made, tensors[0], builder.made, tensors[1], {});
  ASSERT_TRUE(job.has_value());
  const Heatmap map = run(*job);
  EXPECT_EQ(std::vector(map.data.begin(), map.data.begin() + 5), (std::vector<double>{0, 2, 0, 0, -1}));
  EXPECT_EQ(map.marks[5], Heatmap::kNan);
  const auto refused = HeatmapJob::make_difference(builder.made, tensors[0], builder.made, tensors[2], {});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code(), Code::bad_shape);
}

TEST(Heatmap, QuantisedPerChannelAlongAnyAxis) {
  CheckpointBuilder builder;
  const std::int8_t codes[] = {1, 2, 3, 4, 5, 6};
  builder.add_raw("q", DType::qi8, {2, 3}, codes, sizeof codes);
  const auto scales = builder.add("s", {3}, {0.5f, 1, 2});
  const std::int64_t zeros[] = {0, 1, 0};
  const auto zero_points = builder.add_raw("z", DType::i64, {3}, zeros, sizeof zeros);
  Quantizer quantizer;
  quantizer.scheme = Quantizer::Scheme::per_channel_affine;
  quantizer.axis = 1;
  quantizer.scales = builder.made.tensors[scales];
  quantizer.zero_points = builder.made.tensors[zero_points];
  builder.made.quantizers.push_back(quantizer);
  builder.made.tensors[0].quantizer = 0;
  const Numbers shape = {2, 3};
  EXPECT_EQ(heatmap(builder, {}).data, (std::vector<double>{0.5, 1, 6, 2, 4, 12}));
  EXPECT_EQ(heatmap(builder, {.slice = {}, .axes = {1, 0}}).data, (std::vector<double>{0.5, 2, 1, 4, 6, 12}));
  EXPECT_EQ(heatmap(builder, {.slice = *parse_slice("[:, ::-2]", shape), .axes = {}}).data, (std::vector<double>{6, 0.5, 12, 2}));
}

/// Holds the one range it was given last.
class OneRange final : public ByteSource {
 public:
  explicit OneRange(std::span<const std::byte> all) : all_(all) {}
  std::uint64_t size() const override { return all_.size(); }
  Result<void> available(std::uint64_t offset, std::uint64_t n) const override {
    if (offset >= from && offset + n <= from + held) return {};
    return fail(Error(Code::need_range).span(offset, n));
  }
  Result<void> read(std::uint64_t offset, std::span<std::byte> out) const override {
    if (auto there = available(offset, out.size()); !there) return there;
    std::ranges::copy(all_.subspan(offset, out.size()), out.begin());
    return {};
  }
  std::uint64_t from = 0, held = 0;

 private:
  std::span<const std::byte> all_;
};

TEST(Heatmap, AsksForRangesStepByStep) {
  CheckpointBuilder builder;
  const auto values = builder.random({200, 10000});
  builder.add("t", {200, 10000}, values);
  const auto bytes = std::as_bytes(std::span(values));
  const auto source = std::make_shared<OneRange>(bytes);
  builder.made.files[0].source = source;
  auto job = HeatmapJob::make(builder.made, builder.made.tensors[0], {.most_rows = 20, .most_cols = 20, .slice = {}, .axes = {}});
  ASSERT_TRUE(job.has_value());
  std::uint64_t asked = 0, most_held = 0;
  for (std::size_t part = 0; part < job->parts();) {
    const auto advanced = job->advance(part);
    if (advanced) {
      part += *advanced;
      continue;
    }
    ASSERT_EQ(advanced.error().code(), Code::need_range);
    const std::uint64_t offset = *advanced.error().where().offset, length = *advanced.error().where().length;
    source->from = offset;
    source->held = length;
    asked += length;
    most_held = std::max(most_held, length);
  }
  EXPECT_EQ(asked, bytes.size());
  EXPECT_LE(most_held, std::uint64_t{1} << 20);
  check(job->finish(), std::vector<double>(values.begin(), values.end()), 10000);
}

}  // namespace
}  // namespace assay::analysis
