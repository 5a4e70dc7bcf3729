// SPDX-License-Identifier: Apache-2.0
#include "formats/torch/nodes.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/text.hpp"

namespace assay::formats::torch {

namespace {

constexpr std::size_t kReprBytes = 200;  // a repr is for people; what is longer is cut
constexpr unsigned kReprDepth = 4;
constexpr std::size_t kReprItems = 8;
constexpr std::size_t kBigIntegerBytes = 64;
constexpr unsigned kGetattrDepth = 16;

constexpr struct {
  std::string_view old_module, module;
} kPython2Modules[] = {{"__builtin__", "builtins"}, {"copy_reg", "copyreg"}};

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
    case Kind::big_integer:
      if (!append_big_integer(out, graph.bytes(n))) append_json_text(out, concat("integer of ", graph.bytes(n).size(), " bytes"));
      return;
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

void append_items(std::string& out, const Graph& graph, Node sequence, unsigned depth) {
  const std::size_t length = graph.length(sequence);
  for (std::size_t i = 0; i < length; ++i) {
    if (i > 0) out += ", ";
    if (i == kReprItems || out.size() > kReprBytes) {
      out += "…";
      return;
    }
    append_repr(out, graph, graph.item(sequence, i), depth + 1);
  }
}

void append_call(std::string& out, const Graph& graph, Node n, unsigned depth) {
  out += qualified_name(graph, graph.callable(n));
  out += '(';
  const Node args = graph.args(n);
  if (is_sequence(kind_of(graph, args))) append_items(out, graph, args, depth);
  else if (args != kNoNode) append_repr(out, graph, args, depth + 1);
  out += ')';
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

GlobalName global_name(const Graph& graph, Node n) {
  if (kind_of(graph, n) != Kind::global) return {};
  GlobalName name = graph.global(n);
  for (const auto& [old_module, module] : kPython2Modules)
    if (name.module == old_module) name.module = module;
  return name;
}

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
    inner = concat(".", graph.text(item_at(graph, args, 1)), inner);
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
    char digits[40];
    const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    const std::string_view text(digits, static_cast<std::size_t>(end - digits));
    out += text;
    if (text.find_first_of(".e") == std::string_view::npos) out += ".0";
  }
}

bool append_big_integer(std::string& out, ByteView little_endian) {
  if (little_endian.size() > kBigIntegerBytes || little_endian.empty()) return false;
  std::vector<std::uint8_t> bytes;
  for (const std::byte b : little_endian.span()) bytes.push_back(std::to_integer<std::uint8_t>(b));
  const bool negative = (bytes.back() & 0x80) != 0;
  if (negative) {  // two's complement to magnitude
    unsigned carry = 1;
    for (auto& b : bytes) {
      carry += static_cast<std::uint8_t>(~b);
      b = static_cast<std::uint8_t>(carry);
      carry >>= 8;
    }
  }
  std::string digits;
  while (!bytes.empty()) {
    unsigned rest = 0;
    for (std::size_t i = bytes.size(); i-- > 0;) {
      rest = rest << 8 | bytes[i];
      bytes[i] = static_cast<std::uint8_t>(rest / 10);
      rest %= 10;
    }
    digits += static_cast<char>('0' + rest);
    while (!bytes.empty() && bytes.back() == 0) bytes.pop_back();
  }
  if (negative) digits += '-';
  out.append(digits.rbegin(), digits.rend());
  return true;
}

void append_label(std::string& out, const Graph& graph, Node key) {
  if (is_text(kind_of(graph, key))) append_text(out, graph.text(key));
  else append_repr(out, graph, key);
}

void append_repr(std::string& out, const Graph& graph, Node n, unsigned depth) {
  if (depth > kReprDepth) {
    out += "…";
    return;
  }
  switch (kind_of(graph, n)) {
    case Kind::none: out += "None"; return;
    case Kind::boolean: out += graph.boolean(n) ? "True" : "False"; return;
    case Kind::integer: out += decimal(graph.integer(n)); return;
    case Kind::big_integer:
      if (!append_big_integer(out, graph.bytes(n))) out += concat("integer of ", graph.bytes(n).size(), " bytes");
      return;
    case Kind::real: append_real(out, graph.real(n)); return;
    case Kind::text: {
      const std::string_view whole = graph.text(n);
      std::size_t cut = std::min(whole.size(), kReprBytes);
      while (cut < whole.size() && cut > 0 && (static_cast<unsigned char>(whole[cut]) & 0xc0) == 0x80) --cut;
      out += '\'';
      append_text(out, whole.substr(0, cut));
      out += cut < whole.size() ? "…'" : "'";
      return;
    }
    case Kind::bytes:
    case Kind::bytearray: out += concat(pickle::kind_name(graph.kind(n)), " of ", graph.bytes(n).size()); return;
    case Kind::tuple:
      out += '(';
      append_items(out, graph, n, depth);
      out += graph.length(n) == 1 ? ",)" : ")";
      return;
    case Kind::list:
      out += '[';
      append_items(out, graph, n, depth);
      out += ']';
      return;
    case Kind::set:
    case Kind::frozenset:
      out += '{';
      append_items(out, graph, n, depth);
      out += '}';
      return;
    case Kind::dict: out += concat("dict of ", graph.length(n)); return;
    case Kind::global: out += qualified_name(graph, n); return;
    case Kind::call: append_call(out, graph, n, depth); return;
    default: out += pickle::kind_name(graph.kind(n)); return;
  }
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
