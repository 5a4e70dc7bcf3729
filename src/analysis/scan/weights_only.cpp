// SPDX-License-Identifier: Apache-2.0
#include "analysis/scan/weights_only.hpp"

#include <algorithm>
#include <array>

#include "analysis/scan/fold.hpp"
#include "analysis/scan/names.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "containers/json.hpp"
#include "containers/pickle/opcodes.hpp"
#include "containers/pickle/python2_names.hpp"

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
constexpr std::string_view kOpcodes("\x80"
                                    "c\x81Rbaesu(t\x85\x86\x87)]}\x8f\x8aJKMG\x88\x89NXUQhqjr.");

constexpr std::array<bool, 256> kKnown = [] {
  std::array<bool, 256> known{};
  for (const char c : kOpcodes) known[static_cast<unsigned char>(c)] = true;
  return known;
}();

constexpr std::string_view kBlocked[] = {"nt", "os", "posix", "sys"};

/// The name as torch looks it up: with Python 3's names, whatever the protocol.
GlobalName looked_up(const Graph& graph, Node global) { return pickle::python3_name(graph.global(global)); }

/// Torch joins module and name and looks for the whole: "torch.nn" "parameter.Parameter" is there too.
Judgement find_allowed(const Graph& graph, Node global) {
  if (graph.kind(global) != Kind::global) return {};
  const GlobalName name = looked_up(graph, global);
  if (const Judgement found = find_benign(name.module, name.name); found.weights_only) return found;
  const std::string path = concat(name.module, '.', name.name);
  for (std::size_t dot = path.find('.'); dot != std::string::npos; dot = path.find('.', dot + 1))
    if (const Judgement found = find_benign(std::string_view(path).substr(0, dot), std::string_view(path).substr(dot + 1));
        found.weights_only)
      return found;
  return {};
}

bool allows(const Graph& graph, Node global) { return find_allowed(graph, global).weights_only; }

/// Storages' classes but the untyped one are placeholders for torch, which cannot be called.
bool is_placeholder(const Graph& graph, Node global) {
  const GlobalName name = looked_up(graph, global);
  return name.module == "torch" && name.name.ends_with("Storage") && name.name != "UntypedStorage";
}

bool is_class(const Graph& graph, Node global) {
  const Judgement found = find_allowed(graph, global);
  const GlobalName name = looked_up(graph, global);
  return (found.rule == Rule::call || found.rule == Rule::coded) && !name.name.starts_with('_');
}

std::string shown(const Graph& graph, Node global) {
  const GlobalName name = looked_up(graph, global);
  return escape(name.module == "builtins" ? std::string(name.name) : concat(name.module, '.', name.name), 200);
}

/// What kind of object a call gives, as far as BUILD and SETITEM ask.
enum class Object : std::uint8_t { other, tensor, parameter, ordered, counter };

Object object_of(const Graph& graph, Node node) {
  if (graph.kind(node) != Kind::call || graph.kind(graph.callable(node)) != Kind::global) return Object::other;
  const GlobalName name = looked_up(graph, graph.callable(node));
  if (name.module == "collections")
    return name.name == "OrderedDict" ? Object::ordered : name.name == "Counter" ? Object::counter : Object::other;
  if (name.module == "torch.nn.parameter" || name.name.starts_with("_rebuild_parameter")) return Object::parameter;
  if (name.name.starts_with("_rebuild") || name.name.ends_with("Tensor")) return Object::tensor;
  return Object::other;
}

bool is_empty(const Graph& graph, Node node) {
  switch (graph.kind(node)) {
    case Kind::none: return true;
    case Kind::boolean: return !graph.boolean(node);
    case Kind::integer: return graph.integer(node) == 0;
    case Kind::real: return graph.real(node) == 0;
    case Kind::text:
    case Kind::bytes: return graph.text(node).empty();
    case Kind::list:
    case Kind::tuple:
    case Kind::dict:
    case Kind::set: return graph.length(node) == 0;
    default: return false;
  }
}

/// True for a state without attributes and without slots.
bool sets_nothing(const Graph& graph, Node state) {
  if (graph.kind(state) == Kind::tuple && graph.length(state) == 2)
    return is_empty(graph, graph.item(state, 0)) && is_empty(graph, graph.item(state, 1));
  return is_empty(graph, state);
}

std::string refuse_event(const Graph& graph, const Event& event, std::byte opcode, std::size_t id_parts) {
  switch (event.kind) {
    case EventKind::import_: {
      const GlobalName name = looked_up(graph, event.node);
      if (std::ranges::find(kBlocked, name.module) != std::end(kBlocked))
        return concat("Trying to load unsupported GLOBAL ", shown(graph, event.node), " whose module ", escape(name.module, 40),
                      " is blocked.");
      if (!allows(graph, event.node))
        return concat("Unsupported global: GLOBAL ", shown(graph, event.node), " was not an allowed global by default.");
      return {};
    }
    case EventKind::call: {
      const Node callable = graph.callable(event.node);
      const std::string what = pickle::describe(graph, callable, 100);
      const bool makes = graph.call_kind(event.node) == pickle::CallKind::newobj;
      if (allows(graph, callable)) {
        if (find_allowed(graph, callable).rule == Rule::value || is_placeholder(graph, callable)) return concat(what, " is not callable");
        if (makes && !is_class(graph, callable)) return concat("object.__new__(X): X is not a type object, but ", what);
        return {};
      }
      return makes ? concat("Can only create new object for nn.Parameter or classes allowlisted via `add_safe_globals` but got ", what)
                   : concat("Trying to call reduce for unrecognized function ", what);
    }
    case EventKind::build: {
      if (graph.kind(event.node) == Kind::persistent) return {};  // a storage takes attributes
      const Object object = object_of(graph, event.node);
      if (object == Object::tensor || object == Object::parameter || object == Object::ordered || object == Object::counter) return {};
      // Other classes of the list are built when there is nothing to set.
      const bool listed =
          graph.kind(event.node) == Kind::set || (graph.kind(event.node) == Kind::call && is_class(graph, graph.callable(event.node)));
      if (listed && sets_nothing(graph, event.other)) return {};
      return concat("Can only build Tensor, Parameter, OrderedDict or types allowlisted via `add_safe_globals`, but got ",
                    pickle::kind_name(graph.kind(event.node)));
    }
    case EventKind::mutate: {
      const bool sets = opcode == std::byte{'s'} || opcode == std::byte{'u'};
      const Object object = object_of(graph, event.node);
      if (sets && (object == Object::ordered || object == Object::counter)) return {};
      return concat(
          sets ? "Can only SETITEM for dict, collections.OrderedDict, collections.Counter, but got " : "Can only append to lists, but got ",
          pickle::kind_name(graph.kind(event.node)));
    }
    case EventKind::persistent: {
      const Node id = graph.item(event.node, 0);
      if (graph.kind(id) != Kind::tuple)
        return concat("persistent_load id must be tuple or int, but got ", pickle::kind_name(graph.kind(id)));
      const Node first = graph.item(id, 0);
      if (graph.text(first) != "storage")
        return concat("Only persistent_load of storage is allowed, but got ", pickle::describe(graph, first, 60));
      if (graph.length(id) != id_parts)
        return concat("a storage's persistent id has ", id_parts, " parts here, but this one ", graph.length(id));
      if (!allows(graph, graph.item(id, 1)) || !looked_up(graph, graph.item(id, 1)).name.ends_with("Storage"))
        return concat("a storage must be of a storage class, but got ", pickle::describe(graph, graph.item(id, 1), 60));
      return {};
    }
    case EventKind::extension: return {};
  }
  return {};
}

}  // namespace

std::optional<std::string> weights_only_refusal(const Graph& graph, ByteView stream, std::size_t id_parts) {
  // The first opcode that it does not know.
  std::uint64_t stops = graph.end_offset();
  std::optional<std::string> reason;
  std::size_t at = 0;
  // The opcode at which the parse broke is one that torch looks at too.
  const std::uint64_t parsed = graph.end_offset() - stream.offset() + (graph.reached_stop() ? 0 : 1);
  const auto end = static_cast<std::size_t>(std::min<std::uint64_t>(parsed, stream.size()));
  while (at < end) {
    const unsigned byte = std::to_integer<unsigned>(stream[at]);
    if (!kKnown[byte]) {
      stops = stream.offset(at);
      reason = concat("Unsupported operand ", byte);
      break;
    }
    const pickle::Step step = pickle::next_opcode(stream, at);
    if (step.status != pickle::StepStatus::ok || step.next <= at) break;
    if (stream[at] == std::byte{'U'} && !valid_utf8(stream.slice(step.argument, step.argument_size).text())) {
      stops = stream.offset(at);
      reason = "a string is not UTF-8";
      break;
    }
    at = step.next;
  }
  for (const Event& event : graph.events()) {
    if (event.offset >= stops) break;
    std::string refusal = refuse_event(graph, event, stream[static_cast<std::size_t>(event.offset - stream.offset())], id_parts);
    if (!refusal.empty()) return concat(refusal, " (byte ", event.offset, ')');
  }
  if (reason) return concat(*reason, " (byte ", stops, ')');
  if (!graph.reached_stop()) return concat("the pickle breaks off at byte ", graph.end_offset());
  return std::nullopt;
}

namespace {

/// The text of a small member; nothing when it is not there or cannot be read.
Result<std::optional<std::string>> small_member(const ByteSource& source, const zip::Directory& directory, const std::string& name,
                                                const Limits& limits) {
  constexpr std::uint64_t kMost = 256;
  const zip::Member* member = directory.find(name);
  if (member == nullptr || member->size > kMost) return std::nullopt;
  auto bytes = zip::read_member(source, *member, kMost, limits);
  if (!bytes && bytes.error().code() == Code::need_range) return std::unexpected(std::move(bytes).error());
  if (!bytes) return std::nullopt;
  return std::string(bytes->view().text());
}

}  // namespace

Result<std::optional<std::string>> weights_only_refuses_archive(const ByteSource& source, const zip::Directory& directory,
                                                                std::string_view folder, const Limits& limits) {
  constexpr std::uint64_t kHighestVersion = 10;
  ASSAY_TRY(const ByteBlock head, source.fetch(0, std::min<std::uint64_t>(source.size(), 4)));
  if (head.view().text() != std::string_view("PK\3\4", 4))
    return "the file does not start as an archive, so torch takes it for a pickle from its first byte on";
  if (directory.moved) return "the archive's directory is not where its end record says";
  if (directory.find(concat(folder, "constants.pkl")) != nullptr)
    return "Cannot use ``weights_only=True`` with TorchScript archives passed to ``torch.load``";
  ASSAY_TRY(auto version, small_member(source, directory, concat(folder, ".data/version"), limits));
  if (!version) {
    ASSAY_TRY(version, small_member(source, directory, concat(folder, "version"), limits));
  }
  if (!version) return "the archive has no member version";
  const auto number = json::to_u64(std::string_view(*version).substr(0, version->find_first_not_of("0123456789")));
  if (!number) return concat("Couldn't parse the version ", escape(*version, 40));
  if (*number == 0 || *number > kHighestVersion)
    return concat("the archive's version is ", *number, ", torch reads those up to ", kHighestVersion);
  for (const zip::Member& member : directory.members)
    if (!member.name.starts_with(folder))
      return concat("file in archive is not in a subdirectory ", escape(folder, 60), ": ", escape(member.name, 100));
  ASSAY_TRY(const auto order, small_member(source, directory, concat(folder, "byteorder"), limits));
  if (order && *order != "little" && *order != "big") return concat("Unknown endianness type: ", escape(*order, 40));
  return std::nullopt;
}

}  // namespace assay::scan
