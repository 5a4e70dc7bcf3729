// SPDX-License-Identifier: Apache-2.0
// Distributed checkpoints (torch.distributed.checkpoint): a folder of .metadata and __<rank>_<n>.distcp files.
#pragma once

#include <optional>
#include <span>

#include "formats/format.hpp"

namespace assay::formats {

Probe probe_dcp(const ProbeInput& input);
/// Opens the whole checkpoint from its .metadata: tensors are listed from it; the files it names are opened, and looked into when a tensor
/// is read. A .distcp file is listed by itself.
Result<Checkpoint> open_dcp(const OpenInput& input);

/// The same for a folder: by its .metadata, or by those of all ranks, __0.metadata and so on, where every rank wrote its own. With a
/// primary only when the checkpoint names it. Nothing where the folder holds none, or its .metadata is of something else.
Result<std::optional<Checkpoint>> open_dcp_folder(const FileSet& files, std::span<const FileSet::Entry> entries, const Limits& limits);

}  // namespace assay::formats
