// SPDX-License-Identifier: Apache-2.0
// Histograms as JSON, as blocks with axes and quantile marks, and stacked: a line for each of several tensors.
#pragma once

#include <span>
#include <string>

#include "analysis/histogram.hpp"
#include "report/json_writer.hpp"
#include "report/style.hpp"
#include "report/writer.hpp"

namespace assay::report {

struct HistRow {
  const Tensor* tensor;
  analysis::Distribution distribution;
  analysis::Bins bins;
};

/// One tensor's histogram as an object: its facts, and "bins" {edges[], counts[], below, above, nan}.
void write_hist_row(JsonWriter& json, const HistRow& row, const analysis::Axis& axis);

struct HistLook {
  std::size_t height = 10;  ///< lines of bars
  bool log_counts = false;
  std::size_t columns = 0;  ///< there are for bars: few bins are drawn wider; 0 for one a bin
};
/// Columns that are left for bars.
std::size_t hist_columns(std::size_t width);
void write_hist_screen(Writer& out, const Style& style, const HistRow& row, const analysis::Axis& axis, const HistLook& look);
/// Every row against its own largest bin.
void write_ridge_screen(Writer& out, const Style& style, std::span<const HistRow> rows, const analysis::Axis& axis, const HistLook& look);
/// Columns that a ridge leaves for bars beside names of that width.
std::size_t ridge_columns(std::size_t width, std::size_t names);

}  // namespace assay::report
