// SPDX-License-Identifier: Apache-2.0
// Shards that were written by another save than their neighbours.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "assay/checkpoint.hpp"

namespace assay::formats {

/// For a set whose sizes do not add up: a warning for each shard most of whose tensors are unlike those of the same names, layers aside, in
/// all others. Nothing where that would be most shards. `shard_of_tensor` is as long as the set's tensors, and refers into `shards`.
std::vector<Finding> find_other_saves(const Checkpoint& set, std::span<const std::uint32_t> shard_of_tensor,
                                      std::span<const std::string> shards);

}  // namespace assay::formats
