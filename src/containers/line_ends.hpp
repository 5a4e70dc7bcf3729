// SPDX-License-Identifier: Apache-2.0
// Binary files that some program took for text: before every line feed it put a carriage return.
#pragma once

#include <optional>
#include <string>

#include "assay/source.hpp"

namespace assay {

/// Words for it where the first and last bytes of a file are binary, and each of the line feeds in them has a carriage return before it; by
/// chance or by design none has. Nothing where they are text, or too few to tell.
std::optional<std::string> converted_line_ends(ByteView head, ByteView tail);

}  // namespace assay
