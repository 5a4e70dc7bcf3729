// SPDX-License-Identifier: Apache-2.0
// What happened to a file on its way, where opening it tells only what came of that.
#pragma once

#include "assay/checkpoint.hpp"

namespace assay::analysis {

/// Puts in place of findings what explains them: records of a zip whose headers are zeros lie in one hole; behind a file that is cut stands
/// a web page, of which no tensor has bytes. Fails with `text-converted` where tensors lack the carriage returns that a program took away,
/// and with `need-range`. Cost: nothing for a file without damage; else some MiB at most.
Result<void> explain_damage(Checkpoint& checkpoint);

}  // namespace assay::analysis
