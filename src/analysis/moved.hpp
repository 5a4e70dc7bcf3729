// SPDX-License-Identifier: Apache-2.0
// Tensors that changed places: experts or layers that were exchanged or copied.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/match.hpp"
#include "assay/checkpoint.hpp"

namespace assay::analysis {

/// For every pair that is `lost`, whose B has nothing of its A, the index of the pair whose A its B is most like; kNone where none is.
/// Compares a sample of up to 4096 elements, of tensors of one shape; no whole tensor is read. What cannot be read is like nothing.
/// Nothing is compared where lost tensors times others of their shape are more than 2^17.
std::vector<std::uint32_t> find_moved(const Checkpoint& a, const Checkpoint& b, std::span<const TensorPair> pairs,
                                      const std::vector<bool>& lost);

}  // namespace assay::analysis
