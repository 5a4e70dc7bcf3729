// SPDX-License-Identifier: Apache-2.0
#include "base/elementary.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace assay {
namespace {

/// Against the C library in long double.
void expect_near(double ours, long double exact) { EXPECT_LE(std::abs(ours - exact), 1e-15L * std::abs(exact)) << ours; }

TEST(Elementary, LogarithmAndExponentialAreRightTo1e15) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> unit(0, 1);
  for (int i = 0; i < 100000; ++i) {
    const double x = std::ldexp(1 + unit(random), static_cast<int>(random() % 2000) - 1000);
    expect_near(natural_log(x), std::log(static_cast<long double>(x)));
    const double y = 1 + unit(random) * 0.01;
    expect_near(natural_log(y), std::log(static_cast<long double>(y)));
    const double z = (unit(random) - 0.5) * 1300;
    expect_near(exponential(z), std::exp(static_cast<long double>(z)));
  }
  EXPECT_EQ(natural_log(1), 0);
  EXPECT_EQ(exponential(0), 1);
  expect_near(natural_log(5e-324), std::log(static_cast<long double>(5e-324)));
}

TEST(Elementary, Powers) {
  EXPECT_EQ(power(0, 0.6), 0);
  for (double t = 0.001; t < 1; t += 0.001) EXPECT_NEAR(power(t, 1 / 2.4), std::pow(t, 1 / 2.4), 1e-15);
}

}  // namespace
}  // namespace assay
