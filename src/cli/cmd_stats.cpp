// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <tuple>

#include "analysis/sketch.hpp"
#include "analysis/stats_run.hpp"
#include "base/text.hpp"
#include "cli/choose.hpp"
#include "cli/parallel.hpp"
#include "cli/run.hpp"
#include "report/columns.hpp"
#include "report/screens.hpp"
#include "report/units.hpp"

namespace assay::cli {
namespace {

struct Row {
  std::uint32_t tensor;
  bool measured = false;
  analysis::Stats stats = {};
  analysis::Sketch sketch = {};
};

constexpr double kLast = -std::numeric_limits<double>::infinity();

double share(std::uint64_t count, const analysis::Stats& stats) {
  return stats.measured == 0 ? 0 : static_cast<double>(count) / static_cast<double>(stats.measured);
}

struct Key {
  std::string_view name;
  std::optional<double> (*value)(const analysis::Stats& stats);  ///< what --sort orders by, from the largest
  double (*badness)(const analysis::Stats& stats);               ///< what --by orders by, from the worst
};

double largest(std::optional<double> value) { return value.value_or(kLast); }
double furthest(std::optional<double> value) { return value ? std::abs(*value) : kLast; }

constexpr Key kKeys[] = {
    {"min", [](const analysis::Stats& s) { return s.min; }, [](const analysis::Stats& s) { return s.min ? -*s.min : kLast; }},
    {"max", [](const analysis::Stats& s) { return s.max; }, [](const analysis::Stats& s) { return largest(s.max); }},
    {"mean", [](const analysis::Stats& s) { return s.mean; }, [](const analysis::Stats& s) { return furthest(s.mean); }},
    {"std", [](const analysis::Stats& s) { return s.std; }, [](const analysis::Stats& s) { return largest(s.std); }},
    {"absmax", [](const analysis::Stats& s) { return s.absmax; }, [](const analysis::Stats& s) { return largest(s.absmax); }},
    {"l2", [](const analysis::Stats& s) { return s.l2; }, [](const analysis::Stats& s) { return largest(s.l2); }},
    {"skew", [](const analysis::Stats& s) { return s.skew; }, [](const analysis::Stats& s) { return furthest(s.skew); }},
    {"kurtosis", [](const analysis::Stats& s) { return s.kurtosis; }, [](const analysis::Stats& s) { return largest(s.kurtosis); }},
    {"zeros", [](const analysis::Stats& s) { return std::optional(static_cast<double>(s.zeros)); },
     [](const analysis::Stats& s) { return share(s.zeros, s); }},
    {"nan", [](const analysis::Stats& s) { return std::optional(static_cast<double>(s.nan)); },
     [](const analysis::Stats& s) { return share(s.nan + s.pos_inf + s.neg_inf, s); }},
    {"inf", [](const analysis::Stats& s) { return std::optional(static_cast<double>(s.pos_inf + s.neg_inf)); },
     [](const analysis::Stats& s) { return share(s.pos_inf + s.neg_inf, s); }},
    {"subnormal", [](const analysis::Stats& s) { return std::optional(static_cast<double>(s.subnormal)); },
     [](const analysis::Stats& s) { return share(s.subnormal, s); }},
};

const Key* key_of(std::string_view name) {
  const auto* found = std::ranges::find(kKeys, name, &Key::name);
  return found == std::end(kKeys) ? nullptr : found;
}

/// Records why a tensor could not be measured, unless the checkpoint has said so already.
void note_failure(Checkpoint& checkpoint, const Tensor& tensor, Error error) {
  if (tensor.readable) checkpoint.add(Finding::from(std::move(error).of_tensor(tensor.name)));
}

/// In the order chosen. After Ctrl-C the rows of which something is known.
std::vector<Row> measure(const Context& context, Checkpoint& checkpoint, std::span<const std::uint32_t> chosen) {
  std::vector<const Tensor*> tensors;
  for (const std::uint32_t t : chosen) tensors.push_back(&checkpoint.tensors[t]);
  const std::size_t threads = thread_count(static_cast<std::size_t>(context.options.number("--threads", 0)));
  const bool quantiles = (context.mode != Mode::text || context.options.has("--columns")) && !context.options.has("--no-quantiles");
  Progress progress(!context.quiet);
  analysis::StatsRun run(checkpoint, tensors, threads, {.quantiles = quantiles, .sample = context.options.has("--sample")});
  const bool all = analysis::run_all(run, [&] {
    progress.show([&] {
      return concat("measuring ", chosen.size(), " tensors, ", report::bytes_text({}, run.bytes_done()), " of ",
                    report::bytes_text({}, run.bytes()));
    });
    return !interrupted();
  });
  std::vector<Row> rows;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    auto stats = run.result(i);
    if (!stats) note_failure(checkpoint, *tensors[i], std::move(stats).error());
    else if (!all && stats->measured == 0 && stats->numel > 0) continue;
    rows.push_back({chosen[i], stats.has_value(), stats ? *std::move(stats) : analysis::Stats()});
  }
  return rows;
}

/// --by: from the worst. What is equally bad is ordered by its largest magnitude, then as in the file.
void order_by_badness(std::vector<Row>& rows, const Key& key) {
  const auto rank = [&](const Row& row) {
    return row.measured ? std::tuple(key.badness(row.stats), largest(row.stats.absmax)) : std::tuple(kLast, kLast);
  };
  std::ranges::stable_sort(rows, std::ranges::greater(), rank);
}

void order_by_value(std::vector<Row>& rows, const Key& key) {
  std::ranges::stable_sort(rows, std::ranges::greater(),
                           [&](const Row& row) { return row.measured ? key.value(row.stats).value_or(kLast) : kLast; });
}

void write_table(Context& context, const Checkpoint& checkpoint, std::vector<Row>& rows) {
  const std::size_t threads = thread_count(static_cast<std::size_t>(context.options.number("--threads", 0)));
  in_parallel_until_interrupted(
      rows.size(), threads,
      [&](std::size_t i) {
        if (!rows[i].measured) return;
        if (const auto sketch = analysis::sketch(checkpoint, checkpoint.tensors[rows[i].tensor], rows[i].stats)) rows[i].sketch = *sketch;
      },
      [](std::size_t) {});
  report::Table table = report::stats_table(context.style);
  for (const Row& row : rows)
    report::add_stats_row(table, context.style, checkpoint.tensors[row.tensor], row.measured ? &row.stats : nullptr, row.sketch);
  table.write(context.out, context.style);
}

}  // namespace

int run_stats(Context& context) {
  Answer answer(context);
  const auto opened = answer.open();
  if (!opened) return answer.fail(opened.error());
  Checkpoint& checkpoint = **opened;
  const bool worst = context.options.has("--by") || context.options.has("--top");
  std::optional<report::ColumnSet> columns;
  if (context.options.has("--columns")) {
    auto parsed = report::ColumnSet::parse(context.options.text("--columns"), true);
    if (!parsed) return answer.fail(parsed.error());
    columns = *std::move(parsed);
  }
  const std::string by = context.options.text("--sort", context.mode == Mode::text ? "name" : "file");
  const Key* const sorted = key_of(by);
  auto chosen = choose(context, checkpoint, {.patterns = context.options.words_from(1), .order = sorted || worst ? "file" : by});
  if (!chosen) return answer.fail(chosen.error());
  if (!sorted && !worst) apply_limit(context, *chosen);
  std::vector<Row> rows = measure(context, checkpoint, *chosen);
  if (worst) order_by_badness(rows, *key_of(context.options.text("--by", "nan")));
  else if (sorted) order_by_value(rows, *sorted);
  if (worst || sorted) {
    if (context.options.has("--reverse")) std::ranges::reverse(rows);
    const std::uint64_t most = std::min(context.options.number("--limit", rows.size()), context.options.number("--top", rows.size()));
    rows.resize(static_cast<std::size_t>(std::min<std::uint64_t>(rows.size(), most)));
  }
  if (columns && context.mode == Mode::text) {
    std::vector<report::ColumnRow> shown;
    for (const Row& row : rows) shown.push_back({checkpoint, checkpoint.tensors[row.tensor], row.measured ? &row.stats : nullptr});
    columns->write(context.out, context.style, shown);
    return answer.done();
  }
  if (context.mode == Mode::text) {
    write_table(context, checkpoint, rows);
    return answer.done();
  }
  report::JsonWriter* json = answer.json();
  if (json != nullptr) json->key("tensors").begin_array();
  for (const Row& row : rows) {
    const Tensor& tensor = checkpoint.tensors[row.tensor];
    const analysis::Stats* stats = row.measured ? &row.stats : nullptr;
    if (json != nullptr) {
      report::write_stats(*json, tensor, stats);
    } else {
      report::JsonWriter line(context.out);
      report::write_stats(line, tensor, stats);
    }
  }
  if (json != nullptr) json->end_array();
  return answer.done();
}

}  // namespace assay::cli
