// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "assay/checkpoint.hpp"
#include "assay/limits.hpp"

namespace assay::analysis {

/// Adds a warning for each member of the checkpoint's archives that would be unpacked outside of their folder. Loaders do not mind: they
/// look members up by name. Fails only as reading does. Cost: the directories.
Result<void> find_escaping_members(const Checkpoint& checkpoint, Findings& findings, const Limits& limits);

}  // namespace assay::analysis
