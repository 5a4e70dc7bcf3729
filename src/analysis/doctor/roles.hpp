// SPDX-License-Identifier: Apache-2.0
// What a tensor is for, by its name: what is odd in one kind is normal in another.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "assay/tensor.hpp"
#include "model/naming.hpp"

namespace assay::analysis {

enum class TensorRole : std::uint8_t {
  weight,     ///< a matrix or more of numbers that were trained
  embedding,  ///< a row per token; rows of tokens that never occurred are normal
  norm,       ///< begins as ones
  bias,       ///< begins as zeros
  adapter,    ///< a factor of a low-rank product
  index,      ///< whole numbers that choose something
  counter,    ///< whole numbers that count
  scale,      ///< belongs to a quantised weight
  mask,
  state,  ///< of an optimizer, or running statistics
  other,
};

TensorRole role_of(const Tensor& tensor);
using model::is_number;
using model::numberless;
/// The name up to its first dotted number: "model.layers.3"; "" where there is none.
std::string_view layer_module(std::string_view name);

}  // namespace assay::analysis
