// SPDX-License-Identifier: Apache-2.0
#include "analysis/summary.hpp"
#include "analysis/tree.hpp"
#include "cli/run.hpp"
#include "formats/format.hpp"
#include "report/screens.hpp"

namespace assay::cli {

int run_info(Context& context) {
  Answer answer(context);
  const auto opened = answer.open();
  if (!opened) return answer.fail(opened.error());
  const Checkpoint& checkpoint = **opened;
  const analysis::Summary summary = analysis::summarize(checkpoint);
  if (report::JsonWriter* json = answer.json()) {
    report::write_info_keys(*json, checkpoint, summary);
    return answer.done();
  }
  const analysis::NameTree tree(checkpoint.tensors);
  const formats::Format* format = formats::find_format(checkpoint.format);
  report::write_info_screen(context.out, context.style, answer.naming(), format != nullptr ? format->name : checkpoint.format, checkpoint, summary,
                            analysis::outline(checkpoint, summary, tree));
  answer.findings_are_shown();
  return answer.done();
}

}  // namespace assay::cli
