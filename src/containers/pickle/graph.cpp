// SPDX-License-Identifier: Apache-2.0
#include "containers/pickle/graph.hpp"

#include <algorithm>
#include <bit>

#include "containers/pickle/python2_names.hpp"

namespace assay::pickle {

std::string_view kind_name(Kind kind) {
  constexpr std::string_view kNames[] = {"None",  "bool", "int", "int",       "float",  "str",  "bytes",         "bytearray", "list",
                                         "tuple", "dict", "set", "frozenset", "global", "call", "persistent id", "extension", "buffer"};
  const auto i = static_cast<std::size_t>(kind);
  return i < std::size(kNames) ? kNames[i] : "unknown";
}

std::string_view Graph::Data::characters(const Characters& c) const {
  if (c.in_stream) return stream.slice(static_cast<std::size_t>(c.at), c.size).text();
  return std::string_view(scratch).substr(static_cast<std::size_t>(c.at), c.size);
}

void Graph::Data::extend(Sequence& s, std::span<const Node> more) {
  if (more.empty()) return;
  const auto needed = static_cast<std::uint32_t>(s.size + more.size());
  const std::size_t pool = children.size();
  if (s.size == 0 || (s.begin + std::size_t{s.size} == pool && s.size == s.capacity)) {
    if (s.size == 0) s.begin = static_cast<std::uint32_t>(pool);
    children.insert(children.end(), more.begin(), more.end());
    s.capacity = needed;
  } else if (needed <= s.capacity) {
    std::ranges::copy(more, children.begin() + s.begin + s.size);
  } else {
    s.capacity = std::max(needed, s.capacity * 2);
    children.resize(pool + s.capacity, kNoNode);
    std::copy_n(children.begin() + s.begin, s.size, children.begin() + static_cast<std::ptrdiff_t>(pool));
    std::ranges::copy(more, children.begin() + static_cast<std::ptrdiff_t>(pool) + s.size);
    s.begin = static_cast<std::uint32_t>(pool);
  }
  s.size = needed;
}

std::span<const Node> Graph::Data::items(Node n) const {
  const Cell* c = cell(n);
  if (!c) return {};
  switch (c->kind) {
    case Kind::list:
    case Kind::tuple:
    case Kind::set:
    case Kind::frozenset: return run(c->sequence());
    case Kind::call: return run(calls[c->value].items);
    case Kind::persistent: return {&c->size, 1};
    default: return {};
  }
}

std::span<const Node> Graph::Data::pairs(Node n) const {
  const Cell* c = cell(n);
  if (!c) return {};
  if (c->kind == Kind::dict) return run(c->sequence());
  if (c->kind == Kind::call) return run(calls[c->value].pairs);
  return {};
}

Graph::Graph() : data_(std::make_unique<Data>()) {}
Graph::~Graph() = default;
Graph::Graph(Graph&&) noexcept = default;
Graph& Graph::operator=(Graph&&) noexcept = default;

Node Graph::root() const { return data_->root; }
Node Graph::salvage_root() const { return data_->root != kNoNode ? data_->root : data_->salvage; }
std::size_t Graph::node_count() const { return data_->cells.size(); }

Kind Graph::kind(Node n) const {
  const Cell* c = data_->cell(n);
  return c ? c->kind : Kind::none;
}

std::uint64_t Graph::offset(Node n) const {
  const Cell* c = data_->cell(n);
  return data_->stream.offset() + (c ? c->offset : 0);
}

bool Graph::boolean(Node n) const {
  const Cell* c = data_->cell(n, Kind::boolean);
  return c && c->value != 0;
}

std::int64_t Graph::integer(Node n) const {
  const Cell* c = data_->cell(n);
  if (!c || (c->kind != Kind::integer && c->kind != Kind::extension)) return 0;
  return static_cast<std::int64_t>(c->value);
}

double Graph::real(Node n) const {
  const Cell* c = data_->cell(n, Kind::real);
  return c ? std::bit_cast<double>(c->value) : 0.0;
}

namespace {
bool has_characters(const Cell* c) {
  return c && (c->kind == Kind::text || c->kind == Kind::bytes || c->kind == Kind::bytearray || c->kind == Kind::big_integer);
}
}  // namespace

std::string_view Graph::text(Node n) const {
  const Cell* c = data_->cell(n);
  return has_characters(c) && c->kind != Kind::big_integer ? data_->characters(c->characters()) : std::string_view{};
}

ByteView Graph::bytes(Node n) const {
  const Cell* c = data_->cell(n);
  if (!has_characters(c)) return {};
  const Characters where = c->characters();
  const auto at = static_cast<std::size_t>(where.at);
  if (where.in_stream) return data_->stream.slice(at, where.size);
  return {std::as_bytes(std::span(data_->scratch)).subspan(at, where.size), offset(n)};
}

bool Graph::in_stream(Node n) const {
  const Cell* c = data_->cell(n);
  return has_characters(c) && (c->flags & kInStream) != 0;
}

std::size_t Graph::length(Node n) const { return kind(n) == Kind::dict ? data_->pairs(n).size() / 2 : data_->items(n).size(); }

Node Graph::item(Node n, std::size_t i) const {
  const auto items = data_->items(n);
  return i < items.size() ? items[i] : kNoNode;
}

std::size_t Graph::pair_count(Node n) const { return data_->pairs(n).size() / 2; }

Node Graph::key(Node n, std::size_t i) const {
  const auto pairs = data_->pairs(n);
  return i < pairs.size() / 2 ? pairs[2 * i] : kNoNode;
}

Node Graph::value(Node n, std::size_t i) const {
  const auto pairs = data_->pairs(n);
  return i < pairs.size() / 2 ? pairs[2 * i + 1] : kNoNode;
}

Node Graph::get(Node n, std::string_view key) const {
  const auto pairs = data_->pairs(n);
  for (std::size_t i = pairs.size(); i >= 2; i -= 2) {
    const Cell* c = data_->cell(pairs[i - 2], Kind::text);
    if (c && data_->characters(c->characters()) == key) return pairs[i - 1];
  }
  return kNoNode;
}

GlobalName Graph::global(Node n) const {
  const Cell* c = data_->cell(n, Kind::global);
  if (!c) return {};
  const auto& [module, name] = data_->globals[c->value];
  return {data_->characters(module), data_->characters(name)};
}

GlobalName Graph::mapped_global(Node n) const {
  const GlobalName written = global(n);
  const Cell* c = data_->cell(n, Kind::global);
  return c && (c->flags & kPython2) ? python3_name(written) : written;
}

bool Graph::is_global(Node n, std::string_view module, std::string_view name) const {
  const Cell* c = data_->cell(n, Kind::global);
  if (!c) return false;
  const GlobalName written = global(n);
  if (written.module == module && written.name == name) return true;
  if (!(c->flags & kPython2)) return false;
  const GlobalName mapped = python3_name(written);
  if (mapped.module == module && mapped.name == name) return true;
  const GlobalName wanted = python3_name({module, name});
  return mapped.module == wanted.module && mapped.name == wanted.name;
}

bool Graph::is_call(Node n, std::string_view module, std::string_view name) const { return is_global(callable(n), module, name); }

CallKind Graph::call_kind(Node n) const {
  const Cell* c = data_->cell(n, Kind::call);
  return c ? data_->calls[c->value].kind : CallKind::reduce;
}

Node Graph::callable(Node n) const {
  const Cell* c = data_->cell(n, Kind::call);
  return c ? data_->calls[c->value].callable : kNoNode;
}

Node Graph::args(Node n) const {
  const Cell* c = data_->cell(n, Kind::call);
  return c ? data_->calls[c->value].args : kNoNode;
}

Node Graph::kwargs(Node n) const {
  const Cell* c = data_->cell(n, Kind::call);
  return c ? data_->calls[c->value].kwargs : kNoNode;
}

std::span<const Node> Graph::states(Node n) const {
  const Cell* c = data_->cell(n);
  return c && c->states ? data_->run(data_->states[c->states - 1]) : std::span<const Node>{};
}

const std::vector<Event>& Graph::events() const { return data_->events; }
int Graph::protocol() const { return data_->protocol; }
std::uint64_t Graph::begin_offset() const { return data_->stream.offset(); }
std::uint64_t Graph::end_offset() const { return data_->stream.offset() + data_->end; }
bool Graph::reached_stop() const { return data_->reached_stop; }
std::size_t Graph::left_on_stack() const { return data_->left_on_stack; }
const std::optional<Error>& Graph::broken() const { return data_->broken; }
bool Graph::ends_early() const { return data_->ends_early; }
bool Graph::crosses_frame() const { return data_->crosses_frame; }

}  // namespace assay::pickle
