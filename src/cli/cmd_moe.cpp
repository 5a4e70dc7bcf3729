// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "analysis/model_config.hpp"
#include "analysis/moe.hpp"
#include "base/text.hpp"
#include "cli/parallel.hpp"
#include "cli/run.hpp"
#include "containers/json.hpp"
#include "report/moe_report.hpp"
#include "report/screens.hpp"

namespace assay::cli {
namespace {

/// --similar: a number from 0 to 1.
Result<double> threshold_of(const Options& options) {
  const std::string text = options.text("--similar", "0.9");
  const bool digits = !text.empty() && text.size() <= 20 && text.find_first_not_of("0123456789.") == std::string::npos &&
                      text.find('.') == text.rfind('.') && text.front() != '.' && text.back() != '.';
  const double value = digits ? json::to_f64(text) : -1;
  if (value >= 0 && value <= 1) return value;
  return fail(Code::usage, concat("--similar takes a number from 0 to 1, not ", quote(text)));
}

Result<void> check_plan(const Options& options, const analysis::Moe& moe) {
  const std::uint64_t keep = options.number("--plan", 0);
  if (keep == 0) return fail(Code::usage, "--plan keeps at least 1 expert");
  if (moe.top_k && keep < *moe.top_k)
    return fail(Code::usage, concat("--plan ", keep, " keeps fewer experts than the router chooses for each token, ", *moe.top_k));
  std::uint64_t most = 0;
  for (const analysis::MoeLayer& layer : moe.layers) most = std::max<std::uint64_t>(most, layer.experts.size());
  if (most > 0 && keep > most) return fail(Code::usage, concat("--plan ", keep, " keeps more experts than a layer has, ", most));
  return {};
}

}  // namespace

int run_moe(Context& context) {
  Answer answer(context);
  const auto threshold = threshold_of(context.options);
  if (!threshold) return answer.fail(threshold.error());
  const auto opened = answer.open();
  if (!opened) return answer.fail(opened.error());
  Checkpoint& checkpoint = **opened;
  const auto config = analysis::read_model_config(answer.files(), checkpoint, checkpoint.findings);
  if (!config) return answer.fail(config.error());

  std::vector<Finding> findings;
  analysis::Moe moe = analysis::find_experts(checkpoint, *config, findings);
  const bool planned = context.options.has("--plan");
  if (planned)
    if (const auto good = check_plan(context.options, moe); !good) return answer.fail(good.error());
  {
    Progress progress(!context.quiet);
    analysis::MoeOptions options{.similar = *threshold,
                                 .align = !context.options.has("--no-align"),
                                 .threads = thread_count(static_cast<std::size_t>(context.options.number("--threads", 0))),
                                 .watch = {}};
    options.watch = [&](std::size_t done, std::size_t of) {
      progress.show([&] { return concat("measuring experts, layer ", done + 1, " of ", of); });
      return !interrupted();
    };
    if (const auto measured = analysis::measure_experts(checkpoint, moe, options, findings); !measured)
      return answer.fail(measured.error());
  }
  for (Finding& finding : findings) checkpoint.add(std::move(finding));

  std::optional<analysis::MoePlan> plan;
  if (planned) plan = analysis::plan_experts(checkpoint, moe, context.options.number("--plan", 1));
  if (report::JsonWriter* json = answer.json()) {
    report::write_moe_keys(*json, checkpoint, moe, plan ? &*plan : nullptr);
  } else if (context.mode == Mode::ndjson) {
    for (const analysis::MoeLayer& layer : moe.layers) {
      report::JsonWriter line(context.out);
      report::write_moe_layer(line, checkpoint, layer);
    }
  } else {
    report::write_moe_screen(context.out, context.style, answer.naming().label, checkpoint, moe, plan ? &*plan : nullptr);
  }
  const int code = answer.done();
  return code == kFine && !moe.detected() ? kNo : code;
}

}  // namespace assay::cli
