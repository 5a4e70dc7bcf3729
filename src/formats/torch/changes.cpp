// SPDX-License-Identifier: Apache-2.0
#include "formats/torch/changes.hpp"

#include <array>
#include <unordered_map>

#include "base/text.hpp"

namespace assay::formats::torch {

namespace {

constexpr int kDeepest = 8;  // wrappers that are looked into for a dtype

/// Where attributes may be in a state, which is a dict or (dict or None, dict).
std::array<Node, 3> parts_of(const Graph& graph, Node state) { return {state, item_at(graph, state, 0), item_at(graph, state, 1)}; }

/// Calls take(key, value) for the attributes that stand for a tensor's values.
template <class Take>
void each_value(const Graph& graph, Node state, Take take) {
  for (const Node part : parts_of(graph, state)) {
    if (kind_of(graph, part) != Kind::dict) continue;
    for (const std::string_view key : {"data", "real", "imag"})
      if (const Node value = graph.get(part, key); kind_of(graph, value) == Kind::call) take(key, value);
  }
}

/// The dtype that the tensor within wrappers was made with, where its call names one.
Node dtype_within(const Graph& graph, Node node) {
  for (int i = 0; i < kDeepest && kind_of(graph, node) == Kind::call; ++i) {
    if (global_name(graph, graph.callable(node)).name == "_rebuild_tensor_v3") return item_at(graph, graph.args(node), 6);
    node = item_at(graph, graph.args(node), 0);
  }
  return kNoNode;
}

/// By states that were looked at: any number of calls may share one.
using Looked = std::unordered_map<Node, bool>;

/// Whether torch copies values into a tensor for an attribute of this call's state.
bool copies_values(const Graph& graph, Node call, Looked& looked) {
  const Node args = graph.args(call);
  if (length_of(graph, args) != 4) return false;
  const std::string_view name = global_name(graph, graph.callable(call)).name;
  if (name != "_rebuild_parameter_with_state" && name != "_rebuild_from_type_v2") return false;
  const auto [at, fresh] = looked.try_emplace(graph.item(args, 3), false);
  if (fresh) each_value(graph, at->first, [&](std::string_view key, Node) { at->second = at->second || key != "data"; });
  return at->second;
}

/// What the event changes without being followed; "" for nothing.
std::string_view changed(const Graph& graph, const pickle::Event& event, Looked& looked) {
  using pickle::EventKind;
  if (event.kind == EventKind::call) return copies_values(graph, event.node, looked) ? "a tensor" : "";
  if (event.kind != EventKind::mutate && event.kind != EventKind::build) return "";
  switch (graph.kind(event.node)) {
    case Kind::persistent: return "a storage";
    case Kind::bytearray: return "a bytearray";
    case Kind::call: return event.kind == EventKind::mutate && makes_tensor(graph, event.node) ? "a tensor" : "";
    default: return "";
  }
}

}  // namespace

void set_from_states(const Graph& graph, Node object, Rebuilt& out) {
  if (out.form != Form::tensor && out.form != Form::alias && out.form != Form::opaque) return;
  for (const Node state : graph.states(object)) {
    if (kind_of(graph, state) != Kind::tuple) continue;
    if (graph.length(state) == 4) {
      TensorNodes set = out.form == Form::tensor ? out.tensor : TensorNodes();
      if (out.form == Form::alias) set.dtype = dtype_within(graph, out.inner);
      set.storage = graph.item(state, 0), set.offset = graph.item(state, 1);
      set.size = graph.item(state, 2), set.stride = graph.item(state, 3);
      set.meta = false;
      out.tensor = set;
      out.form = Form::tensor;
    } else if (graph.length(state) == 5 && kind_of(graph, graph.item(state, 0)) == Kind::call) {
      out.form = Form::alias;
      out.inner = graph.item(state, 0);
    }
  }
}

void exchange_data(const Graph& graph, Node attributes, Rebuilt& out) {
  for (const Node part : parts_of(graph, attributes))
    if (part != kNoNode) out.cost += 4 * graph.pair_count(part);    // each key is looked for
  if (out.form != Form::tensor && out.form != Form::alias) return;  // of a subclass that keeps its parts as attributes it is one of them
  each_value(graph, attributes, [&](std::string_view key, Node value) {
    if (key != "data") return;
    out.form = Form::alias;
    out.inner = value;
  });
}

void note_changes(Checkpoint& checkpoint, const PickleInfo& pickle) {
  const Graph& graph = *pickle.graph;
  Looked looked;
  for (const pickle::Event& event : graph.events()) {
    const std::string_view what = changed(graph, event, looked);
    if (what.empty()) continue;
    Finding finding(Code::malformed_tensor,
                    concat(what, " is changed after it was made; values that lie in it are not those that loading gives"));
    finding.where = place_of(pickle, event);
    checkpoint.add(std::move(finding));
  }
}

}  // namespace assay::formats::torch
