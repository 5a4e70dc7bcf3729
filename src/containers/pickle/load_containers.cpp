// SPDX-License-Identifier: Apache-2.0
// Opcodes that make containers and fill them.
#include <algorithm>

#include "containers/pickle/machine.hpp"

namespace assay::pickle {

namespace {

void push_marked(Machine& m, Kind kind) {
  std::size_t start;
  if (m.take_mark(start)) m.push_container(kind, m.above(start));
}

void push_tuple(Machine& m, std::size_t n) {
  if (m.need(n)) m.push_container(Kind::tuple, m.above(m.stack.size() - n));
}

// The first of `items` that Python cannot hash, looking at every `step`th.
std::size_t first_unhashable(const Machine& m, std::span<const Node> items, std::size_t step) {
  for (std::size_t i = 0; i < items.size(); i += step)
    if (m.unhashable(items[i])) return i;
  return items.size();
}

void unhashable_key(Machine& m, Node key, std::string_view role) {
  m.malformed(concat("with ", a_kind(m.kind(key)), " as ", role, ", which cannot be hashed"));
}

}  // namespace

void load_empty_tuple(Machine& m, const Step&) { m.push_new(Kind::tuple); }
void load_empty_list(Machine& m, const Step&) { m.push_new(Kind::list); }
void load_empty_dict(Machine& m, const Step&) { m.push_new(Kind::dict); }
void load_empty_set(Machine& m, const Step&) { m.push_new(Kind::set); }

void load_tuple(Machine& m, const Step&) { push_marked(m, Kind::tuple); }
void load_list(Machine& m, const Step&) { push_marked(m, Kind::list); }
void load_tuple1(Machine& m, const Step&) { push_tuple(m, 1); }
void load_tuple2(Machine& m, const Step&) { push_tuple(m, 2); }
void load_tuple3(Machine& m, const Step&) { push_tuple(m, 3); }

void load_frozenset(Machine& m, const Step&) {
  std::size_t start;
  if (!m.take_mark(start)) return;
  const auto items = m.above(start);
  const std::size_t bad = first_unhashable(m, items, 1);
  if (bad < items.size()) return unhashable_key(m, items[bad], "item");
  m.push_container(Kind::frozenset, items);
}

void load_dict(Machine& m, const Step&) {
  std::size_t start;
  if (!m.take_mark(start)) return;
  const auto pairs = m.above(start);
  if (pairs.size() % 2 != 0) return m.malformed(concat("of an odd number of items, ", pairs.size()));
  const std::size_t bad = first_unhashable(m, pairs, 2);
  if (bad < pairs.size()) return unhashable_key(m, pairs[bad], "key");
  m.push_container(Kind::dict, pairs);
}

namespace {

// What a bytearray takes as an item, as far as it is known.
bool is_byte(const Machine& m, Node item) {
  const Cell& cell = m.data.cells[item];
  return m.open_kind(item) || cell.kind == Kind::boolean || (cell.kind == Kind::integer && cell.value <= 0xff);
}

// Adds what is above `start` to the item below it, which is there.
void append_from(Machine& m, std::size_t start) {
  const auto items = m.above(start);
  if (items.empty()) return;
  const Node target = m.stack[start - 1];
  const Kind kind = m.kind(target);
  if (kind == Kind::list) {
    Sequence s = m.data.cells[target].sequence();
    if (m.extend(s, items)) m.data.cells[target].set_sequence(s);
  } else if (m.open_kind(target) || kind == Kind::bytearray) {
    if (kind == Kind::bytearray && !std::ranges::all_of(items, [&m](Node item) { return is_byte(m, item); }))
      return m.malformed("to a bytearray of what is no byte");
    m.log(EventKind::mutate, target, items.front());
    if (kind == Kind::call) m.extend(m.data.calls[m.data.cells[target].value].items, items);
  } else {
    return m.malformed(concat("to ", a_kind(kind)));
  }
  m.drop(start);
}

// sequence[index] = value, for a list or a bytearray. What is open until loading is left out, and so is a bytearray's length.
void set_sequence_item(Machine& m, Node target, Node key, Node value) {
  if (m.open_kind(key)) return;
  const Kind kind = m.kind(target);
  const Cell& index = m.data.cells[key];
  if (index.kind != Kind::integer && index.kind != Kind::boolean)
    return m.malformed(concat("of ", a_kind(kind), " at ", a_kind(index.kind)));
  if (kind == Kind::bytearray) {
    if (!is_byte(m, value)) m.malformed("of a bytearray to what is no byte");
    return;
  }
  const Sequence list = m.data.cells[target].sequence();
  const auto written = static_cast<std::int64_t>(index.value);
  const std::int64_t i = written < 0 ? written + std::int64_t{list.size} : written;
  if (i < 0 || i >= std::int64_t{list.size})
    return m.malformed(concat("of a list at ", written, ", it has ", counted(list.size, "item", "items")));
  m.data.children[list.begin + static_cast<std::size_t>(i)] = value;
}

void set_dict_items(Machine& m, Node target, std::span<const Node> pairs) {
  const std::size_t bad = first_unhashable(m, pairs, 2);
  Sequence s = m.data.cells[target].sequence();
  if (m.extend(s, pairs.first(bad))) m.data.cells[target].set_sequence(s);
  if (bad < pairs.size()) unhashable_key(m, pairs[bad], "key");
}

// Puts the pairs above `start` into the item below it, which is there.
void set_from(Machine& m, std::size_t start) {
  const auto pairs = m.above(start);
  if (pairs.empty()) return;
  if (pairs.size() % 2 != 0) return m.malformed(concat("of an odd number of items, ", pairs.size()));
  const Node target = m.stack[start - 1];
  const Kind kind = m.kind(target);
  if (kind == Kind::dict) {
    set_dict_items(m, target, pairs);
  } else if (kind == Kind::list || kind == Kind::bytearray || m.open_kind(target)) {
    m.log(EventKind::mutate, target, pairs[0]);
    if (kind == Kind::call) m.extend(m.data.calls[m.data.cells[target].value].pairs, pairs);
    const bool indexed = kind == Kind::list || kind == Kind::bytearray;
    for (std::size_t i = 0; indexed && i < pairs.size() && !m.ended; i += 2) set_sequence_item(m, target, pairs[i], pairs[i + 1]);
  } else {
    return m.malformed(concat("of ", a_kind(kind)));
  }
  if (!m.ended) m.drop(start);
}

}  // namespace

void load_append(Machine& m, const Step&) {
  if (m.need(2)) append_from(m, m.stack.size() - 1);
}

void load_appends(Machine& m, const Step&) {
  std::size_t start;
  if (m.take_target_mark(start)) append_from(m, start);
}

void load_setitem(Machine& m, const Step&) {
  if (m.need(3)) set_from(m, m.stack.size() - 2);
}

void load_setitems(Machine& m, const Step&) {
  std::size_t start;
  if (m.take_target_mark(start)) set_from(m, start);
}

void load_additems(Machine& m, const Step&) {
  std::size_t start;
  if (!m.take_target_mark(start)) return;
  const auto items = m.above(start);
  if (items.empty()) return;
  const Node target = m.stack[start - 1];
  const Kind kind = m.kind(target);
  if (kind == Kind::set) {
    const std::size_t bad = first_unhashable(m, items, 1);
    if (bad < items.size()) return unhashable_key(m, items[bad], "item");
    Sequence s = m.data.cells[target].sequence();
    if (m.extend(s, items)) m.data.cells[target].set_sequence(s);
  } else if (m.open_kind(target)) {
    m.log(EventKind::mutate, target, items.front());
    if (kind == Kind::call) m.extend(m.data.calls[m.data.cells[target].value].items, items);
  } else {
    return m.malformed(concat("to ", a_kind(kind)));
  }
  m.drop(start);
}

}  // namespace assay::pickle
