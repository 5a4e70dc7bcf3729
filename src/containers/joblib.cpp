// SPDX-License-Identifier: Apache-2.0
#include "containers/joblib.hpp"

#include "base/arith.hpp"
#include "containers/npy.hpp"

namespace assay::joblib {

using pickle::Graph;
using pickle::Kind;
using pickle::kNoNode;
using pickle::Node;

namespace {

/// True when a field of a structured type, at any depth, holds objects.
bool has_object_field(const Graph& graph, Node fields, int depth) {
  if (depth > 8) return true;
  for (std::size_t i = 0; i < graph.pair_count(fields); ++i) {
    const Node type = graph.item(graph.value(fields, i), 0);
    const auto size = dtype_size(graph, type);
    if (!size || size->objects) return true;
  }
  return false;
}

}  // namespace

// numpy.dtype('f8', False, True) with the state (version, byte order, sub-array, names, fields, item size, alignment, flags).
std::optional<DtypeSize> dtype_size(const Graph& graph, Node node) {
  if (graph.kind(node) != Kind::call || !graph.is_call(node, "numpy", "dtype")) return std::nullopt;
  const Node code = graph.item(graph.args(node), 0);
  if (graph.kind(code) != Kind::text && graph.kind(code) != Kind::bytes) return std::nullopt;
  const std::string_view text = graph.text(code);
  if (text.find('O') != std::string_view::npos) return DtypeSize{.bytes = 8, .objects = true};
  auto size = npy::type_size(text);
  if (!size) return std::nullopt;
  DtypeSize found{.bytes = *size, .objects = false};
  const auto states = graph.states(node);
  if (states.empty()) return found;
  const Node state = states.back(), subarray = graph.item(state, 2), fields = graph.item(state, 4), item = graph.item(state, 5);
  if (graph.kind(subarray) != Kind::none) return std::nullopt;
  if (graph.kind(fields) == Kind::dict) found.objects = has_object_field(graph, fields, 0);
  if (graph.kind(item) == Kind::integer && item != kNoNode && graph.integer(item) > 0) {
    // Texts and structures say their size here; where both do, they must agree.
    const auto stated = static_cast<std::uint64_t>(graph.integer(item));
    if (found.bytes != 0 && found.bytes != stated) return std::nullopt;
    found.bytes = stated;
  }
  return found;
}

pickle::Inlay ArrayReader::raw_bytes(const Graph& graph, Node object, ByteView rest) {
  if (graph.kind(object) != Kind::call) return {};
  if (!graph.is_call(object, "joblib.numpy_pickle", "NumpyArrayWrapper") &&
      !graph.is_call(object, "sklearn.externals.joblib.numpy_pickle", "NumpyArrayWrapper"))
    return {};
  const auto states = graph.states(object);
  if (states.empty()) return {};
  const Node state = states.back();
  const auto size = dtype_size(graph, graph.get(state, "dtype"));
  if (!size) return {};
  if (!first_array_) first_array_ = rest.offset();
  if (size->objects) {
    nested_.push_back(pickle::parse(rest, limits_));
    return {.size = nested_.back().end_offset() - rest.offset()};
  }
  std::optional<std::uint64_t> total = size->bytes;
  const Node shape = graph.get(state, "shape");
  if (graph.kind(shape) != Kind::tuple) return {};
  for (std::size_t i = 0; i < graph.length(shape); ++i) {
    const Node dimension = graph.item(shape, i);
    if (graph.kind(dimension) != Kind::integer || graph.integer(dimension) < 0) return {};
    if (total) total = checked_mul(*total, static_cast<std::uint64_t>(graph.integer(dimension)));
  }
  const Node alignment = graph.get(state, "numpy_array_alignment_bytes");
  std::uint64_t padding = 0;
  if (alignment != kNoNode && graph.kind(alignment) != Kind::none) padding = rest.empty() ? 1 : 1 + std::to_integer<std::uint64_t>(rest[0]);
  return {.skip = padding, .size = total.value_or(~std::uint64_t{0})};
}

}  // namespace assay::joblib
