// SPDX-License-Identifier: Apache-2.0
// A tar archive's members: v7, ustar, PAX and GNU long names, as Python's tarfile reads them.
//
//   { header 512 bytes, data padded to 512 } …  two blocks of zeros
//   header  name 100, mode 8, uid 8, gid 8, size 12, mtime 12, checksum 8, type 1, link 100, "ustar" 6, version 2, user 32, group 32,
//           device 8 8, prefix 155; numbers are octal text, or base 256 when the first bit is set (GNU)
//   types   0 NUL 7 file, 1 2 links, 5 folder, x PAX records for the next member, g for all that follow, L long name, K long link (GNU),
//           S sparse file (GNU): 4 parts at 386, more in blocks of 21 that follow, the size of the whole at 483
//   records "<length> <key>=<value>\n", the length counting itself; path, size and those of sparse files (GNU.sparse.*) matter here
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "assay/finding.hpp"
#include "assay/limits.hpp"
#include "assay/source.hpp"

namespace assay::tar {

/// A part of a sparse file: the parts stand in the archive one behind the other, zeros are between them in the file.
struct Part {
  std::uint64_t offset = 0, size = 0;  ///< in the file
};

struct Member {
  std::string name;
  std::uint64_t header_offset = 0;  ///< of its own header, behind any records that belong to it
  std::uint64_t offset = 0;         ///< of its data
  std::uint64_t size = 0;           ///< of its data in the file; 0 for links and folders
  char type = '0';
  bool sparse = false;
  std::uint64_t real_size = 0;   ///< of a sparse file, holes counted
  std::string link = {};         ///< what a link (type 1, hard, or 2, symbolic) leads to
  std::vector<Part> parts = {};  ///< of a sparse file: in order, within real_size, their sizes together at most `size`
  bool regular() const { return type == '0' || type == '\0' || type == '7'; }
};

struct Archive {
  std::vector<Member> members;   ///< in file order, of every type but records
  bool ended = false;            ///< zeros end it, as every writer has them
  std::uint64_t end_offset = 0;  ///< just behind the zeros that end the archive, or where it breaks off
  Findings findings;             ///< `truncated`, `bad-header`: the members before are whole
};

/// True when the 512 bytes are a header whose checksum is right.
bool is_header(ByteView block);

/// Walks the headers. Fails with `bad-header` when the file does not start with one, `limit-exceeded`, and what reading fails with.
/// Cost: one read of 512 bytes per member.
Result<Archive> read_archive(const ByteSource& source, const Limits& limits);

/// A sparse member as the file it is. The outer source must live as long.
class SparseSource final : public ByteSource {
 public:
  SparseSource(const ByteSource& outer, const Member& member);
  std::uint64_t size() const override { return size_; }
  Result<void> available(std::uint64_t offset, std::uint64_t n) const override;
  Result<void> read(std::uint64_t offset, std::span<std::byte> out) const override;

 private:
  struct Placed {
    std::uint64_t begin, end;  // in the file
    std::uint64_t at;          // in the archive
  };
  /// Calls take(placed, from, to) for each part that [offset, offset + n) touches.
  template <class Take>
  Result<void> each(std::uint64_t offset, std::uint64_t n, Take take) const;

  const ByteSource& outer_;
  std::uint64_t size_;
  std::vector<Placed> placed_;
};

}  // namespace assay::tar
