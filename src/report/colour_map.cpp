// SPDX-License-Identifier: Apache-2.0
#include "report/colour_map.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/elementary.hpp"

namespace assay::report {
namespace {

struct Linear {
  double r, g, b;
};

/// Of an angle in degrees, by its series; done when this is compiled.
constexpr double sine_of(double degrees) {
  const double x = (degrees > 180 ? degrees - 360 : degrees) * std::numbers::pi / 180;
  double term = x, sum = x;
  for (int n = 2; n < 40; n += 2) sum += term *= -x * x / (n * (n + 1));
  return sum;
}

struct Hue {
  double cosine, sine;
  constexpr Hue(double degrees) : cosine(sine_of(90 - degrees)), sine(sine_of(degrees)) {}
};

/// OKLab in its polar form: lightness 0 to 1, chroma, hue.
struct Oklch {
  double lightness, chroma;
  Hue hue;
};

Linear linear_of(const Oklch& colour) {
  const double a = colour.chroma * colour.hue.cosine, b = colour.chroma * colour.hue.sine;
  const auto cube = [](double x) { return x * x * x; };
  const double l = cube(colour.lightness + 0.3963377774 * a + 0.2158037573 * b);
  const double m = cube(colour.lightness - 0.1055613458 * a - 0.0638541728 * b);
  const double s = cube(colour.lightness - 0.0894841775 * a - 1.2914855480 * b);
  return {4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s, -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
          -0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s};
}

bool can_be_shown(const Linear& c) {
  constexpr double kSlack = 1e-4;
  return std::min({c.r, c.g, c.b}) >= -kSlack && std::max({c.r, c.g, c.b}) <= 1 + kSlack;
}

std::uint8_t encoded(double linear) {
  const double c = std::clamp(linear, 0.0, 1.0);
  const double srgb = c <= 0.0031308 ? 12.92 * c : 1.055 * power(c, 1 / 2.4) - 0.055;
  return static_cast<std::uint8_t>(std::lround(255 * srgb));
}

/// The colour, or the one of most chroma at the same lightness and hue that a screen has.
Rgb shown(Oklch colour) {
  if (!can_be_shown(linear_of(colour))) {
    double low = 0, high = colour.chroma;
    for (int i = 0; i < 24; ++i) {
      colour.chroma = (low + high) / 2;
      (can_be_shown(linear_of(colour)) ? low : high) = colour.chroma;
    }
    colour.chroma = low;
  }
  const Linear linear = linear_of(colour);
  return {encoded(linear.r), encoded(linear.g), encoded(linear.b)};
}

/// From the background's lightness to the arm's end; chroma rises faster, so that small values have a hue already.
Rgb on_arm(double background, const Oklch& end, double t) {
  return shown({background + t * (end.lightness - background), end.chroma * power(t, 0.6), end.hue});
}

struct Arms {
  double background;
  Oklch negative, positive, magnitude;
};
constexpr Arms kDark = {0.17, {0.80, 0.14, 242}, {0.80, 0.16, 62}, {0.93, 0.17, 160}};
constexpr Arms kLight = {1.0, {0.42, 0.17, 256}, {0.42, 0.14, 48}, {0.34, 0.11, 160}};

}  // namespace

ColourMap colour_map(ColourKind kind, Theme theme) {
  const Arms& arms = theme == Theme::dark ? kDark : kLight;
  ColourMap map;
  constexpr std::size_t kHalf = kColours / 2;
  for (std::size_t i = 0; i < kColours; ++i) {
    if (kind == ColourKind::sequential) map[i] = on_arm(arms.background, arms.magnitude, static_cast<double>(i) / (kColours - 1));
    // The two entries about the middle are both neutral: there are an even number of them, and 0 has no sign.
    else if (i < kHalf) map[i] = on_arm(arms.background, arms.negative, static_cast<double>(kHalf - 1 - i) / (kHalf - 1));
    else map[i] = on_arm(arms.background, arms.positive, static_cast<double>(i - kHalf) / (kHalf - 1));
  }
  return map;
}

std::size_t colour_index(ColourKind kind, double value, double limit) {
  const double t = std::isnan(value) || !(limit > 0) ? 0 : std::clamp(value / limit, kind == ColourKind::diverging ? -1.0 : 0.0, 1.0);
  const double last = kColours - 1;
  return static_cast<std::size_t>(std::lround(kind == ColourKind::diverging ? (t + 1) * last / 2 : t * last));
}

}  // namespace assay::report
