// SPDX-License-Identifier: Apache-2.0
// Tables of the columns that --columns names.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "analysis/stats.hpp"
#include "analysis/summary.hpp"
#include "assay/checkpoint.hpp"
#include "report/style.hpp"
#include "report/writer.hpp"

namespace assay::report {

/// One row: a tensor, and its statistics where they are asked for; null where they could not be measured.
struct ColumnRow {
  const Checkpoint& checkpoint;
  const Tensor& tensor;
  const analysis::Stats* stats = nullptr;
};

/// What the words name, in their order: "name,dtype,size". Fails with `usage`, naming the words there are. Statistics are columns
/// only where `with_stats`.
class ColumnSet {
 public:
  static Result<ColumnSet> parse(std::string_view words, bool with_stats);
  void write(Writer& out, const Style& style, std::span<const ColumnRow> rows) const;

 private:
  std::vector<std::size_t> columns_;  // of the table
};

}  // namespace assay::report
