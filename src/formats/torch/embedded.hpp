// SPDX-License-Identifier: Apache-2.0
// Bytes that a pickle holds itself: numpy data, and the storages of tensors that were pickled without torch.save.
//
//   torch.storage._load_from_bytes(bytes): the bytes are a whole legacy stream (legacy_stream.hpp), its object one storage
#pragma once

#include <memory>
#include <optional>

#include "assay/tensor.hpp"
#include "formats/torch/storage_id.hpp"

namespace assay {
struct Limits;
}

namespace assay::formats::torch {

/// Bytes that stand in the pickle but not in the file as such: the pickle was inflated, or protocol 2 spelled them as Latin-1 text.
class PickledBytes final : public Producer {
 public:
  /// `size` of the bytes from `begin`. Precondition: they are within `raw`.
  PickledBytes(std::shared_ptr<const Graph> graph, RawBytes raw, std::uint64_t begin, std::uint64_t size)
      : graph_(std::move(graph)), raw_(raw), begin_(begin), size_(size) {}
  Result<ByteBlock> load(const ByteSource& file) const override;

 private:
  std::shared_ptr<const Graph> graph_;
  RawBytes raw_;
  std::uint64_t begin_, size_;
};

/// The bytes where they stand in the file; nothing where they do not, or there are none. `in_file` is the pickle's bytes in the file.
std::optional<ByteView> bytes_in_file(const Graph& graph, const RawBytes& raw, ByteView in_file);

/// True for a call of _load_from_bytes.
bool is_embedded(const Graph& graph, Node n);

struct EmbeddedStorage {
  StorageId id;     ///< texts live in the arena
  Storage storage;  ///< in place, or produced; `file` is the caller's
};
/// Reads the stream in a bytes node. Fails with `malformed-tensor` where there is none or its object is no storage, and as reading the
/// stream does; never with `need-range`. Cost: that of the stream's pickles, of all the bytes where they do not stand in the file.
Result<EmbeddedStorage> find_embedded(const std::shared_ptr<const Graph>& graph, Node bytes, ByteView in_file, Arena& arena,
                                      const Limits& limits);

}  // namespace assay::formats::torch
