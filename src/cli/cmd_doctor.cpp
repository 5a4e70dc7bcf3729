// SPDX-License-Identifier: Apache-2.0
#include "analysis/doctor/doctor.hpp"
#include "analysis/model_config.hpp"
#include "base/text.hpp"
#include "cli/parallel.hpp"
#include "cli/run.hpp"
#include "report/doctor_report.hpp"
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
  for (Finding& finding : findings) checkpoint.add(std::move(finding));

  if (report::JsonWriter* json = answer.json()) {
    report::write_doctor_keys(*json, checkup, checkpoint.findings);
  } else {
    report::write_doctor_screen(context.out, context.style, answer.naming().label, checkup, checkpoint.findings);
    answer.findings_are_shown();
  }
  const bool bad = checkpoint.findings.any_at_least(Severity::warning);
  const int code = answer.done();
  return code == kFine && bad ? kNo : code;
}

}  // namespace assay::cli
