// SPDX-License-Identifier: Apache-2.0
// Numbers as the WebAssembly module writes them, against std::to_chars: to the character.
#include <gtest/gtest.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <random>
#include <string>

#define assay assay_of_wasm  // NOLINT: beside the library's own
#include "../src/base/real_text_wasm.cpp"
#undef assay

namespace {

using assay_of_wasm::RealForm;

template <class... Format>
std::string reference(auto value, Format... format) {
  char text[2000];
  return {text, std::to_chars(text, text + sizeof text, value, format...).ptr};
}

template <class T>
void expect_same_shortest(T value) {
  char text[400];
  EXPECT_EQ(std::string(text, assay_of_wasm::write_shortest(text, value)), reference(value));
  EXPECT_EQ(std::string(text, assay_of_wasm::write_shortest(text, value, RealForm::fixed)), reference(value, std::chars_format::fixed));
  EXPECT_EQ(std::string(text, assay_of_wasm::write_shortest(text, value, RealForm::scientific)),
            reference(value, std::chars_format::scientific));
}

void expect_same(double value) {
  expect_same_shortest(value);
  if (std::isfinite(static_cast<float>(value))) expect_same_shortest(static_cast<float>(value));
  char text[2000];
  for (const int places : {0, 1, 2, 5, 17}) {
    EXPECT_EQ(std::string(text, assay_of_wasm::write_fixed(text, value, places)), reference(value, std::chars_format::fixed, places))
        << value;
    if (places > 0) {
      EXPECT_EQ(std::string(text, assay_of_wasm::write_significant(text, value, places)),
                reference(value, std::chars_format::general, places));
    }
  }
}

TEST(RealText, EdgesOfTheFormat) {
  for (const double value : {0.0,
                             5e-324,
                             2.2250738585072014e-308,
                             1.7976931348623157e308,
                             0.5,
                             0.05,
                             0.25,
                             2.5,
                             9.5,
                             99.95,
                             0.00045,
                             0.996,
                             0.00996,
                             1e-3,
                             1e-4,
                             1e-5,
                             12e-5,
                             1234e-7,
                             1234e-8,
                             1e4,
                             1e5,
                             12e4,
                             123e5,
                             123e6,
                             1e15,
                             1e16,
                             1e21,
                             1e22,
                             1e23,
                             9007199254740993.0,
                             123456789012345680000.0,
                             1.0e20,
                             9.5367431640625e-7,
                             4.35,
                             0.3,
                             2.0 / 3,
                             5e-5,
                             16777216.0,
                             3.4028234663852886e38}) {
    expect_same(value);
    expect_same(-value);
  }
}

TEST(RealText, PowersOfTwoHaveANearerNeighbourBelow) {
  for (int exponent = -1074; exponent < 1024; ++exponent)
    for (const double value : {std::ldexp(1.0, exponent), std::nextafter(std::ldexp(1.0, exponent), 0.0)})
      if (value > 0) expect_same_shortest(value);
  for (int exponent = -149; exponent < 128; ++exponent) expect_same_shortest(std::ldexp(1.0f, exponent));
}

TEST(RealText, RandomValues) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 5000; ++i) {
    const std::uint64_t bits = random();
    const double any = std::bit_cast<double>(bits);
    if (std::isfinite(any)) expect_same(any);
    expect_same(static_cast<double>(bits >> bits % 60));
    expect_same(static_cast<double>(bits % 1000000) / std::pow(10, bits >> 50 & 7));
    const float small = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    if (std::isfinite(small)) expect_same_shortest(small);
  }
}

}  // namespace
