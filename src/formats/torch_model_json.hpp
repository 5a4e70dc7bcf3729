// SPDX-License-Identifier: Apache-2.0
// TorchScript archives of torch 1.0 to 1.3, which describe the module in model.json.
#pragma once

#include "formats/torch/zip_archive.hpp"

namespace assay::formats {

/// True for archives with model.json and without data.pkl.
bool has_model_json(const torch::Archive& archive);
/// Lists parameters, buffers and tensor attributes by their names in the module. Fails with `zip-without-checkpoint` where the JSON is of
/// something else, and as reading it does.
Result<void> list_model_json(const torch::Archive& archive, Checkpoint& checkpoint);

}  // namespace assay::formats
