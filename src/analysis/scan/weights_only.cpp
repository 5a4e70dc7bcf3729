// SPDX-License-Identifier: Apache-2.0
#include "analysis/scan/weights_only.hpp"

#include <algorithm>
#include <array>

#include "analysis/scan/fold.hpp"
#include "analysis/scan/names.hpp"
#include "base/text.hpp"
#include "containers/pickle/opcodes.hpp"

namespace assay::scan {

using pickle::Event;
using pickle::EventKind;
using pickle::GlobalName;
using pickle::Graph;
using pickle::Kind;
using pickle::kNoNode;
using pickle::Node;

namespace {

// PROTO GLOBAL NEWOBJ REDUCE BUILD APPEND(S) SETITEM(S) MARK TUPLE(1-3) EMPTY_* LONG1 BININT(1,2) BINFLOAT NEWTRUE NEWFALSE NONE
// BINUNICODE SHORT_BINSTRING BINPERSID BINGET BINPUT LONG_BINGET LONG_BINPUT STOP
constexpr std::string_view kOpcodes("\x80" "c\x81Rbaesu(t\x85\x86\x87)]}\x8f\x8aJKMG\x88\x89NXUQhqjr.");

constexpr std::array<bool, 256> kKnown = [] {
  std::array<bool, 256> known{};
  for (const char c : kOpcodes) known[static_cast<unsigned char>(c)] = true;
  return known;
}();

constexpr std::string_view kBlocked[] = {"nt", "os", "posix", "sys"};

bool allows(const Graph& graph, Node global) {
  if (graph.kind(global) != Kind::global) return false;
  const GlobalName name = graph.mapped_global(global);
  return find_benign(name.module, name.name).weights_only;
}

std::string shown(const Graph& graph, Node global) {
  const GlobalName name = graph.mapped_global(global);
  return escape(name.module == "builtins" ? std::string(name.name) : concat(name.module, '.', name.name), 200);
}

/// What kind of object a call gives, as far as BUILD and SETITEM ask.
enum class Object : std::uint8_t { other, tensor, parameter, ordered, counter };

Object object_of(const Graph& graph, Node node) {
  if (graph.kind(node) != Kind::call || graph.kind(graph.callable(node)) != Kind::global) return Object::other;
  const GlobalName name = graph.mapped_global(graph.callable(node));
  if (name.module == "collections") return name.name == "OrderedDict" ? Object::ordered : name.name == "Counter" ? Object::counter : Object::other;
  if (name.module == "torch.nn.parameter" || name.name.starts_with("_rebuild_parameter")) return Object::parameter;
  if (name.name.starts_with("_rebuild") || name.name.ends_with("Tensor")) return Object::tensor;
  return Object::other;
}

std::string refuse_event(const Graph& graph, const Event& event, std::byte opcode) {
  switch (event.kind) {
    case EventKind::import_: {
      const GlobalName name = graph.mapped_global(event.node);
      const std::string_view top = name.module.substr(0, name.module.find('.'));
      if (std::ranges::find(kBlocked, name.module) != std::end(kBlocked) || std::ranges::find(kBlocked, top) != std::end(kBlocked))
        return concat("Trying to load unsupported GLOBAL ", shown(graph, event.node), " whose module ", escape(top, 40), " is blocked.");
      if (!allows(graph, event.node)) return concat("Unsupported global: GLOBAL ", shown(graph, event.node), " was not an allowed global by default.");
      return {};
    }
    case EventKind::call: {
      const Node callable = graph.callable(event.node);
      const std::string what = pickle::describe(graph, callable, 100);
      const bool makes = graph.call_kind(event.node) == pickle::CallKind::newobj;
      if (allows(graph, callable)) {
        const GlobalName name = graph.mapped_global(callable);
        const Rule rule = find_benign(name.module, name.name).rule;
        if (rule == Rule::value) return concat(what, " is not callable");
        if (makes && rule != Rule::call) return concat("object.__new__(X): X is not a type object, but ", what);
        return {};
      }
      return makes
                 ? concat("Can only create new object for nn.Parameter or classes allowlisted via `add_safe_globals` but got ", what)
                 : concat("Trying to call reduce for unrecognized function ", what);
    }
    case EventKind::build: {
      if (graph.kind(event.node) == Kind::persistent) return {};  // a storage takes attributes
      const Object object = object_of(graph, event.node);
      if (object == Object::tensor || object == Object::parameter || object == Object::ordered) return {};
      return concat("Can only build Tensor, Parameter, OrderedDict or types allowlisted via `add_safe_globals`, but got ",
                    pickle::kind_name(graph.kind(event.node)));
    }
    case EventKind::mutate: {
      const bool sets = opcode == std::byte{'s'} || opcode == std::byte{'u'};
      const Object object = object_of(graph, event.node);
      if (sets && (object == Object::ordered || object == Object::counter)) return {};
      return concat(sets ? "Can only SETITEM for dict, collections.OrderedDict, collections.Counter, but got " : "Can only append to lists, but got ",
                    pickle::kind_name(graph.kind(event.node)));
    }
    case EventKind::persistent: {
      const Node id = graph.item(event.node, 0);
      if (graph.kind(id) == Kind::integer) return {};
      if (graph.kind(id) != Kind::tuple) return concat("persistent_load id must be tuple or int, but got ", pickle::kind_name(graph.kind(id)));
      const Node first = graph.item(id, 0);
      if (graph.text(first) != "storage") return concat("Only persistent_load of storage is allowed, but got ", pickle::describe(graph, first, 60));
      return {};
    }
    case EventKind::extension: return {};
  }
  return {};
}

}  // namespace

std::optional<std::string> weights_only_refusal(const Graph& graph, ByteView stream) {
  // The first opcode that it does not know.
  std::uint64_t stops = graph.end_offset();
  std::optional<std::string> reason;
  std::size_t at = 0;
  const auto end = static_cast<std::size_t>(std::min<std::uint64_t>(graph.end_offset() - stream.offset(), stream.size()));
  while (at < end) {
    const unsigned byte = std::to_integer<unsigned>(stream[at]);
    if (!kKnown[byte]) {
      stops = stream.offset(at);
      reason = concat("Unsupported operand ", byte);
      break;
    }
    const pickle::Step step = pickle::next_opcode(stream, at);
    if (step.status != pickle::StepStatus::ok || step.next <= at) break;
    at = step.next;
  }
  for (const Event& event : graph.events()) {
    if (event.offset >= stops) break;
    std::string refusal = refuse_event(graph, event, stream[static_cast<std::size_t>(event.offset - stream.offset())]);
    if (!refusal.empty()) return concat(refusal, " (byte ", event.offset, ')');
  }
  if (reason) return concat(*reason, " (byte ", stops, ')');
  if (!graph.reached_stop()) return concat("the pickle breaks off at byte ", graph.end_offset());
  return std::nullopt;
}

}  // namespace assay::scan
