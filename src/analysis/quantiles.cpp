// SPDX-License-Identifier: Apache-2.0
#include "analysis/quantiles.hpp"

#include <algorithm>
#include <limits>

#include "base/endian.hpp"
#include "base/sort.hpp"

namespace assay::analysis {
namespace {

constexpr unsigned kThousandths[] = {1, 10, 50, 250, 500, 750, 950, 990, 999};
constexpr std::size_t kCells = 65536;

/// ceil(total * p) without leaving 64 bits, at least 1.
std::uint64_t rank_of(std::uint64_t total, unsigned thousandths) {
  return std::max<std::uint64_t>(1, total / 1000 * thousandths + (total % 1000 * thousandths + 999) / 1000);
}

}  // namespace

Quantiles quantiles_of(std::span<const std::pair<double, std::uint64_t>> sorted) {
  std::uint64_t total = 0;
  for (const auto& [value, count] : sorted) total += count;
  Quantiles found;
  if (total == 0) return found;
  std::uint64_t below = 0;
  std::size_t at = 0;
  for (const unsigned thousandths : kThousandths) {
    const std::uint64_t rank = rank_of(total, thousandths);
    while (below + sorted[at].second < rank) below += sorted[at++].second;
    found.emplace_back(thousandths / 1000.0, sorted[at].first);
  }
  return found;
}

bool CodeKeys::finite(std::uint64_t code) const {
  const std::uint64_t exponent = bits == 32 ? 0x7f800000 : 0x7ff0000000000000;
  return order != CodeOrder::floating || (code & exponent) != exponent;
}

std::uint64_t CodeKeys::of(std::uint64_t code) const {
  const std::uint64_t sign = std::uint64_t{1} << (bits - 1), all = sign | (sign - 1);
  std::uint64_t key = code;
  if (order == CodeOrder::floating) key = (code & sign) != 0 ? ~code & all : code | sign;
  else if (order == CodeOrder::signed_integer) key = code ^ sign;
  return negated ? ~key & all : key;
}

std::uint64_t CodeKeys::code_of(std::uint64_t key) const {
  const std::uint64_t sign = std::uint64_t{1} << (bits - 1), all = sign | (sign - 1);
  if (negated) key = ~key & all;
  if (order == CodeOrder::floating) return (key & sign) != 0 ? key & ~sign : ~key & all;
  return order == CodeOrder::signed_integer ? key ^ sign : key;
}

void CodeKeys::append(std::span<const std::byte> codes, std::vector<std::uint64_t>& keys) const {
  const std::size_t width = bits / 8, n = codes.size() / width, before = keys.size();
  keys.resize(before + n);
  std::uint64_t* to = keys.data() + before;
  for (std::size_t i = 0; i < n; ++i) {
    const std::byte* p = codes.data() + i * width;
    const std::uint64_t code = width == 4 ? load_le<std::uint32_t>(p) : load_le<std::uint64_t>(p);
    *to = of(code);
    to += finite(code);
  }
  keys.resize(static_cast<std::size_t>(to - keys.data()));
}

std::vector<std::pair<double, std::uint64_t>> CodeKeys::quantiles(std::span<const std::uint64_t> sorted) const {
  std::vector<std::pair<double, std::uint64_t>> found;
  if (sorted.empty()) return found;
  for (const unsigned thousandths : kThousandths)
    found.emplace_back(thousandths / 1000.0, code_of(sorted[static_cast<std::size_t>(rank_of(sorted.size(), thousandths) - 1)]));
  return found;
}

QuantileSearch::QuantileSearch(CodeKeys keys, std::span<const Census::Entry> tops) : keys_(keys) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> cells;  // key, count
  std::uint64_t total = 0;
  for (const auto& [top, count] : tops) {
    const std::uint64_t code = static_cast<std::uint64_t>(top) << (keys_.bits - 16);
    if (!keys_.finite(code)) continue;
    cells.emplace_back(keys_.of(code) >> (keys_.bits - 16), count);
    total += count;
  }
  if (total == 0) return;
  sort_stable(cells);
  std::vector<std::uint64_t> chosen;
  std::uint64_t below = 0;
  std::size_t at = 0;
  for (const unsigned thousandths : kThousandths) {
    const std::uint64_t rank = rank_of(total, thousandths);
    while (below + cells[at].second < rank) below += cells[at++].second;
    if (chosen.empty() || chosen.back() != cells[at].first) chosen.push_back(cells[at].first);
    ranks_.push_back({chosen.size() - 1, rank - below, thousandths / 1000.0});
  }
  set_cells(std::move(chosen));
}

void QuantileSearch::set_cells(std::vector<std::uint64_t> cells) {
  cells_ = std::move(cells);
  cell_of_.assign(kCells, 0);
  for (std::size_t i = cells_.size(); i-- > 0;)
    cell_of_[static_cast<std::size_t>(keys_.code_of(cells_[i] << (keys_.bits - known_)) >> (keys_.bits - 16))] =
        static_cast<std::uint8_t>(i + 1);
}

QuantileSearch::Pass QuantileSearch::start() const {
  Pass pass;
  pass.counts_.assign(cells_.size() * kCells, 0);
  return pass;
}

template <class Code>
void QuantileSearch::count_codes(const std::byte* p, std::size_t n, Pass& pass) const {
  const unsigned down = keys_.bits - known_, next = down - 16;
  const std::uint8_t* cell_of = cell_of_.data();
  for (std::size_t i = 0; i < n; ++i) {
    const Code code = load_le<Code>(p + i * sizeof(Code));
    std::size_t cell = cell_of[code >> (8 * sizeof(Code) - 16)];
    if (cell == 0) continue;
    const std::uint64_t key = keys_.of(code);
    for (--cell; cell < cells_.size() && cells_[cell] < key >> down;) ++cell;
    if (cell < cells_.size() && cells_[cell] == key >> down) ++pass.counts_[cell * kCells + (key >> next & 0xffff)];
  }
}

void QuantileSearch::count(std::span<const std::byte> codes, Pass& pass) const {
  const std::size_t n = codes.size() / (keys_.bits / 8);
  if (pass.since_carry_ + n > std::numeric_limits<std::uint32_t>::max()) pass.carry();
  pass.since_carry_ += n;
  if (keys_.bits == 32) count_codes<std::uint32_t>(codes.data(), n, pass);
  else count_codes<std::uint64_t>(codes.data(), n, pass);
}

void QuantileSearch::Pass::carry() {
  carried_.resize(counts_.size(), 0);
  for (std::size_t i = 0; i < counts_.size(); ++i) carried_[i] += counts_[i];
  std::ranges::fill(counts_, 0u);
  since_carry_ = 0;
}

void QuantileSearch::Pass::merge(const Pass& other) {
  if (other.carried_.empty() && since_carry_ + other.since_carry_ <= std::numeric_limits<std::uint32_t>::max()) {
    for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
    since_carry_ += other.since_carry_;
    return;
  }
  carry();
  for (std::size_t i = 0; i < counts_.size(); ++i) carried_[i] += other.counts_[i] + (other.carried_.empty() ? 0 : other.carried_[i]);
}

void QuantileSearch::finish(const Pass& pass) {
  std::vector<std::uint64_t> chosen;
  std::size_t cell = cells_.size(), at = 0;
  std::uint64_t below = 0;
  for (Rank& rank : ranks_) {
    if (rank.cell != cell) {
      cell = rank.cell;
      at = 0;
      below = 0;
    }
    const auto count = [&] { return pass.counts_[cell * kCells + at] + (pass.carried_.empty() ? 0 : pass.carried_[cell * kCells + at]); };
    while (at + 1 < kCells && below + count() < rank.left) {
      below += count();
      ++at;
    }
    const std::uint64_t key = cells_[cell] << 16 | at;
    if (chosen.empty() || chosen.back() != key) chosen.push_back(key);
    rank.cell = chosen.size() - 1;
    rank.left -= below;
  }
  known_ += 16;
  set_cells(std::move(chosen));
}

std::vector<std::pair<double, std::uint64_t>> QuantileSearch::codes() const {
  std::vector<std::pair<double, std::uint64_t>> found;
  for (const Rank& rank : ranks_) found.emplace_back(rank.p, keys_.code_of(cells_[rank.cell]));
  return found;
}

}  // namespace assay::analysis
