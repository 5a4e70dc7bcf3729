// SPDX-License-Identifier: Apache-2.0
// What torch's HuggingFaceStorageWriter leaves when every rank writes its own part.
#pragma once

#include <optional>
#include <span>

#include "assay/checkpoint.hpp"

namespace assay::formats {

/// The checkpoint that the files of one save make up; nothing where the folder has fewer than two of that kind.
Result<std::optional<Checkpoint>> open_dcp_safetensors(const FileSet& files, std::span<const FileSet::Entry> entries, const Limits& limits);
/// True for a name that such a writer gives: "shard-00001-model-00001-of-00001.safetensors".
bool is_dcp_safetensors_name(std::string_view name);

}  // namespace assay::formats
