// SPDX-License-Identifier: Apache-2.0
// Opcodes that import and call. Here they make records, and events in the order in which a loader would act.
#include <algorithm>

#include "containers/pickle/machine.hpp"

namespace assay::pickle {

namespace {

bool is_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

Node add_global(Machine& m, const Characters& module, const Characters& name) {
  const std::uint64_t longest = std::max(module.size, name.size);
  if (longest > m.limits.global_name_bytes) {
    m.limit(concat("bytes of a name, with ", longest), m.limits.global_name_bytes);
    return kNoNode;
  }
  const Node n = m.add(Kind::global, m.data.globals.size());
  if (n == kNoNode) return n;
  m.data.globals.emplace_back(module, name);
  if (m.protocol < 3) m.data.cells[n].flags |= kPython2;
  m.log(EventKind::import_, n);
  return n;
}

// The global of a two-line argument.
Node add_written_global(Machine& m, const Step& step, bool ascii_only) {
  const std::string_view lines = m.argument(step);
  const std::size_t split = lines.find('\n');
  const std::string_view module = lines.substr(0, split), name = lines.substr(split + 1);
  const bool well_formed = ascii_only ? is_ascii(lines) : valid_utf8(module) && valid_utf8(name);
  if (module.empty() || name.empty())
    m.malformed(concat("of ", quote(lines.substr(0, 80)), " has an empty ", module.empty() ? "module" : "name"));
  else if (!well_formed) m.malformed(concat("of ", quote(lines.substr(0, 80)), " is not ", ascii_only ? "ASCII" : "UTF-8"));
  else return add_global(m, m.in_stream(step.argument, module.size()), m.in_stream(step.argument + split + 1, name.size()));
  return kNoNode;
}

bool check_callable(Machine& m, Node callable) {
  if (m.open_kind(callable)) return true;
  m.malformed(concat("calls ", a_kind(m.kind(callable))));
  return false;
}

bool check_operand(Machine& m, Node operand, Kind wanted) {
  if (m.kind(operand) == wanted || m.open_kind(operand)) return true;
  m.malformed(concat("with ", a_kind(m.kind(operand)), " where ", a_kind(wanted), " must be"));
  return false;
}

void push_call(Machine& m, CallKind kind, Node callable, Node args, Node kwargs = kNoNode) {
  const Node n = m.add(Kind::call, m.data.calls.size());
  if (n == kNoNode) return;
  m.data.calls.push_back({kind, callable, args, kwargs, {}, {}});
  m.log(EventKind::call, n);
  m.push(n);
}

// Takes the items above `start` off the stack into an argument tuple, which stays on the stack.
bool pack_arguments(Machine& m, std::size_t start) {
  m.push_container(Kind::tuple, m.above(start));
  return !m.ended;
}

}  // namespace

void load_global(Machine& m, const Step& step) { m.push(add_written_global(m, step, false)); }

void load_stack_global(Machine& m, const Step&) {
  if (!m.need(2)) return;
  const Node name = m.stack[m.stack.size() - 1], module = m.stack[m.stack.size() - 2];
  if (!check_operand(m, name, Kind::text) || !check_operand(m, module, Kind::text)) return;
  const auto characters = [&m](Node n) { return m.kind(n) == Kind::text ? m.data.cells[n].characters() : Characters{}; };
  const Node n = add_global(m, characters(module), characters(name));
  m.drop(m.stack.size() - 2);
  m.push(n);
}

void load_inst(Machine& m, const Step& step) {
  std::size_t start;
  if (!m.take_mark(start)) return;
  const Node callable = add_written_global(m, step, true);
  if (m.ended || !pack_arguments(m, start)) return;
  const Node args = m.pop();
  push_call(m, CallKind::inst, callable, args);
}

void load_obj(Machine& m, const Step&) {
  std::size_t start;
  if (!m.take_mark(start)) return;
  if (m.stack.size() == start) return m.malformed("finds no class above its mark");
  const Node callable = m.stack[start];
  if (!check_callable(m, callable) || !pack_arguments(m, start + 1)) return;
  const Node args = m.pop();
  m.pop();
  push_call(m, CallKind::obj, callable, args);
}

void load_reduce(Machine& m, const Step&) {
  if (!m.need(2)) return;
  const Node args = m.stack[m.stack.size() - 1], callable = m.stack[m.stack.size() - 2];
  if (!check_callable(m, callable) || !check_operand(m, args, Kind::tuple)) return;
  m.drop(m.stack.size() - 2);
  push_call(m, CallKind::reduce, callable, args);
}

void load_newobj(Machine& m, const Step&) {
  if (!m.need(2)) return;
  const Node args = m.stack[m.stack.size() - 1], callable = m.stack[m.stack.size() - 2];
  if (!check_callable(m, callable) || !check_operand(m, args, Kind::tuple)) return;
  m.drop(m.stack.size() - 2);
  push_call(m, CallKind::newobj, callable, args);
}

void load_newobj_ex(Machine& m, const Step&) {
  if (!m.need(3)) return;
  const Node kwargs = m.stack[m.stack.size() - 1], args = m.stack[m.stack.size() - 2], callable = m.stack[m.stack.size() - 3];
  if (!check_callable(m, callable) || !check_operand(m, args, Kind::tuple) || !check_operand(m, kwargs, Kind::dict)) return;
  m.drop(m.stack.size() - 3);
  push_call(m, CallKind::newobj_ex, callable, args, kwargs);
}

namespace {

// True when no plain value could take this state: None is always taken, and what is known only when loading may be.
bool refuses_state(const Machine& m, Node object, Node state) {
  if (m.open_kind(object) || m.open_kind(state)) return false;
  const Cell& cell = m.data.cells[state];
  if (cell.kind != Kind::tuple || cell.size != 2) return cell.kind != Kind::none;
  // (state, slot state): both must be empty.
  const auto parts = m.data.run(cell.sequence());
  if (m.kind(parts[0]) != Kind::none && !m.open_kind(parts[0])) return true;
  return !m.open_kind(parts[1]) && (m.kind(parts[1]) != Kind::dict || m.data.cells[parts[1]].size != 0);
}

}  // namespace

void load_build(Machine& m, const Step&) {
  if (!m.need(2)) return;
  const Node state = m.top(), object = m.stack[m.stack.size() - 2];
  if (refuses_state(m, object, state)) {
    m.complain(Code::malformed_pickle, concat("of ", a_kind(m.kind(object)), " with ", a_kind(m.kind(state))));
    // Torch's own reader does not ask where there is nothing to set.
    const Cell& cell = m.data.cells[state];
    if (cell.kind != Kind::dict || cell.size != 0) return m.end();
  }
  m.log(EventKind::build, object, state);
  Cell& cell = m.data.cells[object];
  if (cell.states == 0) {
    m.data.states.emplace_back();
    cell.states = static_cast<std::uint32_t>(m.data.states.size());
  }
  if (m.extend(m.data.states[cell.states - 1], {&state, 1})) m.pop();
  m.skip_raw(object);
}

namespace {

void push_persistent(Machine& m, Node id) {
  const Node n = m.add(Kind::persistent);
  if (n == kNoNode) return;
  m.data.cells[n].size = id;
  m.log(EventKind::persistent, n);
  m.push(n);
}

void push_extension(Machine& m, const Step& step) {
  const auto code = static_cast<std::int64_t>(step.number);
  if (code <= 0) return m.malformed(concat("with code ", code, ", which is below 1"));
  const Node n = m.add(Kind::extension, step.number);
  if (n == kNoNode) return;
  m.log(EventKind::extension, n);
  m.push(n);
}

}  // namespace

void load_persid(Machine& m, const Step& step) {
  if (!is_ascii(m.argument(step))) return m.malformed(concat("of ", quote(m.argument(step).substr(0, 80)), " is not ASCII"));
  const Node id = m.add_characters(Kind::text, m.in_stream(step.argument, step.argument_size));
  if (id != kNoNode) push_persistent(m, id);
}

void load_binpersid(Machine& m, const Step&) {
  if (m.need(1)) push_persistent(m, m.pop());
}

void load_ext1(Machine& m, const Step& step) { push_extension(m, step); }
void load_ext2(Machine& m, const Step& step) { push_extension(m, step); }
void load_ext4(Machine& m, const Step& step) { push_extension(m, step); }

}  // namespace assay::pickle
