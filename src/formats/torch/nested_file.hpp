// SPDX-License-Identifier: Apache-2.0
// torch.save files that stand as records within another archive.
#pragma once

#include "formats/torch/zip_archive.hpp"

namespace assay::formats::torch {

/// Lists the tensors of the file in `member`, `prefix` before their names (alone for a file that is one tensor). Offsets stay those of the
/// outer file where the member is stored. What cannot be read is a finding; fails with `need-range` only.
Result<void> list_nested_file(const Archive& archive, const zip::Member& member, std::string_view prefix, Checkpoint& checkpoint);

/// A part of one of the checkpoint's files.
struct FilePart {
  std::uint32_t file = 0;  ///< index into Checkpoint::files
  std::uint64_t begin = 0, size = 0;
};
/// The same for a torch.save file that stands in `part` of `whole`, which is that file's source.
Result<void> list_file_at(const std::shared_ptr<ByteSource>& whole, FilePart part, std::string_view prefix, const Limits& limits,
                          Checkpoint& checkpoint);

}  // namespace assay::formats::torch
