// SPDX-License-Identifier: Apache-2.0
// Frames that are shorter than what they hold. CPython before 3.13.15 and 3.14.7 reads a frame into a buffer, and where an argument does
// not fit in what is left of it forgets the rest and takes the argument from behind the frame. Other readers go straight on. A file can
// show one program to the first and another to the second.
#pragma once

#include <optional>
#include <vector>

#include "assay/source.hpp"

namespace assay::pickle {

struct BufferedReading {
  std::vector<std::byte> bytes;  ///< the stream without the bytes that are forgotten
  std::uint64_t first_cut = 0;   ///< where the first of them was; up to there both readings are one
};
/// What such a reader takes from `stream`; nothing when all readers take the same. At most 64 frames are followed. Cost: linear in the
/// stream for each.
std::optional<BufferedReading> read_buffered(ByteView stream);

}  // namespace assay::pickle
