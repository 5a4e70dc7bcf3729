// SPDX-License-Identifier: Apache-2.0
// DeepSpeed's ZeRO checkpoints: the fp32 weights, put together again from the parts that every rank holds.
#pragma once

#include <optional>
#include <span>

#include "formats/format.hpp"

namespace assay::formats {

/// Files are told by their names only in company: a file alone is a torch.save file as any other.
Probe probe_deepspeed(const ProbeInput& input);
Result<Checkpoint> open_deepspeed(const OpenInput& input);

/// The checkpoint of a folder: of one that holds the ranks' files, or of the one that its file "latest" names. Nothing where there are no
/// such files. Reads the pickles of all of them; the weights are read rank by rank when they are asked for.
Result<std::optional<Checkpoint>> open_deepspeed_folder(const FileSet& files, std::span<const FileSet::Entry> entries,
                                                        const Limits& limits);

}  // namespace assay::formats
