// SPDX-License-Identifier: Apache-2.0
// Tensor bytes that stand between pickles, and how far a loader steps over them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/scan/scanner.hpp"

namespace assay::scan {

class RawStorages {
 public:
  explicit RawStorages(Layout layout) : layout_(layout) {}

  /// Looks at the `number`th pickle of the piece (from 1): magic, object, key list.
  void take(const pickle::Graph& graph, std::uint32_t number);
  /// A magic number started the five pickles that are being read.
  bool is_legacy() const { return legacy_; }

  struct Step {
    std::uint64_t bytes = 0;
    std::optional<Error> broken;  ///< the bytes cannot be what the pickles say
    std::string refusal;          ///< why torch does not take them, where they are what others would
  };
  /// How many raw bytes follow the pickle that `take` saw last.
  Result<Step> step_over(const ByteSource& source, std::uint64_t position, std::uint32_t number);

 private:
  void take_object(const pickle::Graph& graph);
  void take_tar(const pickle::Graph& graph, std::uint32_t number);
  Result<Step> step_storages(const ByteSource& source, std::uint64_t position) const;
  Result<Step> step_tar(const ByteSource& source, std::uint64_t position) const;

  Layout layout_;
  bool legacy_ = false;
  std::uint32_t legacy_first_ = 0;  // number of the pickle with the magic
  struct Claim {
    std::uint64_t element_size = 0;
    std::int64_t numel = -1;  // -1 where the id does not say it
  };
  std::map<std::string, Claim> claims_;  // by storage key, what the first id says
  std::string numbered_;                 // a key that the list names by a number, which torch does not find
  std::vector<std::string> keys_;
  bool keys_follow_ = false;
  std::uint64_t tar_count_ = 0;
  std::uint64_t tar_element_ = 0;
};

/// True for torch's magic number, which starts a legacy file.
bool is_torch_magic(const pickle::Graph& graph);

/// Bytes of one element of a storage class by its name ("FloatStorage" 4); nothing for a name that is none.
std::optional<std::uint64_t> storage_element_size(std::string_view class_name);

}  // namespace assay::scan
