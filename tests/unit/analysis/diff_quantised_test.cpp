// SPDX-License-Identifier: Apache-2.0
// Quantised tensors differ by the numbers they stand for, not by their codes.
#include <gtest/gtest.h>

#include "analysis/diff.hpp"
#include "checkpoint_builder.hpp"

namespace assay::analysis {
namespace {

using testing::CheckpointBuilder;

/// A 2 × 3 tensor of QI8 with one scale and zero point.
CheckpointBuilder whole(const std::vector<std::int8_t>& codes, double scale, std::int64_t zero_point) {
  CheckpointBuilder builder;
  builder.add_raw("t", DType::qi8, {2, 3}, codes.data(), codes.size());
  Quantizer quantizer;
  quantizer.scale = scale;
  quantizer.zero_point = zero_point;
  builder.made.quantizers.push_back(quantizer);
  builder.made.tensors[0].quantizer = 0;
  return builder;
}

/// The same with a scale and zero point a column.
CheckpointBuilder per_column(const std::vector<std::int8_t>& codes, const std::vector<float>& scales,
                             const std::vector<std::int64_t>& zero_points) {
  CheckpointBuilder builder;
  builder.add_raw("t", DType::qi8, {2, 3}, codes.data(), codes.size());
  const auto s = builder.add("s", {3}, scales);
  const auto z = builder.add_raw("z", DType::i64, {3}, zero_points.data(), 24);
  Quantizer quantizer;
  quantizer.scheme = Quantizer::Scheme::per_channel_affine;
  quantizer.axis = 1;
  quantizer.scales = builder.made.tensors[s];
  quantizer.zero_points = builder.made.tensors[z];
  builder.made.quantizers.push_back(quantizer);
  builder.made.tensors[0].quantizer = 0;
  return builder;
}

Difference compare(const CheckpointBuilder& a, const CheckpointBuilder& b) {
  auto found = compare_tensors(a.made, a.made.tensors[0], b.made, b.made.tensors[0]);
  EXPECT_TRUE(found.has_value()) << found.error().what();
  return *std::move(found);
}

TEST(DiffQuantised, EqualCodesUnderAnotherScaleAreAChange) {
  const std::vector<std::int8_t> codes = {1, 2, 3, -4, 5, 6};
  EXPECT_TRUE(compare(whole(codes, 0.5, 1), whole(codes, 0.5, 1)).same_bytes);
  const Difference scaled = compare(whole(codes, 0.5, 1), whole(codes, 1, 1));
  EXPECT_FALSE(scaled.same_bytes);
  EXPECT_EQ(scaled.changed_elements, 5u);  // code 1 is 0 under both
  EXPECT_EQ(scaled.max_abs, 2.5);
  EXPECT_EQ(scaled.rel_l2, 1);
  EXPECT_FALSE(scaled.max_ulps.has_value());
}

TEST(DiffQuantised, OtherCodesForTheSameNumbersAreNone) {
  const Difference shifted = compare(whole({1, 2, 3, -4, 5, 6}, 0.5, 1), whole({2, 3, 4, -3, 6, 7}, 0.5, 2));
  EXPECT_EQ(shifted.changed_elements, 0u);
  EXPECT_EQ(shifted.max_abs, 0);
  EXPECT_FALSE(shifted.same_bytes);
}

TEST(DiffQuantised, AgainstPlainNumbersAndPerChannel) {
  CheckpointBuilder plain;
  plain.add("t", {2, 3}, {0, 0.5f, 1, -2.5f, 2, 3});
  const Difference found = compare(whole({1, 2, 3, -4, 5, 6}, 0.5, 1), plain);
  EXPECT_TRUE(found.dtype_differs);
  EXPECT_EQ(found.changed_elements, 1u);
  EXPECT_EQ(found.max_abs, 0.5);
  // 2 * (code - column) in the columns' scales 1, 0.5, 0.25
  const CheckpointBuilder columns = per_column({1, 1, 4, -2, 5, 12}, {1, 0.5f, 0.25f}, {1, 0, 0});
  CheckpointBuilder same;
  same.add("t", {2, 3}, {0, 0.5f, 1, -3, 2.5f, 3});
  EXPECT_EQ(compare(columns, same).max_abs, 0);
  EXPECT_TRUE(compare(columns, per_column({1, 1, 4, -2, 5, 12}, {1, 0.5f, 0.25f}, {1, 0, 0})).same_bytes);
  const Difference other = compare(columns, per_column({1, 1, 4, -2, 5, 12}, {1, 0.5f, 0.5f}, {1, 0, 0}));
  EXPECT_EQ(other.changed_elements, 2u);
  EXPECT_EQ(other.max_abs, 3);
}

}  // namespace
}  // namespace assay::analysis
