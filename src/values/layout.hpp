// SPDX-License-Identifier: Apache-2.0
// Where a tensor's elements stand in its storage: shape and strides, checked once and folded to the fewest dimensions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "assay/limits.hpp"
#include "assay/tensor.hpp"

namespace assay::values {

struct Layout {
  struct Dim {
    std::uint64_t size;
    std::uint64_t stride;  ///< in elements
  };
  std::vector<Dim> dims;   ///< outermost first, none of size 1; neighbours that step alike are one. Empty for a scalar
  std::uint64_t base = 0;  ///< element (0, 0, …), counted from the start of the storage
  std::uint64_t numel = 1;

  /// Elements [first, last], counted from the start of the storage.
  struct Extent {
    std::uint64_t first, last;
  };
  /// The least range of the storage that surely holds elements [first, first + n) in logical order. Precondition: n > 0, in range.
  Extent extent(std::uint64_t first, std::uint64_t n) const;
  /// The same for all elements. Precondition: numel > 0.
  Extent extent() const { return extent(0, numel); }
  /// Row-major without gaps.
  bool contiguous() const { return dims.empty() || (dims.size() == 1 && dims[0].stride == 1); }
  /// Elements that stand side by side at every place the innermost dimension starts.
  std::uint64_t run() const { return dims.empty() ? 1 : dims.back().stride == 1 ? dims.back().size : 1; }

  /// Calls run(element, count, stride) for each stretch along the innermost dimension, in logical order; `element` is counted
  /// from the start of the storage. Precondition: [first, first + n) is in range.
  template <class Fn>
  void for_each_run(std::uint64_t first, std::uint64_t n, Fn&& run) const;
};

/// Checks everything that reading relies on: the shape's product, the strides' number, and that the last element ends within
/// `storage_bytes`. Fails with bad-shape, bad-stride, limit-exceeded or out-of-storage.
Result<Layout> make_layout(const Tensor& tensor, std::uint64_t storage_bytes, const Limits& limits);

template <class Fn>
void Layout::for_each_run(std::uint64_t first, std::uint64_t n, Fn&& run) const {
  if (n == 0) return;
  if (dims.empty()) return run(base, n, std::uint64_t{1});
  std::vector<std::uint64_t> index(dims.size());
  std::uint64_t element = base;
  std::uint64_t rest = first;
  for (std::size_t d = dims.size(); d-- > 0;) {
    index[d] = rest % dims[d].size;
    rest /= dims[d].size;
    element += index[d] * dims[d].stride;
  }
  const std::size_t inner = dims.size() - 1;
  for (;;) {
    const std::uint64_t count = std::min(n, dims[inner].size - index[inner]);
    run(element, count, dims[inner].stride);
    n -= count;
    if (n == 0) return;
    // Back to the start of this row, then on to the next one, carrying as an odometer does.
    element -= index[inner] * dims[inner].stride;
    index[inner] = 0;
    for (std::size_t d = inner; d-- > 0;) {
      if (++index[d] < dims[d].size) {
        element += dims[d].stride;
        break;
      }
      element -= (dims[d].size - 1) * dims[d].stride;
      index[d] = 0;
    }
  }
}

}  // namespace assay::values
