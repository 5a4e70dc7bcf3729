// SPDX-License-Identifier: Apache-2.0
#include "formats/torch/zero_states.hpp"

#include <algorithm>

#include "base/arith.hpp"
#include "base/text.hpp"
#include "formats/torch/nodes.hpp"

namespace assay::formats::torch {

namespace {

constexpr std::string_view kFlatKeys[] = {"single_partition_of_fp32_groups", "fp32_flat_groups"};
constexpr std::string_view kState = "optimizer_state_dict";
constexpr std::size_t kDimensions = 64;
constexpr std::uint64_t kMostElements = std::uint64_t{1} << 40;  // of one tensor: sums over all of them stay far below 64 bits

/// An item of the file's dict, or of a dict in it.
Node item_of(const ZeroFile& file, std::string_view key, std::string_view inner = {}) {
  if (!file.part.values) return kNoNode;
  const Graph& graph = *file.part.values;
  Node n = graph.salvage_root();
  for (const std::string_view k : {key, inner}) {
    if (k.empty()) break;
    if (kind_of(graph, n) != Kind::dict && kind_of(graph, n) != Kind::call) return kNoNode;
    n = graph.get(n, k);
  }
  return n;
}

ZeroParameter parameter_of(const Graph& graph, Node key, Node size) {
  ZeroParameter parameter;
  parameter.name = graph.text(key);
  if (kind_of(graph, size) == Kind::call) size = item_at(graph, graph.args(size), 0);
  const auto fault = [&](Code code, std::string what) { parameter.fault = Error(code, std::move(what)); };
  if (kind_of(graph, key) != Kind::text || !is_sequence(kind_of(graph, size)) || graph.length(size) > kDimensions) {
    fault(Code::bad_shape, "its shape is not a size");
    return parameter;
  }
  std::optional<std::uint64_t> numel = 1;
  for (std::size_t i = 0; i < graph.length(size); ++i) {
    const auto n = integer_of(graph, graph.item(size, i));
    if (!n || *n < 0) {
      fault(Code::bad_shape,
            concat("its shape holds ", pickle::describe(graph, graph.item(size, i), 40), ", which is no size in elements"));
      return parameter;
    }
    parameter.shape.push_back(static_cast<std::uint64_t>(*n));
    numel = numel ? checked_mul(*numel, parameter.shape.back()) : std::nullopt;
  }
  if (!numel || *numel > kMostElements)
    fault(Code::shape_overflow, concat("shape ", bracketed(parameter.shape), " has more elements than a file can"));
  else parameter.numel = *numel;
  return parameter;
}

std::vector<ZeroParameter> shapes_of(const Graph& graph, Node table) {
  std::vector<ZeroParameter> shapes;
  if (kind_of(graph, table) != Kind::dict && kind_of(graph, table) != Kind::call) return shapes;
  for (std::size_t i = 0; i < graph.pair_count(table); ++i)
    shapes.push_back(parameter_of(graph, graph.key(table, i), graph.value(table, i)));
  return shapes;
}

}  // namespace

ZeroFile::ZeroFile(Checkpoint opened) : part(std::move(opened)) {
  for (std::uint32_t i = 0; i < part.tensors.size(); ++i) names_.emplace(part.tensors[i].name, i);
  for (const std::string_view key : kFlatKeys) {
    for (std::size_t g = 0; groups.size() == g; ++g)
      if (const Tensor* const tensor = find(concat(kState, '.', key, '.', g)))
        groups.push_back({tensor, tensor->numel <= kMostElements ? tensor->numel : 0});
    if (!groups.empty()) return;
  }
}

const Tensor* ZeroFile::find(std::string_view name) const {
  const auto found = names_.find(name);
  return found == names_.end() ? nullptr : &part.tensors[found->second];
}

std::uint64_t zero_partition_count(const ZeroFile& states) {
  const Node count = item_of(states, kState, "partition_count");
  if (count == kNoNode) return 0;
  const Graph& graph = *states.part.values;
  std::int64_t most = integer_of(graph, count).value_or(0);
  for (std::size_t i = 0; is_sequence(graph.kind(count)) && i < graph.length(count); ++i)
    most = std::max(most, integer_of(graph, graph.item(count, i)).value_or(0));
  return most > 0 ? static_cast<std::uint64_t>(most) : 0;
}

std::int64_t zero_stage(const ZeroFile& states) {
  const Node stage = item_of(states, kState, "zero_stage");
  const auto said = stage == kNoNode ? std::nullopt : integer_of(*states.part.values, stage);
  if (said && *said >= 0 && *said <= 3) return *said;
  return item_of(states, kState, kFlatKeys[1]) != kNoNode ? 3 : 1;
}

std::uint64_t zero_other_bytes(const ZeroFile& states) {
  std::vector<bool> flat(states.part.storages.size(), false);
  for (const ZeroFile::FlatGroup& group : states.groups)
    if (group.tensor->storage != kNone) flat[group.tensor->storage] = true;
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < flat.size(); ++i)
    if (!flat[i]) bytes = checked_add(bytes, states.part.storages[i].nbytes).value_or(bytes);
  return bytes;
}

std::optional<Error> zero_part_fault(const ZeroFile& file, const Tensor& part) {
  if (!part.readable || part.storage == kNone) return Error(Code::bad_shard, concat(quote(part.name), " cannot be read"));
  if (!part.contiguous() || part.quantizer != kNone || dtype_bits(part.dtype) % 8 != 0 || dtype_bits(part.dtype) == 0)
    return Error(Code::unsupported, concat(quote(part.name), " is no plain vector"));
  const Storage& storage = file.part.storages[part.storage];
  if (storage.producer || storage.big_endian)
    return Error(Code::unsupported, concat(quote(part.name), " does not stand in the file as such"));
  return std::nullopt;
}

std::vector<std::string_view> zero_buffers(const ZeroFile& model) {
  std::vector<std::string_view> names;
  const Node list = item_of(model, "buffer_names");
  if (list == kNoNode || !is_sequence(model.part.values->kind(list))) return names;
  for (std::size_t i = 0; i < model.part.values->length(list); ++i)
    names.push_back(model.part.values->text(model.part.values->item(list, i)));
  return names;
}

std::vector<ZeroParameter> zero_shapes(const ZeroFile& model, std::string_view key) {
  const Node table = item_of(model, key);
  return table == kNoNode ? std::vector<ZeroParameter>() : shapes_of(*model.part.values, table);
}

std::vector<ZeroGroup> zero_parameters(const ZeroFile& model, Checkpoint& told) {
  std::vector<ZeroGroup> groups;
  const Node list = item_of(model, "param_shapes");
  if (list == kNoNode) return groups;
  const Graph& graph = *model.part.values;
  if (!is_sequence(graph.kind(list))) {
    groups.push_back({shapes_of(graph, list)});
    return groups;
  }
  // A parameter has values of its own; groups that share theirs could be any number.
  std::uint64_t left = graph.node_count();
  for (std::size_t i = 0; i < graph.length(list); ++i) {
    const Node group = graph.item(list, i);
    if (graph.pair_count(group) > left) {
      told.add(Finding(Code::limit_exceeded, "groups name more parameters than the file has values; not all are listed"));
      break;
    }
    left -= graph.pair_count(group);
    groups.push_back({shapes_of(graph, group)});
  }
  return groups;
}

std::vector<std::pair<std::string_view, std::string_view>> zero_shared(const ZeroFile& model) {
  std::vector<std::pair<std::string_view, std::string_view>> pairs;
  const Node table = item_of(model, "shared_params");
  if (table == kNoNode) return pairs;
  const Graph& graph = *model.part.values;
  for (std::size_t i = 0; i < graph.pair_count(table); ++i)
    pairs.emplace_back(graph.text(graph.key(table, i)), graph.text(graph.value(table, i)));
  for (std::size_t i = 0; is_sequence(graph.kind(table)) && i < graph.length(table); ++i) {
    const Node pair = graph.item(table, i);
    if (length_of(graph, pair) == 2) pairs.emplace_back(graph.text(graph.item(pair, 0)), graph.text(graph.item(pair, 1)));
  }
  return pairs;
}

}  // namespace assay::formats::torch
