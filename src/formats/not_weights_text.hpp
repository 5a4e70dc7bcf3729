// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "formats/not_weights.hpp"

namespace assay::formats {

/// Git LFS pointers, web pages, XML and JSON error bodies, and plain text.
std::optional<NotWeights> recognise_text(const ProbeInput& input);

}  // namespace assay::formats
