// SPDX-License-Identifier: Apache-2.0
// One entry of the directory, and what its numbers, its flags and its name say that readers take in different ways.
#include <optional>

#include "base/arith.hpp"
#include "base/endian.hpp"
#include "base/text.hpp"
#include "containers/zip_layout.hpp"

namespace assay::zip {

namespace {

/// The kind of file in the high bits of an entry's attributes, and the mark of a folder in the low ones.
constexpr std::uint32_t kUnixLink = 0xa, kDosFolder = 0x10;

/// True when no entry follows the one at `i` but one starts inside it: its lengths are wrong.
bool swallows_another(const ByteView& bytes, std::size_t i, std::size_t total) {
  const std::size_t end = i + total;
  if (end == bytes.size() || (bytes.size() - end >= 4 && load_le<std::uint32_t>(bytes.data() + end) == kEntry)) return false;
  return bytes.slice(i + kEntrySize, total - kEntrySize).text().find(std::string_view("PK\1\2", 4)) != std::string_view::npos;
}

}  // namespace

std::optional<Member> read_entry(const ByteView& bytes, std::size_t& i, std::uint64_t prefix, Findings& findings) {
  if (bytes.size() - i < kEntrySize) return std::nullopt;
  const std::byte* p = bytes.data() + i;
  if (load_le<std::uint32_t>(p) != kEntry) return std::nullopt;
  const std::size_t name = load_le<std::uint16_t>(p + 28), extra = load_le<std::uint16_t>(p + 30), comment = load_le<std::uint16_t>(p + 32);
  const std::size_t total = kEntrySize + name + extra + comment;
  if (total > bytes.size() - i || swallows_another(bytes, i, total)) return std::nullopt;
  Member member{.name = bytes.slice(i + kEntrySize, name).text(),
                .entry_offset = bytes.offset(i),
                .crc = load_le<std::uint32_t>(p + 16),
                .method = load_le<std::uint16_t>(p + 10),
                .flags = load_le<std::uint16_t>(p + 8),
                .link = load_le<std::uint32_t>(p + 38) >> 28 == kUnixLink};
  WideNumbers numbers{.size = load_le<std::uint32_t>(p + 24),
                      .packed = load_le<std::uint32_t>(p + 20),
                      .offset = load_le<std::uint32_t>(p + 42),
                      .wide_disk = load_le<std::uint16_t>(p + 34) == 0xffff};
  const auto bad = [&](std::string_view what) {
    add_finding(findings, Code::bad_zip, [&] {
      return Finding(Code::bad_zip, concat("member ", quote(member.name), ' ', what),
                     {.member = std::string(member.name), .offset = member.entry_offset});
    });
  };
  if (const std::uint16_t disk = load_le<std::uint16_t>(p + 34); disk > 1 && !numbers.wide_disk)
    bad(concat("is said to be on disk ", disk, " of a split archive; torch.load refuses that"));
  const Zip64Extra wide = widen(bytes.slice(i + kEntrySize + name, extra), numbers);
  if (wide == Zip64Extra::missing) bad("lacks the ZIP64 numbers that its entry points to");
  if (wide == Zip64Extra::twice) bad("has two ZIP64 fields; the first is taken");
  constexpr std::uint16_t kUtf8Name = 0x0800;
  if ((member.flags & kUtf8Name) != 0 && first_invalid_utf8(member.name) != std::string_view::npos)
    add_finding(findings, Code::odd_name, [&] {
      return Finding(Code::odd_name, concat("the name ", quote(member.name), " is marked as UTF-8 and is not; torch.load refuses that"),
                     {.member = std::string(member.name), .offset = member.entry_offset});
    });
  const bool folder = (load_le<std::uint32_t>(p + 38) & kDosFolder) != 0 || member.name.ends_with('/');
  if (folder && numbers.size != 0)
    add_finding(findings, Code::ambiguous_archive, [&] {
      return Finding(Code::ambiguous_archive,
                     concat("member ", quote(member.name), " is marked as a folder and has ", numbers.size,
                            " bytes; torch reads nothing of them and takes what its memory held before"),
                     {.member = std::string(member.name), .offset = member.entry_offset});
    });
  member.size = numbers.size;
  member.packed_size = numbers.packed;
  member.header_offset = checked_add(numbers.offset, prefix).value_or(~std::uint64_t{0});
  i += total;
  return member;
}

}  // namespace assay::zip
