// SPDX-License-Identifier: Apache-2.0
#include "analysis/odd_spread.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/elementary.hpp"

namespace assay::analysis {
namespace {

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

/// Of the layers around layer i; at both ends as many on the other side.
double around(std::span<const double> logs, std::size_t i) {
  const std::size_t width = 2 * kOddReach + 1;
  const std::size_t from = std::min(i < kOddReach ? 0 : i - kOddReach, logs.size() > width ? logs.size() - width : 0);
  std::vector<double> near;
  for (std::size_t j = from; j < std::min(from + width, logs.size()); ++j)
    if (j != i) near.push_back(logs[j]);
  return median(std::move(near));
}

}  // namespace

std::vector<OddSpread> odd_spreads(std::span<const double> stds) {
  std::vector<OddSpread> odd;
  if (stds.size() < kOddLeastLayers) return odd;
  std::vector<double> logs, usual, away;
  for (const double std : stds) logs.push_back(natural_log(std));
  for (std::size_t i = 0; i < logs.size(); ++i) {
    usual.push_back(around(logs, i));
    away.push_back(std::abs(logs[i] - usual[i]));
  }
  const double least = std::max(natural_log(kOddTimes), kOddDeviations * (1.4826 * median(away) + kOddFloor));
  for (std::size_t i = 0; i < logs.size(); ++i)
    if (away[i] >= least) odd.push_back({i, exponential(usual[i])});
  if (odd.size() * 4 > logs.size()) odd.clear();
  return odd;
}

}  // namespace assay::analysis
