// SPDX-License-Identifier: Apache-2.0
// Looking over the machine's shoulder: every opcode as it was carried out, for the disassembler.
#pragma once

#include "assay/pickle.hpp"
#include "containers/pickle/opcodes.hpp"

namespace assay::pickle {

inline constexpr std::uint64_t kNoMemo = ~std::uint64_t{0};

/// One opcode, after it did its work. `step.row` is set.
struct Traced {
  const Step& step;
  std::size_t position;  ///< of the opcode, from the stream's start
  std::size_t next;      ///< where the next one starts; beyond step.next where a loader reads raw bytes between
  const Graph& graph;    ///< as far as it is built
  Node top;              ///< of the stack; kNoNode when that is empty. Behind STOP the result
  std::size_t stack;     ///< items
  std::size_t marks;
  std::uint64_t memo;  ///< the entry it set or fetched; kNoMemo for other opcodes
};

class Tracer {
 public:
  virtual ~Tracer() = default;
  /// False ends the parse here.
  virtual bool step(const Traced& traced) = 0;
};

/// pickle::parse with a tracer. The opcode at which a stream breaks is not traced: the graph's broken() tells of it. `raw` may be null.
Graph trace(ByteView stream, const Limits& limits, RawReader* raw, Tracer& tracer);

}  // namespace assay::pickle
