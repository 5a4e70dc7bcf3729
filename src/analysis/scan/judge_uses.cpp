// SPDX-License-Identifier: Apache-2.0
// Benign names and what they are given: a harmless function may still be told to call a harmful one.
#include <algorithm>

#include "analysis/scan/fold.hpp"
#include "analysis/scan/judge.hpp"
#include "analysis/scan/storage_text.hpp"
#include "base/text.hpp"

namespace assay::scan {

using pickle::CallKind;
using pickle::Graph;
using pickle::Kind;
using pickle::kNoNode;
using pickle::Node;

std::string Judge::check_from_type(Node args) {
  // The function may be from_type again, with its own arguments as the third.
  for (int depth = 0; depth < 16; ++depth) {
    if (graph_.kind(args) != Kind::tuple || graph_.length(args) < 3) return "is given arguments that only loading could tell";
    const Node function = graph_.item(args, 0), type = graph_.item(args, 1);
    if (graph_.kind(function) != Kind::global) return "would call what only loading could tell";
    const Judgement& judged = judge_global(function);
    const std::string name = full_name(graph_.mapped_global(function));
    if (judged.verdict != Verdict::clean) return concat("would call ", escape(name, kShownName), ", which ", judged.why);
    if (graph_.kind(type) != Kind::global && class_of_module_id(graph_, type) == kNoNode)
      return "is given a type that only loading could tell";
    if (judged.rule == Rule::rebuild || is_class(function)) return {};
    if (judged.rule != Rule::from_type) return concat("would call ", escape(name, kShownName), ", which is no rebuild function");
    args = graph_.item(args, 2);
  }
  return "nests too deeply";
}

/// What is wrong with an encoding's name: Python looks for a module of that name.
static std::string check_encoding(const Graph& graph, Node encoding) {
  constexpr std::string_view kPlain[] = {"latin1", "latin-1", "latin_1", "iso-8859-1", "iso8859-1",
                                         "utf-8",  "utf8",    "utf_8",   "ascii",      "us-ascii"};
  if (graph.kind(encoding) == Kind::text && std::ranges::find(kPlain, graph.text(encoding)) != std::end(kPlain)) return {};
  return concat("uses the encoding ", pickle::describe(graph, encoding, 60), ", which may import a module");
}

std::string Judge::check_encode(Node args) const {
  if (graph_.kind(args) != Kind::tuple || graph_.length(args) == 0 || graph_.length(args) > 3)
    return "is given arguments that only loading could tell";
  if (graph_.kind(graph_.item(args, 0)) != Kind::text) return "encodes what only loading could tell";
  if (graph_.length(args) == 1) return {};
  return check_encoding(graph_, graph_.item(args, 1));
}

std::string Judge::check_coded(Node call) const {
  if (graph_.pair_count(graph_.kwargs(call)) != 0) return "is given arguments by name";
  const Node args = graph_.args(call);
  return graph_.length(args) < 2 ? std::string() : check_encoding(graph_, graph_.item(args, 1));
}

std::string Judge::check_reconstruct(Node args) {
  if (graph_.length(args) != 3) return "is given arguments that only loading could tell";
  const Node base = graph_.item(args, 1);
  if (is_class_for_anything(base)) return {};
  return concat("would construct ", pickle::describe(graph_, base, 80), " with arguments of the file's choice");
}

/// A type as annotations have them: int, Any, None, List[int], and tuples of them. Looks at so many values at most.
bool Judge::is_type(Node node, int& looks) {
  if (--looks < 0 || node == kNoNode) return false;
  switch (graph_.kind(node)) {
    case Kind::none: return true;
    case Kind::global: return judge_global(node).verdict == Verdict::clean && !is_restricted(judge_global(node).rule);
    case Kind::call: {
      const Rule rule = graph_.kind(graph_.callable(node)) == Kind::global ? judge_global(graph_.callable(node)).rule : Rule::none;
      return rule == Rule::type_of || rule == Rule::subscript;  // which are looked at by themselves
    }
    case Kind::tuple: {
      for (std::size_t i = 0; i < graph_.length(node); ++i)
        if (!is_type(graph_.item(node, i), looks)) return false;
      return true;
    }
    default: return false;
  }
}

std::string Judge::check_subscript(Node args) {
  int looks = 100;
  const Node generic = graph_.item(args, 0);
  const bool known = graph_.length(args) == 2 && graph_.kind(generic) == Kind::global && graph_.mapped_global(generic).module == "typing" &&
                     is_type(generic, looks);
  return known && is_type(graph_.item(args, 1), looks) ? "" : "takes an item that only loading could tell";
}

std::string Judge::check_attribute(Node call) {
  const std::string name = folded_name(graph_, call);
  if (name.empty()) return "takes an attribute that only loading could tell";
  // An enum's member by its name.
  const Node args = graph_.args(call), cls = graph_.item(args, 0), member = graph_.item(args, 1);
  const auto is_constant = [](char c) { return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; };
  if (graph_.kind(cls) == Kind::global && judge_global(cls).rule == Rule::instance && graph_.length(args) == 2 &&
      !graph_.text(member).starts_with('_') && std::ranges::all_of(graph_.text(member), is_constant))
    return {};
  const Judgement judged = judge_path(name);
  if (judged.verdict != Verdict::clean) return concat("gives ", escape(name, kShownName), ", which ", judged.why);
  if (is_restricted(judged.rule)) return concat("gives ", escape(name, kShownName), " under another name");
  return {};
}

std::string Judge::check_bytes(Node args) {
  if (graph_.kind(args) != Kind::tuple || graph_.length(args) != 1) return "is given arguments that only loading could tell";
  Node bytes = graph_.item(args, 0);
  // Below protocol 3 bytes are written as encode(text, 'latin1').
  if (graph_.kind(bytes) == Kind::call && graph_.is_call(bytes, "_codecs", "encode") && check_encode(graph_.args(bytes)).empty())
    bytes = graph_.item(graph_.args(bytes), 0);
  const Kind kind = graph_.kind(bytes);
  if (kind != Kind::bytes && kind != Kind::bytearray && kind != Kind::text) return "loads bytes that only loading could tell";
  nested_.push_back(bytes);
  return {};
}

std::string Judge::check_call(Node call, Rule rule) {
  const Node args = graph_.args(call);
  if (graph_.kind(args) != Kind::tuple && rule != Rule::value) return "is called with arguments that only loading could tell";
  const CallKind kind = graph_.call_kind(call);
  switch (rule) {
    case Rule::none: return "is not on the list of known names";
    case Rule::value: return "is no function";
    case Rule::call:
    case Rule::rebuild: return {};
    case Rule::instance: {
      if (kind == CallKind::newobj || kind == CallKind::newobj_ex || graph_.length(args) == 0) return {};
      return graph_.length(args) == 1 && is_plain(graph_.item(args, 0)) ? "" : "is constructed with arguments of the file's choice";
    }
    case Rule::from_type: return check_from_type(args);
    case Rule::encode: return check_encode(args);
    case Rule::coded: return check_coded(call);
    case Rule::reconstruct: return check_reconstruct(args);
    case Rule::type_of: {
      const bool known = graph_.length(args) == 1 && graph_.kind(graph_.item(args, 0)) == Kind::none;
      return known ? "" : "gives a class that only loading could tell";
    }
    case Rule::subscript: return check_subscript(args);
    case Rule::factory: {
      if (graph_.length(args) == 0 || kind == CallKind::newobj) return {};
      const Node factory = graph_.item(args, 0);
      if (graph_.kind(factory) == Kind::none || is_class(factory)) return {};
      return concat("would call ", pickle::describe(graph_, factory, 80), " for missing keys");
    }
    case Rule::attribute: return check_attribute(call);
    case Rule::load_bytes: return check_bytes(args);
  }
  return "is not on the list of known names";
}

}  // namespace assay::scan
