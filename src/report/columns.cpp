// SPDX-License-Identifier: Apache-2.0
#include "report/columns.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>

#include "analysis/part_names.hpp"
#include "analysis/select.hpp"
#include "analysis/summary.hpp"
#include "base/text.hpp"
#include "report/table.hpp"
#include "report/units.hpp"

namespace assay::report {
namespace {

/// What a cell is made from.
struct Cell {
  const Style& style;
  const Checkpoint& checkpoint;
  const Tensor& tensor;
  const analysis::Stats* stats;  ///< not null where the column is of statistics
};

struct ColumnKind {
  std::string_view name, title;
  bool right;
  bool of_stats;
  std::string (*text)(const Cell&);
};

std::string number(const std::optional<double>& value) { return value ? short_number(*value) : "-"; }
std::string number(const std::optional<std::uint64_t>& value) { return value ? decimal(*value) : ""; }
std::string quantile(const Cell& c, double p) {
  for (const auto& [at, value] : c.stats->quantiles)
    if (at == p) return short_number(value);
  return "";
}
std::string note(const Tensor& tensor) {
  return !tensor.readable ? "not readable" : tensor.storage == kNone ? "no data" : tensor.contiguous() ? "" : "strided";
}
std::string stride(const Tensor& tensor) {
  std::string out;
  for (std::size_t i = 0; i < tensor.shape.size(); ++i) out += concat(i > 0 ? "," : "", tensor.stride_of(i));
  return out;
}

constexpr ColumnKind kColumns[] = {
    {"name", "NAME", false, false, [](const Cell& c) { return shown_name(c.style, c.tensor.name); }},
    {"dtype", "DTYPE", false, false,
     [](const Cell& c) {
       return c.tensor.dtype == DType::unknown ? shown_name(c.style, c.tensor.source_dtype) : std::string(dtype_name(c.tensor.dtype));
     }},
    {"source_dtype", "SOURCE DTYPE", false, false, [](const Cell& c) { return shown_name(c.style, c.tensor.source_dtype); }},
    {"shape", "SHAPE", false, false, [](const Cell& c) { return shape_text(c.style, c.tensor.shape); }},
    {"ndim", "NDIM", true, false, [](const Cell& c) { return decimal(std::uint64_t{c.tensor.shape.size()}); }},
    {"stride", "STRIDE", false, false, [](const Cell& c) { return stride(c.tensor); }},
    {"numel", "NUMEL", true, false,
     [](const Cell& c) { return c.style.exact_bytes ? decimal(c.tensor.numel) : count_text(c.tensor.numel); }},
    {"size", "SIZE", true, false, [](const Cell& c) { return bytes_text(c.style, analysis::tensor_bytes(c.checkpoint, c.tensor)); }},
    {"offset", "OFFSET", true, false,
     [](const Cell& c) {
       const auto at = c.checkpoint.file_offset(c.tensor);
       return at ? hex(*at) : std::string();
     }},
    {"file", "FILE", false, false,
     [](const Cell& c) {
       const CheckpointFile* file = c.checkpoint.file_of(c.tensor);
       return file == nullptr ? std::string() : shown_name(c.style, file->name);
     }},
    {"storage", "STORAGE", true, false,
     [](const Cell& c) { return c.tensor.storage == kNone ? std::string() : decimal(std::uint64_t{c.tensor.storage}); }},
    {"layer", "LAYER", true, false, [](const Cell& c) { return number(analysis::layer_of(c.tensor.name)); }},
    {"expert", "EXPERT", true, false, [](const Cell& c) { return number(analysis::expert_of(c.tensor.name)); }},
    {"role", "ROLE", false, false,
     [](const Cell& c) {
       const std::string_view part = analysis::part_of(c.tensor);
       return std::string(part.empty() ? analysis::kind_of(c.tensor) : part);
     }},
    {"note", "NOTE", false, false, [](const Cell& c) { return note(c.tensor); }},
    {"min", "MIN", true, true, [](const Cell& c) { return number(c.stats->min); }},
    {"max", "MAX", true, true, [](const Cell& c) { return number(c.stats->max); }},
    {"mean", "MEAN", true, true, [](const Cell& c) { return number(c.stats->mean); }},
    {"std", "STD", true, true, [](const Cell& c) { return number(c.stats->std); }},
    {"absmax", "ABSMAX", true, true, [](const Cell& c) { return number(c.stats->absmax); }},
    {"l2", "L2", true, true, [](const Cell& c) { return number(c.stats->l2); }},
    {"skew", "SKEW", true, true, [](const Cell& c) { return number(c.stats->skew); }},
    {"kurtosis", "KURT", true, true, [](const Cell& c) { return number(c.stats->kurtosis); }},
    {"zeros", "ZEROS", true, true, [](const Cell& c) { return decimal(c.stats->zeros); }},
    {"near_zeros", "NEAR 0", true, true, [](const Cell& c) { return decimal(c.stats->near_zeros); }},
    {"nan", "NAN", true, true, [](const Cell& c) { return decimal(c.stats->nan); }},
    {"inf", "INF", true, true, [](const Cell& c) { return decimal(c.stats->pos_inf + c.stats->neg_inf); }},
    {"subnormal", "SUBNORMAL", true, true, [](const Cell& c) { return decimal(c.stats->subnormal); }},
    {"distinct", "DISTINCT", true, true, [](const Cell& c) { return number(c.stats->distinct); }},
    {"p1", "P1", true, true, [](const Cell& c) { return quantile(c, 0.01); }},
    {"p50", "P50", true, true, [](const Cell& c) { return quantile(c, 0.5); }},
    {"p99", "P99", true, true, [](const Cell& c) { return quantile(c, 0.99); }},
};

}  // namespace

Result<ColumnSet> ColumnSet::parse(std::string_view words, bool with_stats) {
  ColumnSet made;
  for (std::string_view rest = words;;) {
    const std::size_t comma = rest.find(',');
    const std::string_view word = rest.substr(0, comma);
    const auto* found = std::ranges::find(kColumns, word, &ColumnKind::name);
    if (found == std::end(kColumns) || (found->of_stats && !with_stats)) {
      std::string known;
      for (const ColumnKind& kind : kColumns)
        if (with_stats || !kind.of_stats) known += concat(known.empty() ? "" : ", ", kind.name);
      const bool elsewhere = found != std::end(kColumns);
      return fail(Error(Code::usage, concat("there is no column ", quote(word), elsewhere ? " here; assay stats has it" : ""))
                      .advise(concat("the columns are ", known)));
    }
    made.columns_.push_back(static_cast<std::size_t>(found - kColumns));
    if (comma == std::string_view::npos) return made;
    rest.remove_prefix(comma + 1);
  }
}

void ColumnSet::write(Writer& out, const Style& style, std::span<const ColumnRow> rows) const {
  std::vector<Column> layout;
  for (const std::size_t c : columns_)
    layout.push_back({.title = kColumns[c].title, .right = kColumns[c].right, .flexible = kColumns[c].name == "name"});
  Table table(layout);
  for (const ColumnRow& row : rows)
    for (const std::size_t c : columns_)
      table.cell(kColumns[c].of_stats && row.stats == nullptr ? std::string("-")
                                                              : kColumns[c].text({style, row.checkpoint, row.tensor, row.stats}));
  table.write(out, style);
}

}  // namespace assay::report
