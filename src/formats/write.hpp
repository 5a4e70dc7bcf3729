// SPDX-License-Identifier: Apache-2.0
// Writing checkpoints: whole, in memory, deterministic byte for byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "assay/dtype.hpp"
#include "assay/result.hpp"

namespace assay::formats {

/// A contiguous little-endian tensor to be written.
struct TensorToWrite {
  std::string name;
  DType dtype;
  std::vector<std::uint64_t> shape;
  std::span<const std::byte> bytes;  ///< row-major; as many as shape and dtype need
};

/// As the reference writer lays it out: header padded with spaces to 8, tensors by falling dtype size, then by name.
Result<std::vector<std::byte>> write_safetensors(std::span<const TensorToWrite> tensors,
                                                 const std::map<std::string, std::string>& metadata);

/// A torch zip as torch.save(state_dict) of torch 2.x writes it (an OrderedDict, data aligned to 64, real CRCs), which torch.load accepts
/// with weights_only. `root` is the archive's folder name.
Result<std::vector<std::byte>> write_torch_zip(std::span<const TensorToWrite> tensors, std::string_view root);

}  // namespace assay::formats
