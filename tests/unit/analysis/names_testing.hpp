// SPDX-License-Identifier: Apache-2.0
// Checkpoints made of names and shapes, for tests that look at headers only.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "assay/checkpoint.hpp"
#include "base/arena.hpp"

namespace assay::analysis {

/// Adds a tensor on a storage of its own.
inline Tensor& add_tensor(Checkpoint& checkpoint, std::string_view name, std::vector<std::uint64_t> shape = {2}, DType dtype = DType::f32) {
  Tensor tensor;
  tensor.name = checkpoint.arena().text(name);
  tensor.shape = checkpoint.arena().numbers(shape);
  tensor.dtype = dtype;
  tensor.numel = 1;
  for (const std::uint64_t dimension : shape) tensor.numel *= dimension;
  tensor.storage = static_cast<std::uint32_t>(checkpoint.storages.size());
  Storage storage;
  storage.nbytes = tensor.nbytes();
  checkpoint.storages.push_back(storage);
  checkpoint.tensors.push_back(tensor);
  return checkpoint.tensors.back();
}

inline Checkpoint checkpoint_of(std::initializer_list<std::string_view> names) {
  Checkpoint checkpoint;
  checkpoint.files.push_back({.name = "model.safetensors", .size = 1000, .source = nullptr});
  for (const std::string_view name : names) add_tensor(checkpoint, name);
  return checkpoint;
}

}  // namespace assay::analysis
