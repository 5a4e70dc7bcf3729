// SPDX-License-Identifier: Apache-2.0
// Distributed checkpoints (torch.distributed.checkpoint): a folder of .metadata and __<rank>_<n>.distcp files.
#pragma once

#include <optional>

#include "formats/format.hpp"

namespace assay::formats {

Probe probe_dcp(const ProbeInput& input);
/// Opens the whole checkpoint from its .metadata: tensors are listed from it; the files it names are opened, and looked into when a tensor is
/// read. A .distcp file is listed by itself.
Result<Checkpoint> open_dcp(const OpenInput& input);

}  // namespace assay::formats
