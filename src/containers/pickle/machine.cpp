// SPDX-License-Identifier: Apache-2.0
// A pickle stream is a program of one-byte opcodes, each followed by its argument (opcodes.def):
//   PROTO n | FRAME length | values onto the stack | MARK … containers | PUT and GET of the memo | REDUCE … | STOP
#include "containers/pickle/machine.hpp"

#include <algorithm>
#include <array>

#include "base/arith.hpp"

namespace assay::pickle {

namespace {

using Handler = void (*)(Machine&, const Step&);

constexpr std::array<Handler, 256> kHandlers = [] {
  std::array<Handler, 256> handlers{};
#define ASSAY_PICKLE_OPCODE(byte, id, name, protocol, argument, effect) handlers[byte] = load_##id;
#include "containers/pickle/opcodes.def"
#undef ASSAY_PICKLE_OPCODE
  return handlers;
}();

// Offsets within the stream are kept in 32 bits.
constexpr std::uint64_t kMostBytes = 0xfffffff0;

ByteView clipped(ByteView stream, const Limits& limits) {
  const std::uint64_t most = std::min(limits.pickle_bytes, kMostBytes);
  return stream.size() > most ? stream.slice(0, static_cast<std::size_t>(most)) : stream;
}

// "%x" of an opcode, and as a letter where it is one.
std::string byte_name(std::byte byte) {
  const char c = static_cast<char>(byte);
  std::string text = hex(std::to_integer<std::uint64_t>(byte));
  if (c > ' ' && c < 0x7f) text += concat(" '", c, "'");
  return text;
}

}  // namespace

std::string a_kind(Kind kind) {
  if (kind == Kind::none) return "None";
  return concat(kind == Kind::integer || kind == Kind::big_integer || kind == Kind::extension ? "an " : "a ", kind_name(kind));
}

Node Memo::get(std::uint64_t index) const {
  if (index < near_.size() && near_[static_cast<std::size_t>(index)] != kNoNode) return near_[static_cast<std::size_t>(index)];
  if (far_.empty()) return kNoNode;
  const auto found = far_.find(index);
  return found == far_.end() ? kNoNode : found->second;
}

void Memo::put(std::uint64_t index, Node node) {
  if (index == near_.size() && far_.empty()) {
    near_.push_back(node);
    ++count_;
    return;
  }
  // Near is what keeps the array at most about half empty.
  if (index >= near_.size() && index <= 2 * std::uint64_t{count_} + 1024) near_.resize(static_cast<std::size_t>(index) + 1, kNoNode);
  if (index >= near_.size()) {
    count_ += far_.insert_or_assign(index, node).second;
    return;
  }
  Node& entry = near_[static_cast<std::size_t>(index)];
  if (entry == kNoNode && (far_.empty() || far_.erase(index) == 0)) ++count_;
  entry = node;
}

Machine::Machine(Graph::Data& data_in, const Limits& limits_in)
    : data(data_in), limits(limits_in), stream(clipped(data_in.stream, limits_in)) {}

void Machine::complain(Code code, std::string_view text) {
  if (!data.broken) data.broken = Error(code, concat(row ? row->name : "pickle", ' ', text)).at(stream.offset(opcode_at));
}

void Machine::fail(Code code, std::string_view text) {
  complain(code, text);
  ended = true;
}

void Machine::limit(std::string_view what, std::uint64_t most) {
  fail(Code::limit_exceeded, concat("exceeds the limit of ", most, ' ', what));
}

bool Machine::underflow(std::size_t n) {
  malformed(concat("needs ", counted(n, "stack item", "stack items"), ", ", stack.size() - fence(),
                   marks.empty() ? " are there" : " are above the mark"));
  return false;
}

bool Machine::take_mark(std::size_t& start) {
  if (marks.empty()) {
    malformed("finds no mark on the stack");
    return false;
  }
  start = marks.back();
  marks.pop_back();
  return true;
}

bool Machine::take_target_mark(std::size_t& start) {
  if (!take_mark(start)) return false;
  if (start > fence()) return true;
  malformed("finds nothing to change below its mark");
  return false;
}

Node Machine::add(Kind kind, std::uint64_t value) {
  if (data.cells.size() >= limits.pickle_nodes) {
    limit("values", limits.pickle_nodes);
    return kNoNode;
  }
  Cell cell;
  cell.value = value;
  cell.offset = static_cast<std::uint32_t>(opcode_at);
  cell.kind = kind;
  if (kind == Kind::list || kind == Kind::dict || kind == Kind::set || kind == Kind::bytearray) cell.flags = kUnhashable;
  data.cells.push_back(cell);
  return static_cast<Node>(data.cells.size() - 1);
}

Node Machine::add_characters(Kind kind, const Characters& where) {
  const Node n = add(kind, where.at);
  if (n == kNoNode) return n;
  data.cells[n].size = where.size;
  if (where.in_stream) data.cells[n].flags |= kInStream;
  return n;
}

bool Machine::extend(Sequence& s, std::span<const Node> more) {
  // A grown run takes at most twice its size anew, and leaves its old place unused.
  const std::uint64_t most = std::min<std::uint64_t>(std::uint64_t{limits.pickle_nodes} * 4, 1u << 31);
  if (data.children.size() + 2 * (s.size + std::uint64_t{more.size()}) > most) {
    limit("references between values", most);
    return false;
  }
  data.extend(s, more);
  return true;
}

void Machine::push_container(Kind kind, std::span<const Node> items) {
  const Node n = add(kind);
  if (n == kNoNode) return;
  Sequence s;
  if (!extend(s, items)) return;
  data.cells[n].set_sequence(s);
  if (kind == Kind::tuple && std::ranges::any_of(items, [this](Node item) { return unhashable(item); })) data.cells[n].flags |= kUnhashable;
  // The items are still on the stack: they are the topmost.
  stack.resize(stack.size() - items.size());
  push(n);
}

void Machine::log(EventKind kind, Node node, Node other) {
  if (data.events.size() >= limits.pickle_nodes) return limit("events", limits.pickle_nodes);
  data.events.push_back({kind, node, other, stream.offset(opcode_at)});
}

bool Machine::open_kind(Node n) const {
  const Kind k = kind(n);
  return k == Kind::global || k == Kind::call || k == Kind::persistent || k == Kind::extension || k == Kind::buffer;
}

void Machine::refuse_step(const Step& step) {
  if (step.status == StepStatus::unknown_opcode) return malformed(concat("has no opcode ", byte_name(stream[opcode_at])));
  if (step.status == StepStatus::negative_length)
    return malformed(concat("has a negative length, ", static_cast<std::int64_t>(step.number)));
  data.ends_early = true;
  if (stream.size() < data.stream.size()) {
    limit("bytes of pickle", stream.size());
  } else if (!step.row) {
    fail(Code::truncated, concat("ends after ", stream.size(), " bytes without STOP"));
  } else if (step.row->argument == Argument::line || step.row->argument == Argument::two_lines) {
    fail(Code::truncated, concat("has no end of line in the ", step.argument_size, " bytes left"));
  } else {
    fail(Code::truncated, concat("needs ", counted(step.number, "byte", "bytes"), ", ", step.argument_size, " are left"));
  }
}

void Machine::check_frame(const Step& step) {
  if (opcode_at >= frame_end) {
    frame_end = 0;
  } else if (step.next > frame_end) {
    complain(Code::malformed_pickle, concat("at ", opcode_at, " crosses the end of its frame at ", frame_end));
    data.crosses_frame = true;
    frame_end = 0;
  }
}

void Machine::trace(const Step& step) {
  if (ended && !data.reached_stop) return;  // the opcode broke a rule and did nothing
  const Node top = data.reached_stop ? data.root : stack.empty() ? kNoNode : stack.back();
  const Traced traced{step, opcode_at, position, *graph, top, stack.size(), marks.size(), std::exchange(memo_index, kNoMemo)};
  if (!tracer->step(traced)) ended = true;
}

void Machine::run() {
  while (!ended) {
    opcode_at = position;
    const Step step = next_opcode(stream, position);
    row = step.row;
    if (step.status != StepStatus::ok) [[unlikely]] {
      data.crosses_frame |= frame_end > opcode_at && step.status == StepStatus::truncated;
      refuse_step(step);
      break;
    }
    if (frame_end != 0) check_frame(step);
    position = step.next;
    kHandlers[row->byte](*this, step);
    if (tracer != nullptr) [[unlikely]]
      trace(step);
  }
  data.end = data.reached_stop ? position : opcode_at;
  if (!data.broken) return;
  if (data.reached_stop) data.salvage = std::exchange(data.root, kNoNode);
  else salvage();
}

// Gives the containers that were being filled what waits for them on the stack, from the topmost mark down. Pairs whose key is no
// text are left: without their SETITEMS nothing tells what they were.
void Machine::salvage() {
  if (stack.empty()) return;
  data.salvage = stack.front();
  const auto give = [this](Node target, std::span<const Node> waiting) {
    Cell& cell = data.cells[target];
    const std::span<const Node> pairs = waiting.first(waiting.size() & ~std::size_t{1});
    if (cell.kind == Kind::list || cell.kind == Kind::dict) {
      Sequence s = cell.sequence();
      if (extend(s, cell.kind == Kind::list ? waiting : pairs)) data.cells[target].set_sequence(s);
    } else if (cell.kind == Kind::call && !pairs.empty() && kind(pairs.front()) == Kind::text) {
      extend(data.calls[cell.value].pairs, pairs);
    }
  };
  while (!marks.empty()) {
    const std::size_t start = marks.back();
    marks.pop_back();
    if (start > fence()) give(stack[start - 1], above(start));
    stack.resize(start);
  }
  // Without marks, each pair waits for its SETITEM: dict, key, dict, key, value.
  while (stack.size() >= 3 && kind(stack[stack.size() - 2]) == Kind::text) {
    give(stack[stack.size() - 3], above(stack.size() - 2));
    stack.resize(stack.size() - 2);
  }
}

// Marks, memo and the end.

void load_mark(Machine& m, const Step&) {
  if (m.stack.size() + m.marks.size() >= m.limits.pickle_stack) return m.limit("stack items", m.limits.pickle_stack);
  m.marks.push_back(m.stack.size());
}

void load_stop(Machine& m, const Step&) {
  if (!m.need(1)) return;
  m.data.root = m.pop();
  m.data.left_on_stack = m.stack.size() + m.marks.size();
  m.data.reached_stop = m.ended = true;
}

void load_pop(Machine& m, const Step&) {
  if (!m.marks.empty() && m.marks.back() == m.stack.size()) m.marks.pop_back();
  else if (m.need(1)) m.pop();
}

void load_pop_mark(Machine& m, const Step&) {
  std::size_t start;
  if (m.take_mark(start)) m.drop(start);
}

void load_dup(Machine& m, const Step&) {
  if (m.need(1)) m.push(m.top());
}

namespace {

void get(Machine& m, std::uint64_t index) {
  m.memo_index = index;
  const Node n = m.memo.get(index);
  if (n == kNoNode) return m.malformed(concat(index, " at a memo entry that was never set"));
  m.push(n);
}

void put(Machine& m, std::uint64_t index) {
  if (!m.need(1)) return;
  m.memo_index = index;
  if (m.memo.size() >= m.limits.pickle_memo) return m.limit("memo entries", m.limits.pickle_memo);
  m.memo.put(index, m.top());
}

// The index of a text PUT or GET: what int() makes of it, if that is an index at all.
bool index_of(Machine& m, const Step& step, std::uint64_t& index) {
  const std::string_view text = m.argument(step);
  const IntText number = text.empty() ? IntText{} : parse_int(text, 10, 4300);
  if (number.valid && number.fits && number.small >= 0) {
    index = static_cast<std::uint64_t>(number.small);
    return true;
  }
  if (number.valid) m.malformed(concat("with memo index ", escape(text, 40), ", which no memo has"));
  else m.malformed(concat("with memo index '", escape(text, 40), "', which is no number"));
  return false;
}

}  // namespace

void load_get(Machine& m, const Step& step) {
  std::uint64_t index;
  if (index_of(m, step, index)) get(m, index);
}
void load_binget(Machine& m, const Step& step) { get(m, step.number); }
void load_long_binget(Machine& m, const Step& step) { get(m, step.number); }

void load_put(Machine& m, const Step& step) {
  std::uint64_t index;
  if (m.need(1) && index_of(m, step, index)) put(m, index);
}
void load_binput(Machine& m, const Step& step) { put(m, step.number); }
void load_long_binput(Machine& m, const Step& step) { put(m, step.number); }
void load_memoize(Machine& m, const Step&) { put(m, m.memo.size()); }

void load_proto(Machine& m, const Step& step) {
  constexpr std::uint64_t kHighest = 5;
  m.protocol = static_cast<int>(step.number);
  m.data.protocol = std::max(m.data.protocol, m.protocol);
  if (step.number > kHighest)
    m.complain(Code::malformed_pickle, concat(step.number, " is above protocol ", kHighest, ", the highest there is"));
}

void load_frame(Machine& m, const Step& step) {
  const std::size_t left = m.stream.size() - m.position;
  if (m.frame_end != 0 && m.position < m.frame_end)
    m.complain(Code::malformed_pickle, concat("starts ", m.frame_end - m.position, " bytes before the end of another frame"));
  if (m.frame_end > m.position && step.number > m.frame_end - m.position) m.data.crosses_frame = true;
  m.frame_end = 0;
  if (step.number > left) {
    if (m.stream.size() < m.data.stream.size()) return;  // the bytes' limit will tell
    return m.complain(Code::truncated, concat("of ", step.number, " bytes, ", left, " are left"));
  }
  m.frame_end = m.position + static_cast<std::size_t>(step.number);
}

void Machine::skip_raw(Node object) {
  if (raw == nullptr || ended) return;
  const std::size_t left = stream.size() - position;
  const auto [skip, size] = raw->raw_bytes(*graph, object, stream.from(position));
  if (skip == 0 && size == 0) return;
  if (!within(skip, size, left)) {
    data.ends_early = true;
    return fail(Code::truncated, size == ~std::uint64_t{0} ? std::string("is followed by an array whose size cannot be told")
                                                           : concat("is followed by ", size, " bytes of an array, ", left, " are left"));
  }
  const std::size_t at = position + static_cast<std::size_t>(skip);
  if (kind(object) == Kind::call) {
    const Node bytes = add_characters(Kind::bytes, in_stream(at, static_cast<std::size_t>(size)));
    if (bytes == kNoNode || !extend(data.calls[data.cells[object].value].items, {&bytes, 1})) return;
  }
  position = at + static_cast<std::size_t>(size);
  if (position >= frame_end) frame_end = 0;
}

namespace {
Graph parse_into(Graph graph, const Limits& limits, RawReader* raw = nullptr, Tracer* tracer = nullptr) {
  // A typical stream has a value every 5 to 10 bytes, and a call or an import every 30; what it claims is not looked at.
  graph.data().cells.reserve(std::min<std::size_t>(graph.data().stream.size() / 7, 1u << 16));
  graph.data().events.reserve(std::min<std::size_t>(graph.data().stream.size() / 28, 1u << 14));
  Machine machine(graph.data(), limits);
  machine.graph = &graph;
  machine.raw = raw;
  machine.tracer = tracer;
  machine.run();
  return graph;
}
}  // namespace

Graph parse(ByteView stream, const Limits& limits) {
  Graph graph;
  graph.data().stream = stream;
  return parse_into(std::move(graph), limits);
}

Graph parse(ByteBlock stream, const Limits& limits) {
  Graph graph;
  graph.data().owned = std::move(stream);
  graph.data().stream = graph.data().owned.view();
  return parse_into(std::move(graph), limits);
}

Graph parse(ByteBlock stream, const Limits& limits, RawReader& raw) {
  Graph graph;
  graph.data().owned = std::move(stream);
  graph.data().stream = graph.data().owned.view();
  return parse_into(std::move(graph), limits, &raw);
}

Graph parse(ByteView stream, const Limits& limits, RawReader& raw) {
  Graph graph;
  graph.data().stream = stream;
  return parse_into(std::move(graph), limits, &raw);
}

Graph trace(ByteView stream, const Limits& limits, RawReader* raw, Tracer& tracer) {
  Graph graph;
  graph.data().stream = stream;
  return parse_into(std::move(graph), limits, raw, &tracer);
}

}  // namespace assay::pickle
