// SPDX-License-Identifier: Apache-2.0
// A zip's bytes: local headers, what pads them, data, descriptors, the directory's entries and the records that end it.
#include <algorithm>
#include <array>

#include "base/arith.hpp"
#include "base/endian.hpp"
#include "base/try.hpp"
#include "containers/zip.hpp"
#include "containers/zip_layout.hpp"
#include "formats/maps.hpp"

namespace assay::formats {

namespace {

using model::ByteMapBuilder;
using model::PartKind;

constexpr std::uint16_t kTorchPadding = 0x4246;  // "FB": aligns what follows

/// Fields of an extra field { id u16, n u16, n bytes } that torch pads with are told apart from those that say something.
void map_extra(ByteMapBuilder& map, ByteView extra, std::string_view name) {
  for (std::size_t at = 0; at < extra.size();) {
    const bool whole = extra.size() - at >= 4;
    const std::size_t n = whole ? std::min<std::size_t>(extra.size() - at, std::size_t{4} + load_le<std::uint16_t>(extra.data() + at + 2))
                                : extra.size() - at;
    const bool pads = whole && load_le<std::uint16_t>(extra.data() + at) == kTorchPadding;
    map.add(pads ? PartKind::padding : PartKind::local_header, extra.offset(at), n, name);
    at += n;
  }
}

/// The length of the descriptor at `at`, told by the numbers that the directory knows; 0 where there is none.
Result<std::uint64_t> descriptor_size(const ByteSource& source, const zip::Member& member, std::uint64_t at) {
  constexpr std::uint64_t kLongest = 24;
  if ((member.flags & zip::kHasDescriptor) == 0 || at >= source.size()) return 0;
  ASSAY_TRY(const ByteBlock block, source.fetch(at, std::min(kLongest, source.size() - at)));
  const ByteView bytes = block.view();
  const std::size_t mark = bytes.size() >= 4 && load_le<std::uint32_t>(bytes.data()) == zip::kDescriptor ? 4 : 0;
  if (bytes.size() >= mark + 20 && load_le<std::uint64_t>(bytes.data() + mark + 4) == member.packed_size &&
      load_le<std::uint64_t>(bytes.data() + mark + 12) == member.size)
    return mark + 20;
  if (bytes.size() >= mark + 12 && load_le<std::uint32_t>(bytes.data() + mark + 4) == static_cast<std::uint32_t>(member.packed_size))
    return mark + 12;
  return mark == 0 ? 0 : std::min<std::uint64_t>(16, bytes.size());
}

Result<void> map_member(ByteMapBuilder& map, const zip::Member& member) {
  const ByteSource& source = map.source();
  const std::uint64_t at = member.header_offset;
  if (!within(at, zip::kLocalHeaderSize, source.size())) return {};
  std::array<std::byte, zip::kLocalHeaderSize> bytes;
  ASSAY_CHECK(source.read(at, bytes));
  const zip::LocalHeader local = zip::parse_local_header(bytes.data());
  if (local.signature != zip::kLocalHeader) return {};
  map.add(PartKind::local_header, at, zip::kLocalHeaderSize + local.name_size, member.name);
  const std::uint64_t extra_at = at + zip::kLocalHeaderSize + local.name_size;
  if (within(extra_at, local.extra_size, source.size())) {
    ASSAY_TRY(const ByteBlock extra, source.fetch(extra_at, local.extra_size));
    map_extra(map, extra.view(), member.name);
  }
  const std::uint64_t data = extra_at + local.extra_size;
  map.add(PartKind::member, data, member.packed_size, member.name);
  const auto behind = checked_add(data, member.packed_size);
  if (!behind) return {};
  ASSAY_TRY(const std::uint64_t descriptor, descriptor_size(source, member, *behind));
  map.add(PartKind::descriptor, *behind, descriptor, member.name);
  return {};
}

/// Entries up to the first that is none, then the end records.
void map_directory(ByteMapBuilder& map, ByteView bytes) {
  std::size_t at = 0;
  const auto left = [&] { return bytes.size() - at; };
  const auto is = [&](std::uint32_t signature, std::size_t size) {
    return left() >= size && load_le<std::uint32_t>(bytes.data() + at) == signature;
  };
  while (is(zip::kEntry, zip::kEntrySize)) {
    const std::byte* p = bytes.data() + at;
    at += std::min(left(),
                   zip::kEntrySize + load_le<std::uint16_t>(p + 28) + load_le<std::uint16_t>(p + 30) + load_le<std::uint16_t>(p + 32));
  }
  map.add(PartKind::directory, bytes.offset(), at, "central directory");
  const auto record = [&](std::size_t size, std::string_view name) {
    map.add(PartKind::end_record, bytes.offset(at), std::min(size, left()), name);
    at += std::min(size, left());
  };
  // Bytes between the entries and the records belong to nobody.
  while (at < bytes.size()) {
    if (is(zip::kZip64End, zip::kZip64EndSize)) {
      const std::uint64_t said = load_le<std::uint64_t>(bytes.data() + at + 4);
      record(said <= left() ? static_cast<std::size_t>(said) + 12 : zip::kZip64EndSize, "ZIP64 end record");
    } else if (is(zip::kZip64Locator, zip::kZip64LocatorSize)) {
      record(zip::kZip64LocatorSize, "ZIP64 locator");
    } else if (is(zip::kEndRecord, zip::kEndRecordSize)) {
      record(zip::kEndRecordSize + load_le<std::uint16_t>(bytes.data() + at + 20), "end record");
    } else {
      ++at;
    }
  }
}

}  // namespace

Result<void> map_zip(ByteMapBuilder& map, const Limits& limits) {
  ASSAY_TRY(const zip::Directory directory, zip::read_directory(map.source(), limits));
  for (const zip::Member& member : directory.members) ASSAY_CHECK(map_member(map, member));
  if (directory.cut) ASSAY_CHECK(map_member(map, *directory.cut));
  if (directory.salvaged || directory.end_offset <= directory.directory_offset) return {};
  ASSAY_TRY(const ByteBlock block, map.source().fetch(directory.directory_offset, directory.end_offset - directory.directory_offset));
  map_directory(map, block.view());
  return {};
}

}  // namespace assay::formats
