// SPDX-License-Identifier: Apache-2.0
// Inflating a raw deflate stream of known size (libdeflate; the portable inflater in WebAssembly). Never allocates more than `size`, which
// the caller has bounded.
#pragma once

#include <cstdint>
#include <span>

#include "assay/source.hpp"

namespace assay {

/// `size` bytes from `packed`, all of which must be used. Fails with `inflate-failed` when the stream is damaged or of another size.
Result<ByteBlock> inflate(ByteView packed, std::uint64_t size);
/// CRC-32 (ISO-HDLC), as zip stores it.
std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t before = 0);

}  // namespace assay
