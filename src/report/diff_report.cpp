// SPDX-License-Identifier: Apache-2.0
#include "report/diff_report.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <tuple>

#include "analysis/scales_beside.hpp"
#include "analysis/select.hpp"
#include "base/sort.hpp"
#include "base/text.hpp"
#include "model/naming.hpp"

namespace assay::report {
namespace {

constexpr double kWorst = std::numeric_limits<double>::infinity();

/// The larger the worse. What has no such number (another shape) comes first, what became NaN or infinite too.
double badness(const DiffRow& row, std::string_view key) {
  const analysis::Difference& d = row.difference;
  if (!d.compared) return kWorst;
  const bool broken = d.nan_changed > 0 || d.inf_changed > 0;
  if (key == "changed")
    return d.numel == 0 ? 0 : static_cast<double>(d.changed_elements) / static_cast<double>(d.sampled ? d.measured : d.numel);
  if (key == "ulps") return broken ? kWorst : static_cast<double>(d.max_ulps.value_or(0));
  if (broken) return kWorst;
  if (d.same_bytes) return 0;
  if (key == "cosine") return -d.cosine.value_or(-2);
  return (key == "max" ? d.max_abs : key == "mean" ? d.mean_abs : d.rel_l2).value_or(0);
}

/// sqrt(a² + b²) by correctly rounded steps alone: std::hypot differs from one C library to the next.
double joined_norm(double a, double b) {
  const double large = std::max(a, b), small = std::min(a, b);
  return large == 0 || !std::isfinite(large) ? large : large * std::sqrt(1 + small / large * (small / large));
}

void sum_layers(DiffReport& report) {
  struct Sums {
    double a = 0, delta = 0;
    std::uint64_t changed = 0;
  };
  std::map<std::uint64_t, Sums> sums;
  for (const DiffRow& row : report.rows) {
    const auto layer = analysis::layer_of(report.a->tensors[row.pair.a].name);
    if (!layer || !row.weights || row.without_scales) continue;
    Sums& sum = sums[*layer];
    sum.a = joined_norm(sum.a, row.difference.a_l2);
    sum.delta = joined_norm(sum.delta, row.difference.delta_l2);
    if (row.difference.differs(report.options)) ++sum.changed;
  }
  for (const auto& [layer, sum] : sums)
    report.layers.push_back({layer, sum.delta == 0 ? 0 : sum.a == 0 ? kWorst : sum.delta / sum.a, sum.changed});
}

std::string_view match_name(analysis::MatchKind kind) {
  constexpr std::string_view kNames[] = {"name", "prefix", "content"};
  return kNames[static_cast<std::size_t>(kind)];
}

template <class T>
void put_optional(JsonWriter& json, std::string_view key, const std::optional<T>& value) {
  json.key(key);
  if (!value) json.null();
  else if constexpr (std::is_integral_v<T>) json.integer(*value);
  else json.number(*value);
}

void put_rank(JsonWriter& json, const analysis::RankEstimate& rank) {
  json.key("rank").begin_object();
  put_optional(json, "estimate", rank.rank);
  json.key("captured").number(rank.captured);
  json.key("rows").integer(rank.rows);
  json.key("columns").integer(rank.columns);
  if (rank.main_row) json.key("main_row").integer(*rank.main_row);
  if (rank.main_column) json.key("main_column").integer(*rank.main_column);
  json.key("zero_rows").integer(rank.zero_rows);
  json.key("zero_columns").integer(rank.zero_columns);
  json.end_object();
}

void put_names(JsonWriter& json, std::string_view key, const Checkpoint& checkpoint, const std::vector<std::uint32_t>& tensors) {
  json.key(key).begin_array();
  for (const std::uint32_t t : tensors) json.text(checkpoint.tensors[t].name);
  json.end_array();
}

void put_pair(JsonWriter& json, const DiffReport& report, const DiffRow& row) {
  json.key("name_a").text(report.a->tensors[row.pair.a].name);
  json.key("name_b").text(report.b->tensors[row.pair.b].name);
}

/// Where one side alone has scales of its own beside a tensor of codes.
void note_scales(const DiffReport& report, const analysis::ScalesBeside& scales_a, const analysis::ScalesBeside& scales_b, DiffRow& row) {
  const Tensor& a = report.a->tensors[row.pair.a];
  const Tensor& b = report.b->tensors[row.pair.b];
  const bool in_a = scales_a.of(a) != nullptr, in_b = scales_b.of(b) != nullptr;
  if (in_a == in_b || !row.difference.compared || row.difference.same_bytes) return;
  (in_a ? a : b).quantizer == kNone ? row.without_scales = true : row.with_scales = true;
}

}  // namespace

void finish_report(DiffReport& report, std::string_view key) {
  report.by = key;
  const analysis::ScalesBeside scales_a(*report.a), scales_b(*report.b);
  for (std::uint32_t i = 0; i < report.rows.size(); ++i) {
    DiffRow& row = report.rows[i];
    const analysis::Difference& d = row.difference;
    const Tensor& a = report.a->tensors[row.pair.a];
    row.weights = model::section_of(*report.a, a) == "model";
    note_scales(report, scales_a, scales_b, row);
    if (row.failed) ++report.failed;
    if (row.failed ? d.dtype_differs || d.shape_differs : d.differs(report.options)) report.changed.push_back(i);
    else if (row.failed || !d.whole) continue;
    else if (d.same_bytes || !report.options.values) ++report.identical;
    else if (d.dtype_differs || d.max_abs.value_or(0) > 0) ++report.within;
    else ++report.identical, ++report.identical_by_value;
  }
  // Rows are in the order of their names.
  if (key != "name")
    sort_stable(report.changed, std::ranges::greater(), [&](std::uint32_t i) {
      const DiffRow& row = report.rows[i];
      return std::tuple(!row.without_scales, row.weights, badness(row, key));
    });
  if (report.options.values) sum_layers(report);
}

void write_changed_row(JsonWriter& json, const DiffReport& report, const DiffRow& row) {
  const Tensor& a = report.a->tensors[row.pair.a];
  const Tensor& b = report.b->tensors[row.pair.b];
  const analysis::Difference& d = row.difference;
  // Equal bytes that count as different (another shape) differ by nothing.
  const bool zero = d.compared && d.same_bytes;
  const auto measure = [&](std::string_view name, std::optional<double> value) {
    put_optional(json, name, zero ? std::optional(0.0) : value);
  };
  json.begin_object();
  put_pair(json, report, row);
  json.key("dtype_a").text(dtype_name(a.dtype));
  json.key("dtype_b").text(dtype_name(b.dtype));
  json.key("shape_a").numbers(a.shape);
  json.key("shape_b").numbers(b.shape);
  measure("max_abs", d.max_abs);
  measure("mean_abs", d.mean_abs);
  measure("rel_l2", d.rel_l2);
  put_optional(json, "cosine", d.cosine);
  put_optional(json, "changed_elements", d.compared ? std::optional(d.changed_elements) : std::nullopt);
  json.key("numel").integer(d.numel);
  put_optional(json, "max_ulps", d.max_ulps);
  json.key("nan_changed").integer(d.nan_changed);
  json.key("inf_changed").integer(d.inf_changed);
  json.key("compared").boolean(d.compared);
  json.key("match").text(match_name(row.pair.kind));
  if (d.rank) put_rank(json, *d.rank);
  if (!row.weights) json.key("section").text(model::section_of(*report.a, a));
  if (d.factor) json.key("factor").number(*d.factor);
  if (d.rounded) json.key("rounded").boolean(true);
  if (row.with_scales) json.key("with_scales").boolean(true);
  if (row.without_scales) json.key("without_scales").boolean(true);
  if (row.like != kNone) json.key("like").text(report.a->tensors[report.rows[row.like].pair.a].name);
  if (d.sampled) {
    json.key("exact").boolean(false);
    json.key("measured").integer(d.measured);
  }
  json.end_object();
}

void write_diff_keys(JsonWriter& json, const DiffReport& report) {
  json.key("path_b").text(report.path_b);
  json.key("values_compared").boolean(report.options.values);
  if (report.options.sample) json.key("exact").boolean(false);
  put_names(json, "only_a", *report.a, report.only_a);
  put_names(json, "only_b", *report.b, report.only_b);
  json.key("identical").integer(report.identical);
  json.key("identical_by_value").integer(report.identical_by_value);
  json.key("within_tolerance").integer(report.within);
  json.key("changed").begin_array();
  for (const std::uint32_t i : report.changed) write_changed_row(json, report, report.rows[i]);
  json.end_array();
  json.key("renamed").begin_array();
  for (const DiffRow& row : report.rows) {
    if (row.pair.kind == analysis::MatchKind::name) continue;
    json.begin_object();
    put_pair(json, report, row);
    json.key("match").text(match_name(row.pair.kind));
    json.end_object();
  }
  json.end_array();
  json.key("not_compared").begin_array();
  for (const DiffRow& row : report.rows) {
    if (!row.failed) continue;
    json.begin_object();
    put_pair(json, report, row);
    json.end_object();
  }
  json.end_array();
  json.key("layers").begin_array();
  for (const LayerChange& layer : report.layers) {
    json.begin_object();
    json.key("layer").integer(layer.layer);
    json.key("rel_l2").number(layer.rel_l2);
    json.key("changed").integer(layer.changed);
    json.end_object();
  }
  json.end_array();
}

}  // namespace assay::report
