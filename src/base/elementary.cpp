// SPDX-License-Identifier: Apache-2.0
#include "base/elementary.hpp"

#include <cmath>

namespace assay {
namespace {

constexpr double kLog2High = 0x1.62e42fee00000p-1,
                 kLog2Low = 0x1.a39ef35793c76p-33;  // the first has 32 bits: times an exponent it is exact
constexpr double kLog2 = 0x1.62e42fefa39efp-1, kSqrtHalf = 0x1.6a09e667f3bcdp-1;

}  // namespace

double natural_log(double x) {
  int exponent = 0;
  double m = std::frexp(x, &exponent);
  if (m < kSqrtHalf) m *= 2, --exponent;
  // log m = 2 artanh s, and |s| < 0.172
  const double s = (m - 1) / (m + 1), square = s * s;
  double sum = 0;
  for (int n = 25; n >= 3; n -= 2) sum = (sum + 1.0 / n) * square;
  return exponent * kLog2High + (2 * s + (2 * s * sum + exponent * kLog2Low));
}

double exponential(double x) {
  const double times = std::round(x / kLog2);
  const double rest = (x - times * kLog2High) - times * kLog2Low;
  double sum = 1;
  for (int n = 15; n >= 1; --n) sum = 1 + sum * rest / n;
  return std::ldexp(sum, static_cast<int>(times));
}

double power(double base, double exponent) { return base == 0 ? 0 : exponential(exponent * natural_log(base)); }

}  // namespace assay
