// SPDX-License-Identifier: Apache-2.0
#include "analysis/sampling.hpp"

namespace assay::analysis {

std::vector<Stretch> sampled(const Sampling& sampling, std::uint64_t numel, std::uint64_t size) {
  if (numel <= sampling.from / size) return {};
  const std::uint64_t length = sampling.block / size, blocks = numel / (16 * length) + 1;
  std::vector<Stretch> stretches;
  for (std::uint64_t i = 0; i < blocks; ++i) stretches.push_back({blocks == 1 ? 0 : (numel - length) / (blocks - 1) * i, length});
  return stretches;
}

std::uint64_t elements_of(const std::vector<Stretch>& stretches) {
  std::uint64_t sum = 0;
  for (const Stretch& stretch : stretches) sum += stretch.count;
  return sum;
}

}  // namespace assay::analysis
