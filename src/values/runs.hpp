// SPDX-License-Identifier: Apache-2.0
// Elements that stand side by side, as the rows of a slice do: where each run of them begins, for loops that take them where they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "assay/checkpoint.hpp"
#include "values/layout.hpp"

namespace assay::values {

/// Of a tensor whose bytes stand in a mapped file as they are, with gaps, in runs of at least kLeastBytes.
class MappedRuns {
 public:
  static constexpr std::size_t kLeastBytes = 64;

  /// Nothing for other tensors. Valid as long as the checkpoint.
  static std::optional<MappedRuns> of(const Checkpoint& checkpoint, const Tensor& tensor, const Limits& limits);

  std::size_t element_bytes() const { return width_; }
  std::size_t element_codes() const { return codes_; }    ///< 2 of complex ones
  std::uint64_t length() const { return layout_.run(); }  ///< elements of a run
  /// Calls fn(begin, count) for each run of elements [first, first + n); the first and the last may be parts of one.
  template <class Fn>
  void for_each(std::uint64_t first, std::uint64_t n, Fn&& fn) const {
    layout_.for_each_run(first, n, [&](std::uint64_t element, std::uint64_t count, std::uint64_t) {
      fn(low_byte_ + static_cast<std::size_t>((element - low_) * width_), static_cast<std::size_t>(count));
    });
  }

 private:
  Layout layout_;
  const std::byte* low_byte_ = nullptr;  ///< of the lowest element
  std::uint64_t low_ = 0;
  std::size_t width_ = 0, codes_ = 1;
};

}  // namespace assay::values
