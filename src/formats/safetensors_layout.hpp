// SPDX-License-Identifier: Apache-2.0
// From the header's claims to tensors: each claim is checked against its own numbers, against the file, and against the others.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "assay/checkpoint.hpp"
#include "formats/name_table.hpp"

namespace assay::formats::safetensors {

/// What the header says of one tensor.
struct Claim {
  std::string_view name;
  std::string_view dtype;                ///< as spelled
  std::span<const std::uint64_t> shape;  ///< lives as long as the Checkpoint
  std::uint64_t begin = 0, end = 0;      ///< data_offsets, from the start of the data area
  bool placed = true;                    ///< false when the header gives no usable data_offsets
  std::uint64_t at = 0;                  ///< absolute offset of its entry in the header
};

/// The 22 dtypes of the format, by name.
std::optional<DType> dtype_of(std::string_view name);

class Layout {
 public:
  /// `data_start` is where the data area begins; `expected` tensors are made room for.
  Layout(std::uint64_t data_start, std::uint64_t file_size, std::size_t expected);

  void add(const Claim& claim, DType dtype);
  /// A claim that is not of the format's form. Listed as far as it goes, never readable.
  void add_broken(Claim claim, Code code, std::string message);
  void add_metadata(const MetadataEntry& entry) { metadata_.push_back(entry); }
  void note(Finding finding) { findings_.add(std::move(finding)); }
  std::vector<MetadataEntry>& metadata() { return metadata_; }
  std::size_t size() const { return tensors_.size(); }
  void reserve(std::size_t tensors);

  /// The header is broken behind what was added so far: whose the other bytes are is not known.
  void break_off(Finding why);

  /// Where the file should end.
  std::uint64_t end() const { return data_start_ + largest_end_; }

  /// Compares the claims with each other and with the file, and moves everything into the checkpoint, whose findings are replaced. The file
  /// begins again at `again` where that is not 0: bytes behind it are not what the header says.
  void finish(Checkpoint& checkpoint, std::uint64_t again = 0);

 private:
  void refuse(Tensor& tensor, const Claim& claim, Code code, std::string message);
  Tensor& list(const Claim& claim, DType dtype);
  void check_name(std::size_t index);
  void check_size(Tensor& tensor, const Claim& claim);
  void check_neighbours();
  void check_empty(std::span<const std::uint32_t> order);
  void report_overlap(const Tensor& first, const Tensor& second);
  void check_end(std::uint64_t again);
  void report_restart(std::uint64_t again);
  void report_cut();
  void check_alignment();

  std::uint64_t data_start_, data_size_, file_size_;
  std::vector<Tensor> tensors_;
  std::vector<Storage> storages_;
  std::vector<MetadataEntry> metadata_;
  Findings findings_;
  NameTable names_;
  // Names wait here until the table's memory has come near.
  struct Announced {
    std::uint32_t tag;
    std::uint64_t at;
  };
  static constexpr std::size_t kAnnounced = 8;
  Announced announced_[kAnnounced] = {};
  // What the last claim's shape and dtype came to.
  struct Sized {
    std::span<const std::uint64_t> shape;
    DType dtype = DType::unknown;
    std::optional<std::uint64_t> numel = 1;
    unsigned element_bits = 0;
  } sized_;
  std::uint64_t running_end_ = 0;  // of the data claimed so far, while it is claimed front to back
  std::uint64_t largest_end_ = 0;
  bool in_order_ = true;
  bool unplaced_ = false;  // some tensor has no usable data_offsets
  std::uint64_t cut_ = 0;  // tensors that pass the end of the file
  std::uint64_t misaligned_ = 0;
  std::uint32_t first_misaligned_ = kNone;
};

}  // namespace assay::formats::safetensors
