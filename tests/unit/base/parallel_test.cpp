// SPDX-License-Identifier: Apache-2.0
#include "base/parallel.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <vector>

namespace assay {
namespace {

TEST(InOrder, MakesEachOnceAndTakesThemInOrder) {
  for (const std::size_t n : {0u, 1u, 2u, 7u, 300u})
    for (const std::size_t threads : {0u, 1u, 2u, 5u}) {
      std::vector<std::atomic<int>> made(n);
      std::vector<std::size_t> taken;
      std::atomic<std::size_t> ahead = 0, most = 0, done = 0;
      std::atomic<bool> taking = false;
      int firsts = 0;
      const bool whole = in_order(
          n, threads,
          [&](std::size_t i) {
            ++made[i];
            for (std::atomic<std::size_t> spin = 0; spin < i * 37 % 1000;) ++spin;  // some take longer
            const std::size_t now = ++ahead;
            for (std::size_t seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
            }
          },
          [&](std::size_t i) {
            EXPECT_FALSE(taking.exchange(true)) << "two at once";
            EXPECT_EQ(made[i], 1);
            taken.push_back(i);
            --ahead;
            taking = false;
            ++done;
            return true;
          },
          [&] { ++firsts; });
      EXPECT_TRUE(whole);
      EXPECT_EQ(firsts, 1);
      EXPECT_EQ(done, n);
      ASSERT_EQ(taken.size(), n);
      for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(taken[i], i);
      EXPECT_LE(most, std::max<std::size_t>(1, 2 * threads));
    }
}

TEST(InOrder, EndsWhereItIsToldTo) {
  for (const std::size_t threads : {1u, 4u}) {
    std::vector<std::size_t> taken;
    const bool whole = in_order(100, threads, [](std::size_t) {}, [&](std::size_t i) { return taken.push_back(i), i < 10; }, [] {});
    EXPECT_FALSE(whole);
    ASSERT_EQ(taken.size(), 11u);
    EXPECT_EQ(taken.back(), 10u);
  }
}

}  // namespace
}  // namespace assay
