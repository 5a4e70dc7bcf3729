// SPDX-License-Identifier: Apache-2.0
#include "formats/maps.hpp"

#include <algorithm>

#include "base/arena.hpp"
#include "base/arith.hpp"
#include "base/endian.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "containers/npy.hpp"
#include "containers/tar.hpp"
#include "containers/zip.hpp"
#include "formats/torch/legacy_stream.hpp"

namespace assay::formats {

namespace {

using model::ByteMap;
using model::ByteMapBuilder;
using model::PartKind;

}  // namespace

/// The length, the JSON, and the blanks behind it that align the data.
Result<void> map_safetensors(ByteMapBuilder& map, const Limits&) {
  constexpr std::uint64_t kLengthBytes = 8, kMostBlanks = 4096;
  const ByteSource& source = map.source();
  if (source.size() < kLengthBytes) return {};
  ASSAY_TRY(const ByteBlock first, source.fetch(0, kLengthBytes));
  const std::uint64_t length = std::min(load_le<std::uint64_t>(first.view().data()), source.size() - kLengthBytes);
  const std::uint64_t looked_at = std::min(length, kMostBlanks);
  ASSAY_TRY(const ByteBlock tail, source.fetch(kLengthBytes + length - looked_at, looked_at));
  std::uint64_t blanks = 0;
  while (blanks < looked_at && tail.view()[static_cast<std::size_t>(looked_at - blanks - 1)] == std::byte{' '}) ++blanks;
  map.add(PartKind::header, 0, kLengthBytes, "header length");
  map.add(PartKind::header, kLengthBytes, length - blanks, "header JSON");
  map.add(PartKind::padding, kLengthBytes + length - blanks, blanks, "header blanks");
  return {};
}

/// Five pickles; then the storages, each behind its count. A storage that no tensor is on is what remains between the counts.
Result<void> map_torch_legacy(ByteMapBuilder& map, const Limits& limits) {
  const ByteSource& source = map.source();
  std::uint64_t at = 0;
  for (const std::string_view name : {"magic number", "protocol version", "system information", "object", "storage keys"}) {
    ASSAY_TRY(const torch::PickleAt pickle, torch::read_pickle_at(source, at, source.size(), limits));
    map.add(PartKind::pickle, at, pickle.end() - at, name);
    at = pickle.end();
    if (pickle.graph->broken()) return {};
  }
  Arena texts;
  const auto stream = torch::read_legacy_stream(source, 0, source.size(), texts, limits);
  if (!stream || stream->end <= at) return {};
  map.add(PartKind::unused, at, stream->end - at, "storages");
  for (const Storage& storage : map.checkpoint().storages)
    if (!storage.producer && storage.offset >= at + sizeof(std::uint64_t))
      map.add(PartKind::count, storage.offset - sizeof(std::uint64_t), sizeof(std::uint64_t), storage.key);
  if (stream->end >= source.size() || stream->broken) return {};
  ASSAY_TRY(const torch::PickleAt next, torch::read_pickle_at(source, stream->end, source.size(), limits, torch::kSmallPickleWindow));
  if (torch::is_legacy_magic(*next.graph)) map.add(PartKind::pickle, stream->end, source.size() - stream->end, "another torch.save stream");
  return {};
}

/// Headers, with the records that belong to them, members, and the zeros that fill their last block and end the archive. Writers fill up
/// to a multiple of 10240 bytes.
Result<void> map_torch_tar(ByteMapBuilder& map, const Limits& limits) {
  constexpr std::uint64_t kBlock = 512, kRecord = 10240;
  const auto archive = tar::read_archive(map.source(), limits);
  if (!archive) return {};
  std::uint64_t at = 0;
  for (const tar::Member& member : archive->members) {
    if (member.offset < at) continue;
    map.add(PartKind::header, at, member.offset - at, member.name);
    map.add(PartKind::member, member.offset, member.size, member.name);
    const std::uint64_t end = member.offset + member.size, fill = (kBlock - end % kBlock) % kBlock;
    map.add(PartKind::padding, end, fill, member.name);
    at = end + fill;
  }
  if (archive->end_offset > at) map.add(PartKind::end_record, at, archive->end_offset - at, "end of the archive");
  const std::uint64_t left = map.source().size() - std::min(archive->end_offset, map.source().size());
  if (left == 0 || left > kRecord) return {};
  ASSAY_TRY(const ByteBlock rest, map.source().fetch(archive->end_offset, left));
  if (std::ranges::all_of(rest.view().span(), [](std::byte b) { return b == std::byte{0}; }))
    map.add(PartKind::padding, archive->end_offset, left);
  return {};
}

/// Each array's header; the pickle of an array of objects.
Result<void> map_npy(ByteMapBuilder& map, const Limits& limits) {
  constexpr std::uint64_t kHead = 12;
  const ByteSource& source = map.source();
  for (std::uint64_t at = 0, i = 0; source.size() - at >= kHead; ++i) {
    ASSAY_TRY(const ByteBlock head, source.fetch(at, kHead));
    const auto size = npy::is_npy(head.view()) ? npy::header_size(head.view()) : Result<std::uint64_t>(0);
    if (!size || *size == 0 || !within(at, *size, source.size())) return {};
    ASSAY_TRY(const ByteBlock bytes, source.fetch(at, *size));
    const auto header = npy::parse_header(bytes.view(), limits);
    map.add(PartKind::header, at, *size, i == 0 ? std::string("array") : concat("array.", i));
    if (!header) return {};
    at += header->data_offset;
    if (header->has_objects) {
      ASSAY_TRY(const torch::PickleAt pickle, torch::read_pickle_at(source, at, source.size(), limits));
      map.add(PartKind::pickle, at, pickle.end() - at, "objects");
      at = pickle.end();
    } else {
      const auto data = npy::data_size(*header);
      if (!data || !within(at, *data, source.size())) return {};
      at += *data;
    }
  }
  return {};
}

Result<void> map_pickle(ByteMapBuilder& map, const Limits& limits) {
  const ByteSource& source = map.source();
  for (std::uint64_t at = 0; at < source.size();) {
    ASSAY_TRY(const torch::PickleAt pickle, torch::read_pickle_at(source, at, source.size(), limits, torch::kPickleWindow, true));
    if (at > 0 && !pickle.graph->reached_stop()) break;
    map.add(PartKind::pickle, at, pickle.end() - at, at == 0 ? "" : "another pickle");
    if (!pickle.graph->reached_stop() || pickle.end() <= at) break;
    at = pickle.end();
  }
  return {};
}

/// Tables stand between and around the storages.
Result<void> map_torch_mobile(ByteMapBuilder& map, const Limits&) {
  map.add(PartKind::member, 0, map.source().size(), "module");
  return {};
}

/// The metadata is a pickle; what it describes are archives one behind the other, or a safetensors file.
Result<void> map_dcp(ByteMapBuilder& map, const Limits& limits) {
  const ByteSource& source = map.source();
  ASSAY_TRY(const ByteBlock head, source.fetch(0, std::min<std::uint64_t>(source.size(), 4)));
  if (head.view().text().starts_with('\x80')) return map_pickle(map, limits);
  if (!head.view().text().starts_with("PK")) return map_safetensors(map, limits);
  ASSAY_TRY(const std::vector<std::uint64_t> begins, zip::find_chain(source, limits));
  for (std::size_t i = 0; i < begins.size(); ++i) {
    const std::uint64_t end = i + 1 < begins.size() ? begins[i + 1] : source.size();
    map.add(PartKind::member, begins[i], end - begins[i], concat("bytes at ", begins[i]));
  }
  return {};
}

}  // namespace assay::formats

namespace assay::model {

namespace {

Result<ByteMap> map_file(const Checkpoint& checkpoint, std::uint32_t file, const Limits& limits) {
  ByteMapBuilder builder(checkpoint, file);
  const formats::Format* const format = formats::find_format(checkpoint.format);
  const bool described = format != nullptr && format->map != nullptr;
  if (described) ASSAY_CHECK(format->map(builder, limits));
  return builder.finish(described);
}

/// What a map of a file of a set refers to.
struct Owned {
  Checkpoint checkpoint;
  std::shared_ptr<const void> names;
};

}  // namespace

Result<std::vector<ByteMap>> map_bytes(const FileSet& files, const Checkpoint& checkpoint, const Limits& limits) {
  std::vector<ByteMap> maps;
  const formats::Format* const format = formats::find_format(checkpoint.format);
  if (checkpoint.files.size() == 1 && format != nullptr && format->map != nullptr) {
    ASSAY_TRY(ByteMap map, map_file(checkpoint, 0, limits));
    maps.push_back(std::move(map));
    return maps;
  }
  for (const CheckpointFile& file : checkpoint.files) {
    auto opened = formats::open_single(files, file.name, file.source, limits);
    if (!opened && opened.error().code() == Code::need_range) return fail(std::move(opened).error());
    if (!opened) continue;
    auto owned = std::make_shared<Owned>(*std::move(opened), nullptr);
    ASSAY_TRY(ByteMap map, map_file(owned->checkpoint, 0, limits));
    owned->names = std::move(map.owner);
    map.owner = std::move(owned);
    map.file = file.name;
    maps.push_back(std::move(map));
  }
  return maps;
}

}  // namespace assay::model
