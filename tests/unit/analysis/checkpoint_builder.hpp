// SPDX-License-Identifier: Apache-2.0
// Checkpoints made in memory, tensor by tensor.
#pragma once

#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "assay/checkpoint.hpp"
#include "base/arena.hpp"

namespace assay::testing {

class CheckpointBuilder {
 public:
  /// F32 values, row-major.
  std::uint32_t add(std::string_view name, const std::vector<std::uint64_t>& shape, const std::vector<float>& values) {
    return add_raw(name, DType::f32, shape, values.data(), values.size() * sizeof(float));
  }
  /// Values without a pattern: unlike those of every other call.
  std::uint32_t add_random(std::string_view name, const std::vector<std::uint64_t>& shape, float spread = 1) {
    return add(name, shape, random(shape, spread));
  }
  std::vector<float> random(const std::vector<std::uint64_t>& shape, float spread = 1) {
    std::vector<float> values(count(shape));
    for (float& value : values) value = spread * (static_cast<float>(random_() % 20001) / 10000.0f - 1.0f);
    return values;
  }
  std::uint32_t add_raw(std::string_view name, DType dtype, const std::vector<std::uint64_t>& shape, const void* data, std::size_t size) {
    std::vector<std::byte> bytes(size);
    if (size > 0) std::memcpy(bytes.data(), data, size);
    Storage storage;
    storage.nbytes = size;
    storage.file = static_cast<std::uint32_t>(made.files.size());
    made.files.push_back({"file", size, std::make_shared<MemorySource>(std::move(bytes))});
    made.storages.push_back(storage);
    Tensor tensor;
    tensor.name = made.arena().text(name);
    tensor.dtype = dtype;
    tensor.shape = made.arena().numbers(shape);
    tensor.numel = count(shape);
    tensor.storage = static_cast<std::uint32_t>(made.storages.size() - 1);
    made.tensors.push_back(tensor);
    return static_cast<std::uint32_t>(made.tensors.size() - 1);
  }
  static std::uint64_t count(const std::vector<std::uint64_t>& shape) {
    std::uint64_t n = 1;
    for (const std::uint64_t size : shape) n *= size;
    return n;
  }

  Checkpoint made;

 private:
  std::mt19937 random_{7};
};

inline bool has_code(const std::vector<Finding>& findings, Code code) {
  for (const Finding& finding : findings)
    if (finding.code == code) return true;
  return false;
}

}  // namespace assay::testing
