// SPDX-License-Identifier: Apache-2.0
// The bytes of the part of one storage that a tensor looks into, however they are reached.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "assay/checkpoint.hpp"

namespace assay::values {

/// All offsets are bytes counted from the start of the storage, within the range given at the start. Holds at most
/// kHeldBytes, or the whole storage of a producer that has no parts. Not for use from two threads at once.
class StorageBytes {
 public:
  static constexpr std::uint64_t kHeldBytes = std::uint64_t{64} << 20;

  /// Bytes [low, high) are all that will be asked for.
  StorageBytes(const Storage& storage, std::shared_ptr<ByteSource> source, std::uint64_t low, std::uint64_t high)
      : storage_(&storage), file_(std::move(source)), parts_(storage.producer ? storage.producer->parts() : nullptr), low_(low),
        high_(high) {}

  /// Loads the producer's bytes where there is one. Call before anything else; repeated calls cost nothing.
  Result<void> prepare();
  /// The bytes in place: a producer's, mapped, or held from an earlier load. Null otherwise. Valid until the next call of load().
  const std::byte* in_place(std::uint64_t offset, std::uint64_t n) const;
  /// The bytes in the file itself, where the source is mapped and the storage is a plain range.
  std::optional<ByteView> mapped(std::uint64_t offset, std::uint64_t n) const;
  /// Reads and holds at least these bytes; all there are or some ahead, when more than `eager` are asked for. Null
  /// when they are more than kHeldBytes: then use page().
  Result<const std::byte*> load(std::uint64_t offset, std::uint64_t n, std::uint64_t eager);
  /// Fills `out` from the file, nothing held.
  Result<void> read(std::uint64_t offset, std::span<std::byte> out) const;

  /// For walks that come back to the same places: pages small enough that one for each of `places` fits kHeldBytes.
  void use_pages(std::uint64_t places);
  /// Copies a few bytes by way of the pages.
  Result<void> read_paged(std::uint64_t offset, std::span<std::byte> out);

 private:
  Result<const std::byte*> page(std::uint64_t number);
  /// Only all at once, into produced_.
  bool is_produced() const { return storage_->producer && parts_ == nullptr; }
  const ByteSource& source() const { return parts_ != nullptr ? *parts_ : *file_; }
  std::uint64_t base() const { return parts_ != nullptr ? 0 : storage_->offset; }  // where the storage starts in source()
  std::uint64_t absolute(std::uint64_t offset) const { return base() + offset; }

  const Storage* storage_;
  std::shared_ptr<ByteSource> file_;
  const ByteSource* parts_;
  std::uint64_t low_, high_;
  ByteBlock produced_;
  bool prepared_ = false;
  ByteBlock held_;
  std::uint64_t held_low_ = 0;

  // Pages: a map from page number to slot; the oldest page gives way to the newest.
  std::uint64_t page_bytes_ = 0;
  std::size_t slots_ = 0, oldest_ = 0;
  std::unordered_map<std::uint64_t, std::size_t> slot_of_;
  std::vector<std::uint64_t> page_in_;
  std::vector<std::unique_ptr<std::byte[]>> pages_;
};

}  // namespace assay::values
