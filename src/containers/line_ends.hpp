// SPDX-License-Identifier: Apache-2.0
// Binary files that some program took for text: before every line feed it put a carriage return, or took one away, or it read the bytes as
// UTF-8 and wrote the characters again.
#pragma once

#include <optional>
#include <string>

#include "assay/source.hpp"

namespace assay {

/// How much of a file to look at.
enum class Look : std::uint8_t {
  at_ends,  ///< the first and last 64 KiB; of a zip archive that is too short for its own directory all, up to 256 MiB
  within,   ///< of a torch.save stream from before 1.6 its first 16 MiB too: where its parts are not where it says
};

/// Words for it, nothing where nothing hints at it. For files that cannot be read as what they are: by chance or by design none looks so.
/// Fails with what reading fails with.
Result<std::optional<std::string>> taken_for_text(const ByteSource& source, Look look = Look::at_ends);

}  // namespace assay
