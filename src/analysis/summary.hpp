// SPDX-License-Identifier: Apache-2.0
// Counting what a checkpoint holds, from headers alone.
#pragma once

#include <cstdint>
#include <vector>

#include "assay/checkpoint.hpp"
#include "model/sizes.hpp"

namespace assay::analysis {

/// One dtype's part. Elements and bytes are those stored: a storage that several tensors look into is counted once, for the first.
struct DTypeCount {
  DType dtype = DType::unknown;
  std::uint64_t tensors = 0;
  std::uint64_t elements = 0;
  std::uint64_t bytes = 0;
};

/// What one tensor adds to what the tensors before it hold.
struct Share {
  std::uint64_t parameters = 0;  ///< 0 for a tie: the same view of the same storage as an earlier tensor
  std::uint64_t bytes = 0;       ///< of its storage, 0 when an earlier tensor is on it
};

/// Sums that a hostile header drives beyond 64 bits stay at the largest number.
struct Summary {
  std::uint64_t tensor_count = 0;
  std::uint64_t unreadable = 0;
  std::uint64_t elements = 0;      ///< stored, each storage once
  std::uint64_t parameters = 0;    ///< distinct elements: ties once, a dimension of stride 0 once
  std::uint64_t tensor_bytes = 0;  ///< of the storages, each once
  std::uint64_t file_size = 0;     ///< of all files
  std::vector<DTypeCount> dtypes;  ///< by falling bytes, then by name
  std::vector<Share> shares;       ///< per tensor, in Checkpoint::tensors' order
  struct Tie {
    std::uint32_t tensor, to;  ///< indices: it is the same view of the same storage as this earlier one
  };
  std::vector<Tie> ties;  ///< by tensor
};

/// Cost: linear in the tensors and their dimensions.
Summary summarize(const Checkpoint& checkpoint);

using model::tensor_bytes;

/// The elements of a tensor that stand at different places: its numel, a dimension of stride 0 taken as 1.
std::uint64_t distinct_elements(const Tensor& tensor);

}  // namespace assay::analysis
