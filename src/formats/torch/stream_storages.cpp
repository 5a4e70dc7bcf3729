// SPDX-License-Identifier: Apache-2.0
#include "formats/torch/stream_storages.hpp"

#include "base/text.hpp"

namespace assay::formats::torch {

void StreamStorages::place(std::string_view key, std::uint64_t offset, std::uint64_t nbytes, std::uint64_t have) {
  placed_[key] = {.offset = offset, .nbytes = nbytes, .have = have};
}

void StreamStorages::break_with(const Error& error) {
  broken_ = true;
  code_ = error.code();
}

Result<Storage> StreamStorages::find(const StorageId& id) {
  const auto found = placed_.find(id.key);
  const bool absent = found == placed_.end();
  if (absent && !broken_) return fail(Code::missing_storage, concat("storage ", quote(id.key), " is not in the file's list of storages"));
  if (absent || found->second.lost) {
    if (code_ == Code::truncated) return fail(Code::truncated, concat("the file ends before storage ", quote(id.key)));
    return fail(code_, concat("storage ", quote(id.key), " cannot be found: the file is damaged before it"));
  }
  const Placed& placed = found->second;
  Storage storage;
  storage.offset = placed.offset;
  storage.nbytes = placed.have;
  storage.key = found->first;
  return storage;
}

bool StreamStorages::is_cut(std::string_view key) const {
  const auto found = placed_.find(key);
  return found != placed_.end() && found->second.have < found->second.nbytes;
}

}  // namespace assay::formats::torch
