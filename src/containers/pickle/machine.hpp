// SPDX-License-Identifier: Apache-2.0
// The pickle machine: stack, marks, memo and frames, with one load_x function per opcode. Internal to this folder.
//
// It follows CPython's C unpickler. The stack below the topmost mark is fenced off: nothing but the mark's own opcodes may reach
// it. Where CPython could only tell when loading (what a call returns), the machine goes on.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.hpp"
#include "containers/pickle/graph.hpp"
#include "containers/pickle/opcodes.hpp"
#include "containers/pickle/trace.hpp"

namespace assay::pickle {

/// Memo entries: low indices in an array, far ones in a map, so that a large index costs one entry.
class Memo {
 public:
  Node get(std::uint64_t index) const;
  void put(std::uint64_t index, Node node);
  std::size_t size() const { return count_; }

 private:
  std::vector<Node> near_;
  std::map<std::uint64_t, Node> far_;
  std::size_t count_ = 0;
};

struct Machine {
  Machine(Graph::Data& data_in, const Limits& limits_in);
  void run();

  // Breaking. `text` follows the opcode's name in the message.
  void fail(Code code, std::string_view text);
  void malformed(std::string_view text) { fail(Code::malformed_pickle, text); }
  void limit(std::string_view what, std::uint64_t most);
  /// Breaks the stream for CPython, but not the parse: other readers go on here.
  void complain(Code code, std::string_view text);
  void end() { ended = true; }

  // The stack. `need` breaks when fewer than n items are above the topmost mark.
  std::size_t fence() const { return marks.empty() ? 0 : marks.back(); }
  bool need(std::size_t n) { return stack.size() - fence() >= n || underflow(n); }
  Node top() const { return stack.back(); }
  Node pop() {
    const Node n = stack.back();
    stack.pop_back();
    return n;
  }
  void push(Node n) {
    if (n == kNoNode) return;
    if (stack.size() + marks.size() >= limits.pickle_stack) return limit("stack items", limits.pickle_stack);
    stack.push_back(n);
  }
  /// Takes the topmost mark: `start` is where its items begin.
  bool take_mark(std::size_t& start);
  /// As take_mark, for opcodes that change the item under the mark.
  bool take_target_mark(std::size_t& start);
  std::span<const Node> above(std::size_t start) const { return std::span(stack).subspan(start); }
  void drop(std::size_t start) { stack.resize(start); }

  // Making values. `add` makes the node; kNoNode when that breaks a limit.
  Node add(Kind kind, std::uint64_t value = 0);
  Node add_characters(Kind kind, const Characters& where);
  void push_new(Kind kind, std::uint64_t value = 0) { push(add(kind, value)); }
  void push_container(Kind kind, std::span<const Node> items);
  Characters in_stream(std::size_t at, std::size_t size) const { return {at, static_cast<std::uint32_t>(size), true}; }
  Characters in_scratch(std::size_t from) const { return {from, static_cast<std::uint32_t>(data.scratch.size() - from), false}; }
  bool extend(Sequence& s, std::span<const Node> more);
  void log(EventKind kind, Node node, Node other = kNoNode);

  std::string_view argument(const Step& step) const { return stream.slice(step.argument, step.argument_size).text(); }
  Kind kind(Node n) const { return data.cells[n].kind; }
  /// Not known before loading: what a call, a name, a persistent id, an extension or a buffer turns out to be.
  bool open_kind(Node n) const;
  bool unhashable(Node n) const { return (data.cells[n].flags & kUnhashable) != 0; }

  Graph::Data& data;
  const Limits& limits;
  ByteView stream;           // at most limits.pickle_bytes of data.stream
  std::size_t position = 0;  // behind the opcode at hand
  std::size_t opcode_at = 0;
  const Opcode* row = nullptr;  // the opcode at hand
  std::vector<Node> stack;
  std::vector<std::size_t> marks;
  Memo memo;
  std::size_t frame_end = 0;  // 0 outside frames
  int protocol = 0;           // the latest PROTO
  std::uint64_t long_digits = 0;
  bool ended = false;            // by STOP or a broken rule
  const Graph* graph = nullptr;  // whose data this is; set with `raw`
  RawReader* raw = nullptr;
  Tracer* tracer = nullptr;            ///< with `graph` set
  std::uint64_t memo_index = kNoMemo;  ///< of the opcode at hand
  /// Steps over what a loader reads by other means behind the BUILD of `object`.
  void skip_raw(Node object);

 private:
  bool underflow(std::size_t n);
  void refuse_step(const Step& step);
  void check_frame(const Step& step);
  void trace(const Step& step);
  void salvage();
};

#define ASSAY_PICKLE_OPCODE(byte, id, name, protocol, argument, effect) void load_##id(Machine& m, const Step& step);
#include "containers/pickle/opcodes.def"
#undef ASSAY_PICKLE_OPCODE

/// "an int", "a list", "None": a kind within a message.
std::string a_kind(Kind kind);

// Text and number arguments, apart from the machine so that tests reach them.

/// Python's int(text, base) for base 10, or 0 where the prefix tells: blanks around, one sign, underscores between digits.
struct IntText {
  bool valid = false;
  std::uint64_t digits = 0;  ///< without underscores
  bool fits = false;         ///< in `small`
  std::int64_t small = 0;
  std::string large;  ///< two's complement, little endian, where it does not fit
};
/// Nothing is computed when there are more than `most_digits`; then valid is true and digits tells.
IntText parse_int(std::string_view text, int base, std::uint64_t most_digits);
/// Python's float(text) without blanks and underscores. False when it is none, or too large for a double.
bool parse_float(std::string_view text, double& value);
/// Appends Python 2's string escapes undone; false with a reason when one is broken.
bool decode_string_escapes(std::string_view text, std::string& out, std::string& why);
/// Appends raw-unicode-escape as UTF-8; false with a reason when an escape is broken.
bool decode_raw_unicode(std::string_view text, std::string& out, std::string& why);
/// Valid UTF-8 but for surrogates in their 3-byte form.
bool valid_utf8_with_surrogates(std::string_view text);

}  // namespace assay::pickle
