// SPDX-License-Identifier: Apache-2.0
#include "base/arena.hpp"

#include <algorithm>
#include <cstring>

namespace assay {

namespace {
constexpr std::size_t kFirstChunk = std::size_t{4} << 10;
constexpr std::size_t kLargestChunk = std::size_t{1} << 20;
}  // namespace

std::byte* Arena::allocate(std::size_t n) {
  n = (n + 7) & ~std::size_t{7};
  if (n > left_) {
    // Grow with what is in use, so that a small checkpoint stays small and a large one asks seldom.
    const std::size_t chunk = std::max(n, std::clamp(total_, kFirstChunk, kLargestChunk));
    chunks_.push_back(std::make_unique_for_overwrite<std::byte[]>(chunk));
    next_ = chunks_.back().get();
    left_ = chunk;
    total_ += chunk;
  }
  std::byte* piece = next_;
  next_ += n;
  left_ -= n;
  return piece;
}

std::string_view Arena::text(std::string_view text) {
  if (text.empty()) return {};
  auto* copy = reinterpret_cast<char*>(allocate(text.size()));
  std::memcpy(copy, text.data(), text.size());
  return {copy, text.size()};
}

std::span<const std::uint64_t> Arena::numbers(std::span<const std::uint64_t> numbers) {
  if (numbers.empty()) return {};
  auto* copy = reinterpret_cast<std::uint64_t*>(allocate(numbers.size_bytes()));
  std::memcpy(copy, numbers.data(), numbers.size_bytes());
  return {copy, numbers.size()};
}

}  // namespace assay
