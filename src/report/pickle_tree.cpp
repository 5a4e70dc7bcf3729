// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "report/pickle_report.hpp"
#include "report/units.hpp"

namespace assay::report {

namespace {

using pickle::Graph;
using pickle::Kind;
using pickle::kNoNode;
using pickle::Node;

constexpr std::size_t kWidth = 180;         // of a line where the terminal does not say
constexpr std::size_t kDeepestIndent = 32;  // levels; deeper ones say how deep they are
constexpr std::size_t kLongestText = 4096;  // of one value in text
constexpr std::size_t kHexBytes = 64;       // of a bytes value in JSON
constexpr std::uint64_t kStopEvery = 1024;

/// One of the parts a node is made of, in the order a reader of the file meets them.
struct Part {
  enum What : std::uint8_t { item, pair, argument, arguments, keywords, state, id } what;
  std::size_t index;
  Node key, value;
};

/// The parts of a node by number. A call's are its arguments, keywords, what was put into it, and the states it was built with.
class Parts {
 public:
  Parts(const Graph& graph, Node n) : graph_(graph), node_(n), kind_(graph.kind(n)) {
    if (kind_ == Kind::call) {
      const Node args = graph.args(n);
      open_args_ = graph.kind(args) != Kind::tuple;
      args_ = open_args_ ? 1 : graph.length(args);
      keywords_ = graph.kwargs(n) != kNoNode;
    }
    items_ = kind_ == Kind::dict ? 0 : graph.length(n);
    pairs_ = graph.pair_count(n);
  }
  std::size_t size() const { return args_ + keywords_ + items_ + pairs_ + graph_.states(node_).size(); }
  Part operator[](std::size_t i) const {
    if (i < args_)
      return open_args_ ? Part{Part::arguments, 0, kNoNode, graph_.args(node_)}
                        : Part{Part::argument, i, kNoNode, graph_.item(graph_.args(node_), i)};
    i -= args_;
    if (i < keywords_) return {Part::keywords, 0, kNoNode, graph_.kwargs(node_)};
    i -= keywords_;
    if (i < items_) return {kind_ == Kind::persistent ? Part::id : Part::item, i, kNoNode, graph_.item(node_, i)};
    i -= items_;
    if (i < pairs_) return {Part::pair, i, graph_.key(node_, i), graph_.value(node_, i)};
    i -= pairs_;
    return {Part::state, i, kNoNode, graph_.states(node_)[i]};
  }

 private:
  const Graph& graph_;
  Node node_;
  Kind kind_;
  bool open_args_ = false;
  std::size_t args_ = 0, keywords_ = 0, items_ = 0, pairs_ = 0;
};

bool is_open(Kind kind) {
  return kind == Kind::list || kind == Kind::tuple || kind == Kind::dict || kind == Kind::set || kind == Kind::frozenset ||
         kind == Kind::call || kind == Kind::persistent;
}

class TreeWriter {
 public:
  TreeWriter(Writer& out, const Style& style, const Graph& graph, const PickleExtent& extent)
      : out_(out), style_(style), graph_(graph), extent_(extent), shown_(graph.node_count(), false),
        column_(offset_width(graph.end_offset())) {}

  PickleOmitted write(Node root) {
    put("", root, 0);
    while (!frames_.empty() && !omitted_.rows) {
      Frame& frame = frames_.back();
      const Parts parts(graph_, frame.node);
      if (frame.next == parts.size()) {
        frames_.pop_back();
        continue;
      }
      const Part part = parts[frame.next++];
      put(label(part), part.value, frames_.size());
    }
    return omitted_;
  }

 private:
  struct Frame {
    Node node;
    std::size_t next;
  };

  std::size_t width() const { return style_.width > 0 ? std::max<std::size_t>(style_.width, 40) : kWidth; }

  std::string label(const Part& part) const {
    switch (part.what) {
      case Part::item: return concat(part.index, ": ");
      case Part::pair: return concat(pickle::describe(graph_, part.key, 80), ": ");
      case Part::argument: return concat("argument ", part.index, ": ");
      case Part::arguments: return "arguments: ";
      case Part::keywords: return "keywords: ";
      case Part::state: return "state: ";
      case Part::id: return "id: ";
    }
    return {};
  }

  /// "dict of 12", "torch._utils._rebuild_tensor_v2(…)", for a value whose parts follow on their own lines.
  std::string heading(Node n) const {
    const Kind kind = graph_.kind(n);
    if (kind == Kind::call) {
      const std::string callable = pickle::describe(graph_, graph_.callable(n), 120);
      const Node args = graph_.args(n);
      const bool none = graph_.kind(args) == Kind::tuple && graph_.length(args) == 0 && graph_.kwargs(n) == kNoNode;
      return concat(callable, none ? "()" : "(…)");
    }
    if (kind == Kind::persistent) return "persistent";
    const std::size_t size = kind == Kind::dict ? graph_.pair_count(n) : graph_.length(n);
    return concat(pickle::kind_name(kind), " of ", size);
  }

  std::string scalar(Node n) const {
    if (graph_.kind(n) == Kind::text) return concat('\'', escape(graph_.text(n), kLongestText), '\'');
    std::string text = pickle::describe(graph_, n, kLongestText);
    const Kind kind = graph_.kind(n);
    if ((kind == Kind::bytes || kind == Kind::bytearray) && graph_.text(n).size() > 20)
      text += concat("  ", counted(graph_.text(n).size(), "byte", "bytes"));
    return text;
  }

  void put(const std::string& label, Node n, std::size_t depth) {
    if (++rows_ > extent_.rows || (rows_ % kStopEvery == 0 && extent_.stop != nullptr && extent_.stop())) {
      omitted_.rows = true;
      return;
    }
    const std::size_t indent = 2 * std::min(depth, kDeepestIndent);
    std::string text, note;
    if (n == kNoNode) text = "nothing";
    else if (!is_open(graph_.kind(n)) && graph_.states(n).empty()) text = scalar(n);
    else {
      const std::size_t used = column_ + 2 + indent + display_width(label);
      const std::size_t room = std::max<std::size_t>(width() - std::min(width(), used), 24);
      text = pickle::describe(graph_, n, room);
      const bool fits = text.find("…") == std::string::npos && display_width(text) <= room;
      if (!fits && shown_[n]) text = heading(n), note = concat("  as at ", hex(graph_.offset(n)));
      else if (!fits && depth >= extent_.depth) text = heading(n), note = "  …", ++omitted_.deeper;
      else if (!fits) {
        text = heading(n);
        shown_[n] = true;
        frames_.push_back({n, 0});
      }
    }
    const std::string offset = n == kNoNode ? std::string() : hex(graph_.offset(n));
    out_.repeat(' ', column_ - std::min(column_, offset.size()));
    out_.put(toned(style_, Tone::faint, offset));
    out_.repeat(' ', 2 + indent);
    if (depth > kDeepestIndent) out_.put(toned(style_, Tone::faint, concat('[', depth, "] ")));
    out_.put(toned(style_, Tone::accent, within_ascii_dots(label)));
    out_.put(within_ascii_dots(text));
    out_.put(toned(style_, Tone::faint, within_ascii_dots(note)));
    out_.put('\n');
  }

  /// Our own "…" is three dots where there is no Unicode.
  std::string within_ascii_dots(std::string text) const {
    if (style_.unicode) return text;
    for (std::size_t at = text.find("…"); at != std::string::npos; at = text.find("…", at)) text.replace(at, 3, "...");
    return within_ascii(style_, std::move(text));
  }

  Writer& out_;
  const Style& style_;
  const Graph& graph_;
  const PickleExtent& extent_;
  std::vector<bool> shown_;
  std::size_t column_;
  std::vector<Frame> frames_;
  std::uint64_t rows_ = 0;
  PickleOmitted omitted_;
};

std::string hex_bytes(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char c : bytes.substr(0, kHexBytes)) {
    const auto byte = static_cast<unsigned char>(c);
    text += {kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return text;
}

void write_ids(JsonWriter& json, std::string_view key, std::size_t n, auto&& get) {
  json.key(key).begin_array();
  for (std::size_t i = 0; i < n; ++i) json.integer(get(i));
  json.end_array();
}

void write_plain(JsonWriter& json, const Graph& graph, Node n) {
  switch (graph.kind(n)) {
    case Kind::boolean: json.key("value").boolean(graph.boolean(n)); break;
    case Kind::integer: json.key("value").integer(graph.integer(n)); break;
    case Kind::big_integer: {
      const std::string digits = pickle::describe(graph, n, kLongestText);
      if (digits.starts_with('<')) json.key("size").integer(graph.bytes(n).size());
      else json.key("value").raw(digits);
      break;
    }
    case Kind::real: json.key("value").number(graph.real(n)); break;
    case Kind::text: json.key("value").text(graph.text(n)); break;
    case Kind::bytes:
    case Kind::bytearray:
      json.key("size").integer(graph.text(n).size());
      json.key("hex").text(hex_bytes(graph.text(n)));
      break;
    case Kind::global:
      json.key("module").text(graph.global(n).module);
      json.key("name").text(graph.global(n).name);
      break;
    case Kind::extension: json.key("code").integer(graph.integer(n)); break;
    case Kind::persistent: json.key("of").integer(graph.item(n, 0)); break;
    default: break;
  }
}

void write_value(JsonWriter& json, const Graph& graph, Node n, std::uint64_t number = 0) {
  const Kind kind = graph.kind(n);
  json.begin_object();
  if (number != 0) json.key("pickle").integer(number);
  json.key("id").integer(n);
  json.key("kind").text(pickle::kind_name(kind));
  json.key("offset").integer(graph.offset(n));
  write_plain(json, graph, n);
  if (kind == Kind::call) {
    json.key("callable").integer(graph.callable(n));
    json.key("args").integer(graph.args(n));
    if (graph.kwargs(n) != kNoNode) json.key("kwargs").integer(graph.kwargs(n));
  }
  const bool sequence = is_open(kind) && kind != Kind::dict && kind != Kind::persistent;
  if (sequence && (kind != Kind::call || graph.length(n) > 0))
    write_ids(json, "items", graph.length(n), [&](std::size_t i) { return graph.item(n, i); });
  if (kind == Kind::dict || graph.pair_count(n) > 0) {
    json.key("pairs").begin_array();
    for (std::size_t i = 0; i < graph.pair_count(n); ++i) {
      json.begin_array();
      json.integer(graph.key(n, i));
      json.integer(graph.value(n, i));
      json.end_array();
    }
    json.end_array();
  }
  if (!graph.states(n).empty()) write_ids(json, "states", graph.states(n).size(), [&](std::size_t i) { return graph.states(n)[i]; });
  json.end_object();
}

PickleOmitted write_values(const Graph& graph, const PickleExtent& extent, auto&& write) {
  for (Node n = 0; n < graph.node_count(); ++n) {
    if (n >= extent.rows || (n % kStopEvery == 0 && extent.stop != nullptr && extent.stop())) return {.rows = true};
    write(n);
  }
  return {};
}

}  // namespace

std::size_t offset_width(std::uint64_t end) { return std::max<std::size_t>(hex(end).size(), 6); }

PickleOmitted write_pickle_tree(Writer& out, const Style& style, const Graph& graph, const PickleExtent& extent) {
  return TreeWriter(out, style, graph, extent).write(graph.salvage_root());
}

PickleOmitted write_pickle_values(JsonWriter& json, const Graph& graph, const PickleExtent& extent) {
  return write_values(graph, extent, [&](Node n) { write_value(json, graph, n); });
}

PickleOmitted write_pickle_value_lines(Writer& out, const Graph& graph, std::uint64_t number, const PickleExtent& extent) {
  return write_values(graph, extent, [&](Node n) {
    JsonWriter line(out);
    write_value(line, graph, n, number);
  });
}

}  // namespace assay::report
