// SPDX-License-Identifier: Apache-2.0
// All elements of a tensor, a block at a time, in logical order.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>

#include "assay/values.hpp"
#include "base/try.hpp"

namespace assay::values {

/// Calls fn(first, codes) with `codes` of `count` elements from `begin` on as TensorReader::for_each_raw does; about `block_bytes` at a
/// time. `fn` returns Result<void>; its error ends the walk.
template <class Fn>
Result<void> for_each_raw_block(const TensorReader& reader, std::uint64_t begin, std::uint64_t count, Fn&& fn,
                                std::size_t block_bytes = std::size_t{64} << 10) {
  return reader.for_each_raw(begin, count, block_bytes, std::ref(fn));
}

/// Of all elements.
template <class Fn>
Result<void> for_each_raw_block(const TensorReader& reader, Fn&& fn) {
  return for_each_raw_block(reader, 0, reader.tensor().numel, std::forward<Fn>(fn));
}

/// Calls fn(first, values) with `values` as read_f64 gives them; otherwise the same.
template <class Fn>
Result<void> for_each_block(const TensorReader& reader, Fn&& fn, std::size_t block = 8192) {
  const std::uint64_t numel = reader.tensor().numel;
  const auto buffer = std::make_unique_for_overwrite<double[]>(static_cast<std::size_t>(std::min<std::uint64_t>(block, numel)));
  for (std::uint64_t first = 0; first < numel;) {
    const std::span<double> values(buffer.get(), static_cast<std::size_t>(std::min<std::uint64_t>(block, numel - first)));
    ASSAY_CHECK(reader.read_f64(first, values));
    ASSAY_CHECK(fn(first, std::span<const double>(values)));
    first += values.size();
  }
  return {};
}

}  // namespace assay::values
