// SPDX-License-Identifier: Apache-2.0
// A tensor as a sum over its elements may see it: in the order of the storage, repeated elements once.
#pragma once

#include <cstdint>
#include <vector>

#include "assay/tensor.hpp"

namespace assay::values {

/// The same elements for work that does not care about their order: dimensions by falling stride, so that a transposed tensor is
/// read from front to back, and those of stride 0 left out, whose repetitions are the weight. Owns the dimensions of `tensor()`.
class StorageOrder {
 public:
  /// `tensor`'s texts must outlive it. Quantised tensors keep their order.
  explicit StorageOrder(const Tensor& tensor);
  StorageOrder(const StorageOrder&) = delete;
  StorageOrder& operator=(const StorageOrder&) = delete;

  const Tensor& tensor() const { return tensor_; }
  /// How often each element of tensor() stands in the original.
  std::uint64_t weight() const { return weight_; }

 private:
  std::vector<std::uint64_t> shape_, stride_;
  Tensor tensor_;
  std::uint64_t weight_ = 1;
};

}  // namespace assay::values
