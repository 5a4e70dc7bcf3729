// SPDX-License-Identifier: Apache-2.0
// Reading the names of mixture-of-experts tensors. The families' spellings are rows of moe_names.def.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace assay::analysis {

enum class ExpertRole : std::uint8_t { gate, up, down, gate_up, other };
/// What a tensor is to its projection.
enum class PartKind : std::uint8_t {
  weight,
  packed,  ///< a weight whose elements are codes
  bias,
  companion,  ///< scales, zero points, adapters: not a weight of the expert
};
enum class Stacking : std::uint8_t {
  per_expert,  ///< a tensor for each expert
  fused,       ///< one tensor, the experts along a dimension of their own
  rows,        ///< one matrix, its rows divided among the experts
  columns,     ///< one matrix, its columns divided
};
/// How the matrices of an expert lie: `inner` is the expert's width, its count of neurons.
enum class ExpertLayout : std::uint8_t {
  unknown,
  linear,        ///< [out, in]: gate and up [inner, hidden], down [hidden, inner]
  input_first,   ///< [in, out], transposed
  neuron_first,  ///< [inner, hidden] all three
};

/// What a name says when it is that of an expert's tensor. Texts are parts of the name.
struct ExpertName {
  std::string_view block;       ///< the module that has the experts: "model.layers.3.mlp"
  std::string_view projection;  ///< "w1"
  std::string_view suffix;      ///< "weight"; what follows the projection
  std::uint64_t expert = 0;     ///< for Stacking::per_expert
  ExpertRole role = ExpertRole::other;
  PartKind kind = PartKind::companion;
  Stacking stacking = Stacking::per_expert;
  ExpertLayout layout = ExpertLayout::linear;
  bool strong = false;  ///< needs no router to be believed
};

struct RouterName {
  std::string_view block;  ///< what stands before the router's own part of the name
  unsigned axis = 0;       ///< the dimension with one entry per expert
};

/// Nothing when no row of the table fits. `rank` is the tensor's number of dimensions. Cost: linear in the name, times the rows.
std::optional<ExpertName> parse_expert_name(std::string_view name, std::size_t rank);
std::optional<RouterName> parse_router_name(std::string_view name);
/// The module of shared experts that the name is in, with all that stands before: "model.layers.3.mlp.shared_expert".
std::optional<std::string_view> parse_shared_name(std::string_view name);
/// "a.b" of "a.b.c"; "" of "a".
std::string_view parent_of(std::string_view module);

}  // namespace assay::analysis
