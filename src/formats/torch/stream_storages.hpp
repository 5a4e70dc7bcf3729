// SPDX-License-Identifier: Apache-2.0
// Storages that follow each other in a stream, each behind its element count: the legacy and the tar form.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "assay/finding.hpp"
#include "formats/torch/tensor_table.hpp"

namespace assay::formats::torch {

class StreamStorages final : public StorageSource {
 public:
  /// A storage's data and how much of it is there. `key` lives as long as the storages; a later one of the same key counts.
  void place(std::string_view key, std::uint64_t offset, std::uint64_t nbytes, std::uint64_t have);
  /// A storage that should be there and cannot be found, because the stream ends or breaks before it.
  void lose(std::string_view key) { placed_[key] = {.lost = true}; }
  /// Why what was lost is lost, and also every key that was never met.
  void break_with(const Error& error);

  Result<Storage> find(const StorageId& id) override;
  bool is_cut(std::string_view key) const override;
  bool compares_sizes() const override { return true; }

 private:
  struct Placed {
    std::uint64_t offset = 0, nbytes = 0, have = 0;
    bool lost = false;
  };
  std::unordered_map<std::string_view, Placed> placed_;
  bool broken_ = false;
  Code code_ = Code::missing_storage;
};

}  // namespace assay::formats::torch
