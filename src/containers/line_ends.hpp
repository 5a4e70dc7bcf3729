// SPDX-License-Identifier: Apache-2.0
// Binary files that some program took for text: before every line feed it put a carriage return, or took one away, or it read the bytes as
// UTF-8 and wrote the characters again.
#pragma once

#include <optional>
#include <string>

#include "assay/source.hpp"

namespace assay {

/// Words for it, nothing where nothing hints at it. For files that cannot be read as what they are: by chance or by design none looks so.
/// Reads the first and last 64 KiB; of a zip archive that is too short for its own directory all, up to 256 MiB. Fails with what reading
/// fails with.
Result<std::optional<std::string>> taken_for_text(const ByteSource& source);

}  // namespace assay
