// SPDX-License-Identifier: Apache-2.0
#include "analysis/moe_products.hpp"

#include <algorithm>

namespace assay::analysis {
namespace {

/// Inner products of `a` with four others at once, so that `a` is loaded once.
void products_of_four(const double* a, const double* const b[4], std::size_t n, double out[4]) {
  constexpr std::size_t kLanes = 4;
  double sums[4][kLanes] = {};
  const std::size_t whole = n / kLanes * kLanes;
  for (std::size_t i = 0; i < whole; i += kLanes)
    for (std::size_t j = 0; j < 4; ++j)
      for (std::size_t lane = 0; lane < kLanes; ++lane) sums[j][lane] += a[i + lane] * b[j][i + lane];
  for (std::size_t j = 0; j < 4; ++j) {
    for (std::size_t i = whole; i < n; ++i) sums[j][0] += a[i] * b[j][i];
    out[j] += (sums[j][0] + sums[j][1]) + (sums[j][2] + sums[j][3]);
  }
}

}  // namespace

std::vector<Stretch> stretches_of(const Checkpoint& checkpoint, const ExpertPart& part, bool sample) {
  if (!sample) return {};
  return sampled(kExpertSampling, part.numel, std::max(1u, dtype_bits(checkpoint.tensors[part.tensor].dtype) / 8));
}

void add_products(std::span<const double> blocks, std::size_t n, double stands_for, std::span<double> products, std::span<double> squares) {
  const std::size_t size = squares.size();
  for (std::size_t e = 0; e < size; ++e) {
    const double* own = &blocks[e * n];
    double square[4] = {};
    const double* const same[4] = {own, own, own, own};
    if (products.empty()) {
      products_of_four(own, same, n, square);
      squares[e] += stands_for * square[0];
      continue;
    }
    for (std::size_t f = e; f < size; f += 4) {
      const double* others[4];
      double found[4] = {};
      for (std::size_t j = 0; j < 4; ++j) others[j] = &blocks[std::min(f + j, size - 1) * n];
      products_of_four(own, others, n, found);
      for (std::size_t j = 0; j < 4 && f + j < size; ++j) products[e * size + f + j] += stands_for * found[j];
    }
  }
}

std::uint64_t bytes_to_measure(const Checkpoint& checkpoint, const Moe& moe, bool sample) {
  std::uint64_t bytes = 0;
  for (const MoeLayer& layer : moe.layers) {
    for (const Router& router : layer.routers) bytes += checkpoint.tensors[router.tensor].nbytes();
    for (const Expert& expert : layer.experts) {
      for (const ExpertPart& part : expert.parts) {
        const auto stretches = stretches_of(checkpoint, part, sample);
        const std::uint64_t looked = stretches.empty() ? part.numel : elements_of(stretches);
        bytes += looked * dtype_bits(checkpoint.tensors[part.tensor].dtype) / 8;
      }
    }
  }
  return bytes;
}

}  // namespace assay::analysis
