// SPDX-License-Identifier: Apache-2.0
#include "formats/torch/stream_storages.hpp"

#include "base/text.hpp"

namespace assay::formats::torch {

namespace {
constexpr std::size_t kNamedTensors = 5;
}

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

void tell_cut(Checkpoint& checkpoint, std::string_view where, std::uint64_t missing) {
  std::uint64_t lost = 0;
  std::string names;
  for (const Tensor& tensor : checkpoint.tensors) {
    if (tensor.readable) continue;
    if (lost++ < kNamedTensors) names += concat(lost == 1 ? ": " : ", ", quote(escape(tensor.name, 100)));
  }
  if (lost > kNamedTensors) names += concat(" and ", lost - kNamedTensors, " more");
  const std::uint64_t all = checkpoint.tensors.size();
  std::string what = concat("the file ends ", where);
  if (missing > 0) what += concat(", ", grouped(missing), " bytes are missing");
  what += concat("; ", lost, " of ", counted(all, "tensor", "tensors"), lost == 1 ? " is" : " are", " not whole", names);
  Finding finding(Code::truncated, std::move(what));
  finding.facts = {{"missing_bytes", missing}, {"whole", all - lost}, {"tensors", all}};
  checkpoint.complete = false;
  checkpoint.findings.add_first(std::move(finding));
}

}  // namespace assay::formats::torch
