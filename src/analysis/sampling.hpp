// SPDX-License-Identifier: Apache-2.0
// Which part of a tensor is looked at for a first answer.
#pragma once

#include <cstdint>
#include <vector>

namespace assay::analysis {

/// Of what is larger than `from`, one block in sixteen, evenly spaced from the first to the last element. In bytes.
struct Sampling {
  std::uint64_t from, block;
};
inline constexpr Sampling kTensorSampling{std::uint64_t{16} << 20, std::uint64_t{1} << 20};
/// Experts are small, and many.
inline constexpr Sampling kExpertSampling{std::uint64_t{1} << 20, std::uint64_t{64} << 10};

/// Elements [first, first + count).
struct Stretch {
  std::uint64_t first = 0, count = 0;
};
/// Of `numel` elements of `size` bytes those to look at, in order; empty where that is all of them.
std::vector<Stretch> sampled(const Sampling& sampling, std::uint64_t numel, std::uint64_t size);
std::uint64_t elements_of(const std::vector<Stretch>& stretches);

}  // namespace assay::analysis
