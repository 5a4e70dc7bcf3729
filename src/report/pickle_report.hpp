// SPDX-License-Identifier: Apache-2.0
// How a pickle looks: its values as a tree, or its opcodes one a line. Both are written as they come; nothing follows the file's nesting.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "assay/pickle.hpp"
#include "report/json_writer.hpp"
#include "report/style.hpp"
#include "report/writer.hpp"

namespace assay::report {

/// How much of it to write.
struct PickleExtent {
  std::uint64_t rows = std::numeric_limits<std::uint64_t>::max();
  std::size_t depth = 64;    ///< of the value tree
  bool (*stop)() = nullptr;  ///< asked now and then
};

/// What was left out, for the caller to say.
struct PickleOmitted {
  bool rows = false;         ///< the output ends before the pickle does
  std::uint64_t deeper = 0;  ///< values with parts below the depth
};

/// The value tree: a line a value, `offset of its opcode  label: value`. A value that fits on its line stands on one; one that was shown
/// already is referred to by its offset.
PickleOmitted write_pickle_tree(Writer& out, const Style& style, const pickle::Graph& graph, const PickleExtent& extent);
/// Every value of the graph as a flat list, children by id: {"id", "kind", "offset", …}. As array members of `json`, or in
/// lines of `out`, each with the pickle's number.
PickleOmitted write_pickle_values(JsonWriter& json, const pickle::Graph& graph, const PickleExtent& extent);
PickleOmitted write_pickle_value_lines(Writer& out, const pickle::Graph& graph, std::uint64_t number, const PickleExtent& extent);

/// The disassembly of a stream: `offset  stack  OPCODE argument  result`, indented by marks. `raw` as for pickle::parse; may be null.
PickleOmitted write_pickle_ops(Writer& out, const Style& style, ByteView stream, const pickle::Graph& graph, pickle::RawReader* raw,
                               const Limits& limits, const PickleExtent& extent);
/// The same as objects: {"offset", "opcode", "argument", "stack", "marks", "memo", "mark"}.
PickleOmitted write_pickle_ops(JsonWriter& json, ByteView stream, pickle::RawReader* raw, const Limits& limits, const PickleExtent& extent);
PickleOmitted write_pickle_op_lines(Writer& out, ByteView stream, std::uint64_t number, pickle::RawReader* raw, const Limits& limits,
                                    const PickleExtent& extent);

/// Columns that offsets up to `end` take: "0x1f40".
std::size_t offset_width(std::uint64_t end);

}  // namespace assay::report
