// SPDX-License-Identifier: Apache-2.0
// How a pickle graph is stored: one 24-byte cell a value, all children in one pool, side tables for what is rare.
//
// A container's children are one run of the pool. A run that grows is moved to the pool's end with twice the room, or grows in
// place when it is there already, so that a dict filled in batches of 1000 costs linear time. Nothing here owns a pointer to
// another value: a graph of any depth is freed by freeing a few vectors.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "assay/pickle.hpp"

namespace assay::pickle {

/// A run of the child pool.
struct Sequence {
  std::uint32_t begin = 0;
  std::uint32_t capacity = 0;
  std::uint32_t size = 0;
};

/// Characters in the stream, or in the graph's own scratch text.
struct Characters {
  std::uint64_t at = 0;
  std::uint32_t size = 0;
  bool in_stream = false;
};

enum CellFlag : std::uint8_t {
  kInStream = 1,    ///< the characters are in the stream
  kUnhashable = 2,  ///< cannot be a dict key or set item
  kPython2 = 4,     ///< a global written below protocol 3
};

struct Cell {
  std::uint64_t value = 0;   ///< a number, a double's bits, where characters are, a run's begin and capacity, a table's index
  std::uint32_t size = 0;    ///< characters, children (two a pair), the id's node of a persistent
  std::uint32_t offset = 0;  ///< of the opcode, from the stream's begin
  std::uint32_t states = 0;  ///< 1 + index in Data::states; 0 for none
  Kind kind = Kind::none;
  std::uint8_t flags = 0;

  Sequence sequence() const { return {static_cast<std::uint32_t>(value), static_cast<std::uint32_t>(value >> 32), size}; }
  void set_sequence(const Sequence& s) {
    value = s.begin | std::uint64_t{s.capacity} << 32;
    size = s.size;
  }
  Characters characters() const { return {value, size, (flags & kInStream) != 0}; }
};
static_assert(sizeof(Cell) == 24);

struct CallData {
  CallKind kind;
  Node callable, args, kwargs;
  Sequence items, pairs;
};

struct Graph::Data {
  ByteBlock owned;
  ByteView stream;

  std::vector<Cell> cells;
  std::vector<Node> children;
  std::vector<CallData> calls;
  std::vector<std::pair<Characters, Characters>> globals;  // module, name
  std::vector<Sequence> states;
  std::string scratch;  // characters that are not in the stream as such
  std::vector<Event> events;

  Node root = kNoNode;
  Node salvage = kNoNode;
  int protocol = 0;
  std::uint64_t end = 0;  // position in the stream
  std::size_t left_on_stack = 0;
  bool reached_stop = false;
  bool ends_early = false;
  bool crosses_frame = false;
  std::optional<Error> broken;

  const Cell* cell(Node n) const { return n < cells.size() ? &cells[n] : nullptr; }
  const Cell* cell(Node n, Kind kind) const { return n < cells.size() && cells[n].kind == kind ? &cells[n] : nullptr; }
  std::string_view characters(const Characters& c) const;
  std::span<const Node> run(const Sequence& s) const { return std::span(children).subspan(s.begin, s.size); }
  /// Adds to a run. Precondition: the pool stays below 2^32 entries.
  void extend(Sequence& s, std::span<const Node> more);
  /// The items or flat pairs of a list, tuple, set, frozenset or dict; those of a call.
  std::span<const Node> items(Node n) const;
  std::span<const Node> pairs(Node n) const;
};

}  // namespace assay::pickle
