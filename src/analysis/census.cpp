// SPDX-License-Identifier: Apache-2.0
#include "analysis/census.hpp"

#include <algorithm>
#include <limits>

#include "base/endian.hpp"
#include "base/sort.hpp"

namespace assay::analysis {

namespace {

constexpr std::size_t kCodes = 65536;
constexpr std::size_t kFew = 2048;  // sorting so many costs less than going through a table of 65536
constexpr std::size_t kPairsPay = std::size_t{1} << 18;  // bytes from which on counting them by twos is worth the larger table
constexpr std::size_t kLanes = 4;

}  // namespace

Census::Census(std::size_t code_bytes, std::uint64_t expected) : code_bytes_(code_bytes) {
  if (code_bytes_ == 1) lanes_.resize(kLanes);
  if (expected > (code_bytes_ == 1 ? kPairsPay : kFew)) make_table();
}

void Census::add(std::span<const std::byte> codes) {
  if (code_bytes_ == 1 && table_.empty()) return add_bytes(codes);
  if (table_.empty() && few_.size() + codes.size() / code_bytes_ <= kFew) return add_few(codes);
  if (table_.empty()) make_table();
  // Whole calls fit below the carry; a longer one is cut.
  constexpr std::size_t kCut = std::size_t{1} << 30;
  for (; !codes.empty(); codes = codes.subspan(std::min(kCut, codes.size()))) {
    const std::span<const std::byte> part = codes.first(std::min(kCut, codes.size()));
    const std::size_t counted = code_bytes_ == 1 ? part.size() / 2 : part.size() / code_bytes_;
    if (since_carry_ + counted > std::numeric_limits<std::uint32_t>::max()) carry();
    since_carry_ += counted;
    if (code_bytes_ <= 2) add_tops<std::uint16_t>(part.data(), counted);
    else if (code_bytes_ == 4) add_tops<std::uint32_t>(part.data(), counted);
    else add_tops<std::uint64_t>(part.data(), counted);
    if (code_bytes_ == 1) add_bytes(part.subspan(2 * counted));
  }
}

void Census::add_few(std::span<const std::byte> codes) {
  for (std::size_t i = 0; i + code_bytes_ <= codes.size(); i += code_bytes_)
    few_.push_back(load_le<std::uint16_t>(codes.data() + i + code_bytes_ - 2));
}

void Census::merge(const Census& other) {
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane)
    for (std::size_t code = 0; code < 256; ++code) lanes_[lane][code] += other.lanes_[lane][code];
  if (other.table_.empty() && other.few_.empty()) return;
  if (table_.empty()) make_table();
  carry();
  for (const std::uint16_t code : other.few_) ++carried_[code];
  if (other.table_.empty()) return;
  for (std::size_t code = 0; code < kCodes; ++code) carried_[code] += other.at(code);
}

void Census::make_table() {
  table_.assign(kCodes, 0);
  for (const std::uint16_t code : few_) ++table_[code];
  since_carry_ = few_.size();
  few_.clear();
}

void Census::carry() {
  carried_.resize(kCodes, 0);
  for (std::size_t code = 0; code < kCodes; ++code) carried_[code] += table_[code];
  table_.assign(kCodes, 0);
  since_carry_ = 0;
}

/// The upper 16 bits of each.
template <class Unit>
void Census::add_tops(const std::byte* p, std::size_t n) {
  constexpr unsigned kDown = 8 * sizeof(Unit) - 16;
  std::uint32_t* table = table_.data();
  const auto top = [&](std::size_t i) { return static_cast<std::size_t>(load_le<Unit>(p + i * sizeof(Unit)) >> kDown); };
  std::size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    const std::size_t a = top(i), b = top(i + 1), c = top(i + 2), d = top(i + 3);
    // Runs of one value would wait for their own store each time.
    if (((a ^ b) | (a ^ c) | (a ^ d)) == 0) {
      table[a] += 4;
    } else {
      ++table[a];
      ++table[b];
      ++table[c];
      ++table[d];
    }
  }
  for (; i < n; ++i) ++table[top(i)];
}

void Census::add_bytes(std::span<const std::byte> codes) {
  std::size_t i = 0;
  for (; i + kLanes <= codes.size(); i += kLanes)
    for (std::size_t lane = 0; lane < kLanes; ++lane) ++lanes_[lane][std::to_integer<std::size_t>(codes[i + lane])];
  for (; i < codes.size(); ++i) ++lanes_[0][std::to_integer<std::size_t>(codes[i])];
}

std::vector<Census::Entry> Census::entries() const {
  std::vector<Entry> found;
  const auto keep = [&](std::size_t code, std::uint64_t count) {
    if (count > 0) found.push_back({static_cast<std::uint16_t>(code), count});
  };
  if (code_bytes_ == 1) {
    for (std::size_t code = 0; code < 256; ++code) {
      std::uint64_t count = 0;
      for (const auto& lane : lanes_) count += lane[code];
      if (!table_.empty())
        for (std::size_t other = 0; other < 256; ++other) count += at(code << 8 | other) + at(other << 8 | code);
      keep(code, count);
    }
  } else if (!table_.empty()) {
    // Most codes never occur: whole stretches are passed over at a glance.
    constexpr std::size_t kStretch = 16;
    for (std::size_t from = 0; from < kCodes; from += kStretch) {
      std::uint32_t any = 0;
      for (std::size_t code = from; code < from + kStretch; ++code) any |= table_[code];
      if (any == 0 && carried_.empty()) continue;
      for (std::size_t code = from; code < from + kStretch; ++code) keep(code, at(code));
    }
  } else {
    std::vector<std::uint16_t> sorted = few_;
    sort_stable(sorted);
    for (std::size_t i = 0, next; i < sorted.size(); i = next) {
      for (next = i + 1; next < sorted.size() && sorted[next] == sorted[i];) ++next;
      keep(sorted[i], next - i);
    }
  }
  return found;
}

}  // namespace assay::analysis
