// SPDX-License-Identifier: Apache-2.0
// A tensor that is stored in pieces: boxes of a grid, each somewhere in some file. Read as one source, a run of elements at a time; nothing
// is put together in memory.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "assay/limits.hpp"
#include "assay/tensor.hpp"

namespace assay::formats {

/// Where a chunk's elements are.
struct ChunkData {
  std::shared_ptr<const ByteSource> source;
  std::uint64_t offset = 0;             ///< of its first element, bytes
  std::vector<std::uint64_t> stride{};  ///< in elements; empty means row-major without gaps
};

/// Finds a chunk's data when it is first read. Must be safe from several threads and give the same answer every time.
class ChunkFinder {
 public:
  virtual ~ChunkFinder() = default;
  virtual Result<ChunkData> find() const = 0;
};

struct Chunk {
  std::vector<std::uint64_t> offsets, sizes;  ///< of the box, in elements; as many as the tensor has dimensions
  std::shared_ptr<const ChunkFinder> finder;
  std::string_view file;  ///< named by errors; must live as long
};

/// What the chunks of a tensor cover of it, in elements.
struct Coverage {
  bool known = true;              ///< false where there are too many chunks to tell
  std::uint64_t missing = 0;      ///< in no chunk
  std::uint64_t overlapping = 0;  ///< in more than one
  bool same_boxes = false;        ///< all that overlaps are boxes stored more than once
};
/// Precondition: the chunks lie within the shape. Cost: bounded.
Coverage coverage(std::span<const std::uint64_t> shape, const std::vector<Chunk>& chunks);

/// Precondition: the chunks lie within the shape and cover it. `unit` is the bytes of an element. `overlaps` says that some overlap: the
/// first counts then, at the price of a read per element where they are not the same box.
std::shared_ptr<const Producer> join_chunks(std::vector<std::uint64_t> shape, std::uint64_t unit, std::vector<Chunk> chunks,
                                            bool overlaps = false);

/// A finder of what is known already.
std::shared_ptr<const ChunkFinder> chunk_at(ChunkData data);

}  // namespace assay::formats
