// SPDX-License-Identifier: Apache-2.0
// How often each code of a dtype of up to 16 bits occurs: everything else about its values follows from that, exactly. Of wider codes the
// upper 16 bits are counted.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace assay::analysis {

/// Adds and merges in any order to the same counts. Memory: 256 KiB (768 KiB beyond 2^32 codes), 8 KiB for few codes of 8 bits; a few
/// wider codes are kept as they are.
class Census {
 public:
  struct Entry {
    std::uint16_t code;
    std::uint64_t count;
  };

  /// `code_bytes` is 1, 2, 4 or 8; `expected` codes decide how they are counted, not how many may come.
  Census(std::size_t code_bytes, std::uint64_t expected);
  /// Little-endian codes, whole ones.
  void add(std::span<const std::byte> codes);
  /// Precondition: of the same code_bytes.
  void merge(const Census& other);
  /// The codes that occur, ascending.
  std::vector<Entry> entries() const;

 private:
  void add_bytes(std::span<const std::byte> codes);
  template <class Unit>
  void add_tops(const std::byte* p, std::size_t n);
  void add_few(std::span<const std::byte> codes);
  std::vector<Entry> few_entries() const;
  std::uint64_t at(std::size_t code) const { return table_[code] + (carried_.empty() ? 0 : carried_[code]); }
  void make_table();
  void carry();

  std::size_t code_bytes_;
  std::uint64_t since_carry_ = 0;
  std::vector<std::uint16_t> few_;                     // codes not yet in the table, when there is none
  std::vector<std::uint32_t> table_;                   // one count per 16-bit code, or pair of 8-bit ones
  std::vector<std::uint64_t> carried_;                 // what no longer fit the table
  std::vector<std::array<std::uint64_t, 256>> lanes_;  // for 8-bit codes: neighbours count in different tables
};

}  // namespace assay::analysis
