// SPDX-License-Identifier: Apache-2.0
#include "formats/torch/dcp_items.hpp"

#include <algorithm>
#include <array>

#include "base/arith.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "bytes/window.hpp"
#include "formats/safetensors.hpp"
#include "formats/torch_zip.hpp"

namespace assay::formats::torch {

namespace {

class ItemFinder final : public ChunkFinder {
 public:
  ItemFinder(std::shared_ptr<const DcpFile> file, DcpItem item) : file_(std::move(file)), item_(std::move(item)) {}
  Result<ChunkData> find() const override;

 private:
  Result<ChunkData> data_of(const Checkpoint& checkpoint, const Tensor& tensor, std::uint64_t base) const;

  std::shared_ptr<const DcpFile> file_;
  DcpItem item_;
};

Result<ChunkData> ItemFinder::data_of(const Checkpoint& checkpoint, const Tensor& tensor, std::uint64_t base) const {
  const auto wrong = [&](Code code, std::string what) { return fail(Error(code, std::move(what)).at(item_.offset)); };
  if (!tensor.readable) {
    for (const Finding& finding : checkpoint.findings.list())
      if (finding.where.tensor == tensor.name) return wrong(finding.code, finding.message);
    return wrong(Code::malformed_tensor, "the chunk cannot be read");
  }
  const auto sizes = sizes_in_values(item_.dtype, item_.sizes);
  if (tensor.dtype != item_.dtype || !sizes || !std::ranges::equal(tensor.shape, *sizes))
    return wrong(Code::size_mismatch, concat("the chunk is ", dtype_name(tensor.dtype), ' ', bracketed(tensor.shape),
                                             ", the metadata says ", dtype_name(item_.dtype), ' ', bracketed(sizes.value_or(item_.sizes))));
  const bool pairs = item_.dtype == DType::f4;
  if (pairs && !tensor.contiguous()) return wrong(Code::unsupported, "the chunk's 4-bit values have gaps");
  if (tensor.storage == kNone || tensor.conj || tensor.neg || tensor.quantizer != kNone)
    return wrong(Code::unsupported, "the chunk is no plain tensor");
  const Storage& storage = checkpoint.storages[tensor.storage];
  const std::uint64_t unit = bits_to_bytes(dtype_bits(tensor.dtype));
  if (storage.big_endian && unit > 1) return wrong(Code::unsupported, "the chunk is of the other byte order");
  ChunkData data{file_->source(), base + storage.offset, {}};
  if (storage.producer) {
    ASSAY_TRY(const ByteBlock bytes, storage.producer->load(*checkpoint.files[storage.file].source));
    const auto span = bytes.view().span();
    data = {std::make_shared<MemorySource>(std::vector<std::byte>(span.begin(), span.end())), 0, {}};
  }
  data.offset += pairs ? tensor.storage_offset / 2 : tensor.storage_offset * unit;
  if (!tensor.contiguous()) data.stride.assign(tensor.stride.begin(), tensor.stride.end());
  return data;
}

Result<ChunkData> ItemFinder::find() const {
  const auto& source = file_->source();
  std::array<std::byte, 4> head{};
  if (item_.length >= head.size()) ASSAY_CHECK(source->read(item_.offset, head));
  if (ByteView(head, 0).text() == "PK\3\4") {
    const auto part = std::make_shared<PartSource>(source, item_.offset, item_.length);
    ASSAY_TRY(const Checkpoint checkpoint, open_nested_torch_zip(part, file_->name(), file_->limits(), item_.name));
    if (checkpoint.tensors.size() != 1)
      return fail(
          Error(Code::malformed_tensor, concat("the item holds ", checkpoint.tensors.size(), " tensors, not one")).at(item_.offset));
    return data_of(checkpoint, checkpoint.tensors[0], item_.offset);
  }
  ASSAY_TRY(const Checkpoint* const whole, file_->as_safetensors());
  if (whole == nullptr)
    return fail(Error(Code::malformed_tensor, "the item is neither a torch.save file nor part of a safetensors file").at(item_.offset));
  const Tensor* const tensor = whole->find(item_.name);
  if (tensor == nullptr) return fail(Error(Code::missing_storage, concat(quote(item_.name), " is not in the safetensors file")));
  return data_of(*whole, *tensor, 0);
}

}  // namespace

DcpFile::~DcpFile() { delete safetensors_.load(); }

Result<const Checkpoint*> DcpFile::as_safetensors() const {
  if (const Checkpoint* const known = safetensors_.load(std::memory_order_acquire)) return known;
  ASSAY_TRY(const ByteBlock head, source_->fetch(0, std::min<std::uint64_t>(source_->size(), 4096)));
  if (probe_safetensors({.name = name_, .size = source_->size(), .head = head.view(), .tail = {}}).score == 0) return nullptr;
  const SourceSet set(name_, name_);
  auto opened = open_safetensors({set, name_, source_, limits_});
  if (!opened) return fail(std::move(opened).error());
  auto mine = std::make_unique<const Checkpoint>(*std::move(opened));
  const Checkpoint* expected = nullptr;
  if (safetensors_.compare_exchange_strong(expected, mine.get(), std::memory_order_acq_rel)) return mine.release();
  return expected;
}

std::optional<std::vector<std::uint64_t>> sizes_in_values(DType dtype, std::vector<std::uint64_t> sizes) {
  if (dtype != DType::f4) return sizes;
  if (sizes.empty()) sizes.push_back(1);
  const auto doubled = checked_mul(sizes.back(), 2);
  if (!doubled) return std::nullopt;
  sizes.back() = *doubled;
  return sizes;
}

std::shared_ptr<const ChunkFinder> make_dcp_chunk(std::shared_ptr<const DcpFile> file, DcpItem item) {
  return std::make_shared<ItemFinder>(std::move(file), std::move(item));
}

}  // namespace assay::formats::torch
