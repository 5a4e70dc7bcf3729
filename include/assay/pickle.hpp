// SPDX-License-Identifier: Apache-2.0
// A pickle as data: a graph of values and a log of what loading it would import and call. Nothing is ever called.
//
// The machine follows CPython's C unpickler opcode for opcode (all 68, protocols 0 to 5). A GLOBAL is a name. A call (REDUCE,
// NEWOBJ, NEWOBJ_EX, INST, OBJ) is a node that keeps its callable and arguments; what BUILD, APPENDS and SETITEMS later do to
// it is kept on the same node. Values are nodes in flat arrays, addressed by 32-bit handles and shared, never copied: a cycle
// or a billion-laughs memo costs what the file costs. A walk must count nodes, not paths.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "assay/limits.hpp"
#include "assay/result.hpp"
#include "assay/source.hpp"

namespace assay::pickle {

/// A value's handle within its Graph.
using Node = std::uint32_t;
inline constexpr Node kNoNode = 0xffffffff;

enum class Kind : std::uint8_t {
  none,
  boolean,
  integer,      ///< fits 64 bits, signed
  big_integer,  ///< beyond 64 bits; bytes() is two's complement, little endian
  real,
  text,   ///< str; UTF-8, lone surrogates as the 3-byte form
  bytes,  ///< bytes, and Python 2 str that is not UTF-8
  bytearray,
  list,
  tuple,
  dict,
  set,
  frozenset,
  global,      ///< an imported name, not resolved
  call,        ///< the result of calling callable() with args(): an inert record
  persistent,  ///< persistent_load(item(0)); torch's storages
  extension,   ///< copyreg extension; integer() is its code
  buffer,      ///< NEXT_BUFFER: out-of-band data that is not in the file
};
std::string_view kind_name(Kind kind);

/// How a call node came to be.
enum class CallKind : std::uint8_t { reduce, newobj, newobj_ex, inst, obj };

enum class EventKind : std::uint8_t {
  import_,     ///< node is the global
  call,        ///< node is the call
  build,       ///< node is the object, other its state
  persistent,  ///< node is the persistent node
  extension,   ///< node is the extension
  mutate,      ///< items were added to something that is not a plain list, dict or set: node; other is the first of them
};
struct Event {
  EventKind kind;
  Node node;
  Node other = kNoNode;
  std::uint64_t offset;  ///< absolute in the file, of the opcode
};

struct GlobalName {
  std::string_view module, name;  ///< as written in the file
};

/// One parsed stream. Text and byte contents point into the graph's own storage or into the stream's bytes, which the graph
/// keeps alive when it was given ownership of them. kNoNode may be asked about: it answers like None, and is empty.
class Graph {
 public:
  Graph();
  ~Graph();
  Graph(Graph&&) noexcept;
  Graph& operator=(Graph&&) noexcept;

  /// The object the stream ends with; kNoNode when it broke before STOP.
  Node root() const;
  /// root(), or of a broken stream the lowest item on the stack, with the items that waited behind it for their APPENDS or
  /// SETITEMS: a state dict cut in the middle lists the tensors before the cut. kNoNode when nothing was on the stack.
  Node salvage_root() const;
  std::size_t node_count() const;
  Kind kind(Node n) const;
  /// Absolute file offset of the opcode that made the node.
  std::uint64_t offset(Node n) const;

  // Plain values. Each answers for its kinds only; elsewhere false, 0 or "".
  bool boolean(Node n) const;
  std::int64_t integer(Node n) const;
  double real(Node n) const;
  std::string_view text(Node n) const;  ///< text; also bytes kinds, as raw characters
  ByteView bytes(Node n) const;         ///< text, bytes, bytearray, big_integer; offset() is absolute where in_stream(n), else the opcode's
  bool in_stream(Node n) const;         ///< text() and bytes() stand in the file as such, without escapes

  // Containers: list, tuple, set, frozenset by item; dict by key and value, duplicates kept in file order. A call answers with
  // what APPENDS (items) and SETITEMS (pairs) put into it afterwards, and a persistent node with its id as item 0.
  std::size_t length(Node n) const;  ///< items, or pairs of a dict
  Node item(Node n, std::size_t i) const;
  std::size_t pair_count(Node n) const;  ///< pairs of a dict or a call
  Node key(Node n, std::size_t i) const;
  Node value(Node n, std::size_t i) const;
  /// The value of the last pair whose key is this text; kNoNode when there is none. Cost: linear.
  Node get(Node n, std::string_view key) const;

  /// As written. A name that STACK_GLOBAL took from a call or another unknown value is "": it is known only when loading.
  GlobalName global(Node n) const;
  /// What a loader looks up: below protocol 3 CPython maps Python 2's names (`__builtin__ xrange` is `builtins range`).
  GlobalName mapped_global(Node n) const;
  CallKind call_kind(Node n) const;
  Node callable(Node n) const;  ///< of a call
  Node args(Node n) const;      ///< of a call: its argument tuple; of unknown kind when the file computes it
  Node kwargs(Node n) const;    ///< of a NEWOBJ_EX call
  /// BUILD states applied to a node, in order. Any kind of node may have some.
  std::span<const Node> states(Node n) const;
  /// True for a call of `module.name`, Python 2 names mapped to Python 3's.
  bool is_call(Node n, std::string_view module, std::string_view name) const;
  bool is_global(Node n, std::string_view module, std::string_view name) const;

  const std::vector<Event>& events() const;
  int protocol() const;                ///< the highest PROTO seen; 0 without one
  std::uint64_t begin_offset() const;  ///< absolute, of the first opcode
  std::uint64_t end_offset() const;    ///< absolute, just behind STOP, or where the stream broke
  bool reached_stop() const;
  std::size_t left_on_stack() const;  ///< items and marks below the result at STOP
  /// The first rule broken; the nodes and events before it are there. CPython would have stopped here, having run all before.
  /// Rules that some readers do not hold (a protocol above 5, frame lengths, buffers that are not at hand) do not end the parse:
  /// what such readers would run is in the log too, behind the broken offset.
  const std::optional<Error>& broken() const;
  /// The bytes ended before STOP: more of them would have been read.
  bool ends_early() const;
  /// An argument reaches over the end of its frame: readers disagree on the bytes that follow (containers/pickle/frames.hpp).
  bool crosses_frame() const;

  struct Data;
  Data& data() { return *data_; }  ///< for the machine
  const Data& data() const { return *data_; }

 private:
  std::unique_ptr<Data> data_;
};

/// Parses one stream from the start of `stream` up to its STOP; what follows is the caller's. A malformed or truncated stream gives
/// a graph whose broken() says so. The graph refers to `stream`: keep the bytes alive, or hand them over below.
Graph parse(ByteView stream, const Limits& limits = {});
/// The same, with the bytes owned by the graph.
Graph parse(ByteBlock stream, const Limits& limits = {});

/// Bytes between the opcodes that are no part of the pickle.
struct Inlay {
  std::uint64_t skip = 0;  ///< padding to step over
  std::uint64_t size = 0;  ///< what stands behind it; it becomes a bytes node, the last item(…) of the object it belongs to
};
/// What some loaders read from the stream past the pickle machine: joblib puts an array's bytes right behind the BUILD of its wrapper.
class RawReader {
 public:
  virtual ~RawReader() = default;
  /// What stands behind the BUILD of `object`, which left `rest` of the stream; {} for nothing.
  virtual Inlay raw_bytes(const Graph& graph, Node object, ByteView rest) = 0;
};
/// The same, stepping over what `raw` says.
Graph parse(ByteView stream, const Limits& limits, RawReader& raw);
Graph parse(ByteBlock stream, const Limits& limits, RawReader& raw);

/// A value as short text for messages and metadata: {'a': 1, 'b': collections.OrderedDict()}. Cut with "…" behind about
/// `max_bytes`; cycles and deep nesting are "…" too. Cost: that of the text.
std::string describe(const Graph& graph, Node n, std::size_t max_bytes = 200);

}  // namespace assay::pickle
