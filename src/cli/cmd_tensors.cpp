// SPDX-License-Identifier: Apache-2.0
#include "analysis/summary.hpp"
#include "cli/choose.hpp"
#include "cli/run.hpp"
#include "report/columns.hpp"
#include "report/screens.hpp"

namespace assay::cli {

/// Of a zip archive, for a list that is shown to a reader: each is a page, a seek or a fetch of its own.
constexpr std::uint32_t kHeadersLookedAt = 128;

int run_tensors(Context& context) {
  Answer answer(context);
  Limits limits = limits_of(context.options);
  if (context.mode == Mode::text && !context.options.has("--columns")) limits.zip_headers = kHeadersLookedAt;
  const auto opened = answer.open(limits);
  if (!opened) return answer.fail(opened.error());
  const Checkpoint& checkpoint = **opened;
  Choice choice{.patterns = context.options.words_from(1),
                .may_be_empty = true,
                .order = context.options.text("--sort", context.mode == Mode::text ? "name" : "file")};
  auto rows = choose(context, checkpoint, choice);
  if (!rows) return answer.fail(rows.error());
  const std::size_t chosen = rows->size();
  apply_limit(context, *rows);

  if (context.mode == Mode::text && context.options.has("--columns")) {
    const auto columns = report::ColumnSet::parse(context.options.text("--columns"), false);
    if (!columns) return answer.fail(columns.error());
    std::vector<report::ColumnRow> shown;
    for (const std::uint32_t row : *rows) shown.push_back({checkpoint, checkpoint.tensors[row]});
    columns->write(context.out, context.style, shown);
    return answer.done();
  }
  if (context.mode == Mode::text) {
    report::write_tensor_table(context.out, context.style, checkpoint, analysis::summarize(checkpoint), *rows, chosen);
    return answer.done();
  }
  if (report::JsonWriter* json = answer.json()) {
    json->key("tensors").begin_array();
    for (const std::uint32_t row : *rows) report::write_tensor(*json, checkpoint, checkpoint.tensors[row]);
    json->end_array();
    return answer.done();
  }
  for (const std::uint32_t row : *rows) {
    report::JsonWriter line(context.out);
    report::write_tensor(line, checkpoint, checkpoint.tensors[row]);
  }
  return answer.done();
}

}  // namespace assay::cli
