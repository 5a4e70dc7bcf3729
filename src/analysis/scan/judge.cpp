// SPDX-License-Identifier: Apache-2.0
#include "analysis/scan/judge.hpp"

#include <algorithm>
#include <unordered_set>

#include "analysis/scan/fold.hpp"
#include "analysis/scan/raw_storages.hpp"
#include "analysis/scan/storage_text.hpp"
#include "base/arith.hpp"
#include "base/text.hpp"

namespace assay::scan {

using pickle::CallKind;
using pickle::Event;
using pickle::EventKind;
using pickle::GlobalName;
using pickle::Graph;
using pickle::Kind;
using pickle::kNoNode;
using pickle::Node;

namespace {

constexpr std::size_t kShownArguments = 200;
constexpr std::size_t kMostJudged = 20'000;  // names whose judgement is kept for the next pickle

/// The arguments as they stand in a call: "'true', 1".
std::string arguments_text(const Graph& graph, Node call) {
  std::string text = pickle::describe(graph, graph.args(call), kShownArguments);
  if (graph.kind(graph.args(call)) == Kind::tuple && text.starts_with('(')) {
    text.erase(0, 1);
    if (text.ends_with(",)")) text.resize(text.size() - 2);
    else if (text.ends_with(')')) text.pop_back();
  }
  if (graph.kwargs(call) != kNoNode && graph.pair_count(graph.kwargs(call)) != 0)
    text += concat(text.empty() ? "**" : ", **", pickle::describe(graph, graph.kwargs(call), kShownArguments));
  return text;
}

}  // namespace

std::string full_name(GlobalName name) { return concat(name.module.empty() ? "?" : name.module, '.', name.name.empty() ? "?" : name.name); }

Judgement Judge::judge_uncached(Node global) const {
  const GlobalName written = graph_.global(global), mapped = graph_.mapped_global(global);
  if (mapped.module.empty() || mapped.name.empty())
    return {Verdict::dangerous, Rule::none, false, "has a name that is computed while loading"};
  if (piece_.torch_script && (written.module == "__torch__" || written.module.starts_with("__torch__.")))
    return {Verdict::clean, Rule::call, false, {}};
  return judge_name(written, mapped, scanner_.options_.allowed);
}

const Judgement& Judge::judge_global(Node global) {
  if (globals_.empty()) globals_.resize(graph_.node_count());
  if (const Judgement* const found = globals_[global]) return *found;
  const GlobalName written = graph_.global(global), mapped = graph_.mapped_global(global);
  // One name may be imported a million times.
  std::string key = concat(written.module, '\n', written.name, '\n', mapped.module, piece_.torch_script ? "\nt" : "");
  auto known = scanner_.judged_.find(key);
  if (known == scanner_.judged_.end() && scanner_.judged_.size() < kMostJudged)
    known = scanner_.judged_.emplace(std::move(key), judge_uncached(global)).first;
  return *(globals_[global] = known != scanner_.judged_.end() ? &known->second : &others_.emplace_back(judge_uncached(global)));
}

bool Judge::is_plain(Node node) const {
  switch (graph_.kind(node)) {
    case Kind::none:
    case Kind::boolean:
    case Kind::integer:
    case Kind::big_integer:
    case Kind::real:
    case Kind::text:
    case Kind::bytes: return graph_.states(node).empty();
    default: return false;
  }
}

bool Judge::is_class(Node node) {
  if (graph_.kind(node) != Kind::global) return false;
  return is_class_for_anything(node) || judge_global(node).rule == Rule::instance;
}

/// A class that may be called with arguments of the file's choice.
bool Judge::is_class_for_anything(Node node) {
  if (graph_.kind(node) != Kind::global) return false;
  const Rule rule = judge_global(node).rule;
  return rule == Rule::call || rule == Rule::coded;
}

// --- restricted names as data -----------------------------------------------------------------------------------------------

void Judge::look_at(Node holder, Node held) {
  if (graph_.kind(held) != Kind::global || held == kNoNode) return;
  const Judgement* const found = held < globals_.size() ? globals_[held] : nullptr;
  if (found == nullptr || !is_restricted(found->rule) || bad_use_.contains(held)) return;
  bad_use_.emplace(held, concat("is passed on as a value within a ", pickle::kind_name(graph_.kind(holder))));
}

/// Marks the restricted names that some value holds: planted as __setstate__, a factory or a hook they would be called with anything.
void Judge::find_loose() {
  bool any = false;
  for (const Event& event : graph_.events())
    if (event.kind == EventKind::import_ && is_restricted(judge_global(event.node).rule)) any = true;
  if (!any) return;
  std::unordered_set<Node> exempt;  // argument tuples of from_type calls: their first item is checked there
  for (const Event& event : graph_.events()) {
    if (event.kind != EventKind::call || graph_.kind(graph_.callable(event.node)) != Kind::global) continue;
    const Node callable = graph_.callable(event.node);
    const Rule rule = judge_global(callable).rule;
    if (!is_restricted(rule)) continue;
    if (rule == Rule::from_type) exempt.insert(graph_.args(event.node));
    if (std::string why = check_call(event.node, rule); !why.empty()) bad_use_.emplace(callable, std::move(why));
  }
  nested_.clear();
  const auto count = static_cast<Node>(graph_.node_count());
  for (Node n = 0; n < count; ++n) {
    for (const Node state : graph_.states(n)) look_at(n, state);
    const Kind kind = graph_.kind(n);
    if (kind == Kind::persistent) look_at(n, graph_.item(n, 0));
    if (kind != Kind::list && kind != Kind::tuple && kind != Kind::set && kind != Kind::frozenset && kind != Kind::dict &&
        kind != Kind::call)
      continue;
    if (kind == Kind::call) look_at(n, graph_.kwargs(n));
    const std::size_t first = kind == Kind::tuple && exempt.contains(n) ? 1 : 0;
    if (kind != Kind::dict)
      for (std::size_t i = first; i < graph_.length(n); ++i) look_at(n, graph_.item(n, i));
    for (std::size_t i = 0; i < graph_.pair_count(n); ++i) look_at(n, graph_.key(n, i)), look_at(n, graph_.value(n, i));
  }
}

// --- events -----------------------------------------------------------------------------------------------------------------

void Judge::import(Node global) {
  Judgement judged = judge_global(global);
  std::string why(judged.why);
  if (judged.verdict == Verdict::clean && is_restricted(judged.rule)) {
    const auto bad = bad_use_.find(global);
    if (bad != bad_use_.end()) {
      const GlobalName name = graph_.mapped_global(global);
      const Judgement danger = judge_danger(name.module, name.name);
      judged.verdict = danger.verdict == Verdict::dangerous ? Verdict::dangerous : Verdict::unknown;
      why = bad->second;
    }
  }
  const GlobalName mapped = graph_.mapped_global(global), written = graph_.global(global);
  Import entry{.name = full_name(mapped),
               .written = full_name(written),
               .verdict = judged.verdict,
               .why = why,
               .place = scanner_.place(piece_, graph_.offset(global), stream_)};
  if (entry.written == entry.name) entry.written.clear();
  std::vector<Import>& imports = scanner_.report_.imports;
  std::pair<std::string, std::string> key{piece_.name, concat(entry.name, '\n', entry.written)};
  if (const auto at = scanner_.import_index_.find(key); at != scanner_.import_index_.end()) {
    Import& known = imports[at->second];
    ++known.times;
    if (known.verdict >= judged.verdict) return;
    known.verdict = judged.verdict;
    known.why = why;
  } else if (imports.size() < (judged.verdict == Verdict::dangerous ? 2 : 1) * Report::kMostImports) {
    scanner_.import_index_.emplace(std::move(key), imports.size());
    imports.push_back(std::move(entry));
  } else {
    ++scanner_.report_.imports_left_out;
  }
  scanner_.raise(row_, judged.verdict);
  if (judged.verdict == Verdict::clean) return;
  std::string text = concat("imports ", escape(full_name(mapped), kShownName));
  if (written.module != mapped.module || written.name != mapped.name)
    text += concat(" (written ", escape(full_name(written), kShownName), ')');
  if (!why.empty()) text += concat(", which ", why);
  scanner_.find(row_, piece_, judged.verdict == Verdict::dangerous ? Code::dangerous_import : Code::unknown_import, std::move(text),
                graph_.offset(global));
}

/// Enough has been said: the rest is only counted.
bool Judge::is_full(Verdict verdict) {
  const std::size_t most = verdict == Verdict::dangerous ? 2 * Report::kMostCalls : Report::kMostCalls;
  if (scanner_.report_.calls.size() < most) return false;
  ++scanner_.report_.call_count;
  scanner_.raise(row_, verdict);
  return true;
}

void Judge::keep_call(Call call, Code code) {
  scanner_.raise(row_, call.verdict);
  std::string text = call.words;
  if (!call.why.empty()) text += concat(", which ", call.why);
  scanner_.find(row_, piece_, code, std::move(text), call.place.position);
  ++scanner_.report_.call_count;
  scanner_.report_.calls.push_back(std::move(call));
}

void Judge::report_call(Node node, std::string callable, Verdict verdict, std::string why) {
  if (is_full(verdict)) return;
  Call call{.callable = std::move(callable),
            .arguments = arguments_text(graph_, node),
            .words = {},
            .verdict = verdict,
            .why = std::move(why),
            .place = scanner_.place(piece_, graph_.offset(node), stream_)};
  const bool makes = graph_.call_kind(node) == CallKind::newobj || graph_.call_kind(node) == CallKind::newobj_ex;
  call.words = concat(makes ? "would make an instance of " : "would call ", escape(call.callable, kShownName), '(', call.arguments, ')');
  keep_call(std::move(call), verdict == Verdict::dangerous ? Code::dangerous_call : Code::unknown_call);
}

void Judge::unknown(std::string words, std::string callable, std::string arguments, std::string why, std::uint64_t offset) {
  keep_call({.callable = std::move(callable),
             .arguments = std::move(arguments),
             .words = std::move(words),
             .verdict = Verdict::unknown,
             .why = std::move(why),
             .place = scanner_.place(piece_, offset, stream_)},
            Code::unknown_call);
}

void Judge::call(Node node) {
  const Node callable = graph_.callable(node);
  if (graph_.kind(callable) == Kind::global) {
    const Judgement judged = judge_global(callable);
    const GlobalName name = graph_.mapped_global(callable);
    if (judged.verdict != Verdict::clean) {
      // What it leads to says more than what it is: getattr(os, 'system').
      return report_call(node, full_name(name), judged.verdict, std::string(judged.why));
    }
    std::string why = check_call(node, judged.rule);
    if (why.empty()) return;
    const Judgement danger = judge_danger(name.module, name.name);
    const bool dangerous = danger.verdict == Verdict::dangerous || judged.rule == Rule::from_type;
    return report_call(node, full_name(name), dangerous && judged.rule != Rule::encode ? Verdict::dangerous : Verdict::unknown,
                       std::move(why));
  }
  const std::string name = called_name(graph_, node);
  if (name.empty()) {
    const bool extension = graph_.kind(callable) == Kind::extension;
    return report_call(
        node, extension ? concat("extension ", graph_.integer(callable)) : "?", Verdict::unknown,
        extension ? "cannot be known from the file" : concat("is known only when loading: ", pickle::describe(graph_, callable, 80)));
  }
  const Judgement judged = judge_path(name);
  if (judged.verdict == Verdict::clean && class_of_module_id(graph_, callable) != kNoNode && check_call(node, judged.rule).empty()) return;
  // Below protocol 4 that is how a class within a class is named.
  const bool named_only = judged.rule == Rule::call || judged.rule == Rule::instance;
  if (judged.verdict == Verdict::clean && named_only && graph_.kind(callable) == Kind::call &&
      graph_.is_call(callable, "builtins", "getattr") && check_call(node, judged.rule).empty())
    return;
  report_call(node, name, judged.verdict == Verdict::dangerous ? Verdict::dangerous : Verdict::unknown,
              judged.why.empty() ? "is reached in a roundabout way" : std::string(judged.why));
}

void Judge::persistent(Node node) {
  const Node id = graph_.item(node, 0);
  const auto text = [&](Node n, std::string_view wanted) {
    return graph_.kind(n) == Kind::text && (wanted.empty() || graph_.text(n) == wanted);
  };
  if (piece_.torch_tar && (graph_.kind(id) == Kind::text || graph_.kind(id) == Kind::integer)) return;
  if (const Node cls = class_of_module_id(graph_, node); cls != kNoNode) {
    const std::size_t first = graph_.item(id, 0) == cls ? 1 : 2;
    bool plain = graph_.length(id) >= 2 && graph_.length(id) <= 4;
    for (std::size_t i = first; plain && i < graph_.length(id); ++i) plain &= is_plain(graph_.item(id, i));
    if (plain && (first == 2 || piece_.torch_tar)) return;
  }
  if (graph_.kind(id) == Kind::tuple && (graph_.length(id) == 5 || graph_.length(id) == 6) && text(graph_.item(id, 0), "storage")) {
    const Node key = graph_.item(id, 2), location = graph_.item(id, 3), numel = graph_.item(id, 4), view = graph_.item(id, 5);
    const bool known_key =
        (graph_.kind(key) == Kind::text && graph_.text(key).size() <= kMostStorageKey) || graph_.kind(key) == Kind::integer;
    bool plain_view = view == kNoNode || graph_.kind(view) == Kind::none;
    if (graph_.kind(view) == Kind::tuple && view != kNoNode) {
      plain_view = graph_.length(view) <= 3;
      for (std::size_t i = 0; plain_view && i < graph_.length(view); ++i) plain_view &= is_plain(graph_.item(view, i));
    }
    if (graph_.kind(graph_.item(id, 1)) == Kind::global && known_key && is_plain(location) && graph_.kind(numel) == Kind::integer &&
        plain_view) {
      const auto element = storage_element_size(graph_.mapped_global(graph_.item(id, 1)).name);
      const std::int64_t count = graph_.integer(numel);
      const auto bytes = element && count >= 0 ? checked_mul(static_cast<std::uint64_t>(count), std::uint64_t{*element}) : std::nullopt;
      scanner_.remember_storage(piece_, graph_.kind(key) == Kind::text ? std::string(graph_.text(key)) : decimal(graph_.integer(key)),
                                bytes);
      return;
    }
  }
  if (graph_.kind(id) == Kind::text) {
    if (const auto storage = read_storage_text(graph_.text(id))) return scanner_.remember_storage(piece_, storage->key, std::nullopt);
  }
  if (is_full(Verdict::unknown)) return;
  std::string shown = pickle::describe(graph_, id, kShownArguments);
  unknown(concat("would hand ", shown, " to the loader's hook"), "persistent_load", shown, "does with it what it likes",
          graph_.offset(node));
}

/// BUILD and the like on what is no data of this file: a class, a module, a storage. What a call gave is reported with the call.
void Judge::changed(Node target, std::string_view how, std::uint64_t offset) {
  const Kind kind = graph_.kind(target);
  if ((kind != Kind::global && kind != Kind::persistent && kind != Kind::extension) || is_full(Verdict::unknown)) return;
  std::string shown = kind == Kind::global ? full_name(graph_.mapped_global(target)) : pickle::describe(graph_, target, 80);
  unknown(concat("would change the ", how, " of ", escape(shown, kShownName)), shown, "", "is no data of this file", offset);
}

/// What a state's dict plants under the names of methods.
const Judge::Planted& Judge::planted_by(Node dict) {
  const auto [at, fresh] = planted_.try_emplace(dict);
  if (!fresh) return at->second;
  at->second.fill(kNoNode);
  for (std::size_t i = 0; i < graph_.pair_count(dict); ++i) {
    const Node key = graph_.key(dict, i);
    if (graph_.kind(key) != Kind::text) continue;
    const auto method = std::ranges::find(kCalled, graph_.text(key));
    if (method != kCalled.end()) at->second[static_cast<std::size_t>(method - kCalled.begin())] = graph_.value(dict, i);
  }
  return at->second;
}

/// An opcode that calls a method of an object, under whose name a BUILD may have planted something else.
void Judge::called_back(Node object, std::size_t method, Node argument, std::uint64_t offset) {
  const auto carried = carried_.find(object);
  const Node planted = carried == carried_.end() ? kNoNode : carried->second[method];
  if (planted == kNoNode) return;
  const bool known = graph_.kind(planted) == Kind::global;
  const Judgement judged = known ? judge_global(planted) : Judgement{Verdict::unknown, Rule::none, false, "is known only when loading"};
  if (judged.verdict == Verdict::clean || is_full(judged.verdict)) return;
  const std::string callable = known ? full_name(graph_.mapped_global(planted)) : folded_name(graph_, planted);
  Call call{.callable = callable.empty() ? "?" : callable,
            .arguments = pickle::describe(graph_, argument, kShownArguments),
            .words = {},
            .verdict = judged.verdict,
            .why = std::string(judged.why),
            .place = scanner_.place(piece_, offset, stream_)};
  call.words = concat("would call ", escape(call.callable, kShownName), '(', call.arguments, "), planted as ", kCalled[method]);
  keep_call(std::move(call), judged.verdict == Verdict::dangerous ? Code::dangerous_call : Code::unknown_call);
}

void Judge::built(const Event& event) {
  changed(event.node, "attributes", event.offset);
  called_back(event.node, 0, event.other, event.offset);
  if (array_types_.hide_objects(event.node, event.other) && !is_full(Verdict::dangerous)) {
    Call call{.callable = "numpy.dtype.__setstate__",
              .arguments = pickle::describe(graph_, event.other, kShownArguments),
              .words = {},
              .verdict = Verdict::dangerous,
              .why = "lets bytes of the file be taken for Python objects",
              .place = scanner_.place(piece_, event.offset, stream_)};
    call.words = concat("would make a numpy.dtype of objects that says it has none: ", call.arguments);
    keep_call(std::move(call), Code::dangerous_call);
  }
  // A state is {attribute: value} or ({…}, {…}).
  for (const Node part : {event.other, graph_.item(event.other, 0), graph_.item(event.other, 1)}) {
    if (part == kNoNode || graph_.kind(part) != Kind::dict) continue;
    const Planted& planted = planted_by(part);
    for (std::size_t method = 0; method < planted.size(); ++method) {
      if (planted[method] == kNoNode) continue;
      const auto [carried, fresh] = carried_.try_emplace(event.node);
      if (fresh) carried->second.fill(kNoNode);
      carried->second[method] = planted[method];
    }
  }
}

void Judge::run(std::uint64_t from) {
  find_loose();
  for (const Event& event : graph_.events()) {
    if (event.offset < from) continue;
    switch (event.kind) {
      case EventKind::import_: import(event.node); break;
      case EventKind::call: call(event.node); break;
      case EventKind::build: built(event); break;
      case EventKind::mutate:
        changed(event.node, "items", event.offset);
        for (std::size_t method = 1; method < kCalled.size(); ++method) called_back(event.node, method, event.other, event.offset);
        break;
      case EventKind::persistent: persistent(event.node); break;
      case EventKind::extension:
        if (is_full(Verdict::unknown)) break;
        unknown(concat("would use extension ", graph_.integer(event.node)), concat("extension ", graph_.integer(event.node)), "",
                "stands for a name that only the loading program knows", event.offset);
        break;
    }
  }
}

}  // namespace assay::scan
