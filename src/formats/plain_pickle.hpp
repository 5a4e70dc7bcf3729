// SPDX-License-Identifier: Apache-2.0
// What pickle.dump and joblib.dump write: any Python object. Its tensors, arrays and plain values are listed.
#pragma once

#include "formats/format.hpp"
#include "formats/torch/tensor_table.hpp"

namespace assay::formats {

/// Sure only of pickles that parse; text and JSON never do. Protocols 0 and 1 have no mark of their own: a small file must parse to its
/// end, a large one as far as the head goes and end with STOP.
Probe probe_pickle(const ProbeInput& input);
/// Fails where not even the first values are there.
Result<Checkpoint> open_pickle(const OpenInput& input);

/// For pickles whose storages would be in other files.
class NoStorages final : public torch::StorageSource {
 public:
  Result<Storage> find(const torch::StorageId& id) override;
};

}  // namespace assay::formats
