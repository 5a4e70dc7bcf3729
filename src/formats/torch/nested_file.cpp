// SPDX-License-Identifier: Apache-2.0
#include "formats/torch/nested_file.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/arena.hpp"
#include "base/arith.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "bytes/window.hpp"
#include "formats/torch_zip.hpp"

namespace assay::formats::torch {

namespace {

/// A storage of the nested file, read from it rather than from the outer file.
class NestedBytes final : public Producer {
 public:
  NestedBytes(std::shared_ptr<const ByteSource> file, Storage storage) : file_(std::move(file)), storage_(std::move(storage)) {}
  Result<ByteBlock> load(const ByteSource&) const override {
    if (storage_.producer) return storage_.producer->load(*file_);
    return file_->fetch(storage_.offset, storage_.nbytes);
  }

 private:
  std::shared_ptr<const ByteSource> file_;
  Storage storage_;
};

struct Nested {
  std::shared_ptr<ByteSource> file;
  std::optional<std::uint64_t> begin;  // in the outer file; nothing when it was inflated
};

Result<Nested> open_member(const Archive& archive, const zip::Member& member) {
  if (member.method == 0) {
    ASSAY_TRY(const std::uint64_t begin, zip::data_offset(*archive.source, member));
    return Nested{std::make_shared<PartSource>(archive.source, begin, member.packed_size), begin};
  }
  ASSAY_TRY(const ByteBlock block, zip::read_member(*archive.source, member, archive.limits.inflate_bytes, archive.limits));
  const auto bytes = block.view().span();
  return Nested{std::make_shared<MemorySource>(std::vector<std::byte>(bytes.begin(), bytes.end())), std::nullopt};
}

void absorb(Checkpoint& checkpoint, Checkpoint&& part, const Nested& nested, std::uint32_t file, std::string_view member) {
  const auto storages = static_cast<std::uint32_t>(checkpoint.storages.size());
  const auto quantizers = static_cast<std::uint32_t>(checkpoint.quantizers.size());
  const auto move = [&](Tensor& tensor) {
    if (tensor.storage != kNone) tensor.storage += storages;
    if (tensor.quantizer != kNone) tensor.quantizer += quantizers;
  };
  for (Storage& storage : part.storages) {
    if (!nested.begin || storage.producer) storage.producer = std::make_shared<NestedBytes>(nested.file, storage);
    storage.offset += nested.begin.value_or(0);
    storage.file = file;
    checkpoint.storages.push_back(std::move(storage));
  }
  for (Quantizer& quantizer : part.quantizers) {
    move(quantizer.scales);
    move(quantizer.zero_points);
    checkpoint.quantizers.push_back(quantizer);
  }
  for (Tensor& tensor : part.tensors) {
    move(tensor);
    checkpoint.tensors.push_back(tensor);
  }
  for (const MetadataEntry& entry : part.metadata) checkpoint.metadata.push_back(entry);
  for (Finding finding : part.findings.list()) {
    finding.where.member = finding.where.member.empty() ? std::string(member) : concat(member, "/", finding.where.member);
    if (nested.begin && finding.where.offset) finding.where.offset = *finding.where.offset + *nested.begin;
    else finding.where.offset.reset();
    if (file != 0) finding.where.file = checkpoint.files[file].name;
    checkpoint.add(std::move(finding));
  }
  checkpoint.complete = checkpoint.complete && part.complete;
  // An assigned {} would keep the memory.
  part.storages = std::vector<Storage>();
  part.tensors = std::vector<Tensor>();
  checkpoint.arena().keep(std::make_shared<Checkpoint>(std::move(part)));  // names and dimensions live in its arena
}

Result<void> list(const Nested& nested, std::uint32_t file, std::string_view member, std::string_view prefix, const Limits& limits,
                  Checkpoint& checkpoint) {
  auto part = open_nested_torch_zip(nested.file, member, limits, prefix);
  if (!part) {
    if (part.error().code() == Code::need_range) return fail(std::move(part).error());
    Finding finding = Finding::from(std::move(part).error().in_member(member));
    finding.where.file.clear();
    if (nested.begin && finding.where.offset) finding.where.offset = *finding.where.offset + *nested.begin;
    else finding.where.offset.reset();
    if (file < checkpoint.files.size() && file != 0) finding.where.file = checkpoint.files[file].name;
    checkpoint.add(std::move(finding));
    return {};
  }
  absorb(checkpoint, *std::move(part), nested, file, member);
  return {};
}

}  // namespace

Result<void> list_nested_file(const Archive& archive, const zip::Member& member, std::string_view prefix, Checkpoint& checkpoint) {
  auto nested = open_member(archive, member);
  if (!nested && nested.error().code() != Code::need_range) {
    checkpoint.add(Finding::from(std::move(nested).error().in_member(member.name)));
    return {};
  }
  if (!nested) return fail(std::move(nested).error());
  return list(*nested, 0, member.name, prefix, archive.limits, checkpoint);
}

Result<void> list_file_at(const std::shared_ptr<ByteSource>& whole, FilePart part, std::string_view prefix, const Limits& limits,
                          Checkpoint& checkpoint) {
  const Nested nested{std::make_shared<PartSource>(whole, part.begin, part.size), part.begin};
  return list(nested, part.file, concat("bytes at ", part.begin), prefix, limits, checkpoint);
}

}  // namespace assay::formats::torch
