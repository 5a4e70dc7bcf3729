// SPDX-License-Identifier: Apache-2.0
// Checkpoints of several files, and folders: which files belong together, and which of them count.
#pragma once

#include <optional>

#include "formats/format.hpp"

namespace assay::formats {

/// What the set holds, when it is more than one file to be opened by itself: a folder, an index, or a file that is a part of a
/// set (by an index beside it or by its numbered name). Nothing when the primary stands alone. Fails as opening does.
Result<std::optional<Checkpoint>> open_set(const FileSet& files, const Limits& limits);

/// An index file by its content.
Probe probe_safetensors_index(const ProbeInput& input);
Probe probe_torch_index(const ProbeInput& input);
/// The set that an index file describes.
Result<Checkpoint> open_index(const OpenInput& input);

}  // namespace assay::formats
