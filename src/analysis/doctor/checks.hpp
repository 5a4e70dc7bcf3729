// SPDX-License-Identifier: Apache-2.0
// The checks of examine(), in the order they are made: of one tensor, then across tensors.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/doctor/roles.hpp"
#include "analysis/model_config.hpp"
#include "analysis/stats.hpp"
#include "assay/checkpoint.hpp"
#include "base/work.hpp"

namespace assay::analysis::doctor {

/// A tensor that was measured.
struct Patient {
  std::uint32_t tensor = 0;
  TensorRole role = TensorRole::other;
  Stats stats;
  bool swapped = false;  ///< looks byte-swapped: its numbers say nothing else
  bool tied = false;     ///< the same view of the same storage as an earlier one

  bool sampled() const { return !stats.exact; }
  /// As far as was looked at: see Chart::about.
  bool all_zero() const { return stats.zeros == stats.measured && stats.measured > 0; }
  bool constant() const {
    return stats.nan == 0 && stats.pos_inf == 0 && stats.neg_inf == 0 && stats.min && stats.min == stats.max && stats.numel > 1;
  }
};

/// Findings as they are made. Those that many tensors share become one.
class Chart {
 public:
  Chart(const Checkpoint& checkpoint, std::vector<Finding>& findings) : checkpoint_(checkpoint), findings_(findings) {}
  void add(Code code, Severity severity, std::string message, std::string_view tensor, std::vector<Fact> facts = {});
  void add(Finding finding);
  /// Takes back what was said of tensors without values, or with few, whose zeros have another reason.
  void withdraw(std::span<const std::uint32_t> tensors);
  const std::vector<Finding>& findings() const { return findings_; }
  /// What is added or shared from now on was found in a sample, and is marked so; or it was not.
  void about(bool sampled) { sampled_ = sampled; }
  /// Told by write_shared(): "'a.weight' is all 0", or "12 tensors are all 0: 'a.weight', …".
  void share(Code code, Severity severity, std::string_view one, std::string_view many, std::uint32_t tensor);
  void write_shared();

 private:
  struct Shared {
    Code code;
    Severity severity;
    std::string one, many;
    bool sampled;
    std::vector<std::uint32_t> tensors;
  };
  const Checkpoint& checkpoint_;
  std::vector<Finding>& findings_;
  std::vector<Shared> shared_;
  bool sampled_ = false;
};

// Of one tensor. Those that read fail only as reading does; they wait for what is not at hand.
Result<bool> looks_swapped(const Checkpoint& checkpoint, const Tensor& tensor, TensorRole role);
Work<void> check_special(const Checkpoint& checkpoint, const Patient& patient, Chart& chart);
void check_flat(const Checkpoint& checkpoint, const Patient& patient, Chart& chart);
Work<void> check_rows(const Checkpoint& checkpoint, const Patient& patient, Chart& chart);
Work<void> check_index(const Checkpoint& checkpoint, const Patient& patient, Chart& chart);
void check_small(const Checkpoint& checkpoint, const Patient& patient, Chart& chart);

// Across tensors.
void check_repeats(const Checkpoint& checkpoint, Chart& chart);
void note_old_names(const Checkpoint& checkpoint, Chart& chart);
void check_placeholders(const Checkpoint& checkpoint, Chart& chart);
void check_adapters(const Checkpoint& checkpoint, const std::vector<Patient>& patients, Chart& chart);
/// `ties`: tensors, each with the earlier one that is the same view of the same storage.
void tell_ties(const Checkpoint& checkpoint, const std::vector<std::pair<std::uint32_t, std::uint32_t>>& ties, Chart& chart);
void check_scales(const Checkpoint& checkpoint, const std::vector<Patient>& patients, Chart& chart);
void check_spread(const Checkpoint& checkpoint, const std::vector<Patient>& patients, Chart& chart);
/// Zeros that a download left, in a row through tensors that lie side by side. Takes back what was said of what they, or a file's end that
/// was never written, cover.
Work<void> check_holes(const Checkpoint& checkpoint, const std::vector<Patient>& patients, Chart& chart);
Work<void> check_copies(const Checkpoint& checkpoint, const std::vector<Patient>& patients, Chart& chart);
Work<void> check_tied(const Checkpoint& checkpoint, const ModelConfig& config, const std::vector<Patient>& patients, Chart& chart);

/// True when two tensors of one dtype and size hold the same elements, bit by bit.
Work<bool> same_elements(const Checkpoint& checkpoint, const Tensor& a, const Tensor& b);
/// Four significant digits at most: "0.0161", "1.2e-07".
std::string number_text(double value);

}  // namespace assay::analysis::doctor
