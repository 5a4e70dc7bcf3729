// SPDX-License-Identifier: Apache-2.0
// The records of a zip archive as they lie in the file, for the parts of the zip reader. All numbers little-endian.
//
//   local header   PK\3\4  need u16, flags u16, method u16, time u32, crc u32, packed u32, size u32, name n u16, extra n u16, name, extra
//   descriptor     PK\7\8  crc u32, packed u32, size u32 (both u64 when the local header has a ZIP64 extra); some writers leave out PK\7\8
//   entry          PK\1\2  made u16, need u16, flags u16, method u16, time u32, crc u32, packed u32, size u32, name n u16, extra n u16,
//                          comment n u16, disk u16, attributes u16 u32, header offset u32, name, extra, comment
//   ZIP64 end      PK\6\6  record size u64 (after this field), made u16, need u16, disk u32 u32, entries u64 u64, size u64, offset u64
//   ZIP64 locator  PK\6\7  disk u32, offset of the ZIP64 end u64, disks u32
//   end record     PK\5\6  disk u16 u16, entries u16 u16, size u32, offset u32, comment n u16, comment
//   extra          { id u16, n u16, n bytes } …  ZIP64 is id 1: u64 for each of size, packed, offset (u32 for disk) that is all ones
//   outside
#pragma once

#include <cstddef>
#include <cstdint>

#include "assay/limits.hpp"
#include "assay/source.hpp"
#include "containers/zip.hpp"

namespace assay::zip {

inline constexpr std::uint32_t kLocalHeader = 0x04034b50;
inline constexpr std::uint32_t kDescriptor = 0x08074b50;
inline constexpr std::uint32_t kEntry = 0x02014b50;
inline constexpr std::uint32_t kZip64End = 0x06064b50;
inline constexpr std::uint32_t kZip64Locator = 0x07064b50;
inline constexpr std::uint32_t kEndRecord = 0x06054b50;

inline constexpr std::size_t kLocalHeaderSize = 30;
inline constexpr std::size_t kEntrySize = 46;
inline constexpr std::size_t kZip64EndSize = 56;
inline constexpr std::size_t kZip64LocatorSize = 20;
inline constexpr std::size_t kEndRecordSize = 22;

inline constexpr std::uint16_t kHasDescriptor = 0x0008;
inline constexpr std::uint16_t kEncryption = 0x2041;
inline constexpr std::uint16_t kPatch = 0x0020;  ///< of data that is a patch to another file

struct LocalHeader {
  std::uint32_t signature, crc, packed, size;
  std::uint16_t flags, method, name_size, extra_size;
};
/// From kLocalHeaderSize bytes; the signature is for the caller to check.
LocalHeader parse_local_header(const std::byte* p);

/// The numbers that a ZIP64 extra field can widen.
struct WideNumbers {
  std::uint64_t size, packed, offset;
  bool wide_disk = false;
};
enum class Zip64Extra : std::uint8_t { fine, missing, twice };
/// Replaces those of `numbers` that are 0xFFFFFFFF by what the extra field says.
Zip64Extra widen(ByteView extra, WideNumbers& numbers);

/// Reads the entry at `i`; nothing when the bytes left do not hold one. Advances `i`. `prefix` is added to the member's offset.
std::optional<Member> read_entry(const ByteView& bytes, std::size_t& i, std::uint64_t prefix, Findings& findings);

/// What makes a Directory whole after its members are known.
class DirectoryReader {
 public:
  static void keep_names(Directory& directory, std::shared_ptr<const void> names) { directory.names_ = std::move(names); }
  /// Builds the index of names and adds findings for members that share a name or bytes.
  static void index(Directory& directory);

 private:
  static void index_names(Directory& directory);
  static void find_duplicates(Directory& directory);
};

/// Walks local headers from the first one (searched in the first MiB). Adds no finding about the lost directory itself.
/// Nothing found: no members and no `cut`.
Result<Directory> salvage(const ByteSource& source, const Limits& limits);

/// Adds make() to the findings; only counts once kPerCode of its code are kept, so that hostile files cost no text.
template <class Make>
void add_finding(Findings& findings, Code code, Make make) {
  const auto& counts = findings.counts();
  const auto found = counts.find(code);
  if (found != counts.end() && found->second >= Findings::kPerCode) findings.add(Finding(code, {}));
  else findings.add(make());
}

}  // namespace assay::zip
