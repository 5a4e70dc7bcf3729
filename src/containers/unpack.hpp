// SPDX-License-Identifier: Apache-2.0
// What Python unpacks without being asked: joblib and pandas look at a file's first bytes, zipfile and tarfile at a method's number.
//
//   xz     fd "7zXZ" 00, blocks, index, footer; streams may follow each other
//   lzma   (alone)  properties u8, dictionary u32, size u64 or all ones, data;  (in zip)  version u16, n u16, n bytes of properties, data
//   bzip2  "BZh" 1-9, blocks of 31 41 59 26 53 59; streams may follow each other
#pragma once

#include "containers/inflate_stream.hpp"

namespace assay {

enum class Packing : std::uint8_t { xz, lzma, lzma_in_zip, bzip2 };

/// All streams that follow each other from the start of `packed`. What came out before a break is kept. `broken` is `inflate-failed`,
/// `truncated`, `limit-exceeded` (more than `max_size` bytes, or a dictionary of more than 128 MiB), `unsupported` where the build has no
/// decoder (WebAssembly). Cost: `max_size` bytes at most, and the decoder's dictionary.
Inflated unpack(Packing packing, ByteView packed, std::uint64_t max_size);

}  // namespace assay
