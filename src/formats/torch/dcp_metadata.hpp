// SPDX-License-Identifier: Apache-2.0
// The .metadata pickle of a distributed checkpoint, protocol 4 or 5, objects by NEWOBJ and BUILD:
//
//   Metadata {state_dict_metadata: {name: TensorStorageMetadata {properties, size, chunks} or BytesStorageMetadata}, planner_data,
//             storage_data: {MetadataIndex {fqn, offset, index}: _StorageInfo {relative_path, offset, length[, transform_descriptors]}}, …}
//   chunks      [ChunkStorageMetadata {offsets, sizes}, …]
//   properties  TensorProperties built with (dtype, layout, requires_grad, memory format, pin_memory)
//
// Since 1.13, under several module names; only the classes' own names count here. MetadataIndex has no offset where it means a bytes entry.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "assay/dtype.hpp"
#include "assay/limits.hpp"
#include "formats/torch/nodes.hpp"

namespace assay::formats::torch {

struct DcpBox {
  std::vector<std::uint64_t> offsets, sizes;
};

struct DcpEntry {
  std::string_view name;
  bool tensor = false;  ///< otherwise bytes: some pickled value
  DType dtype = DType::unknown;
  std::string_view dtype_text;  ///< "float32"
  std::vector<std::uint64_t> shape;
  std::vector<DcpBox> chunks;
  std::optional<Error> fault;  ///< why it cannot be understood
};

/// Where the bytes of a chunk or a value are.
struct DcpPlace {
  std::optional<std::vector<std::uint64_t>> offsets;  ///< of the chunk
  std::string_view file;
  std::uint64_t offset = 0, length = 0;
  std::string transform;  ///< what the bytes went through; "" for nothing
};

struct DcpMetadata {
  std::vector<DcpEntry> entries;                                       ///< in the file's order
  std::unordered_map<std::string_view, std::vector<DcpPlace>> places;  ///< by name, sorted by offsets
  std::vector<std::string_view> files;                                 ///< each once, in the order they are met
  /// The place of a chunk; of a bytes entry without `offsets`. Null when there is none.
  const DcpPlace* find(std::string_view name, const std::vector<std::uint64_t>* offsets) const;
};

/// True for bytes that start such a pickle.
bool is_dcp_metadata(ByteView head);

/// Adds what another rank says where every rank wrote a metadata of its own. A tensor's chunks add up; where both have the same chunk, or
/// the same value, the first counts. `twice` gets the names of the tensors that this concerned.
void merge(DcpMetadata& into, DcpMetadata from, std::unordered_set<std::string_view>& twice);

/// Texts live in the graph. Fails with `malformed-pickle` where the object is not a Metadata; entries that make no sense carry a fault.
Result<DcpMetadata> read_dcp_metadata(const Graph& graph, const Limits& limits);

}  // namespace assay::formats::torch
