// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <limits>

#include "analysis/histogram.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "cli/choose.hpp"
#include "cli/parallel.hpp"
#include "cli/run.hpp"
#include "report/hist_report.hpp"
#include "report/units.hpp"

namespace assay::cli {
namespace {

using Range = std::pair<double, double>;

/// "-0.1,0.1"
Result<std::optional<Range>> range_of(const Context& context, analysis::Scale scale) {
  if (!context.options.has("--range")) return std::nullopt;
  const std::string text = context.options.text("--range");
  char* comma = nullptr;
  char* end = nullptr;
  const double low = std::strtod(text.c_str(), &comma);
  if (comma != text.c_str() && *comma == ',') {
    const double high = std::strtod(comma + 1, &end);
    if (end != comma + 1 && *end == '\0' && low < high && high - low < std::numeric_limits<double>::infinity() &&
        (scale != analysis::Scale::log || low > 0))
      return Range{low, high};
  }
  return fail(Error(Code::usage, concat("--range needs two rising numbers with a comma",
                                        scale == analysis::Scale::log ? ", above 0 on a log scale" : "", ", not ", quote(text))));
}

/// Runs work(i) on every row; the rows that failed are left out, with a finding each.
template <class Work>
void for_all(const Context& context, Checkpoint& checkpoint, std::vector<report::HistRow>& rows, std::string_view what, Work work) {
  Progress progress(!context.quiet);
  std::vector<std::optional<Error>> errors(rows.size());
  std::vector<char> done(rows.size());
  in_parallel_until_interrupted(
      rows.size(), thread_count(static_cast<std::size_t>(context.options.number("--threads", 0))),
      [&](std::size_t i) {
        if (auto worked = work(rows[i]); !worked) errors[i] = std::move(worked).error();
        done[i] = 1;
      },
      [&](std::size_t n) { progress.show([&] { return concat(what, " ", n, " of ", rows.size(), " tensors"); }); });
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (errors[i] && rows[i].tensor->readable) checkpoint.add(Finding::from(std::move(*errors[i]).of_tensor(rows[i].tensor->name)));
  std::vector<report::HistRow> kept;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (done[i] != 0 && !errors[i]) kept.push_back(std::move(rows[i]));
  rows = std::move(kept);
}

bool whole_numbers(std::span<const report::HistRow> rows) {
  return std::ranges::all_of(rows, [](const report::HistRow& row) {
    const DTypeKind kind = dtype_info(row.tensor->dtype).kind;
    return row.tensor->quantizer == kNone && kind != DTypeKind::real && kind != DTypeKind::complex;
  });
}

constexpr std::uint64_t kMostBins = 1u << 20, kMostLines = 100;

Result<void> check_range(const Context& context, std::string_view flag, std::uint64_t least, std::uint64_t most) {
  const std::uint64_t value = context.options.number(flag, least);
  if (value >= least && value <= most) return {};
  return fail(Code::usage, concat(flag, " takes a number from ", least, " to ", most, ", not ", value));
}

std::size_t bins_wanted(const Context& context, std::span<const report::HistRow> rows) {
  constexpr std::size_t kJson = 100;
  if (context.options.has("--bins")) return static_cast<std::size_t>(context.options.number("--bins", kJson));
  if (context.mode != Mode::text) return kJson;
  if (rows.size() == 1) return report::hist_columns(context.style.width);
  std::size_t names = 0;
  for (const report::HistRow& row : rows)
    names = std::max(names, std::min<std::size_t>(report::display_width(report::shown_name(context.style, row.tensor->name)), 48));
  return report::ridge_columns(context.style.width, names);
}

Result<void> answer_hist(Context& context, Answer& answer, Checkpoint& checkpoint) {
  ASSAY_CHECK(check_range(context, "--bins", 1, kMostBins));
  ASSAY_CHECK(check_range(context, "--height", 1, kMostLines));
  const analysis::Scale scale = *analysis::scale_from_name(context.options.text("--scale", "linear"));
  ASSAY_TRY(const std::optional<Range> range, range_of(context, scale));
  ASSAY_TRY(
      const std::vector<std::uint32_t> chosen,
      choose(context, checkpoint, {.patterns = context.options.words_from(1), .order = context.mode == Mode::text ? "name" : "file"}));
  if (chosen.size() == 1)
    if (auto error = why_unreadable(checkpoint, checkpoint.tensors[chosen[0]])) return fail(*std::move(error));
  std::vector<report::HistRow> rows;
  for (const std::uint32_t t : chosen) rows.push_back({&checkpoint.tensors[t], {}, {}});
  for_all(context, checkpoint, rows, "counting", [&](report::HistRow& row) -> Result<void> {
    ASSAY_TRY(row.distribution, analysis::distribution(checkpoint, *row.tensor));
    return {};
  });
  std::vector<const analysis::Distribution*> of;
  for (const report::HistRow& row : rows) of.push_back(&row.distribution);
  const analysis::Axis axis = analysis::make_axis(scale, of, bins_wanted(context, rows), whole_numbers(rows), range);
  for_all(context, checkpoint, rows, "binning", [&](report::HistRow& row) -> Result<void> {
    if (row.distribution.exact) {
      row.bins = analysis::bins_of(row.distribution, axis);
      return {};
    }
    ASSAY_TRY(row.bins, analysis::count_bins(checkpoint, *row.tensor, axis));
    return {};
  });

  const report::HistLook look{.height = static_cast<std::size_t>(context.options.number("--height", rows.size() == 1 ? 10 : 1)),
                              .log_counts = context.options.has("--log-counts"),
                              .columns = report::hist_columns(context.style.width)};
  if (context.mode == Mode::text) {
    if (rows.size() == 1) report::write_hist_screen(context.out, context.style, rows[0], axis, look);
    else if (!rows.empty()) report::write_ridge_screen(context.out, context.style, rows, axis, look);
    return {};
  }
  report::JsonWriter* json = answer.json();
  if (json != nullptr) json->key("tensors").begin_array();
  for (const report::HistRow& row : rows) {
    report::JsonWriter line(context.out);
    report::write_hist_row(json != nullptr ? *json : line, row, axis);
  }
  if (json != nullptr) json->end_array();
  return {};
}

}  // namespace

int run_hist(Context& context) {
  Answer answer(context);
  if (context.options.words().size() < 2 && !context.options.has("--where"))
    return answer.fail(
        std::move(Error(Code::usage, "hist needs the name of a tensor, or --where")).advise("list the names with: assay tensors FILE"));
  const auto opened = answer.open();
  if (!opened) return answer.fail(opened.error());
  if (auto answered = answer_hist(context, answer, **opened); !answered) return answer.fail(answered.error());
  return answer.done();
}

}  // namespace assay::cli
