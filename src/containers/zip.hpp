// SPDX-License-Identifier: Apache-2.0
// A zip archive's directory, read as torch reads it, with every oddity told.
//
//   [prefix] { local header (30 + name + extra), data, [descriptor] } …  central directory  [ZIP64 end record + locator]  end record
//   [suffix]
//
// The central directory decides. Local headers are read only when a member's data offset is asked for: listing must not touch
// one page per member.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "assay/finding.hpp"
#include "assay/limits.hpp"
#include "assay/source.hpp"
#include "assay/tensor.hpp"
#include "base/arena.hpp"

namespace assay::zip {

enum class Method : std::uint16_t { stored = 0, deflated = 8 };

struct Member {
  std::string_view name = {};       ///< as the directory spells it; lives in the Directory
  std::uint64_t header_offset = 0;  ///< of the local header, absolute in the file (any prefix added)
  std::uint64_t packed_size = 0;    ///< bytes in the file
  std::uint64_t size = 0;           ///< bytes when unpacked
  std::uint64_t entry_offset = 0;   ///< of its directory entry, absolute; the local header again when salvaged
  std::uint32_t crc = 0;            ///< 0 means unknown: torch can be told not to compute it
  std::uint16_t method = 0;
  std::uint16_t flags = 0;
  bool salvaged = false;  ///< found by local header because the directory is lost
  bool link = false;      ///< marked as a symbolic link of Unix, whose data is its target
  /// Said by bit 0 (encrypted), 6 (strong encryption) or 13 (masked headers). A flag can lie: a copy of the member without these bits
  /// reads the bytes as they are.
  bool encrypted() const { return (flags & 0x2041) != 0; }
};

/// One archive's members in directory order.
class Directory {
 public:
  std::vector<Member> members;
  std::uint64_t prefix = 0;            ///< bytes before the archive starts
  bool moved = false;                  ///< by bytes that its own offsets do not know of
  std::uint64_t directory_offset = 0;  ///< absolute; of the lost directory: the file's end
  std::uint64_t entries_end = 0;       ///< just behind the last entry that was read, absolute; the file's end where salvaged
  std::uint64_t records_offset = 0;    ///< of the end records: the ZIP64 one where there is one, absolute
  std::uint64_t end_record = 0;        ///< of the classic end record, absolute
  std::uint64_t end_offset = 0;        ///< just behind the end record and its comment, absolute
  bool salvaged = false;               ///< no usable directory: members are those found whole behind their local headers
  /// The member in which a salvaged file ends, not among `members`: packed_size is how many bytes of it are there (a descriptor's first
  /// bytes may be among them), size what its header claims, 0 when only the lost descriptor told.
  std::optional<Member> cut;
  Findings findings;  ///< ambiguities and damage that do not stop the listing

  /// The first member of this name, ASCII case ignored, '\\' taken as '/', as torch's miniz finds it. Null when there is none.
  const Member* find(std::string_view name) const;

 private:
  friend Result<Directory> read_directory(const ByteSource&, const Limits&);
  friend class DirectoryReader;
  std::shared_ptr<const void> names_;   // what the members' names point into
  std::vector<std::uint64_t> by_name_;  // hash of the folded name << 32 | member index, sorted; equal hashes by folded name
};

/// Reads the directory: the end record is searched from the back (64 KiB, then 1 MiB), ZIP64 followed, a shifted archive (prefix bytes)
/// recognised. Of several records the last whose directory stands where it says wins, as in torch and Python. Without a usable one the
/// local headers are walked and `salvaged` is set, with a `truncated` or `bad-zip` finding. Fails with `bad-zip` when there is nothing to
/// list, `limit-exceeded`, and what reading fails with. Cost: the tail and the directory; a salvage of a torch file scans all of it.
Result<Directory> read_directory(const ByteSource& source, const Limits& limits);

/// Where archives that fill the file, one behind the other and with nothing between, begin; nothing when it is not so. Cost: the tail and
/// directory of each. Fails only as reading does.
Result<std::vector<std::uint64_t>> find_chain(const ByteSource& source, const Limits& limits);

/// Absolute offset of the member's first data byte, from its LOCAL header (name and extra lengths differ from the directory's).
/// Checks that [offset, offset + packed_size) lies in the file. Fails with `bad-zip`, `truncated`, `encrypted-member`.
Result<std::uint64_t> data_offset(const ByteSource& source, const Member& member);

/// The member's bytes, unpacked; stored members in place where the source allows. `max_size` bounds what is inflated. The CRC is not
/// checked. Fails as data_offset does, and with `unsupported-compression`, `limit-exceeded`, `inflate-failed`.
Result<ByteBlock> read_member(const ByteSource& source, const Member& member, std::uint64_t max_size, const Limits& limits);

/// The most that read_member should unpack of a member that will be parsed: its values take many times its size, so that what deflates to
/// next to nothing is not believed.
std::uint64_t most_parsed(const Member& member, const Limits& limits);

/// A Storage for a member that holds tensor data: a plain range when stored, an inflating producer when deflated.
/// `file` and `key` are the caller's. Fails as data_offset does, and with `unsupported-compression`, `limit-exceeded`. Cost: one read of 30
/// bytes.
Result<Storage> storage_of(const ByteSource& source, const Member& member, const Limits& limits);

/// A run of bytes, absolute.
struct Gap {
  std::uint64_t begin = 0, end = 0;
};
/// What no record of the archive accounts for: between members, their descriptors taken off, before and behind the directory's entries, in
/// the end records. Bytes before the archive and behind its end are not among them. Cost: two small reads per member.
Result<std::vector<Gap>> find_gaps(const ByteSource& source, const Directory& directory);

/// Members whose local headers stand in [begin, end) and which the directory does not list. A size that only a descriptor would tell
/// reaches to the next record, or to `end`. At most `most` of them. Cost: reads all of the bytes.
Result<Directory> find_unlisted(const ByteSource& source, const Directory& directory, Gap where, std::size_t most);

/// What the local headers say otherwise than the directory: `name-mismatch`, `ambiguous-archive` (method, encryption, sizes and CRC where
/// the local header claims any), `bad-zip` (no header there). Cost: two small reads per member, so not part of listing. Fails only as
/// reading does.
Result<Findings> compare_local_headers(const ByteSource& source, const Directory& directory);

}  // namespace assay::zip
