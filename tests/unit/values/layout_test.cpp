// SPDX-License-Identifier: Apache-2.0
#include "values/layout.hpp"

#include <gtest/gtest.h>

#include <utility>

#include "values/storage_order.hpp"

namespace assay::values {
namespace {

using Numbers = std::vector<std::uint64_t>;

/// Of one byte each.
Tensor tensor_of(const Numbers& shape, const Numbers& stride) {
  Tensor tensor;
  tensor.dtype = DType::u8;
  tensor.shape = shape;
  tensor.stride = stride;
  tensor.numel = 1;
  for (const std::uint64_t size : shape) tensor.numel *= size;
  return tensor;
}

TEST(Layout, FoldsWhatStepsAlike) {
  const Numbers shape{2, 3, 1, 4, 5}, stride{60, 20, 999, 5, 1}, expanded{0, 0, 999, 5, 1};
  auto layout = make_layout(tensor_of(shape, stride), 120, {});
  ASSERT_TRUE(layout.has_value());
  EXPECT_TRUE(layout->contiguous());
  ASSERT_EQ(layout->dims.size(), 1u);
  EXPECT_EQ(layout->dims[0].size, 120u);
  layout = make_layout(tensor_of(shape, expanded), 20, {});
  ASSERT_TRUE(layout.has_value());
  ASSERT_EQ(layout->dims.size(), 2u);
  EXPECT_EQ(layout->dims[0].size, 6u);
  EXPECT_EQ(layout->dims[0].stride, 0u);
}

TEST(Layout, AnExtentIsNoWiderThanTheDimensionsThatMove) {
  const Numbers shape{4, 3, 5}, stride{100, 1, 10};
  const auto layout = make_layout(tensor_of(shape, stride), 400, {});
  ASSERT_TRUE(layout.has_value());
  const auto extent = [&](std::uint64_t first, std::uint64_t n) {
    const auto [from, to] = layout->extent(first, n);
    return std::pair(from, to);
  };
  EXPECT_EQ(extent(0, 1), (std::pair<std::uint64_t, std::uint64_t>(0, 0)));
  EXPECT_EQ(extent(6, 3), (std::pair<std::uint64_t, std::uint64_t>(11, 31)));   // (0, 1, 1) … (0, 1, 3)
  EXPECT_EQ(extent(4, 2), (std::pair<std::uint64_t, std::uint64_t>(0, 41)));    // (0, 0, 4) … (0, 1, 0)
  EXPECT_EQ(extent(14, 2), (std::pair<std::uint64_t, std::uint64_t>(0, 142)));  // (0, 2, 4) … (1, 0, 0)
  EXPECT_EQ(extent(0, 60), (std::pair<std::uint64_t, std::uint64_t>(0, 342)));
}

TEST(StorageOrder, SortsByStrideAndTakesRepetitionsOut) {
  const Numbers shape{2, 7, 3, 5}, stride{1, 0, 10, 2};
  const Tensor original = tensor_of(shape, stride);
  const StorageOrder order(original);
  EXPECT_EQ(order.weight(), 7u);
  EXPECT_EQ(order.tensor().numel, 30u);
  EXPECT_EQ(Numbers(order.tensor().shape.begin(), order.tensor().shape.end()), (Numbers{3, 5, 2}));
  EXPECT_EQ(Numbers(order.tensor().stride.begin(), order.tensor().stride.end()), (Numbers{10, 2, 1}));
  EXPECT_TRUE(order.tensor().contiguous());
}

TEST(StorageOrder, LeavesWhatCannotBeRightAsItIs) {
  const Numbers shape{2, 2}, stride{0, 1}, one{1};
  Tensor wrong = tensor_of(shape, stride);
  wrong.numel = 3;
  EXPECT_EQ(StorageOrder(wrong).tensor().numel, 3u);
  EXPECT_EQ(StorageOrder(tensor_of(shape, one)).tensor().stride.size(), 1u);
  const Numbers huge{std::uint64_t{1} << 40, std::uint64_t{1} << 40};
  EXPECT_EQ(StorageOrder(tensor_of(huge, stride)).weight(), 1u);
}

}  // namespace
}  // namespace assay::values
