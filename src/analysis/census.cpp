// SPDX-License-Identifier: Apache-2.0
#include "analysis/census.hpp"

#include <algorithm>
#include <limits>

#include "base/endian.hpp"

namespace assay::analysis {

namespace {

constexpr std::size_t kCodes = 65536;
constexpr std::size_t kFew = 2048;  // sorting so many costs less than going through a table of 65536
constexpr std::size_t kLanes = 4;

}  // namespace

Census::Census(std::size_t code_bytes, std::uint64_t expected) : code_bytes_(code_bytes) {
  if (code_bytes_ == 1) lanes_.resize(kLanes);
  else if (expected > kFew) make_table();
}

void Census::add(std::span<const std::byte> codes) {
  if (code_bytes_ == 1) return add_bytes(codes);
  if (table_.empty() && few_.size() + codes.size() / 2 <= kFew) return add_few(codes);
  if (table_.empty()) make_table();
  // Whole calls fit below the carry; a longer one is cut.
  constexpr std::size_t kCut = std::size_t{1} << 30;
  for (; codes.size() > kCut; codes = codes.subspan(kCut)) add_words(codes.first(kCut));
  add_words(codes);
}

void Census::add_few(std::span<const std::byte> codes) {
  for (std::size_t i = 0; i + 2 <= codes.size(); i += 2) few_.push_back(load_le<std::uint16_t>(codes.data() + i));
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

void Census::add_words(std::span<const std::byte> codes) {
  const std::size_t n = codes.size() / 2;
  if (since_carry_ + n > std::numeric_limits<std::uint32_t>::max()) carry();
  since_carry_ += n;
  std::uint32_t* table = table_.data();
  const std::byte* p = codes.data();
  std::size_t left = n;
  for (; left >= 4; left -= 4, p += 8) {
    const auto four = load_le<std::uint64_t>(p);
    const std::uint64_t first = four & 0xffff;
    // Runs of one value would wait for their own store each time.
    if (four == first * 0x0001000100010001u) {
      table[first] += 4;
    } else {
      ++table[first];
      ++table[four >> 16 & 0xffff];
      ++table[four >> 32 & 0xffff];
      ++table[four >> 48];
    }
  }
  for (; left > 0; --left, p += 2) ++table[load_le<std::uint16_t>(p)];
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
      keep(code, count);
    }
  } else if (!table_.empty()) {
    // Most codes never occur: whole stretches are passed over at a glance.
    constexpr std::size_t kStretch = 16;
    for (std::size_t from = 0; from < kCodes; from += kStretch) {
      std::uint32_t any = 0;
      for (std::size_t code = from; code < from + kStretch; ++code) any |= table_[code];
      if (any == 0 && carried_.empty()) continue;
      for (std::size_t code = from; code < from + kStretch; ++code) keep(code, table_[code] + (carried_.empty() ? 0 : carried_[code]));
    }
  } else {
    std::vector<std::uint16_t> sorted = few_;
    std::sort(sorted.begin(), sorted.end());
    for (std::size_t i = 0, next; i < sorted.size(); i = next) {
      for (next = i + 1; next < sorted.size() && sorted[next] == sorted[i];) ++next;
      keep(sorted[i], next - i);
    }
  }
  return found;
}

}  // namespace assay::analysis
