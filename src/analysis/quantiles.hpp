// SPDX-License-Identifier: Apache-2.0
// Quantiles by nearest rank: the least value that at least a share p of all finite values do not exceed. Exact for every dtype.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "analysis/census.hpp"

namespace assay::analysis {

using Quantiles = std::vector<std::pair<double, double>>;       // (p, value), ascending p
using Counted = std::vector<std::pair<double, std::uint64_t>>;  // a value, and how often it occurs

/// Of values in ascending order.
Quantiles quantiles_of(std::span<const std::pair<double, std::uint64_t>> sorted);

/// Which of two codes stands for the smaller number.
enum class CodeOrder : std::uint8_t { floating, signed_integer, unsigned_integer };

/// For codes of 32 and 64 bits. A census of their upper 16 bits says in which of its cells each quantile lies; another pass over the
/// codes counts the next 16 bits in these cells alone, until all bits are known. Memory: 256 KiB for each cell that holds a quantile.
class QuantileSearch {
 public:
  /// `negated`: the numbers are those of the codes with the other sign.
  QuantileSearch(std::size_t code_bytes, CodeOrder order, bool negated, std::span<const Census::Entry> tops);

  /// Whether another pass is needed.
  bool open() const { return !ranks_.empty() && known_ < bits_; }
  /// Counts of one pass: one worker's. Add those of several workers with merge().
  class Pass {
   public:
    void merge(const Pass& other);

   private:
    friend class QuantileSearch;
    std::vector<std::uint32_t> counts_;  // 2^16 for each cell
    std::vector<std::uint64_t> carried_;
    std::uint64_t since_carry_ = 0;
    void carry();
  };
  Pass start() const;
  void count(std::span<const std::byte> codes, Pass& pass) const;
  void finish(const Pass& pass);

  /// The p of each quantile with its whole code, little endian in 8 bytes. Precondition: not open().
  std::vector<std::pair<double, std::uint64_t>> codes() const;

 private:
  struct Rank {
    std::size_t cell;
    std::uint64_t left;  ///< how many values up to the quantile lie in its cell
    double p;
  };
  template <class Code>
  void count_codes(const std::byte* p, std::size_t n, Pass& pass) const;
  std::uint64_t keyed(std::uint64_t code) const;  // ascending with the numbers
  std::uint64_t unkeyed(std::uint64_t key) const;
  void set_cells(std::vector<std::uint64_t> cells);
  bool special(std::uint16_t top) const;

  std::size_t code_bytes_;
  unsigned bits_, known_ = 16;  // of a code, and of them known
  CodeOrder order_;
  bool negated_;
  std::vector<Rank> ranks_;
  std::vector<std::uint64_t> cells_;   // the known upper bits of keys, ascending
  std::vector<std::uint8_t> cell_of_;  // for the upper 16 bits of a code: 1 + the first cell that begins so, 0 for none
};

}  // namespace assay::analysis
