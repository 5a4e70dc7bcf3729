// SPDX-License-Identifier: Apache-2.0
// The codes of a tensor in blocks for whoever measures or counts them; where they stand in the file with gaps, as runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "analysis/kernels/kernels.hpp"
#include "assay/values.hpp"
#include "values/runs.hpp"

namespace assay::analysis {

using CodesFn = std::function<void(std::span<const std::byte>)>;

/// Calls fn(codes) for the elements from `first` on, a block that the caches hold at a time or less; `whole`: when all of them are at hand.
Result<void> each_block(const TensorReader& reader, std::uint64_t first, std::uint64_t count, bool whole, const CodesFn& fn);
/// The same in blocks that are full, but the last: a meter's sums are then those of a copy without gaps.
Result<void> each_full_block(const TensorReader& reader, std::uint64_t first, std::uint64_t count, bool whole, const CodesFn& fn);

/// Full blocks of what stands in a mapped file with gaps. Holds some 100 KiB from call to call.
class RunBlocks {
 public:
  /// Calls fn(codes, n) for elements [first, first + count), where they stand.
  void for_each(const values::MappedRuns& runs, std::uint64_t first, std::uint64_t count,
                const std::function<void(const kernels::Runs&, std::size_t)>& fn);
  /// Calls fn(codes), each block put together.
  void for_each_joined(const values::MappedRuns& runs, std::uint64_t first, std::uint64_t count, const CodesFn& fn);

 private:
  std::vector<const std::byte*> begins_, ahead_;
  std::vector<std::size_t> counts_;
};

}  // namespace assay::analysis
