// SPDX-License-Identifier: Apache-2.0
// Python objects that one metadata entry can say, and the containers of the standard library.
#include <array>

#include "base/text.hpp"
#include "formats/torch/rebuild.hpp"

namespace assay::formats::torch {

namespace {

void set_value(Rebuilt& out, std::string text) {
  out.form = Form::value;
  out.text = std::move(text);
}

std::string two_digits(unsigned value) { return concat(value < 10 ? "0" : "", value); }

std::string ymd(const std::array<std::byte, 10>& b) {
  const auto at = [&](std::size_t i) { return std::to_integer<unsigned>(b[i]); };
  std::string year = decimal(std::uint64_t{at(0) * 256 + at(1)});
  year.insert(0, year.size() < 4 ? 4 - year.size() : 0, '0');
  return concat(year, "-", two_digits(at(2) & 0x7f), "-", two_digits(at(3)));  // the month's top bit is the fold
}

void set_object(const Call& call, Rebuilt& out) {
  out.is_object = true;
  const std::string text = pickle::describe(call.graph, call.node);
  set_value(out, std::move(text));
}

}  // namespace

// ((2, 3),): the tuple itself
void rebuild_size(const Call& call, Rebuilt& out) {
  out.form = Form::container;
  if (is_sequence(kind_of(call.graph, call.arg(0)))) out.groups.push_back({GroupKind::items, call.arg(0)});
}

// ("cuda", 1) or ("cuda:1",)
void rebuild_device(const Call& call, Rebuilt& out) {
  const Graph& graph = call.graph;
  if (!is_text(kind_of(graph, call.arg(0)))) return set_object(call, out);
  std::string text;
  append_label(text, graph, call.arg(0));
  if (const auto index = integer_of(graph, call.arg(1))) text += concat(":", *index);
  set_value(out, std::move(text));
}

// ("torch.strided",)
void rebuild_layout(const Call& call, Rebuilt& out) {
  std::string text;
  append_label(text, call.graph, call.arg(0));
  set_value(out, std::move(text));
}

// (real, imaginary)
void rebuild_complex(const Call& call, Rebuilt& out) {
  const Graph& graph = call.graph;
  std::string text = "(";
  text += pickle::describe(graph, call.arg(0));
  const std::string imaginary = pickle::describe(graph, call.arg(1));
  set_value(out, concat(text, imaginary.starts_with('-') ? "" : "+", imaginary, "j)"));
}

void rebuild_bytes(const Call& call, Rebuilt& out) {
  const auto raw = raw_bytes(call.graph, call.node);
  if (!raw) return set_object(call, out);
  out.is_object = true;
  out.cost += raw->size;
  set_value(out, concat("bytes of ", raw->size));
}

void rebuild_getattr(const Call& call, Rebuilt& out) {
  out.is_object = true;
  set_value(out, qualified_name(call.graph, call.node));
}

// () and SETITEMS, then BUILD with _metadata; Python 2: ([[key, value], …],). A defaultdict's argument is its factory.
void rebuild_ordered_dict(const Call& call, Rebuilt& out) {
  const Graph& graph = call.graph;
  out.form = Form::container;
  const Kind first = kind_of(graph, call.arg(0));
  if (first == Kind::list || first == Kind::tuple) out.groups.push_back({GroupKind::pair_items, call.arg(0)});
  else if (first == Kind::dict) out.groups.push_back({GroupKind::pairs, call.arg(0)});
  if (graph.pair_count(call.node) > 0) out.groups.push_back({GroupKind::pairs, call.node});
  for (const Node state : graph.states(call.node))
    if (kind_of(graph, state) == Kind::dict) out.groups.push_back({GroupKind::attributes, state});
}

// ({…},)
void rebuild_counter(const Call& call, Rebuilt& out) { rebuild_ordered_dict(call, out); }

// ([…],), or () and APPENDS
void rebuild_collection(const Call& call, Rebuilt& out) {
  const Graph& graph = call.graph;
  out.form = Form::container;
  if (is_sequence(kind_of(graph, call.arg(0)))) out.groups.push_back({GroupKind::items, call.arg(0)});
  if (graph.length(call.node) > 0) out.groups.push_back({GroupKind::items, call.node});
}

// ("/", "home", "x") or one text
void rebuild_path(const Call& call, Rebuilt& out) {
  std::string path;
  out.cost += 4 * length_of(call.graph, call.args);
  for (std::size_t i = 0; i < length_of(call.graph, call.args) && path.size() < 4096; ++i) {
    if (!path.empty() && !path.ends_with('/')) path += '/';
    append_label(path, call.graph, call.arg(i));
  }
  set_value(out, std::move(path));
}

// (10 bytes[, timezone]): year, month, day, hour, minute, second, microsecond
void rebuild_datetime(const Call& call, Rebuilt& out) {
  std::array<std::byte, 10> b{};
  const auto raw = raw_bytes(call.graph, call.arg(0));
  if (!raw || raw->size != b.size() || copy_bytes(call.graph, *raw, b) != b.size()) return set_object(call, out);
  const auto at = [&](std::size_t i) { return std::to_integer<unsigned>(b[i]); };
  std::string text = concat(ymd(b), " ", two_digits(at(4)), ":", two_digits(at(5)), ":", two_digits(at(6)));
  const unsigned microseconds = at(7) << 16 | at(8) << 8 | at(9);
  if (microseconds != 0) text += concat(".", decimal(std::uint64_t{1000000 + microseconds}).substr(1));
  set_value(out, std::move(text));
}

// (4 bytes): year, month, day
void rebuild_date(const Call& call, Rebuilt& out) {
  std::array<std::byte, 10> b{};
  const auto raw = raw_bytes(call.graph, call.arg(0));
  if (!raw || raw->size != 4 || copy_bytes(call.graph, *raw, std::span(b).first(4)) != 4) return set_object(call, out);
  set_value(out, ymd(b));
}

}  // namespace assay::formats::torch
