// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "assay/checkpoint.hpp"
#include "formats/torch/collect.hpp"

namespace assay::formats::torch {

/// torch.load keeps a storage by its key, and a view of one by the view's: the first persistent id of a key tells what all others get,
/// whatever they say. Adds a warning for ids that say something else, for what they stand for here is not what torch makes of them; and for
/// ids of a length that torch refuses. `storages`: how many the pickle brought. Cost: a look at each persistent id; in an archive nearly
/// none where each has a storage of its own.
void note_shared_ids(Checkpoint& checkpoint, const PickleInfo& pickle, std::size_t storages);

}  // namespace assay::formats::torch
