// SPDX-License-Identifier: Apache-2.0
// Weights beside a model that AOTInductor compiled.
#pragma once

#include "formats/torch/zip_archive.hpp"

namespace assay::formats::torch {

/// Lists what each data/aotinductor/<model>/weights_config.json names, by its names, with the model's before them where there are several.
/// Weights that only the compiled code can find (in its .so, or <name>_serialized_weights.bin) are told by a note. Fails with `need-range`
/// only.
Result<void> list_aoti_weights(const Archive& archive, Checkpoint& checkpoint);

}  // namespace assay::formats::torch
