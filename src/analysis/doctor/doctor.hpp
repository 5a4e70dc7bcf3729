// SPDX-License-Identifier: Apache-2.0
// What is wrong with a checkpoint's values. Each finding says what, and where; its code's advice says why it matters and what to do.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "analysis/model_config.hpp"
#include "assay/checkpoint.hpp"

namespace assay::analysis {

struct Checkup {
  std::uint64_t checked = 0;  ///< tensors whose values were looked at
  std::uint64_t skipped = 0;  ///< those without values: empty, not readable, or of a dtype without numbers
  std::uint64_t bytes = 0;    ///< of those that were looked at
};

struct DoctorOptions {
  std::size_t threads = 1;
  /// Called as the work goes on, with bytes done and all of them; false stops it.
  std::function<bool(std::uint64_t done, std::uint64_t of)> watch = {};
};

/// Reads every element once, and again the tensors in which something has to be placed or compared. A tensor that cannot be read becomes
/// a finding; only `need-range` fails. Memory: a few hundred bytes a tensor, and a block of elements.
Result<Checkup> examine(const Checkpoint& checkpoint, const ModelConfig& config, const DoctorOptions& options,
                        std::vector<Finding>& findings);

}  // namespace assay::analysis
