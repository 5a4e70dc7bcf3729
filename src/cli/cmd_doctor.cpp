// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "analysis/doctor/doctor.hpp"
#include "analysis/model_config.hpp"
#include "base/text.hpp"
#include "cli/choose.hpp"
#include "cli/parallel.hpp"
#include "cli/run.hpp"
#include "report/doctor_report.hpp"
#include "report/messages.hpp"
#include "report/units.hpp"

namespace assay::cli {

int run_doctor(Context& context) {
  Answer answer(context);
  const auto opened = answer.open();
  if (!opened) return answer.fail(opened.error());
  Checkpoint& checkpoint = **opened;
  answer.warn_of_imports();
  const auto config = analysis::read_model_config(answer.files(), checkpoint, checkpoint.findings);
  if (!config) return answer.fail(config.error());
  const auto rows = choose(context, checkpoint, {.patterns = context.options.words_from(1)});
  if (!rows) return answer.fail(rows.error());
  const bool narrowed = rows->size() < checkpoint.tensors.size();
  keep_only(checkpoint, *rows);

  std::vector<Finding> findings;
  analysis::Checkup checkup;
  {
    Progress progress(!context.quiet);
    analysis::DoctorOptions options;
    options.threads = thread_count(static_cast<std::size_t>(context.options.number("--threads", 0)));
    options.watch = [&](std::uint64_t done, std::uint64_t of) {
      progress.show([&] {
        return concat("examining ", checkpoint.tensors.size(), " tensors, ", report::bytes_text({}, done), " of ",
                      report::bytes_text({}, of));
      });
      return !interrupted();
    };
    const auto examined = analysis::examine(checkpoint, *config, options, findings);
    if (!examined) return answer.fail(examined.error());
    checkup = *examined;
  }
  // What was not chosen is not missing.
  constexpr Code kMissing[] = {Code::missing_layer, Code::missing_tensor, Code::missing_tied_weight, Code::missing_scale};
  if (narrowed)
    std::erase_if(findings, [&](const Finding& finding) { return std::ranges::find(kMissing, finding.code) != std::end(kMissing); });
  for (Finding& finding : findings) checkpoint.add(std::move(finding));

  if (report::JsonWriter* json = answer.json()) {
    report::write_doctor_keys(*json, checkup, checkpoint.findings);
  } else {
    report::write_doctor_screen(
        context.out, context.style, answer.naming().label, checkup, checkpoint.findings,
        {.on_cuts = report::advice_on_cuts(answer.naming(), checkpoint), .check_sums = checkpoint.container == "zip"});
    answer.findings_are_shown();
  }
  const bool bad = checkpoint.findings.any_at_least(Severity::warning);
  const int code = answer.done();
  return code == kFine && bad ? kNo : code;
}

}  // namespace assay::cli
