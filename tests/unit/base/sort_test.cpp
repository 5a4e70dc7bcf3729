// SPDX-License-Identifier: Apache-2.0
#include "base/sort.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <span>
#include <string>

namespace assay {
namespace {

struct Item {
  int key;
  std::string text;
  bool operator==(const Item&) const = default;
};

TEST(Sort, IsTheStandardLibrarysStableSort) {
  std::mt19937 random(9);
  for (const std::size_t n : {0u, 1u, 2u, 3u, 7u, 8u, 9u, 15u, 16u, 17u, 100u, 1000u, 4096u, 10001u}) {
    for (const unsigned kinds : {1u, 2u, 10u, 1000000u}) {
      std::vector<Item> items;
      for (std::size_t i = 0; i < n; ++i) items.push_back({static_cast<int>(random() % kinds), std::to_string(i)});
      auto expected = items;
      std::ranges::stable_sort(expected, std::ranges::greater(), &Item::key);
      sort_stable(items, std::ranges::greater(), &Item::key);
      ASSERT_EQ(items, expected) << n << " " << kinds;
      // In order already, and in the opposite one.
      sort_stable(items, std::ranges::greater(), &Item::key);
      ASSERT_EQ(items, expected);
      std::ranges::stable_sort(expected, {}, &Item::key);
      sort_stable(items, [](const Item& a, const Item& b) { return a.key < b.key; });
      ASSERT_EQ(items, expected);
    }
  }
}

TEST(Sort, TakesPartsAndWhatCanOnlyBeMoved) {
  std::vector<std::unique_ptr<int>> owned;
  for (const int value : {5, 3, 9, 1}) owned.push_back(std::make_unique<int>(value));
  sort_stable(owned, {}, [](const auto& p) { return *p; });
  std::vector<int> values;
  for (const auto& p : owned) values.push_back(*p);
  EXPECT_EQ(values, (std::vector<int>{1, 3, 5, 9}));
  sort_stable(std::span(values).subspan(1), std::ranges::greater());
  EXPECT_EQ(values, (std::vector<int>{1, 9, 5, 3}));
}

TEST(Sort, NumbersByTheirBytes) {
  std::mt19937_64 random(10);
  std::vector<std::uint64_t> scratch;
  for (const std::size_t n : {0u, 1u, 2u, 255u, 256u, 257u, 5000u, 3u}) {
    for (const std::uint64_t mask : {~std::uint64_t{0}, std::uint64_t{0xffff}, std::uint64_t{0xff00ff00}, std::uint64_t{1} << 63}) {
      std::vector<std::uint64_t> numbers(n);
      for (std::uint64_t& number : numbers) number = (random() & mask) | 0x1000;
      auto expected = numbers;
      std::ranges::sort(expected);
      sort_numbers(numbers, scratch);
      ASSERT_EQ(numbers, expected) << n << " " << mask;
    }
  }
}

TEST(Sort, ComparesNoMoreThanMergingTakes) {
  std::vector<unsigned> numbers(65536);
  std::mt19937 random(4);
  for (unsigned& number : numbers) number = random();
  std::size_t compared = 0;
  const auto less = [&](unsigned a, unsigned b) { return ++compared, a < b; };
  sort_stable(numbers, less);
  EXPECT_TRUE(std::ranges::is_sorted(numbers));
  EXPECT_LT(compared, numbers.size() * 17);
  compared = 0;
  sort_stable(numbers, less);
  EXPECT_EQ(compared, numbers.size() - 1);
}

}  // namespace
}  // namespace assay
