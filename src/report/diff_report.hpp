// SPDX-License-Identifier: Apache-2.0
// How a comparison of two checkpoints looks: its counts, the keys of its JSON, and the screen that people read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/diff.hpp"
#include "analysis/match.hpp"
#include "assay/checkpoint.hpp"
#include "report/json_writer.hpp"
#include "report/style.hpp"
#include "report/writer.hpp"

namespace assay::report {

struct DiffRow {
  analysis::TensorPair pair;
  analysis::Difference difference;
  bool failed = false;         ///< a side could not be read
  std::uint32_t like = kNone;  ///< the row whose A this one's B is like, having nothing of its own
  // What finish_report() finds.
  bool weights = true;          ///< not optimizer state or another section that training keeps beside the model
  bool with_scales = false;     ///< codes of one side whose scales stand beside them: compared as the numbers they stand for
  bool without_scales = false;  ///< the same, of scales that are not understood: compared as codes
};

/// How far one layer moved: ||a - b|| / ||a|| over its changed tensors; 0 where none changed.
struct LayerChange {
  std::uint64_t layer = 0;
  double rel_l2 = 0;
  std::uint64_t changed = 0;
};

struct DiffReport {
  const Checkpoint* a = nullptr;
  const Checkpoint* b = nullptr;
  std::string path_a, path_b;
  analysis::DiffOptions options;
  std::vector<DiffRow> rows;                  ///< one a pair, in the order of A's names
  std::vector<std::uint32_t> only_a, only_b;  ///< tensors

  // What finish_report() finds.
  std::vector<std::uint32_t> changed;    ///< rows that differ, weights before the rest, the worst first, those without scales last
  std::uint64_t identical = 0;           ///< pairs of the same dtype and shape, every element equal
  std::uint64_t identical_by_value = 0;  ///< of these, those whose bits differ in zeros' signs or in NaNs
  std::uint64_t within = 0;              ///< pairs that are not identical but within the tolerance
  std::uint64_t failed = 0;
  std::vector<LayerChange> layers;  ///< by number
  std::string_view by;              ///< the key it is ordered by, which must live as long

  bool different() const { return !only_a.empty() || !only_b.empty() || !changed.empty(); }
};

/// Counts, sorts by `key` (one of kDiffKeys), and sums up the layers.
void finish_report(DiffReport& report, std::string_view key);
/// What rows may be sorted by, as a choice for the command line.
inline constexpr std::string_view kDiffKeys = "rel|max|mean|cosine|changed|ulps|name";

/// The own keys of `diff`, and one changed row as an object.
void write_diff_keys(JsonWriter& json, const DiffReport& report);
void write_changed_row(JsonWriter& json, const DiffReport& report, const DiffRow& row);

/// `most` changed rows and names of either side; 0 for all.
void write_diff_screen(Writer& out, const Style& style, const DiffReport& report, std::size_t most);

}  // namespace assay::report
