// SPDX-License-Identifier: Apache-2.0
// What torch.save wrote from 0.1.10 to 1.5, and on request until today. Pickles and data follow each other without padding or index:
//
//   pickle  the integer 0x1950a86a20f9469cfc6c
//   pickle  the integer 1001
//   pickle  {"protocol_version": 1001, "little_endian": bool, "type_sizes": {…}}; loaders look at none of it
//   pickle  the object; persistent ids name storages (storage_id.hpp), or a module's class with its source
//   pickle  [key, …], the order of what follows
//   for each key: i64 element count, then count * element size bytes; little endian on every machine
//
// How large an element is stands in the first persistent id of the key.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "formats/torch/pickle_at.hpp"
#include "formats/torch/stream_storages.hpp"

namespace assay::formats::torch {

struct LegacyStream {
  PickleAt object;
  StreamStorages storages;
  std::vector<Finding> findings;  ///< sizes that disagree, keys that nothing uses
  /// Why the object or what follows it is not all there; what was found before it counts.
  std::optional<Error> broken;
  std::string cut;            ///< where a file that ends too early ends: "8 of 16 bytes into storage '140'"
  std::uint64_t missing = 0;  ///< bytes, as far as the persistent ids tell
  std::uint64_t end = 0;  ///< absolute: just behind the last storage; when cut, behind what is there of them; without meaning when broken
};

/// True when the pickle is the number that a legacy stream starts with.
bool is_legacy_magic(const Graph& graph);

/// Reads the stream in [begin, end). Data is passed over; a storage's count that is not at hand (`need-range`) is taken from its persistent
/// id where all of them together fill the file exactly. Texts live in `arena` or in the object's graph. Fails with `bad-header` when it
/// does not start with the magic number, `truncated` or `malformed-pickle` when it breaks before the object, and as reading does.
/// Precondition: begin <= end <= source.size().
Result<LegacyStream> read_legacy_stream(const ByteSource& source, std::uint64_t begin, std::uint64_t end, Arena& arena,
                                        const Limits& limits);

}  // namespace assay::formats::torch
