// SPDX-License-Identifier: Apache-2.0
// The digits that the WebAssembly module prints, against the C library's: both are exact and round to nearest, ties to even.
#include "../bindings/wasm/decimal.cpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <random>
#include <string>

namespace {

using Convert = std::to_chars_result (*)(char*, char*, double, std::uint32_t);

std::string ours(Convert convert, double value, unsigned precision) {
  char text[2000];
  const auto [end, error] = convert(text, text + sizeof text, value, precision);
  return error == std::errc() ? std::string(text, end) : "too large";
}
std::string reference(const char* format, double value, unsigned precision) {
  char text[2000];
  std::snprintf(text, sizeof text, format, static_cast<int>(precision), value);
  return text;
}
void expect_same(double value) {
  for (const unsigned precision : {0u, 1u, 3u, 4u, 16u}) {
    EXPECT_EQ(ours(std::__2::__d2exp_buffered_n, value, precision), reference("%.*e", value, precision));
    EXPECT_EQ(ours(std::__2::__d2fixed_buffered_n, value, precision), reference("%.*f", value, precision));
  }
}

TEST(Decimal, EdgesOfTheFormat) {
  for (const double value :
       {0.0, 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 0.5, 0.05, 0.25, 2.5, 9.5, 99.95, 0.00045, 1e22, 1e23})
    expect_same(value);
}

TEST(Decimal, RandomValues) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 5000; ++i) {
    const std::uint64_t bits = random() & 0x7fffffffffffffff;
    const double any = std::bit_cast<double>(bits);
    if (std::isfinite(any)) expect_same(any);
    expect_same(static_cast<double>(bits >> bits % 60));
    expect_same(static_cast<double>(bits % 1000000) / std::pow(10, bits >> 50 & 7));
  }
}

TEST(Decimal, SaysWhenThereIsNoRoom) {
  char text[8];
  EXPECT_EQ(std::__2::__d2fixed_buffered_n(text, text + sizeof text, 1e300, 0).ec, std::errc::value_too_large);
  EXPECT_EQ(std::__2::__d2exp_buffered_n(text, text + sizeof text, 1.5, 4).ec, std::errc::value_too_large);
}

}  // namespace
