// SPDX-License-Identifier: Apache-2.0
#include "values/runs.hpp"

#include "values/decode.hpp"

namespace assay::values {

std::optional<MappedRuns> MappedRuns::of(const Checkpoint& checkpoint, const Tensor& tensor, const Limits& limits) {
  if (!tensor.readable || tensor.stride.empty() || tensor.storage >= checkpoint.storages.size()) return std::nullopt;
  const Storage& storage = checkpoint.storages[tensor.storage];
  if (storage.producer || storage.big_endian || storage.file >= checkpoint.files.size()) return std::nullopt;
  const std::shared_ptr<ByteSource>& source = checkpoint.files[storage.file].source;
  auto layout = make_layout(tensor, storage.nbytes, limits);
  if (!source || !layout || layout->numel == 0 || layout->contiguous()) return std::nullopt;
  MappedRuns runs;
  runs.width_ = decoder(tensor.dtype).raw_size;
  runs.codes_ = decoder(tensor.dtype).reals;
  if (dtype_bits(tensor.dtype) != 8 * runs.width_ || layout->run() < 2 || layout->run() * runs.width_ < kLeastBytes) return std::nullopt;
  const auto [first, last] = layout->extent();
  const auto bytes = source->mapped(storage.offset + first * runs.width_, (last - first + 1) * runs.width_);
  if (!bytes) return std::nullopt;
  runs.low_byte_ = bytes->span().data();
  runs.low_ = first;
  runs.layout_ = *std::move(layout);
  return runs;
}

}  // namespace assay::values
