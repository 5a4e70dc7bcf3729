// SPDX-License-Identifier: Apache-2.0
// What a map must keep, measured on its colours: even steps of lightness, arms of equal lightness, and blue apart from orange for
// eyes that lack a kind of cone (matrices of Machado, Oliveira and Fernandes 2009, severity 1).
#include "report/colour_map.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace assay::report {
namespace {

struct Lab {
  double l, a, b;
};

double decoded(double c) { return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4); }

using Triple = std::array<double, 3>;
Triple linear(const Rgb& c) { return {decoded(c.r / 255.0), decoded(c.g / 255.0), decoded(c.b / 255.0)}; }

Lab oklab(const Triple& c) {
  const double l = std::cbrt(0.4122214708 * c[0] + 0.5363325363 * c[1] + 0.0514459929 * c[2]);
  const double m = std::cbrt(0.2119034982 * c[0] + 0.6806995451 * c[1] + 0.1073969566 * c[2]);
  const double s = std::cbrt(0.0883024619 * c[0] + 0.2817188376 * c[1] + 0.6299787005 * c[2]);
  return {0.2104542553 * l + 0.7936177850 * m - 0.0040720468 * s, 1.9779984951 * l - 2.4285922050 * m + 0.4505937099 * s,
          0.0259040371 * l + 0.7827717662 * m - 0.8086757660 * s};
}

double apart(const Lab& x, const Lab& y) { return std::hypot(x.l - y.l, x.a - y.a, x.b - y.b); }

using Matrix = std::array<Triple, 3>;
constexpr Matrix kProtan = {{{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}}};
constexpr Matrix kDeutan = {{{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}}};
constexpr Matrix kTritan = {{{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}}};

Triple seen(const Matrix& m, const Triple& c) {
  Triple out;
  for (std::size_t i = 0; i < 3; ++i) out[i] = std::clamp(m[i][0] * c[0] + m[i][1] * c[1] + m[i][2] * c[2], 0.0, 1.0);
  return out;
}

TEST(ColourMap, LightnessIsEven) {
  for (const Theme theme : {Theme::dark, Theme::light}) {
    const double sign = theme == Theme::dark ? 1 : -1;
    const ColourMap both = colour_map(ColourKind::diverging, theme), one = colour_map(ColourKind::sequential, theme);
    const auto lightness = [](const Rgb& c) { return oklab(linear(c)).l; };
    for (std::size_t i = 1; i < 128; ++i) {
      EXPECT_GT(sign * (lightness(both[128 + i]) - lightness(both[127 + i])), -0.004) << i;
      EXPECT_GT(sign * (lightness(both[127 - i]) - lightness(both[128 - i])), -0.004) << i;
      EXPECT_NEAR(lightness(both[127 - i]), lightness(both[128 + i]), 0.01) << i;
    }
    const double step = (lightness(one[255]) - lightness(one[0])) / 255;
    for (std::size_t i = 0; i < 256; ++i) EXPECT_NEAR(lightness(one[i]), lightness(one[0]) + step * static_cast<double>(i), 0.012) << i;
  }
}

TEST(ColourMap, SignsAreTellable) {
  for (const Theme theme : {Theme::dark, Theme::light}) {
    const ColourMap map = colour_map(ColourKind::diverging, theme);
    EXPECT_EQ(map[127], map[128]);
    for (std::size_t i = 26; i < 128; ++i) {  // from a fifth of the limit on
      const Triple negative = linear(map[127 - i]), positive = linear(map[128 + i]);
      EXPECT_GT(apart(oklab(negative), oklab(positive)), 0.08) << i;
      for (const Matrix* eye : {&kProtan, &kDeutan, &kTritan})
        EXPECT_GT(apart(oklab(seen(*eye, negative)), oklab(seen(*eye, positive))), 0.05) << i;
    }
    for (const Rgb& mark : {kMarkColours.nan, kMarkColours.pos_inf, kMarkColours.neg_inf})
      for (const Rgb& c : map) EXPECT_GT(apart(oklab(linear(mark)), oklab(linear(c))), 0.08);
  }
}

TEST(ColourMap, Indices) {
  EXPECT_EQ(colour_index(ColourKind::diverging, 0, 2), 128u);
  EXPECT_EQ(colour_index(ColourKind::diverging, 2, 2), 255u);
  EXPECT_EQ(colour_index(ColourKind::diverging, -7, 2), 0u);
  EXPECT_EQ(colour_index(ColourKind::sequential, 1, 2), 128u);
  EXPECT_EQ(colour_index(ColourKind::sequential, -1, 2), 0u);
  EXPECT_EQ(colour_index(ColourKind::sequential, 1e300, 2), 255u);
  EXPECT_EQ(colour_index(ColourKind::diverging, std::nan(""), 2), 128u);
  EXPECT_EQ(colour_index(ColourKind::diverging, 1, 0), 128u);
}

}  // namespace
}  // namespace assay::report
