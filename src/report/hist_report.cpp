// SPDX-License-Identifier: Apache-2.0
#include "report/hist_report.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/sort.hpp"
#include "base/text.hpp"
#include "report/units.hpp"

namespace assay::report {
namespace {

using analysis::Axis;
using analysis::Distribution;

constexpr std::size_t kGutter = 9;  // columns of the labels of counts
constexpr std::size_t kUnknownWidth = 80;
constexpr std::pair<double, std::string_view> kMarks[] = {{0.01, "p1"}, {0.25, "p25"}, {0.5, "p50"}, {0.75, "p75"}, {0.99, "p99"}};
constexpr double kQuantiles[] = {0.001, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 0.999};

/// Bar heights in eighths of a line. What is not empty is at least an eighth high.
std::vector<std::size_t> heights(std::span<const std::uint64_t> counts, std::size_t eighths, bool log_counts) {
  std::uint64_t most = 0;
  for (const std::uint64_t count : counts) most = std::max(most, count);
  std::vector<std::size_t> out;
  for (const std::uint64_t count : counts) {
    const double share = count == 0   ? 0
                         : log_counts ? std::log1p(static_cast<double>(count)) / std::log1p(static_cast<double>(most))
                                      : static_cast<double>(count) / static_cast<double>(most);
    out.push_back(count == 0 ? 0 : std::max<std::size_t>(1, static_cast<std::size_t>(std::lround(share * static_cast<double>(eighths)))));
  }
  return out;
}

std::string_view block(const Style& style, std::size_t eighths) {
  constexpr std::string_view kBlocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  constexpr std::string_view kPlain[] = {" ", "_", ".", ".", ":", ":", "|", "|", "#"};
  const std::size_t i = std::min<std::size_t>(eighths, 8);
  return style.unicode ? kBlocks[i] : kPlain[i];
}

/// Texts at places of a line, those that would overlap an earlier one left out.
class Line {
 public:
  explicit Line(std::size_t width) : width_(width) {}
  void put(std::size_t at, std::string_view text, bool centred = true) {
    const std::size_t columns = display_width(text);
    if (columns > width_) return;
    if (centred) at -= std::min(at, columns / 2);
    at = std::min(at, width_ - columns);
    for (const auto& [begin, end] : taken_)
      if (at < end + 1 && begin < at + columns + 1) return;
    taken_.emplace_back(at, at + columns);
    pieces_.emplace_back(at, std::string(text));
  }
  std::string text() {
    sort_stable(pieces_);
    std::string out;
    std::size_t columns = 0;
    for (const auto& [at, piece] : pieces_) {
      out.append(at - columns, ' ');
      out += piece;
      columns = at + display_width(piece);
    }
    return out;
  }

 private:
  std::size_t width_;
  std::vector<std::pair<std::size_t, std::size_t>> taken_;
  std::vector<std::pair<std::size_t, std::string>> pieces_;
};

std::optional<std::size_t> column_of(const Axis& axis, double value, std::size_t columns) {
  const double at = axis.position(value);
  if (!(at >= 0 && at <= 1)) return std::nullopt;
  return std::min(static_cast<std::size_t>(at * static_cast<double>(columns)), columns - 1);
}

/// The values at both ends, and 0 or the middle between them.
std::string ticks(const Axis& axis, std::size_t columns) {
  Line line(columns);
  line.put(0, short_number(axis.edges.front()), false);
  const std::string last = short_number(axis.edges.back());
  line.put(columns - std::min(columns, last.size()), last, false);
  if (const auto zero = column_of(axis, 0, columns); zero && axis.scale != analysis::Scale::log) line.put(*zero, "0");
  for (const std::size_t part : {2u, 1u, 3u}) {
    const std::size_t edge = axis.edges.size() * part / 4;
    if (const auto at = column_of(axis, axis.edges[edge], columns)) line.put(*at, short_number(axis.edges[edge]));
  }
  return line.text();
}

/// Where quantiles stand: a line of signs and one of names.
void put_marks(Writer& out, const Style& style, const Distribution& of, const Axis& axis, std::size_t columns) {
  if (of.finite.empty() || axis.magnitudes()) return;
  Line signs(columns), names(columns);
  for (const std::size_t i : {2u, 0u, 4u, 1u, 3u}) {
    const auto& [p, name] = kMarks[i];
    const auto at = column_of(axis, of.quantile(p), columns);
    if (!at) continue;
    signs.put(*at, style.unicode ? "┊" : "'");
    names.put(*at, name);
  }
  for (const std::string& line : {signs.text(), names.text()}) {
    out.repeat(' ', kGutter + 2);
    out.put(toned(style, Tone::accent, line));
    out.put('\n');
  }
}

/// Columns that a bin is drawn with.
std::size_t bin_width(std::size_t bins, const HistLook& look) {
  constexpr std::size_t kWidest = 12;
  return std::clamp<std::size_t>(look.columns / bins, 1, kWidest);
}

void put_bars(Writer& out, const Style& style, const HistRow& row, const HistLook& look) {
  const std::vector<std::size_t> bars = heights(row.bins.counts, look.height * 8, look.log_counts);
  const std::size_t wide = bin_width(bars.size(), look);
  std::uint64_t most = 0;
  for (const std::uint64_t count : row.bins.counts) most = std::max(most, count);
  for (std::size_t line = look.height; line-- > 0;) {
    const std::string label = line + 1 == look.height ? count_text(most) : line == 0 ? "0" : std::string();
    out.repeat(' ', kGutter - std::min(kGutter, label.size()));
    out.put(toned(style, Tone::faint, concat(label, style.unicode ? (label.empty() ? " │" : " ┤") : " |")));
    std::string text;
    for (const std::size_t height : bars)
      for (std::size_t i = 0; i < wide; ++i) text += block(style, height > line * 8 ? height - line * 8 : 0);
    out.put(text.substr(0, text.find_last_not_of(' ') + 1));
    out.put('\n');
  }
}

void put_outside(Writer& out, const Style& style, const HistRow& row, const Axis& axis) {
  const Distribution& d = row.distribution;
  std::string text;
  const std::uint64_t below = row.bins.below - (axis.magnitudes() ? 0 : d.neg_inf),
                      above = row.bins.above - d.pos_inf - (axis.magnitudes() ? d.neg_inf : 0);
  if (below > 0)
    text += axis.magnitudes() ? concat(grouped(below), " below") : concat(grouped(below), " below (min ", short_number(d.min), ")");
  if (above > 0)
    text += concat(text.empty() ? "" : ", ", grouped(above), " above (max ",
                   short_number(axis.magnitudes() ? std::max(-d.min, d.max) : d.max), ")");
  if (!text.empty()) out.put(concat(toned(style, Tone::faint, "outside   "), text, "\n"));
  out.put(concat(toned(style, Tone::faint, "zeros     "), grouped(d.zeros), "   "));
  out.put(toned(style, d.nan > 0 ? Tone::bad : Tone::plain, concat("NaN ", grouped(d.nan))));
  out.put("   ");
  out.put(toned(style, d.pos_inf + d.neg_inf > 0 ? Tone::bad : Tone::plain, concat("Inf ", grouped(d.pos_inf + d.neg_inf))));
  out.put('\n');
}

}  // namespace

std::size_t hist_columns(std::size_t width) {
  constexpr std::size_t kMost = 120, kLeast = 16;
  return std::clamp((width == 0 ? kUnknownWidth : std::max(width, kGutter + kLeast)) - kGutter - 3, kLeast, kMost);
}

std::size_t ridge_columns(std::size_t width, std::size_t names) {
  constexpr std::size_t kLeast = 16, kMost = 96, kBeside = 14;
  const std::size_t all = width == 0 ? kUnknownWidth + 20 : width;
  return std::clamp(all > names + kBeside ? all - names - kBeside : 0, kLeast, kMost);
}

void write_hist_screen(Writer& out, const Style& style, const HistRow& row, const Axis& axis, const HistLook& look) {
  const Distribution& d = row.distribution;
  out.put(toned(style, Tone::strong, shown_name(style, row.tensor->name)));
  out.put(concat("  ", dtype_name(row.tensor->dtype), " ", shape_text(style, row.tensor->shape), "  ", count_text(d.n), " values"));
  if (d.exact) out.put(concat(", ", grouped(d.finite.size()), " distinct"));
  if (axis.scale != analysis::Scale::linear) out.put(axis.magnitudes() ? ", magnitudes on a log scale" : ", symmetric log scale");
  if (look.log_counts) out.put(", log counts");
  out.put('\n');
  if (d.finite.empty()) {
    out.put("  no finite values\n");
  } else {
    const std::size_t columns = row.bins.counts.size() * bin_width(row.bins.counts.size(), look);
    put_bars(out, style, row, look);
    out.repeat(' ', kGutter + 2);
    out.put(toned(style, Tone::faint, ticks(axis, columns)));
    out.put('\n');
    put_marks(out, style, d, axis, columns);
  }
  put_outside(out, style, row, axis);
}

void write_ridge_screen(Writer& out, const Style& style, std::span<const HistRow> rows, const Axis& axis, const HistLook& look) {
  constexpr std::size_t kMostName = 48;
  std::size_t names = 0;
  for (const HistRow& row : rows) names = std::max(names, display_width(shortened(style, shown_name(style, row.tensor->name), kMostName)));
  const std::size_t columns = axis.edges.size() - 1;
  out.repeat(' ', names + 2);
  out.put(toned(style, Tone::faint, ticks(axis, columns)));
  out.put('\n');
  for (const HistRow& row : rows) {
    const std::string name = shortened(style, shown_name(style, row.tensor->name), kMostName);
    const std::vector<std::size_t> bars = heights(row.bins.counts, look.height * 8, look.log_counts);
    for (std::size_t line = look.height; line-- > 0;) {
      if (line == 0) out.put(name);
      out.repeat(' ', names + 2 - (line == 0 ? display_width(name) : 0));
      std::string text;
      for (const std::size_t height : bars) text += block(style, height > line * 8 ? height - line * 8 : 0);
      out.put(text);
      if (line == 0) {
        if (row.bins.below > 0) out.put(toned(style, Tone::faint, concat("  ", style.unicode ? "◂" : "<", count_text(row.bins.below))));
        if (row.bins.above > 0) out.put(toned(style, Tone::faint, concat("  ", count_text(row.bins.above), style.unicode ? "▸" : ">")));
        if (row.bins.nan > 0) out.put(toned(style, Tone::bad, concat("  NaN ", count_text(row.bins.nan))));
      }
      out.put('\n');
    }
  }
}

void write_hist_row(JsonWriter& json, const HistRow& row, const Axis& axis) {
  const Distribution& d = row.distribution;
  json.begin_object();
  json.key("name").text(row.tensor->name);
  json.key("dtype").text(dtype_name(row.tensor->dtype));
  json.key("shape").numbers(row.tensor->shape);
  json.key("numel").integer(d.n);
  json.key("exact").boolean(true);
  json.key("scale").text(analysis::scale_name(axis.scale));
  if (axis.scale == analysis::Scale::symlog) json.key("threshold").number(axis.threshold);
  const auto number_or_null = [&](std::string_view key, double value) {
    json.key(key);
    if (d.finite.empty()) json.null();
    else json.number(value);
  };
  number_or_null("min", d.min);
  number_or_null("max", d.max);
  json.key("zeros").integer(d.zeros);
  json.key("pos_inf").integer(d.pos_inf);
  json.key("neg_inf").integer(d.neg_inf);
  json.key("distinct");
  if (d.exact) json.integer(d.finite.size());
  else json.null();
  json.key("quantiles_exact").boolean(d.exact);
  json.key("quantiles").begin_object();
  for (const double p : kQuantiles) number_or_null(short_number(p), d.quantile(p));
  json.end_object();
  json.key("bins").begin_object();
  json.key("edges").begin_array();
  for (const double edge : axis.edges) json.number(edge);
  json.end_array();
  json.key("counts").numbers(row.bins.counts);
  json.key("below").integer(row.bins.below);
  json.key("above").integer(row.bins.above);
  json.key("nan").integer(row.bins.nan);
  json.end_object();
  json.end_object();
}

}  // namespace assay::report
