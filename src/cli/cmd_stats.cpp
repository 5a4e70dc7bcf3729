// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "analysis/stats.hpp"
#include "analysis/summary.hpp"
#include "base/text.hpp"
#include "cli/choose.hpp"
#include "cli/run.hpp"
#include "report/screens.hpp"
#include "report/units.hpp"

namespace assay::cli {
namespace {

struct Row {
  std::uint32_t tensor;
  bool measured;
  analysis::Stats stats;
};

/// The number to sort by; what is absent comes last.
double sort_key(const Row& row, std::string_view by) {
  constexpr double kLast = -std::numeric_limits<double>::infinity();
  if (!row.measured) return kLast;
  const analysis::Stats& s = row.stats;
  const std::pair<std::string_view, std::optional<double>> keys[] = {
      {"min", s.min}, {"max", s.max}, {"mean", s.mean}, {"std", s.std}, {"absmax", s.absmax}, {"l2", s.l2}, {"kurtosis", s.kurtosis},
      {"zeros", static_cast<double>(s.zeros)}, {"nan", static_cast<double>(s.nan)}};
  for (const auto& [name, value] : keys)
    if (name == by) return value.value_or(kLast);
  return kLast;
}

/// Records why a tensor could not be measured, unless the checkpoint has said so already.
void note_failure(Checkpoint& checkpoint, const Tensor& tensor, Error error) {
  if (tensor.readable) checkpoint.add(Finding::from(std::move(error).of_tensor(tensor.name)));
}

std::vector<Row> measure(const Context& context, Checkpoint& checkpoint, std::span<const std::uint32_t> chosen) {
  std::vector<Row> rows;
  std::uint64_t bytes = 0, done_bytes = 0;
  for (const std::uint32_t t : chosen) bytes += checkpoint.tensors[t].nbytes();
  Progress progress(!context.quiet);
  for (const std::uint32_t t : chosen) {
    if (interrupted()) break;
    const Tensor& tensor = checkpoint.tensors[t];
    progress.show([&] {
      return concat("measuring ", rows.size(), " of ", chosen.size(), " tensors, ", report::bytes_text({}, done_bytes), " of ",
                    report::bytes_text({}, bytes));
    });
    auto stats = analysis::tensor_stats(checkpoint, tensor);
    if (!stats) note_failure(checkpoint, tensor, std::move(stats).error());
    rows.push_back({t, stats.has_value(), stats ? *std::move(stats) : analysis::Stats()});
    done_bytes += tensor.nbytes();
  }
  return rows;
}

}  // namespace

int run_stats(Context& context) {
  Answer answer(context);
  const auto opened = answer.open();
  if (!opened) return answer.fail(opened.error());
  Checkpoint& checkpoint = **opened;
  const std::string by = context.options.text("--sort", context.mode == Mode::text ? "name" : "file");
  const bool by_value = by != "name" && by != "file";
  auto chosen = choose(context, checkpoint, {.patterns = context.options.words_from(1), .order = by_value ? "file" : by});
  if (!chosen) return answer.fail(chosen.error());
  if (!by_value) apply_limit(context, *chosen);
  std::vector<Row> rows = measure(context, checkpoint, *chosen);
  if (by_value) {
    std::ranges::stable_sort(rows, std::ranges::greater(), [&](const Row& row) { return sort_key(row, by); });
    if (context.options.has("--reverse")) std::ranges::reverse(rows);
    rows.resize(static_cast<std::size_t>(std::min<std::uint64_t>(rows.size(), context.options.number("--limit", rows.size()))));
  }

  report::JsonWriter* json = answer.json();
  if (json != nullptr) json->key("tensors").begin_array();
  report::Table table = report::stats_table(context.style);
  for (const Row& row : rows) {
    const Tensor& tensor = checkpoint.tensors[row.tensor];
    const analysis::Stats* stats = row.measured ? &row.stats : nullptr;
    if (context.mode == Mode::text) {
      report::add_stats_row(table, context.style, tensor, stats);
    } else if (json != nullptr) {
      report::write_stats(*json, tensor, stats);
    } else {
      report::JsonWriter line(context.out);
      report::write_stats(line, tensor, stats);
    }
  }
  if (json != nullptr) json->end_array();
  else if (context.mode == Mode::text) table.write(context.out, context.style);
  return answer.done();
}

}  // namespace assay::cli
