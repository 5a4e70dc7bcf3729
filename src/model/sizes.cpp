// SPDX-License-Identifier: Apache-2.0
#include "model/sizes.hpp"

namespace assay::model {

std::uint64_t tensor_bytes(const Checkpoint& checkpoint, const Tensor& tensor) {
  if (tensor.dtype != DType::unknown || tensor.storage == kNone) return tensor.nbytes();
  return checkpoint.storages[tensor.storage].nbytes;
}

}  // namespace assay::model
