// SPDX-License-Identifier: Apache-2.0
// A seeded, deterministic, Mixtral-shaped model, for demonstrations, tests and a page that is never empty: 4 layers, 8
// experts, d 96, d_ff 192. Experts 0-3 are distinct archetypes; 4-7 are 0-3 plus 16 % noise.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace assay::model {

struct SyntheticTensor {
  std::string name;
  std::vector<std::uint64_t> shape;
  std::vector<float> values;  ///< row-major
};

inline constexpr std::uint64_t kSyntheticSeed = 7;

/// Every tensor in the order a real Mixtral file lists them. The same bits for the same seed on every machine: integer
/// arithmetic and correctly rounded operations only. About 2 million values.
std::vector<SyntheticTensor> synthetic_model(std::uint64_t seed = kSyntheticSeed);

}  // namespace assay::model
