// SPDX-License-Identifier: Apache-2.0
// From the files of a set to one Checkpoint, compared with what the index promises.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "formats/format.hpp"
#include "formats/shard_index.hpp"
#include "formats/shard_names.hpp"

namespace assay::formats {

/// What a set consists of, before any shard is opened.
struct ShardPlan {
  std::vector<std::string> shards;  ///< in natural order; those of the index, or those that are there
  std::string index_name;           ///< "" where there is none
  std::optional<ShardIndex> index;
  std::optional<NumberedName> numbering;  ///< without an index: what the names promise; refers into a listing
};

/// Opens every shard and merges them: files, storages and tensors in shard order, a tensor that several shards hold once. What is missing,
/// broken or misplaced becomes a finding. Fails when no shard can be read at all, and with `need-range`.
Result<Checkpoint> merge_shards(const FileSet& files, const ShardPlan& plan, const Limits& limits);

}  // namespace assay::formats
