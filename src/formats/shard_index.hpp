// SPDX-License-Identifier: Apache-2.0
// The index of a sharded checkpoint: which file holds which tensor.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "assay/limits.hpp"
#include "assay/source.hpp"
#include "base/arena.hpp"
#include "formats/name_table.hpp"

namespace assay::formats {

struct ShardIndex {
  struct Entry {
    std::string_view tensor;
    std::uint32_t file;          ///< into `files`
    std::uint32_t next = kNone;  ///< the next entry of the same file
  };
  std::vector<std::string_view> files;  ///< distinct, in the order first named
  std::vector<std::uint32_t> first;     ///< by file: its first entry
  std::vector<Entry> entries;           ///< in the order written
  std::optional<double> total_size;     ///< bytes; some writers give a float
  std::optional<double> total_parameters;
  std::shared_ptr<Arena> arena;  ///< what the texts live in
};

/// The entries of a shard's first tensors: as many as the index maps to this file in the shard's own order, which is nearly always all.
/// Nothing but their texts is compared. Each is an entry of its own, though not the only one of its name where names are there twice.
std::vector<std::uint32_t> follow_index(const ShardIndex& index, std::uint32_t file, std::span<const Tensor> tensors);

/// Finds an index's entries by name. Most indexes are sorted, and most shards list their tensors in the same order.
class IndexNames {
 public:
  /// The index must outlive this.
  explicit IndexNames(const ShardIndex& index);
  /// The entry of this name (the first, where it is there twice), or kNone. Quickest for the entry behind the one last found.
  std::uint32_t find(std::string_view name);
  /// Entries whose name an earlier one has.
  const std::vector<std::uint32_t>& repeated() const { return repeated_; }

 private:
  const ShardIndex& index_;
  bool sorted_ = true;
  NameTable table_;  // where not sorted
  std::vector<std::uint32_t> repeated_;
  std::uint32_t next_ = 0;
};

/// Reads an index:  {"metadata": {"total_size": 123, …}, "weight_map": {"tensor": "file", …}, …}
/// Fails with `bad-header` where it is not of that form, `limit-exceeded` past Limits::json_bytes or Limits::shards.
/// Cost: one look at the file, in place where it is large and mapped, and some memory an entry; a scanner for the plain spelling, an exact
/// reader for the rest.
Result<ShardIndex> read_shard_index(const std::shared_ptr<ByteSource>& source, const Limits& limits);

namespace detail {
/// The two ways to read one, for comparison: the scanner answers nothing where the spelling is not plain.
std::optional<ShardIndex> scan_index(ByteView text);
Result<ShardIndex> parse_index(ByteView text, const Limits& limits);
}  // namespace detail

}  // namespace assay::formats
