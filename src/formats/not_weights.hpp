// SPDX-License-Identifier: Apache-2.0
// Files that are not what people hoped for: pointers, error pages, archives, other frameworks' files. Each is told by what it is.
#pragma once

#include <optional>

#include "formats/format.hpp"

namespace assay::formats {

struct NotWeights {
  int score;    ///< on the scale of Probe::score: 80 by magic, 40 for "some text"
  Error error;  ///< says what the bytes are, with the fact "size" and what else can be read off
};

/// What the file is, when its bytes are known as something that holds no readable weights. Looks at the probe's bytes only.
std::optional<NotWeights> recognise_not_weights(const ProbeInput& input);

/// For bytes that nobody knows: shows the first sixteen.
Error unknown_format(const ProbeInput& input);

}  // namespace assay::formats
