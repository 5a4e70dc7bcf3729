// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "analysis/cut.hpp"
#include "analysis/summary.hpp"
#include "analysis/tree.hpp"
#include "base/parallel.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/run.hpp"
#include "formats/format.hpp"
#include "report/screens.hpp"

namespace assay::cli {

int run_info(Context& context) {
  Answer answer(context);
  auto opened = answer.open();
  if (!opened) {
    const std::string_view meant = nearest_command(context.options.word(0));
    if (opened.error().code() != Code::no_such_file || meant.empty()) return answer.fail(opened.error());
    return answer.fail(std::move(opened).error().advise(concat("did you mean assay ", meant, "?")));
  }
  Checkpoint& checkpoint = **opened;
  answer.warn_of_imports();
  std::vector<Finding> tails;
  if (const auto looked = analysis::suspect_zero_tails(checkpoint, tails); !looked) return answer.fail(looked.error());
  for (Finding& finding : tails) checkpoint.add(std::move(finding));
  if (report::JsonWriter* json = answer.json()) {
    report::write_info_keys(*json, checkpoint, analysis::summarize(checkpoint));
    return answer.done();
  }
  // Beside each other where there is enough to do.
  constexpr std::size_t kMany = 20'000;
  analysis::Summary summary;
  std::optional<analysis::NameTree> tree;
  in_parallel(2, checkpoint.tensors.size() < kMany ? 1 : limits_of(context.options).threads, [&](std::size_t i, std::size_t) {
    if (i == 0) tree.emplace(checkpoint.tensors);
    else summary = analysis::summarize(checkpoint);
  });
  const formats::Format* format = formats::find_format(checkpoint.format);
  report::write_info_screen(context.out, context.style, answer.naming(), format != nullptr ? format->name : checkpoint.format, checkpoint,
                            summary, analysis::outline(checkpoint, summary, *tree));
  answer.findings_are_shown();
  return answer.done();
}

}  // namespace assay::cli
