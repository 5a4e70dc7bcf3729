// SPDX-License-Identifier: Apache-2.0
#include "values/storage_order.hpp"

#include <algorithm>
#include <numeric>

#include "base/arith.hpp"
#include "base/sort.hpp"

namespace assay::values {

StorageOrder::StorageOrder(const Tensor& tensor) : tensor_(tensor) {
  const std::size_t rank = tensor.shape.size();
  // A tensor that opening would refuse stays as it is, and is refused. The channels of a quantizer count along a dimension.
  if (tensor.quantizer != kNone || tensor.stride.empty() || tensor.stride.size() != rank || tensor.numel == 0) return;
  std::vector<std::size_t> order(rank);
  std::iota(order.begin(), order.end(), std::size_t{0});
  sort_stable(order, [&](std::size_t a, std::size_t b) {
    return tensor.stride[a] != tensor.stride[b] ? tensor.stride[a] > tensor.stride[b] : a < b;
  });
  std::uint64_t numel = 1, weight = 1;
  for (const std::size_t d : order) {
    std::uint64_t& product = tensor.stride[d] == 0 ? weight : numel;
    const auto next = checked_mul(product, tensor.shape[d]);
    if (!next) return;
    product = *next;
  }
  if (checked_mul(numel, weight) != tensor.numel) return;
  for (const std::size_t d : order) {
    if (tensor.stride[d] == 0) continue;
    shape_.push_back(tensor.shape[d]);
    stride_.push_back(tensor.stride[d]);
  }
  tensor_.shape = shape_;
  tensor_.stride = stride_;
  tensor_.numel = numel;
  weight_ = weight;
}

}  // namespace assay::values
