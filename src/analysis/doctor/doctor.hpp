// SPDX-License-Identifier: Apache-2.0
// What is wrong with a checkpoint's values. Each finding says what, and where; its code's advice says why it matters and what to do.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "analysis/model_config.hpp"
#include "assay/checkpoint.hpp"
#include "base/work.hpp"

namespace assay::analysis {

struct Checkup {
  std::uint64_t checked = 0;  ///< tensors whose values were looked at
  std::uint64_t skipped = 0;  ///< those without values: empty, not readable, or of a dtype without numbers
  std::uint64_t bytes = 0;    ///< of those that were looked at
  std::uint64_t sampled = 0;  ///< of `checked` those of which only a sample was looked at
};

struct DoctorOptions {
  std::size_t threads = 1;
  /// Of a tensor above 16 MiB look at one MiB in sixteen only. Findings that rest on it say so and have the fact "sampled"; checks that
  /// need all of a tensor (dead rows, copies, where the first NaN is) are left out for it.
  bool sample = false;
  /// Called as the work goes on, with bytes done and all of them; false stops it.
  std::function<bool(std::uint64_t done, std::uint64_t of)> watch = {};
};

/// Reads every element once, and again the tensors in which something has to be placed or compared. Findings are appended, the gravest
/// first. A tensor that cannot be read becomes a finding; only `need-range` fails. Memory: a few hundred bytes a tensor, and a block of
/// elements.
Result<Checkup> examine(const Checkpoint& checkpoint, const ModelConfig& config, const DoctorOptions& options,
                        std::vector<Finding>& findings);
/// The same on one thread, waiting for what is not at hand. What is given must live as long.
Work<Checkup> examine_work(const Checkpoint& checkpoint, const ModelConfig& config, const DoctorOptions& options,
                           std::vector<Finding>& findings);
/// Bytes that examining reads, as far as is known from headers.
std::uint64_t bytes_to_examine(const Checkpoint& checkpoint, bool sample);

}  // namespace assay::analysis
