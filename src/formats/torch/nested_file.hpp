// SPDX-License-Identifier: Apache-2.0
// torch.save files that stand as records within another archive.
#pragma once

#include "formats/torch/zip_archive.hpp"

namespace assay::formats::torch {

/// Lists the tensors of the file in `member`, `prefix` before their names (alone for a file that is one tensor). Offsets stay those of the
/// outer file where the member is stored. What cannot be read is a finding; fails with `need-range` only.
Result<void> list_nested_file(const Archive& archive, const zip::Member& member, std::string_view prefix, Checkpoint& checkpoint);

}  // namespace assay::formats::torch
