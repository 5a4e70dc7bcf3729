// SPDX-License-Identifier: Apache-2.0
// Bytes of an archive that its directory says nothing of, and the members that stand there.
#include <algorithm>
#include <array>
#include <cstring>
#include <unordered_set>

#include "base/arith.hpp"
#include "base/endian.hpp"
#include "base/sort.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "containers/zip_layout.hpp"

namespace assay::zip {

namespace {

constexpr std::size_t kLongestDescriptor = 24;
constexpr std::uint32_t kRecords[] = {kLocalHeader, kDescriptor, kEntry, kZip64End, kZip64Locator, kEndRecord};

/// Bytes of the descriptor that stands at `at`, before `end`; 0 where what stands there is none of this member.
Result<std::uint64_t> descriptor_size(const ByteSource& source, const Member& member, std::uint64_t at, std::uint64_t end) {
  if (!(member.flags & kHasDescriptor) || at >= end) return std::uint64_t{0};
  std::array<std::byte, kLongestDescriptor> bytes{};
  const std::size_t there = static_cast<std::size_t>(std::min<std::uint64_t>(kLongestDescriptor, end - at));
  ASSAY_CHECK(source.read(at, std::span(bytes).first(there)));
  for (const std::size_t lead : {4, 0}) {
    if (lead != 0 && load_le<std::uint32_t>(bytes.data()) != kDescriptor) continue;
    for (const std::size_t width : {8, 4}) {
      const std::size_t n = lead + 4 + 2 * width;
      const std::byte* p = bytes.data() + lead;
      const auto number = [&](std::size_t i) -> std::uint64_t {
        return width == 4 ? load_le<std::uint32_t>(p + i) : load_le<std::uint64_t>(p + i);
      };
      if (n <= there && load_le<std::uint32_t>(p) == member.crc && number(4) == member.packed_size && number(4 + width) == member.size)
        return n;
    }
  }
  return std::uint64_t{0};
}

/// Just behind the member's data, its local header believed; nothing when it has none.
Result<std::optional<std::uint64_t>> data_end(const ByteSource& source, const Member& member) {
  if (!within(member.header_offset, kLocalHeaderSize, source.size())) return std::nullopt;
  std::array<std::byte, kLocalHeaderSize> bytes;
  ASSAY_CHECK(source.read(member.header_offset, bytes));
  const LocalHeader local = parse_local_header(bytes.data());
  if (local.signature != kLocalHeader) return std::nullopt;
  const std::uint64_t data = member.header_offset + kLocalHeaderSize + local.name_size + local.extra_size;
  return checked_add(data, member.packed_size);
}

}  // namespace

Result<std::vector<Gap>> find_gaps(const ByteSource& source, const Directory& directory) {
  struct Owned {
    std::uint64_t begin, end;
    const Member* member;
  };
  std::vector<Owned> owned;
  owned.reserve(directory.members.size() + 3);
  const auto own = [&](const Member& member) -> Result<void> {
    ASSAY_TRY(const auto end, data_end(source, member));
    if (end) owned.push_back({member.header_offset, *end, &member});
    return {};
  };
  for (const Member& member : directory.members) ASSAY_CHECK(own(member));
  if (directory.cut) ASSAY_CHECK(own(*directory.cut));
  owned.push_back({directory.directory_offset, directory.entries_end, nullptr});
  if (directory.records_offset != directory.end_record) {
    owned.push_back({directory.records_offset, directory.records_offset + kZip64EndSize, nullptr});
    owned.push_back({directory.end_record - kZip64LocatorSize, directory.end_record, nullptr});
  }
  owned.push_back({directory.end_record, directory.end_offset, nullptr});
  sort_stable(owned, [](const Owned& a, const Owned& b) { return a.begin != b.begin ? a.begin < b.begin : a.end < b.end; });
  std::vector<Gap> gaps;
  std::uint64_t at = directory.prefix;
  const Member* last = nullptr;
  for (const Owned& next : owned) {
    if (next.begin > at) {
      std::uint64_t begin = at;
      if (last != nullptr) {
        ASSAY_TRY(const std::uint64_t descriptor, descriptor_size(source, *last, at, next.begin));
        begin += descriptor;
      }
      if (begin < next.begin) gaps.push_back({begin, next.begin});
    }
    if (next.end >= at) at = next.end, last = next.member;
  }
  return gaps;
}

Result<Directory> find_unlisted(const ByteSource& source, const Directory& directory, Gap where, std::size_t most) {
  Directory found;
  found.salvaged = true;
  const auto names = std::make_shared<Arena>();
  std::unordered_set<std::uint64_t> listed;
  for (const Member& member : directory.members) listed.insert(member.header_offset);
  if (directory.cut) listed.insert(directory.cut->header_offset);
  ASSAY_TRY(const ByteBlock block, source.view(where.begin, where.end - where.begin));
  const ByteView bytes = block.view();
  const std::string_view text = bytes.text();
  const auto next_record = [&](std::size_t from) {
    for (std::size_t i = from; (i = text.find("PK", i)) != std::string_view::npos && bytes.size() - i >= 4; ++i)
      if (std::ranges::find(kRecords, load_le<std::uint32_t>(bytes.data() + i)) != std::end(kRecords)) return i;
    return bytes.size();
  };
  for (std::size_t i = 0; found.members.size() < most && (i = text.find(std::string_view("PK\3\4", 4), i)) != std::string_view::npos; ++i) {
    const std::uint64_t at = where.begin + i;
    if (listed.contains(at) || bytes.size() - i < kLocalHeaderSize) continue;
    const LocalHeader local = parse_local_header(bytes.data() + i);
    const std::size_t rest = std::size_t{local.name_size} + local.extra_size;
    if (rest > bytes.size() - i - kLocalHeaderSize) continue;
    const std::size_t data = i + kLocalHeaderSize + rest;
    WideNumbers numbers{.size = local.size, .packed = local.packed, .offset = 0};
    widen(bytes.slice(i + kLocalHeaderSize + local.name_size, local.extra_size), numbers);
    if ((local.flags & kHasDescriptor) && numbers.packed == 0) {
      numbers.packed = next_record(data) - data;
      if (local.method == 0) numbers.size = numbers.packed;
    }
    found.members.push_back({.name = names->text(bytes.slice(i + kLocalHeaderSize, local.name_size).text()),
                             .header_offset = at,
                             .packed_size = numbers.packed,
                             .size = numbers.size,
                             .entry_offset = at,
                             .crc = local.crc,
                             .method = local.method,
                             .flags = local.flags,
                             .salvaged = true});
  }
  DirectoryReader::keep_names(found, names);
  return found;
}

}  // namespace assay::zip
