// SPDX-License-Identifier: Apache-2.0
#include "report/heatmap_report.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "base/text.hpp"
#include "report/units.hpp"

namespace assay::report {
namespace {

/// The magnitude that a share of all cells do not exceed (nearest rank); 0 without cells.
double magnitude_quantile(const analysis::Heatmap& map, double share) {
  std::vector<double> sizes;
  sizes.reserve(map.data.size());
  for (const double value : map.data)
    if (std::isfinite(value)) sizes.push_back(std::abs(value));
  if (sizes.empty()) return 0;
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(sizes.size())));
  const auto place = sizes.begin() + static_cast<std::ptrdiff_t>(std::clamp<std::size_t>(rank, 1, sizes.size()) - 1);
  std::ranges::nth_element(sizes, place);
  return *place;
}

std::optional<double> number_in(std::string_view text) {
  double value = 0;
#ifdef __cpp_lib_to_chars
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  const bool whole = end == text.data() + text.size();
#else  // libc++ 19 reads no floating-point numbers yet
  const std::string terminated(text);
  char* end = nullptr;
  value = std::strtod(terminated.c_str(), &end);
  const bool whole = end == terminated.c_str() + text.size();
#endif
  if (text.empty() || !whole || !std::isfinite(value)) return std::nullopt;
  return value;
}

/// "3, 7-12 and 4 more": `named` are the first of `count`.
std::string ranges_text(std::span<const std::uint64_t> named, std::uint64_t count) {
  constexpr std::size_t kMostRanges = 6;
  std::string out;
  std::uint64_t shown = 0;
  std::size_t ranges = 0;
  for (std::size_t i = 0; i < named.size() && ranges < kMostRanges; ++ranges) {
    std::size_t end = i + 1;
    while (end < named.size() && named[end] == named[end - 1] + 1) ++end;
    out += concat(ranges > 0 ? ", " : "", named[i]);
    if (end - i > 1) out += concat("-", named[end - 1]);
    shown += end - i;
    i = end;
  }
  if (shown < count) out += concat(" and ", grouped(count - shown), " more");
  return out;
}

void write_profile(JsonWriter& json, const analysis::Profile& profile, std::string_view dead, std::string_view hot) {
  json.key(dead).begin_object();
  json.key("count").integer(profile.dead_count);
  json.key("first").numbers(profile.dead);
  json.end_object();
  json.key(hot).begin_array();
  for (const analysis::ProfileFinding& found : profile.hot) {
    json.begin_object();
    json.key("index").integer(found.index);
    json.key("ratio").number(found.ratio);
    json.end_object();
  }
  json.end_array();
}

/// What is exact in a float is shown as one: the shortest text is then the one people know from elsewhere.
void write_value(JsonWriter& json, double value) {
  const auto narrow = static_cast<float>(value);
  if (static_cast<double>(narrow) == value || std::isnan(value)) json.number(narrow);
  else json.number(value);
}

void write_marks(JsonWriter& json, const analysis::Heatmap& map) {
  json.begin_array();
  for (std::size_t i = 0; i < map.marks.size(); ++i) {
    const std::uint8_t mark = map.marks[i];
    if (mark == 0) continue;
    json.begin_object();
    json.key("row").integer(i / map.cols);
    json.key("col").integer(i % map.cols);
    json.key("nan").boolean((mark & analysis::Heatmap::kNan) != 0);
    json.key("pos_inf").boolean((mark & analysis::Heatmap::kPosInf) != 0);
    json.key("neg_inf").boolean((mark & analysis::Heatmap::kNegInf) != 0);
    json.end_object();
  }
  json.end_array();
}

void note(Writer& out, const Style& style, std::string_view label, std::string_view text, Tone tone) {
  constexpr std::size_t kLabelWidth = 13;
  out.put(toned(style, tone, label));
  out.repeat(' ', kLabelWidth - std::min(label.size(), kLabelWidth - 1));
  out.put(text);
  out.put('\n');
}

void note_profile(Writer& out, const Style& style, const analysis::Profile& profile, std::string_view plural, bool change) {
  constexpr std::size_t kMostHot = 5;
  if (profile.hot_count > 0) {
    std::string text;
    for (std::size_t i = 0; i < std::min(profile.hot.size(), kMostHot); ++i)
      text += concat(i > 0 ? ", " : "", profile.hot[i].index, " (", short_number(profile.hot[i].ratio), times_sign(style), ")");
    if (profile.hot_count > kMostHot) text += concat(" and ", grouped(profile.hot_count - kMostHot), " more");
    note(out, style, concat("hot ", plural), concat(text, ": rms over the median"), Tone::caution);
  }
  if (profile.dead_count > 0 && change)
    note(out, style, "unchanged", concat(plural, " ", ranges_text(profile.dead, profile.dead_count)), Tone::plain);
  else if (profile.dead_count > 0)
    note(out, style, concat("dead ", plural), concat(ranges_text(profile.dead, profile.dead_count), ": all zero"), Tone::caution);
}

/// A slice of a few elements around one of the matrix.
std::string around(const analysis::MatrixView& view, std::uint64_t row, std::uint64_t col) {
  constexpr std::uint64_t kNear = 4;
  const std::vector<std::uint64_t> at = view.place(row, col);
  std::string out = "[";
  for (std::size_t i = 0; i < at.size(); ++i) {
    const bool wide = view.col_axis() == i || (!view.row_axes().empty() && view.row_axes().back() == i);
    if (i > 0) out += ", ";
    out += wide ? concat(at[i] - std::min(at[i], kNear), ":", at[i] + kNear) : decimal(at[i]);
  }
  return out + "]";
}

}  // namespace

double automatic_limit(const analysis::Heatmap& map) {
  constexpr double kBulk = 0.95, kRoom = 1.5, kFar = 2;
  if (map.pooling == analysis::Pooling::zeros) return 1;
  const double bulk = magnitude_quantile(map, kBulk);
  return bulk > 0 && map.absmax > kFar * bulk ? kRoom * bulk : map.absmax;
}

std::optional<double> limit_from(std::string_view text, const analysis::Heatmap& map) {
  if (text == "auto") return automatic_limit(map);
  if (text == "max") return map.absmax;
  const bool percent = text.starts_with('p');
  const auto number = number_in(percent ? text.substr(1) : text);
  if (!number || *number <= 0 || (percent && *number > 100)) return std::nullopt;
  return percent ? magnitude_quantile(map, *number / 100) : *number;
}

std::uint64_t cells_beyond(const HeatmapScene& scene) {
  return static_cast<std::uint64_t>(std::ranges::count_if(scene.map.data, [&](double value) { return std::abs(value) > scene.limit; }));
}

std::string beyond_text(const HeatmapScene& scene) {
  const std::uint64_t n = cells_beyond(scene);
  if (n == 0) return "";
  return concat(counted(n, "cell", "cells"), " beyond, up to ", short_number(scene.map.absmax));
}

std::string cell_text(const Style& style, const analysis::Heatmap& map) {
  constexpr std::string_view kMeanings[] = {"the value of largest magnitude", "their mean", "their root mean square",
                                            "their share of zeros"};
  const std::string size = concat(map.row_step, times_sign(style), map.col_step);
  if (map.row_step == 1 && map.col_step == 1)
    return map.pooling == analysis::Pooling::absmax ? "one element a cell" : concat("one element a cell, ", pooling_name(map.pooling));
  if (!map.exact) return concat("sampled: one element of ", size, " a cell");
  return concat(size, " elements a cell, ", kMeanings[static_cast<std::size_t>(map.pooling)]);
}

std::string row_label(const analysis::MatrixView& view, std::uint64_t row) {
  const std::vector<std::uint64_t> at = view.place(row, 0);
  std::string out;
  for (const std::size_t axis : view.row_axes()) out += concat(out.empty() ? "" : ",", at[axis]);
  return out;
}

std::string col_label(const analysis::MatrixView& view, std::uint64_t col) {
  return view.col_axis() ? decimal(view.place(0, col)[*view.col_axis()]) : std::string();
}

std::uint64_t tick_step(std::uint64_t count, std::uint64_t most) {
  std::uint64_t step = 1;
  while ((count - 1) / step + 1 > std::max<std::uint64_t>(most, 1)) step *= 2;
  return step;
}

void write_heatmap_keys(JsonWriter& json, const HeatmapScene& scene) {
  const analysis::Heatmap& map = scene.map;
  json.key("row_axes").numbers(std::vector<std::uint64_t>(scene.view.row_axes().begin(), scene.view.row_axes().end()));
  json.key("col_axis");
  if (scene.view.col_axis()) json.integer(*scene.view.col_axis());
  else json.null();
  json.key("source_rows").integer(map.source_rows);
  json.key("source_cols").integer(map.source_cols);
  json.key("exact").boolean(map.exact);
  json.key("limit");
  write_value(json, scene.limit);
  json.key("nan").integer(map.nan);
  json.key("inf").integer(map.inf);
  if (map.exact) {
    write_profile(json, map.row_profile, "dead_rows", "hot_rows");
    write_profile(json, map.col_profile, "dead_cols", "hot_cols");
  }
  json.key("grid").begin_object();
  json.key("rows").integer(map.rows);
  json.key("cols").integer(map.cols);
  json.key("pooling").text(pooling_name(map.pooling));
  json.key("row_step").integer(map.row_step);
  json.key("col_step").integer(map.col_step);
  json.key("absmax");
  write_value(json, map.absmax);
  json.key("data").begin_array();
  for (const double value : map.data) write_value(json, value);
  json.end_array();
  json.key("marks");
  write_marks(json, map);
  json.end_object();
}

void write_heatmap_notes(Writer& out, const Style& style, const HeatmapScene& scene, std::string_view shell) {
  const analysis::Heatmap& map = scene.map;
  if (map.nan + map.inf > 0) note(out, style, "not finite", concat(grouped(map.nan), " NaN, ", grouped(map.inf), " infinite"), Tone::bad);
  note_profile(out, style, map.col_profile, "columns", scene.change);
  note_profile(out, style, map.row_profile, "rows", scene.change);
  if (shell.empty() || map.data.empty()) return;
  const auto next = [&](std::uint64_t row, std::uint64_t col) {
    note(out, style, "next", concat(shell, " '", around(scene.view, row, col), "'"), Tone::faint);
  };
  if (!map.col_profile.hot.empty()) return next(0, map.col_profile.hot[0].index);
  if (!map.row_profile.hot.empty()) return next(map.row_profile.hot[0].index, 0);
  for (std::size_t i = 0; i < map.marks.size(); ++i)
    if (map.marks[i] != 0 && map.row_step * map.col_step == 1) return next(i / map.cols, i % map.cols);
}

}  // namespace assay::report
