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

constexpr int kDeepest = 8;                              // types within each other
constexpr int kMostTypes = 10'000;                       // looked at for one array
constexpr std::size_t kMostStates = 16, kMostKeys = 64;  // of a wrapper: joblib writes one state of six or seven

std::optional<DtypeSize> size_of(const Graph& graph, Node node, int depth, int& looks);

/// True when one of the fields may hold objects.
bool has_object_field(const Graph& graph, Node fields, int depth, int& looks) {
  for (std::size_t i = 0; i < graph.pair_count(fields); ++i) {
    const auto size = size_of(graph, graph.item(graph.value(fields, i), 0), depth, looks);
    if (!size || size->objects) return true;
  }
  return false;
}

// numpy.dtype('f8', False, True) with the state (version, byte order, sub-array, names, fields, item size, alignment, flags).
std::optional<DtypeSize> size_of(const Graph& graph, Node node, int depth, int& looks) {
  if (depth > kDeepest || --looks < 0) return std::nullopt;
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
  if (graph.kind(subarray) != Kind::none) {
    const auto base = size_of(graph, graph.item(subarray, 0), depth + 1, looks);
    if (!base) return std::nullopt;
    found.objects = base->objects;
  }
  // joblib asks the type's flags whether a pickle follows, and they are what the file says.
  found.objects |= (graph.integer(graph.item(state, 7)) & 1) != 0;
  if (graph.kind(fields) == Kind::dict) found.objects |= has_object_field(graph, fields, depth + 1, looks);
  if (graph.kind(item) == Kind::integer && item != kNoNode && graph.integer(item) > 0) {
    // Texts and structures say their size here; where both do, they must agree.
    const auto stated = static_cast<std::uint64_t>(graph.integer(item));
    if (found.bytes != 0 && found.bytes != stated) return std::nullopt;
    found.bytes = stated;
  }
  return found;
}

/// True for an instance of joblib's wrapper, however it was made.
bool is_wrapper(const Graph& graph, Node object) {
  if (graph.kind(object) != Kind::call) return false;
  Node made_of = graph.callable(object);
  for (const std::string_view maker :
       {std::string_view("__newobj__"), std::string_view("__newobj_ex__"), std::string_view("_reconstructor")})
    if (graph.is_global(made_of, "copyreg", maker)) made_of = graph.item(graph.args(object), 0);
  return graph.is_global(made_of, "joblib.numpy_pickle", "NumpyArrayWrapper") ||
         graph.is_global(made_of, "sklearn.externals.joblib.numpy_pickle", "NumpyArrayWrapper");
}

/// An attribute that the wrapper's states gave it; kNoNode for none, and for more states and keys than joblib writes.
Node attribute(const Graph& graph, Node object, std::string_view name) {
  const auto states = graph.states(object);
  if (states.size() > kMostStates) return kNoNode;
  for (std::size_t i = states.size(); i-- > 0;)
    for (const Node part : {graph.item(states[i], 1), graph.item(states[i], 0), states[i]}) {
      if (part == kNoNode || graph.kind(part) != Kind::dict || graph.pair_count(part) > kMostKeys) continue;
      if (const Node found = graph.get(part, name); found != kNoNode) return found;
    }
  return kNoNode;
}

}  // namespace

std::optional<DtypeSize> dtype_size(const Graph& graph, Node node) {
  int looks = kMostTypes;
  return size_of(graph, node, 0, looks);
}

pickle::Inlay ArrayReader::raw_bytes(const Graph& graph, Node object, ByteView rest) {
  if (!is_wrapper(graph, object)) return {};
  // What cannot be told is taken for an array that no file holds: to go on with its bytes as opcodes would be a guess.
  constexpr pickle::Inlay kUntold{.skip = 0, .size = ~std::uint64_t{0}};
  const auto size = dtype_size(graph, attribute(graph, object, "dtype"));
  if (!first_array_) first_array_ = rest.offset();
  if (!size) return kUntold;
  if (size->objects) {
    nested_.push_back(pickle::parse(rest, limits_));
    return {.size = nested_.back().end_offset() - rest.offset()};
  }
  std::optional<std::uint64_t> total = size->bytes;
  const Node shape = attribute(graph, object, "shape");
  if (graph.kind(shape) != Kind::tuple) return kUntold;
  for (std::size_t i = 0; i < graph.length(shape); ++i) {
    const Node dimension = graph.item(shape, i);
    if (graph.kind(dimension) != Kind::integer || graph.integer(dimension) < 0) return kUntold;
    if (total) total = checked_mul(*total, static_cast<std::uint64_t>(graph.integer(dimension)));
  }
  const Node alignment = attribute(graph, object, "numpy_array_alignment_bytes");
  std::uint64_t padding = 0;
  if (alignment != kNoNode && graph.kind(alignment) != Kind::none) padding = rest.empty() ? 1 : 1 + std::to_integer<std::uint64_t>(rest[0]);
  return {.skip = padding, .size = total.value_or(~std::uint64_t{0})};
}

}  // namespace assay::joblib
