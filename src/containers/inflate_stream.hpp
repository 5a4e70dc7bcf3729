// SPDX-License-Identifier: Apache-2.0
// Inflating a stream whose size nobody vouches for: deflate as it stands in zip members, gzip files and zlib streams. What came out before
// a break is kept, because a reader that unpacks piece by piece has acted on it by then. Portable; where sizes are known, inflate.hpp
// is several times faster.
//
//   gzip (RFC 1952)  1f 8b 08 flags u8, time u32, xfl u8, os u8, [extra n u16, n bytes] [name\0] [comment\0] [crc u16], deflate, crc u32,
//   size u32 zlib (RFC 1950)  78 (or other window) check u8, deflate, adler u32 big-endian
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "assay/source.hpp"

namespace assay {

struct Inflated {
  std::vector<std::byte> bytes;
  std::uint64_t consumed = 0;  ///< packed bytes used up, frames included
  /// Why it is not the whole: `inflate-failed` (damaged), `truncated`, `limit-exceeded` (more than `max_size` bytes). The bytes before are
  /// there.
  std::optional<Error> broken;
};

/// One raw deflate stream from the start of `packed`.
Inflated inflate_stream(ByteView packed, std::uint64_t max_size);
/// All gzip members that follow each other from the start of `packed`, as Python and gunzip read them. Check sums are compared.
Inflated inflate_gzip(ByteView packed, std::uint64_t max_size);
/// One zlib stream.
Inflated inflate_zlib(ByteView packed, std::uint64_t max_size);

/// 1f 8b 08
bool is_gzip(ByteView head);
/// Two header bytes that are a valid zlib header. True for one in about 1000 pairs of bytes: a hint only.
bool is_zlib(ByteView head);

}  // namespace assay
