// SPDX-License-Identifier: Apache-2.0
#include "formats/torch/optimizer_state.hpp"

namespace assay::formats::torch {

std::optional<std::uint32_t> ParameterNumbers::find(Node attributes, Node parameter) {
  if (kind_of(graph_, attributes) != Kind::dict) return std::nullopt;
  if (!by_optimizer_.contains(attributes)) add(attributes);
  const auto& numbers = by_optimizer_[attributes];
  const auto at = numbers.find(parameter);
  return at == numbers.end() ? std::nullopt : std::optional(at->second);
}

void ParameterNumbers::add(Node attributes) {
  auto& numbers = by_optimizer_[attributes];
  const Node groups = graph_.get(attributes, "param_groups");
  for (std::size_t i = 0; i < length_of(graph_, groups) && left_ > 0; ++i, --left_) {
    const Node group = item_at(graph_, groups, i);
    const Node parameters = kind_of(graph_, group) == Kind::dict ? graph_.get(group, "params") : kNoNode;
    for (std::size_t j = 0; j < length_of(graph_, parameters) && left_ > 0; ++j, --left_)
      numbers.try_emplace(item_at(graph_, parameters, j), static_cast<std::uint32_t>(numbers.size()));
  }
}

}  // namespace assay::formats::torch
