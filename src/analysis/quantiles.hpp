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

/// Codes of 32 or 64 bits as keys that ascend with their numbers.
struct CodeKeys {
  unsigned bits;
  CodeOrder order;
  bool negated;  ///< the numbers are those of the codes with the other sign

  std::uint64_t of(std::uint64_t code) const;
  std::uint64_t code_of(std::uint64_t key) const;
  bool finite(std::uint64_t code) const;
  /// Those of finite ones among little-endian codes.
  void append(std::span<const std::byte> codes, std::vector<std::uint64_t>& keys) const;
  /// The p of each quantile with its code, of all keys in ascending order.
  std::vector<std::pair<double, std::uint64_t>> quantiles(std::span<const std::uint64_t> sorted) const;
};

/// For codes of 32 and 64 bits. A census of their upper 16 bits says in which of its cells each quantile lies; another pass over the
/// codes counts the next 16 bits in these cells alone, until all bits are known. Memory: 256 KiB for each cell that holds a quantile.
class QuantileSearch {
 public:
  QuantileSearch(CodeKeys keys, std::span<const Census::Entry> tops);

  /// Whether another pass is needed.
  bool open() const { return !ranks_.empty() && known_ < keys_.bits; }
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
  void set_cells(std::vector<std::uint64_t> cells);

  CodeKeys keys_;
  unsigned known_ = 16;  // upper bits
  std::vector<Rank> ranks_;
  std::vector<std::uint64_t> cells_;   // the known upper bits of keys, ascending
  std::vector<std::uint8_t> cell_of_;  // for the upper 16 bits of a code: 1 + the first cell that begins so, 0 for none
};

}  // namespace assay::analysis
