// SPDX-License-Identifier: Apache-2.0
// Reading plain things out of a pickle graph: numbers, names, labels, short texts. Nothing here follows the file's nesting.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "assay/pickle.hpp"

namespace assay::formats::torch {

using pickle::GlobalName;
using pickle::Graph;
using pickle::Kind;
using pickle::kNoNode;
using pickle::Node;

/// The kind, `none` where there is no node.
inline Kind kind_of(const Graph& graph, Node n) { return n == kNoNode ? Kind::none : graph.kind(n); }
/// Items of a container, 0 of anything else.
inline std::size_t length_of(const Graph& graph, Node n) { return n == kNoNode ? 0 : graph.length(n); }
inline bool is_sequence(Kind kind) { return kind == Kind::list || kind == Kind::tuple || kind == Kind::set || kind == Kind::frozenset; }
/// A value that one metadata entry can say: None, a boolean, a number, a text.
inline bool is_plain(Kind kind) {
  return kind == Kind::none || kind == Kind::boolean || kind == Kind::integer || kind == Kind::big_integer || kind == Kind::real ||
         kind == Kind::text;
}
/// Text, also where Python 2 wrote it as bytes.
inline bool is_text(Kind kind) { return kind == Kind::text || kind == Kind::bytes; }

/// Item i of a list or tuple; kNoNode past its end and of anything else.
Node item_at(const Graph& graph, Node sequence, std::size_t i);
std::optional<std::int64_t> integer_of(const Graph& graph, Node n);
/// A boolean argument; integers count as Python takes them.
bool truth_of(const Graph& graph, Node n);

/// The name a global stands for, Python 2's modules under their Python 3 names; empty for other nodes.
GlobalName global_name(const Graph& graph, Node n);
/// "module.Name" of a global, of getattr(global, "Inner"), or of a class that a legacy stream names by persistent id.
std::string qualified_name(const Graph& graph, Node n);

/// Raw bytes of a bytes node, or of `_codecs.encode(text, "latin1")`, which is how protocol 2 spells them.
struct RawBytes {
  Node node = kNoNode;     ///< the node that holds them
  bool latin1 = false;     ///< its text holds one character per byte
  std::uint64_t size = 0;  ///< bytes once decoded
};
std::optional<RawBytes> raw_bytes(const Graph& graph, Node n);
/// Their first bytes, at most `out.size()`; gives how many.
std::size_t copy_bytes(const Graph& graph, const RawBytes& raw, std::span<std::byte> out);

/// Appends what a dict key adds to a name: a text as it is, `3`, `None`, `(1, 2)`, `module.Class`.
void append_label(std::string& out, const Graph& graph, Node key);
/// Python's shortest text of a number: "0.01", "1.0", "inf".
void append_real(std::string& out, double value);
/// A JSON array of plain values.
std::string json_list(const Graph& graph, const std::vector<Node>& items);

}  // namespace assay::formats::torch
