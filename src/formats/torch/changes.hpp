// SPDX-License-Identifier: Apache-2.0
// What a file does to a tensor after it made it. Writers do nothing of the kind; torch.load follows it all the same, and so what such a
// file shows must be what it loads as.
#pragma once

#include "assay/checkpoint.hpp"
#include "formats/torch/collect.hpp"
#include "formats/torch/rebuild.hpp"

namespace assay::formats::torch {

/// BUILD of a tensor: (storage, offset, size, stride) exchanges its storage, and a tuple of five its data for those of another tensor.
/// The last one counts.
void set_from_states(const Graph& graph, Node object, Rebuilt& out);

/// Attributes that are set on a tensor, a dict or (dict, dict): 'data' is exchanged for that of another.
void exchange_data(const Graph& graph, Node attributes, Rebuilt& out);

/// Tells, as damage, of changes that are not followed: items that are set in tensors, arrays and storages, whether or not anything else
/// refers to them, for tensors share their storages. Cost: one look at each event of the pickle.
void note_changes(Checkpoint& checkpoint, const PickleInfo& pickle);

}  // namespace assay::formats::torch
