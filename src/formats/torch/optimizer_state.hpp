// SPDX-License-Identifier: Apache-2.0
// An optimizer that was pickled whole: its state is a dict whose keys are the parameters themselves. They get the numbers that
// state_dict() gives them, by their place in param_groups.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "formats/torch/nodes.hpp"

namespace assay::formats::torch {

class ParameterNumbers {
 public:
  explicit ParameterNumbers(const Graph& graph) : graph_(graph), left_(graph.node_count()) {}

  /// The number of `parameter` among those of an optimizer with these attributes; nothing when it is none of them.
  /// Cost: constant; the first time for an optimizer, linear in its parameters, for all optimizers together in the graph's size.
  std::optional<std::uint32_t> find(Node attributes, Node parameter);

 private:
  void add(Node attributes);

  const Graph& graph_;
  std::uint64_t left_;  // list items that may still be looked at: lists may be shared by many optimizers
  std::unordered_map<Node, std::unordered_map<Node, std::uint32_t>> by_optimizer_;
};

}  // namespace assay::formats::torch
