// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "assay/checkpoint.hpp"

namespace assay::model {

/// The size of a tensor's elements packed without gaps; of an unknown dtype that of its storage, which the file tells.
std::uint64_t tensor_bytes(const Checkpoint& checkpoint, const Tensor& tensor);

}  // namespace assay::model
