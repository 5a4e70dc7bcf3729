// SPDX-License-Identifier: Apache-2.0
// Exported programs (.pt2): what torch.export.save writes, and packages of compiled models.
#pragma once

#include "formats/torch/zip_archive.hpp"

namespace assay::formats {

/// True for archives of an exported program; sets `base` to "" for those that have no root folder.
bool is_torch_export(torch::Archive& archive);
/// Lists weights by their names in the model, constants behind "constants.". Damaged parts become findings; fails with `need-range` only.
Result<void> list_torch_export(const torch::Archive& archive, Checkpoint& checkpoint);

}  // namespace assay::formats
