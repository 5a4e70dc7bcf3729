// SPDX-License-Identifier: Apache-2.0
#include "analysis/census.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "base/endian.hpp"

namespace assay::analysis {

namespace {

constexpr std::size_t kCodes = 65536;
constexpr std::size_t kFew = 2048;                       // counting so many apart costs less than going through a table of 65536
constexpr std::size_t kPairsPay = std::size_t{1} << 18;  // bytes from which on counting them by twos is worth the larger table
constexpr std::size_t kLanes = 4;
constexpr std::size_t kPiece = 65536;
constexpr std::size_t kAhead = 16384;  // bytes that memory is asked for before they are needed
constexpr std::size_t kSlots = 32;     // behind the table, for one code that occurs all the time

/// Calls fn with the upper 16 bits of each code of a word.
template <class Unit, class Fn>
void for_each_top(std::uint64_t word, Fn&& fn) {
  for (unsigned shift = 8 * sizeof(Unit) - 16; shift < 64; shift += 8 * sizeof(Unit)) fn(static_cast<std::size_t>(word >> shift & 0xffff));
}

template <class Unit>
std::size_t top_at(const std::byte* p, std::size_t i) {
  return static_cast<std::size_t>(load_le<Unit>(p + i * sizeof(Unit)) >> (8 * sizeof(Unit) - 16));
}

/// The upper 16 bits that at least one in eight codes seem to have, as zeros of a sparse tensor. An increment has to wait for the one
/// before it of the same count.
template <class Unit>
std::optional<std::size_t> hot_top(const std::byte* p, std::size_t n) {
  constexpr std::size_t kLooks = 32, kMany = 4;
  if (n < 32 * kLooks) return std::nullopt;
  std::uint16_t seen[kLooks], alike[kLooks] = {};
  for (std::size_t i = 0; i < kLooks; ++i) seen[i] = static_cast<std::uint16_t>(top_at<Unit>(p, n / kLooks * i + i));
  for (std::size_t i = 0; i < kLooks; ++i)
    for (std::size_t k = 0; k < kLooks; ++k) alike[k] = static_cast<std::uint16_t>(alike[k] + (seen[k] == seen[i]));
  const auto most = std::ranges::max_element(alike);
  if (*most < kMany) return std::nullopt;
  return seen[most - alike];
}

/// The upper 16 bits of each. The processor writes one count a cycle, and that is all that limits it.
template <class Unit>
void count_tops(std::uint32_t* table, const std::byte* p, std::size_t n) {
  constexpr std::size_t kLine = 64 / sizeof(Unit);
  std::size_t i = 0;
  for (; i + kLine <= n; i += kLine, p += 64) {
    __builtin_prefetch(p + kAhead, 0, 2);
    for (std::size_t at = 0; at < 64; at += 8) for_each_top<Unit>(load_le<std::uint64_t>(p + at), [&](std::size_t top) { ++table[top]; });
  }
  for (std::size_t k = 0; i < n; ++i, ++k) ++table[top_at<Unit>(p, k)];
}

/// The same, where `hot` takes turns among the slots.
template <class Unit>
void count_beside(std::uint32_t* table, const std::byte* p, std::size_t n, std::size_t hot) {
  std::size_t i = 0;
  constexpr std::size_t kLine = 64 / sizeof(Unit);
  for (; i + kLine <= n; i += kLine, p += 64) {
    __builtin_prefetch(p + kAhead, 0, 2);
    std::size_t slot = kCodes;
    for (std::size_t at = 0; at < 64; at += 8)
      for_each_top<Unit>(load_le<std::uint64_t>(p + at), [&](std::size_t top) { ++table[top == hot ? slot : top], ++slot; });
  }
  for (std::size_t k = 0; i < n; ++i, ++k) ++table[top_at<Unit>(p, k)];
}

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
  table_.assign(kCodes + kSlots, 0);
  for (const std::uint16_t code : few_) ++table_[code];
  since_carry_ = few_.size();
  few_.clear();
}

void Census::carry() {
  carried_.resize(kCodes, 0);
  for (std::size_t code = 0; code < kCodes; ++code) carried_[code] += table_[code];
  table_.assign(kCodes + kSlots, 0);
  since_carry_ = 0;
}

template <class Unit>
void Census::add_tops(const std::byte* p, std::size_t n) {
  for (std::size_t count; n > 0; n -= count, p += count * sizeof(Unit)) {
    count = std::min(n, kPiece);
    if (std::memcmp(p, p + sizeof(Unit), (count - 1) * sizeof(Unit)) == 0) {
      table_[top_at<Unit>(p, 0)] += static_cast<std::uint32_t>(count);  // a constant
    } else if (const auto hot = hot_top<Unit>(p, count)) {
      count_beside<Unit>(table_.data(), p, count, *hot);
      for (std::size_t slot = kCodes; slot < kCodes + kSlots; ++slot) table_[*hot] += std::exchange(table_[slot], 0u);
    } else {
      count_tops<Unit>(table_.data(), p, count);
    }
  }
}

void Census::add_bytes(std::span<const std::byte> codes) {
  std::size_t i = 0;
  for (; i + kLanes <= codes.size(); i += kLanes)
    for (std::size_t lane = 0; lane < kLanes; ++lane) ++lanes_[lane][std::to_integer<std::size_t>(codes[i + lane])];
  for (; i < codes.size(); ++i) ++lanes_[0][std::to_integer<std::size_t>(codes[i])];
}

/// A bit for each code that occurs; how many come before it is its place among them.
std::vector<Census::Entry> Census::few_entries() const {
  std::uint64_t bits[kCodes / 64] = {};
  std::uint16_t before[kCodes / 64];
  for (const std::uint16_t code : few_) bits[code / 64] |= std::uint64_t{1} << code % 64;
  std::vector<Entry> found;
  found.reserve(few_.size());
  for (std::size_t word = 0; word < kCodes / 64; ++word) {
    before[word] = static_cast<std::uint16_t>(found.size());
    for (std::uint64_t left = bits[word]; left != 0; left &= left - 1)
      found.push_back({static_cast<std::uint16_t>(64 * word + static_cast<unsigned>(std::countr_zero(left))), 0});
  }
  for (const std::uint16_t code : few_)
    ++found[before[code / 64] + static_cast<unsigned>(std::popcount(bits[code / 64] & ((std::uint64_t{1} << code % 64) - 1)))].count;
  return found;
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
    return few_entries();
  }
  return found;
}

}  // namespace assay::analysis
