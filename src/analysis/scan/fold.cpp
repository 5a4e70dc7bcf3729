// SPDX-License-Identifier: Apache-2.0
#include "analysis/scan/fold.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace assay::scan {

namespace {

using pickle::Graph;
using pickle::Kind;
using pickle::kNoNode;
using pickle::Node;

enum class Folding : std::uint8_t {
  attribute,   // f(object, name): object.name
  item,        // the same; of __dict__ an attribute
  import,      // f(name): the module
  import_top,  // the same, but the module's first part
  inner,       // f(callable, …): calls like it
  getter,      // f(name)(object): object.name
  caller,      // f(name, …)(object): calls object.name
  namespace_,  // f(object): object.__dict__
};

constexpr struct {
  std::string_view module, name;
  Folding folding;
} kFoldings[] = {
    {"builtins", "getattr", Folding::attribute},      {"builtins", "__import__", Folding::import_top},
    {"builtins", "vars", Folding::namespace_},        {"importlib", "import_module", Folding::import},
    {"importlib", "__import__", Folding::import_top}, {"importlib._bootstrap", "_gcd_import", Folding::import},
    {"pkgutil", "resolve_name", Folding::import},     {"pydoc", "locate", Folding::import},
    {"operator", "getitem", Folding::item},           {"operator", "attrgetter", Folding::getter},
    {"operator", "itemgetter", Folding::getter},      {"operator", "methodcaller", Folding::caller},
    {"_operator", "getitem", Folding::item},          {"_operator", "attrgetter", Folding::getter},
    {"_operator", "itemgetter", Folding::getter},     {"_operator", "methodcaller", Folding::caller},
    {"functools", "partial", Folding::inner},         {"_functools", "partial", Folding::inner},
    {"types", "MethodType", Folding::inner},          {"builtins", "staticmethod", Folding::inner},
};
constexpr int kLongestChain = 64;
constexpr std::size_t kLongestName = 1024;  // many calls may share a text, and each looks at all of it

/// How a call of this callable folds; null when it does not.
const Folding* folding_of(const Graph& graph, Node callable) {
  if (graph.kind(callable) != Kind::global) return nullptr;
  for (const auto& row : kFoldings)
    if (graph.is_global(callable, row.module, row.name)) return &row.folding;
  return nullptr;
}

/// `path` with what __dict__ and sys.modules stand for put in its place.
std::string simplified(std::string path) {
  for (std::size_t at; (at = path.find(".__dict__.")) != std::string::npos;) path.erase(at, 9);
  constexpr std::string_view kModules = "sys.modules.";
  if (path.starts_with(kModules)) path.erase(0, kModules.size());
  if (path.starts_with("torch._utils.torch.")) path.erase(0, 13);
  std::replace(path.begin(), path.end(), ':', '.');
  return path;
}

class Folder {
 public:
  explicit Folder(const Graph& graph) : graph_(graph) {}

  std::string fold(Node node) {
    for (int i = 0; i < kLongestChain && suffix_.size() <= kLongestName; ++i) {
      if (graph_.kind(node) == Kind::global) return global(node);
      if (const Node cls = class_of_module_id(graph_, node); cls != kNoNode) {
        node = cls;
        continue;
      }
      if (graph_.kind(node) != Kind::call || !step(node)) return {};
      if (done_) return simplified(concat(base_, suffix_));
    }
    return {};
  }
  void append(std::string_view name) { suffix_ = concat('.', name, suffix_); }

 private:
  std::string global(Node node) {
    const pickle::GlobalName name = graph_.mapped_global(node);
    if (name.module.empty() || name.name.empty()) return {};
    return simplified(concat(name.module, '.', name.name, suffix_));
  }

  Node argument(Node call, std::size_t i) const {
    const Node args = graph_.args(call);
    return graph_.kind(args) == Kind::tuple ? graph_.item(args, i) : kNoNode;
  }
  /// A constant text.
  bool text(Node node, std::string_view& text) const {
    if (node == kNoNode || (graph_.kind(node) != Kind::text && graph_.kind(node) != Kind::bytes)) return false;
    text = graph_.text(node);
    return text.size() <= kLongestName;
  }

  /// Goes from a call to what it is made of. False when only loading could tell.
  bool step(Node& node) {
    const Node callable = graph_.callable(node);
    std::string_view name;
    if (const Folding* folding = folding_of(graph_, callable)) {
      switch (*folding) {
        case Folding::attribute:
        case Folding::item:
          if (!text(argument(node, 1), name)) return false;
          append(name);
          node = argument(node, 0);
          return node != kNoNode;
        case Folding::namespace_:
          append("__dict__");
          node = argument(node, 0);
          return node != kNoNode;
        case Folding::import:
        case Folding::import_top:
          if (!text(argument(node, 0), name)) return false;
          // __import__('a.b') is a, unless it was given a fromlist.
          if (*folding == Folding::import_top && argument(node, 3) == kNoNode) name = name.substr(0, name.find('.'));
          base_ = name;
          done_ = true;
          return true;
        case Folding::inner: node = argument(node, 0); return node != kNoNode;
        default: return false;
      }
    }
    if (graph_.kind(callable) != Kind::call) return false;
    const Folding* made_by = folding_of(graph_, graph_.callable(callable));
    if (made_by == nullptr || *made_by != Folding::getter || !text(argument(callable, 0), name)) return false;
    append(name);
    node = argument(node, 0);
    return node != kNoNode;
  }

  const Graph& graph_;
  std::string base_, suffix_;
  bool done_ = false;
};

}  // namespace

std::string folded_name(const Graph& graph, Node node) { return Folder(graph).fold(node); }

std::string called_name(const Graph& graph, Node call) {
  const Node callable = graph.callable(call);
  Folder folder(graph);
  if (graph.kind(callable) == Kind::call) {
    const Folding* made_by = folding_of(graph, graph.callable(callable));
    const Node names = graph.args(callable), args = graph.args(call);
    if (made_by != nullptr && *made_by == Folding::caller) {
      const Node name = graph.item(names, 0);
      if (graph.kind(name) != Kind::text || name == kNoNode || graph.kind(args) != Kind::tuple || graph.length(args) == 0) return {};
      if (graph.text(name).size() > kLongestName) return {};
      folder.append(graph.text(name));
      return folder.fold(graph.item(args, 0));
    }
  }
  return folder.fold(callable);
}

Node class_of_module_id(const Graph& graph, Node node) {
  if (graph.kind(node) != Kind::persistent) return kNoNode;
  const Node id = graph.item(node, 0);
  if (graph.kind(id) != Kind::tuple || graph.length(id) < 2) return kNoNode;
  const Node first = graph.item(id, 0);
  if (graph.kind(first) == Kind::text && graph.text(first) == "module" && graph.kind(graph.item(id, 1)) == Kind::global)
    return graph.item(id, 1);
  if (graph.kind(first) == Kind::global && graph.length(id) == 3) return first;
  return kNoNode;
}

}  // namespace assay::scan
