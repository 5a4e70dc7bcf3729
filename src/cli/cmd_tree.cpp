// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "analysis/select.hpp"
#include "analysis/summary.hpp"
#include "analysis/tree.hpp"
#include "cli/choose.hpp"
#include "cli/run.hpp"
#include "report/screens.hpp"

namespace assay::cli {

int run_tree(Context& context) {
  Answer answer(context);
  const auto opened = answer.open();
  if (!opened) return answer.fail(opened.error());
  Checkpoint& checkpoint = **opened;
  const auto rows = choose(context, checkpoint, {.patterns = {}, .may_be_empty = true});
  if (!rows) return answer.fail(rows.error());
  keep_only(checkpoint, *rows);
  const analysis::Summary summary = analysis::summarize(checkpoint);
  const analysis::NameTree tree(checkpoint.tensors);
  const analysis::Outline outline = analysis::outline(checkpoint, summary, tree);
  const auto depth = static_cast<std::size_t>(context.options.number("--depth", std::numeric_limits<std::size_t>::max()));
  if (report::JsonWriter* json = answer.json()) {
    json->key("tree");
    report::write_outline(*json, checkpoint, outline, depth);
    return answer.done();
  }
  report::write_tree_screen(context.out, context.style, answer.naming().label, checkpoint, outline, depth);
  return answer.done();
}

}  // namespace assay::cli
