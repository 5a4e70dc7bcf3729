// SPDX-License-Identifier: Apache-2.0
#include "analysis/moved.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "assay/values.hpp"

namespace assay::analysis {
namespace {

constexpr std::uint64_t kSample = 4096;                      // elements, from the middle
constexpr std::size_t kMostCompared = std::size_t{1} << 17;  // pairs of samples
constexpr double kAlike = 0.9;                               // a cosine that unrelated numbers do not have

/// Of length 1; empty where it cannot be read or has no direction.
std::vector<float> sample_of(const Checkpoint& checkpoint, const Tensor& tensor) {
  if (!tensor.readable) return {};
  const auto reader = TensorReader::open(checkpoint, tensor);
  if (!reader) return {};
  const std::uint64_t n = std::min(kSample, tensor.numel);
  std::vector<double> values(static_cast<std::size_t>(n));
  if (!reader->read_f64((tensor.numel - n) / 2, values)) return {};
  double squares = 0;
  for (const double value : values) squares += value * value;
  if (!std::isfinite(squares) || squares == 0) return {};
  std::vector<float> sample(values.size());
  for (std::size_t i = 0; i < sample.size(); ++i) sample[i] = static_cast<float>(values[i] / std::sqrt(squares));
  return sample;
}

double cosine(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return 0;
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
}

}  // namespace

std::vector<std::uint32_t> find_moved(const Checkpoint& a, const Checkpoint& b, std::span<const TensorPair> pairs,
                                      const std::vector<bool>& lost) {
  struct Group {
    std::vector<std::uint32_t> lost, all;
  };
  std::map<std::vector<std::uint64_t>, Group> groups;
  for (std::uint32_t i = 0; i < pairs.size(); ++i) {
    const auto& shape = a.tensors[pairs[i].a].shape;
    Group& group = groups[{shape.begin(), shape.end()}];
    group.all.push_back(i);
    if (lost[i]) group.lost.push_back(i);
  }
  std::vector<std::uint32_t> like(pairs.size(), kNone);
  for (const auto& [shape, group] : groups) {
    if (group.lost.empty() || group.all.size() < 2 || group.lost.size() > kMostCompared / group.all.size()) continue;
    std::vector<std::vector<float>> before;
    for (const std::uint32_t i : group.all) before.push_back(sample_of(a, a.tensors[pairs[i].a]));
    for (const std::uint32_t i : group.lost) {
      const std::vector<float> now = sample_of(b, b.tensors[pairs[i].b]);
      double most = kAlike;
      for (std::size_t k = 0; k < group.all.size(); ++k) {
        const double alike = group.all[k] == i ? 0 : std::abs(cosine(now, before[k]));
        if (alike > most) most = alike, like[i] = group.all[k];
      }
    }
  }
  return like;
}

}  // namespace assay::analysis
