// SPDX-License-Identifier: Apache-2.0
// Memory that is given out in small pieces and freed at once. Pieces never move, so views of them last as long as the arena.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace assay {

class Arena {
 public:
  /// A copy of the text.
  std::string_view text(std::string_view text);
  /// A copy of the numbers.
  std::span<const std::uint64_t> numbers(std::span<const std::uint64_t> numbers);
  /// `n` bytes, aligned to 8.
  std::byte* allocate(std::size_t n);
  /// Keeps `owner` alive as long as the arena: for views into somebody else's memory.
  void keep(std::shared_ptr<const void> owner) { kept_.push_back(std::move(owner)); }
  std::size_t bytes() const { return total_; }

 private:
  std::vector<std::unique_ptr<std::byte[]>> chunks_;
  std::vector<std::shared_ptr<const void>> kept_;
  std::byte* next_ = nullptr;
  std::size_t left_ = 0;
  std::size_t total_ = 0;
};

}  // namespace assay
