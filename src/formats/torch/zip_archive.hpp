// SPDX-License-Identifier: Apache-2.0
// What the kinds of archive that torch writes share: records in one folder, storages as records, pickles as records.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "assay/checkpoint.hpp"
#include "containers/zip.hpp"
#include "formats/torch/tensor_table.hpp"

namespace assay::formats::torch {

/// The parts of an archive that one opening needs.
struct Archive {
  const std::shared_ptr<ByteSource>& source;
  const zip::Directory& directory;
  const Limits& limits;
  std::string base = {};  ///< "root/", or "" where records stand outside any folder
  bool big_endian = false;

  const zip::Member* find(std::string_view record) const;
};

/// Where a storage of key k is: the record before + k + behind.
struct StoragePlace {
  std::string_view before, behind;
};
inline constexpr StoragePlace kStoragePlaces[] = {{"data/", ""}, {"tensors/", ""}, {".data/", ".storage"}, {".data/", ""}};

/// Of an archive that lost its end, what storages lack that it ends before or in.
struct LostEnd {
  std::uint64_t bytes = 0;
  bool within = false;  ///< it ends in a storage, not behind what that claims
};

/// Storages as records, at the first of `places` that has one.
std::unique_ptr<StorageSource> make_zip_storages(const Archive& archive, Arena& arena,
                                                 std::span<const StoragePlace> places = kStoragePlaces, LostEnd* lost = nullptr);

/// "byteorder" and "version": what odd ones say becomes a finding. Fails only with `need-range`.
Result<void> read_small_records(Archive& archive, Checkpoint& checkpoint);

struct PickleOptions {
  std::string_view prefix = {};  ///< before every name
  std::span<const StoragePlace> places = kStoragePlaces;
  bool shared_storages = false;  ///< other pickles use them too: what one leaves unused says nothing
  bool further = false;          ///< not the first pickle: `values` and `node_tensors` stay as they are
  LostEnd* lost = nullptr;       ///< added to
};
/// Parses the member and lists what is in it. Fails where nothing of it can be listed.
Result<void> read_pickle(const Archive& archive, const zip::Member& member, Checkpoint& checkpoint, const PickleOptions& options = {});

}  // namespace assay::formats::torch
