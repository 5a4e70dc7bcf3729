// SPDX-License-Identifier: Apache-2.0
// What a persistent id says about a storage.
//
//   ("storage", class, key, location, numel)                  zip; the key is a text, an integer in torch.package
//   ("storage", class, key, location, numel, view_metadata)   legacy; view_metadata is None or (view key, offset, numel), in elements
//   "('storage', <class 'torch.FloatStorage'>, '0', 'cpu', 3)"  the same as Python's repr: protocol 0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "assay/dtype.hpp"
#include "base/arena.hpp"
#include "base/arith.hpp"
#include "formats/torch/nodes.hpp"

namespace assay::formats::torch {

/// Bytes of what torch counts as one element of a storage: of the packed kinds a byte, whatever it holds.
inline std::uint64_t storage_unit(DType dtype) { return bits_to_bytes(dtype_bits(dtype)); }

struct StorageId {
  std::string_view class_name;              ///< "FloatStorage", without its module
  DType dtype = DType::unknown;             ///< the class's; U8 for untyped ones
  bool untyped = false;                     ///< the elements' dtype stands elsewhere; numel counts bytes
  std::string_view key;                     ///< its name in the container; only ever compared with names, never a path
  std::string_view location;                ///< "cpu", "cuda:0", "meta"
  std::uint64_t numel = 0;                  ///< elements of `dtype`; hostile until compared with the storage
  std::uint64_t view_offset = 0;            ///< elements into the storage
  std::optional<std::uint64_t> view_numel;  ///< set when the id means only this part of the storage

  /// The bytes claimed from the storage's start, the view's end where there is one; nothing on overflow.
  std::optional<std::uint64_t> claimed_bytes() const;
};

/// Reads a persistent node. Fails with `malformed-tensor` for ids of another form. Texts live in the graph or in `arena`.
Result<StorageId> read_storage_id(const Graph& graph, Node persistent, Arena& arena);

}  // namespace assay::formats::torch
