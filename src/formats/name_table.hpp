// SPDX-License-Identifier: Apache-2.0
// Finds equal names among very many, such as 1.3 million tensor names: a growing open-addressing table of indices. Names chosen
// to collide cost a tree's time, never the square of their number.
#pragma once

#include <bit>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "assay/tensor.hpp"
#include "base/endian.hpp"
#include "base/same_text.hpp"

namespace assay::formats {

/// The names themselves stay with the caller, who gives them out by index; their text must not move.
class NameTable {
 public:
  explicit NameTable(std::size_t expected = 0) { slots_.resize(std::bit_ceil(expected < 8 ? 16 : expected * 2)); }

  /// What insert() wants to know of a name; asks the memory for the place where the name will stand, which takes a while.
  std::uint32_t announce(std::string_view name) const {
    const std::uint32_t tag = hash(name);
    if (!sorted_) __builtin_prefetch(slots_.data() + (tag & (slots_.size() - 1)));
    return tag;
  }

  template <class NameOf>
  std::uint32_t insert(std::string_view name, std::uint32_t index, NameOf&& name_of) {
    return insert(name, announce(name), index, name_of);
  }

  /// Takes in `name` as `index`, unless an equal name is there: then that one's index is returned. kNone when the name was new.
  template <class NameOf>
  std::uint32_t insert(std::string_view name, std::uint32_t tag, std::uint32_t index, NameOf&& name_of) {
    if (sorted_) {
      const auto [place, fresh] = sorted_->try_emplace(name, index);
      return fresh ? kNone : place->second;
    }
    std::size_t at = tag & (slots_.size() - 1);
    while (slots_[at].index != kNone) {
      if (slots_[at].tag == tag && same_text(name_of(slots_[at].index), name)) return slots_[at].index;
      at = (at + 1) & (slots_.size() - 1);
      ++steps_;
    }
    slots_[at] = {tag, index};
    if (++count_ * 2 > slots_.size()) grow();
    if (steps_ > 1024 + 16 * std::uint64_t{count_}) sort(name_of);
    return kNone;
  }

  /// The index of an equal name, or kNone.
  template <class NameOf>
  std::uint32_t find(std::string_view name, NameOf&& name_of) const {
    if (sorted_) {
      const auto found = sorted_->find(name);
      return found == sorted_->end() ? kNone : found->second;
    }
    const std::uint32_t tag = hash(name);
    for (std::size_t at = tag & (slots_.size() - 1); slots_[at].index != kNone; at = (at + 1) & (slots_.size() - 1))
      if (slots_[at].tag == tag && same_text(name_of(slots_[at].index), name)) return slots_[at].index;
    return kNone;
  }

 private:
  struct Slot {
    std::uint32_t tag = 0;
    std::uint32_t index = kNone;
  };

  static std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
    const auto product = static_cast<unsigned __int128>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  }

  static std::uint32_t hash(std::string_view name) {
    constexpr std::uint64_t kA = 0x9e3779b97f4a7c15, kB = 0xc2b2ae3d27d4eb4f;
    const auto* p = reinterpret_cast<const std::byte*>(name.data());
    std::size_t n = name.size();
    std::uint64_t h = kA ^ n;
    for (; n > 16; p += 16, n -= 16) h = mix(load_le<std::uint64_t>(p) ^ h ^ kB, load_le<std::uint64_t>(p + 8) ^ kA);
    std::uint64_t a = 0, b = 0;
    if (n >= 8) {
      a = load_le<std::uint64_t>(p), b = load_le<std::uint64_t>(p + n - 8);
    } else if (n >= 4) {
      a = load_le<std::uint32_t>(p), b = load_le<std::uint32_t>(p + n - 4);
    } else if (n > 0) {
      a = std::to_integer<std::uint64_t>(p[0]) << 16 | std::to_integer<std::uint64_t>(p[n / 2]) << 8 |
          std::to_integer<std::uint64_t>(p[n - 1]);
    }
    h = mix(mix(a ^ h ^ kB, b ^ kA), kB);
    return static_cast<std::uint32_t>(h ^ h >> 32);
  }

  void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.index == kNone) continue;
      std::size_t at = slot.tag & (slots_.size() - 1);
      while (slots_[at].index != kNone) at = (at + 1) & (slots_.size() - 1), ++steps_;
      slots_[at] = slot;
    }
  }

  // Somebody chose the names: from here on, a tree.
  template <class NameOf>
  void sort(NameOf&& name_of) {
    sorted_.emplace();
    for (const Slot& slot : slots_)
      if (slot.index != kNone) sorted_->emplace(name_of(slot.index), slot.index);
    std::vector<Slot>().swap(slots_);
  }

  std::vector<Slot> slots_;
  std::uint32_t count_ = 0;
  std::uint64_t steps_ = 0;  // past occupied slots, over all insertions: few where hashes are spread
  std::optional<std::map<std::string_view, std::uint32_t>> sorted_;
};

}  // namespace assay::formats
