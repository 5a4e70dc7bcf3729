// SPDX-License-Identifier: Apache-2.0
#include "formats/torch/nodes.hpp"

#include <algorithm>
#include <cmath>

#include "base/real_text.hpp"
#include "base/text.hpp"

namespace assay::formats::torch {

namespace {

constexpr std::size_t kLabelBytes = 200;  // of a key that is no text
constexpr unsigned kGetattrDepth = 16;
constexpr std::size_t kMostAttribute = 4096;  // bytes of an attribute name: many calls may share a long one

// Names that are not UTF-8 come from Python 2; Latin-1 reads every byte and is what such texts mostly were.
void append_text(std::string& out, std::string_view text) {
  if (valid_utf8(text)) {
    out += text;
    return;
  }
  for (const char c : text) append_utf8(out, static_cast<unsigned char>(c));
}

void append_json_text(std::string& out, std::string_view text) {
  std::string plain;
  append_text(plain, text);
  out += '"';
  for (const char c : plain) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      constexpr std::string_view kDigits = "0123456789abcdef";
      out += "\\u00";
      out += kDigits[static_cast<unsigned char>(c) >> 4];
      out += kDigits[static_cast<unsigned char>(c) & 15];
    } else {
      out += c;
    }
  }
  out += '"';
}

void append_json(std::string& out, const Graph& graph, Node n) {
  switch (kind_of(graph, n)) {
    case Kind::boolean: out += graph.boolean(n) ? "true" : "false"; return;
    case Kind::integer: out += decimal(graph.integer(n)); return;
    case Kind::big_integer: {
      const std::string digits = pickle::describe(graph, n);
      if (digits.starts_with('<')) append_json_text(out, digits);
      else out += digits;
      return;
    }
    case Kind::real: {
      const double value = graph.real(n);
      if (std::isnan(value)) out += "\"NaN\"";
      else if (std::isinf(value)) out += value > 0 ? "\"Infinity\"" : "\"-Infinity\"";
      else append_real(out, value);
      return;
    }
    case Kind::text: append_json_text(out, graph.text(n)); return;
    default: out += "null"; return;
  }
}

}  // namespace

Node item_at(const Graph& graph, Node sequence, std::size_t i) {
  const Kind kind = kind_of(graph, sequence);
  return (kind == Kind::list || kind == Kind::tuple) && i < graph.length(sequence) ? graph.item(sequence, i) : kNoNode;
}

std::optional<std::int64_t> integer_of(const Graph& graph, Node n) {
  if (kind_of(graph, n) == Kind::integer) return graph.integer(n);
  return std::nullopt;
}

bool truth_of(const Graph& graph, Node n) {
  const Kind kind = kind_of(graph, n);
  return (kind == Kind::boolean && graph.boolean(n)) || (kind == Kind::integer && graph.integer(n) != 0);
}

GlobalName global_name(const Graph& graph, Node n) { return kind_of(graph, n) == Kind::global ? graph.mapped_global(n) : GlobalName(); }

std::string qualified_name(const Graph& graph, Node n) {
  std::string inner;  // what getattr adds behind the global it starts from
  for (unsigned i = 0; i < kGetattrDepth; ++i) {
    const Kind kind = kind_of(graph, n);
    if (kind == Kind::global) {
      const GlobalName name = global_name(graph, n);
      return concat(name.module, ".", name.name, inner);
    }
    if (kind == Kind::persistent) {
      const Node id = graph.item(n, 0);
      n = item_at(graph, id, 0);  // (class, file, source), later ("module", class, file, source)
      if (is_text(kind_of(graph, n))) n = item_at(graph, id, 1);
      if (kind_of(graph, n) != Kind::global) break;
      continue;
    }
    const Node args = kind == Kind::call ? graph.args(n) : kNoNode;
    if (kind != Kind::call || !graph.is_call(n, "builtins", "getattr") || !is_text(kind_of(graph, item_at(graph, args, 1)))) break;
    const std::string_view attribute = graph.text(item_at(graph, args, 1));
    if (attribute.size() > kMostAttribute) break;
    inner = concat(".", attribute, inner);
    n = item_at(graph, args, 0);
  }
  return concat("(", n == kNoNode ? "nothing" : pickle::kind_name(graph.kind(n)), ")", inner);
}

std::optional<RawBytes> raw_bytes(const Graph& graph, Node n) {
  const Kind kind = kind_of(graph, n);
  if (kind == Kind::bytes || kind == Kind::bytearray) return RawBytes{n, false, graph.bytes(n).size()};
  // A Python 2 str that happens to be UTF-8 is the same bytes.
  if (kind == Kind::text) return RawBytes{n, false, graph.text(n).size()};
  if (kind != Kind::call) return std::nullopt;
  const Node args = graph.args(n);
  if (graph.is_call(n, "builtins", "bytes") && length_of(graph, args) == 0) return RawBytes{args, false, 0};
  if (graph.is_call(n, "builtins", "bytearray")) {
    if (length_of(graph, args) == 0) return RawBytes{args, false, 0};
    n = item_at(graph, args, 0);
    if (kind_of(graph, n) == Kind::bytes) return RawBytes{n, false, graph.bytes(n).size()};
    if (kind_of(graph, n) != Kind::text && kind_of(graph, n) != Kind::call) return std::nullopt;
  }
  Node text = n;
  if (graph.kind(n) == Kind::call) {
    if (!graph.is_call(n, "_codecs", "encode")) return std::nullopt;
    text = item_at(graph, graph.args(n), 0);
    const Node codec = item_at(graph, graph.args(n), 1);
    if (kind_of(graph, codec) == Kind::text && graph.text(codec) != "latin1" && graph.text(codec) != "latin-1") return std::nullopt;
  }
  if (kind_of(graph, text) != Kind::text) return std::nullopt;
  std::uint64_t size = 0;
  for (const char c : graph.text(text)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0xc4) return std::nullopt;  // beyond U+00FF
    size += (byte & 0xc0) != 0x80;
  }
  return RawBytes{text, true, size};
}

std::size_t copy_bytes(const Graph& graph, const RawBytes& raw, std::span<std::byte> out) {
  const std::string_view text = graph.text(raw.node);
  std::size_t n = 0;
  for (std::size_t i = 0; i < text.size() && n < out.size(); ++i) {
    auto byte = static_cast<unsigned char>(text[i]);
    if (raw.latin1 && byte >= 0xc2 && i + 1 < text.size()) byte = static_cast<unsigned char>((byte << 6) | (text[++i] & 0x3f));
    out[n++] = std::byte{byte};
  }
  return n;
}

void append_real(std::string& out, double value) {
  if (std::isnan(value)) {
    out += "nan";
  } else if (std::isinf(value)) {
    out += value > 0 ? "inf" : "-inf";
  } else {
    char digits[kRealText];
    const char* const end = write_shortest(digits, value);
    const std::string_view text(digits, static_cast<std::size_t>(end - digits));
    out += text;
    if (text.find_first_of(".e") == std::string_view::npos) out += ".0";
  }
}

void append_label(std::string& out, const Graph& graph, Node key) {
  const auto bytes = kind_of(graph, key) == Kind::call ? raw_bytes(graph, key) : std::nullopt;  // of protocol 2
  if (is_text(kind_of(graph, key))) append_text(out, graph.text(key));
  else if (bytes && bytes->latin1) append_text(out, graph.text(bytes->node));
  else out += pickle::describe(graph, key, kLabelBytes);
}

std::string json_list(const Graph& graph, const std::vector<Node>& items) {
  std::string out = "[";
  for (const Node n : items) {
    if (out.size() > 1) out += ", ";
    append_json(out, graph, n);
  }
  return out += ']';
}

}  // namespace assay::formats::torch
