// SPDX-License-Identifier: Apache-2.0
// A pickle that stands in a file without saying how long it is.
#pragma once

#include <cstdint>
#include <memory>

#include "assay/limits.hpp"
#include "formats/torch/nodes.hpp"

namespace assay::formats::torch {

struct PickleAt {
  std::shared_ptr<const Graph> graph;  ///< owns the bytes; broken() tells what is wrong with them
  ByteView bytes;                      ///< from the pickle's begin, and more behind its end

  std::uint64_t end() const { return graph->end_offset(); }  ///< absolute: just behind STOP, or where it broke
};

/// How much is read at first: up to the next multiple, so that a host that supplies ranges is asked for the same ones again.
inline constexpr std::uint64_t kPickleWindow = 65536;
inline constexpr std::uint64_t kSmallPickleWindow = 512;  ///< for many small pickles with data between them

/// Parses the pickle at `offset`, reading more and more of [offset, end) until its STOP or limits.pickle_bytes. `with_arrays`: arrays that
/// joblib put between the opcodes are passed over. Precondition: offset <= end <= source.size(). Fails only as reading does. Cost: at most
/// about twice the pickle's own size.
Result<PickleAt> read_pickle_at(const ByteSource& source, std::uint64_t offset, std::uint64_t end, const Limits& limits,
                                std::uint64_t window = kPickleWindow, bool with_arrays = false);

}  // namespace assay::formats::torch
