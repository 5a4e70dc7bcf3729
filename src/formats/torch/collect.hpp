// SPDX-License-Identifier: Apache-2.0
// From a pickle's value graph to a listing: every tensor by its dotted name, every plain value as metadata.
//
// Names are what state_dict() would give: dict keys, list indices and attribute names joined with '.'. A container reached by two
// paths is listed under both until that would cost more than the file did; cycles are cut.
#pragma once

#include "assay/checkpoint.hpp"
#include "formats/torch/tensor_table.hpp"

namespace assay::formats::torch {

/// Walks from `root` and fills tensors, storages, metadata, findings, `values` and `node_tensors` of `checkpoint`. `prefix` goes before
/// every name ("" for none). Cost: linear in the graph, with a bounded allowance for shared containers. Only `need-range` is an error.
Result<void> collect(Checkpoint& checkpoint, const PickleInfo& pickle, Node root, StorageSource& storages, const Limits& limits,
                     std::string_view prefix = {});

/// Where in the file the event is, as far as the pickle lies there as it is.
Where place_of(const PickleInfo& pickle, const pickle::Event& event);

/// One note for each class or function the pickle would import that is not known to carry data.
void note_foreign_imports(Checkpoint& checkpoint, const PickleInfo& pickle);

}  // namespace assay::formats::torch
