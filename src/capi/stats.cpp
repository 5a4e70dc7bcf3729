// SPDX-License-Identifier: Apache-2.0
// Statistics as work that a host takes step by step, with the bytes of one step at hand.
#include "analysis/stats.hpp"

#include <cstring>
#include <memory>
#include <vector>

#include "analysis/stats_run.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "capi/handle.hpp"
#include "report/documents.hpp"

using namespace assay;
using namespace assay::capi;

/// One tensor after another, so that what one needed can be forgotten before the next.
struct assay_stats {
  std::shared_ptr<const State> state;
  std::vector<const Tensor*> tensors;
  analysis::StatsOptions options = {};
  std::uint64_t total = 0, before = 0;  // bytes of all tensors, and of those that are done
  std::vector<Result<analysis::Stats>> results = {};
  std::unique_ptr<analysis::StatsRun> run = nullptr;  // of the tensor after these

  bool done() const { return results.size() == tensors.size(); }
  std::uint64_t bytes_of(const Tensor& tensor) const { return analysis::StatsRun::bytes_of(state->checkpoint, tensor, options); }
  std::uint64_t measured() const { return before + (run ? run->bytes_done() : 0); }
  Result<void> step();
};

namespace {

constexpr std::uint64_t kStepBytes = std::uint64_t{4} << 20;

Result<assay_stats_options> options_of(const assay_stats_options* given) {
  assay_stats_options options = ASSAY_STATS_OPTIONS;
  if (given == nullptr) return options;
  if (given->size < sizeof given->size) return fail(Code::usage, "the options' size is not set");
  std::memcpy(&options, given, std::min<std::size_t>(given->size, sizeof options));
  return options;
}

}  // namespace

/// Tensors that are small are measured by the dozen.
Result<void> assay_stats::step() {
  const std::uint64_t from = measured();
  while (!done() && measured() - from < kStepBytes) {
    const Tensor& tensor = *tensors[results.size()];
    if (!run) run = std::make_unique<analysis::StatsRun>(state->checkpoint, std::vector<const Tensor*>{&tensor}, 1, options);
    ASSAY_TRY(const bool more, run->advance());
    if (more) continue;
    auto stats = run->result(0);
    run.reset();
    // Found missing before there was anything to measure: the next step begins anew.
    if (!stats && stats.error().code() == Code::need_range) return fail(std::move(stats).error());
    if (stats) results.push_back(*std::move(stats));
    else results.push_back(fail(std::move(stats).error().of_tensor(tensor.name)));
    before += bytes_of(tensor);
  }
  return {};
}

extern "C" {

assay_status assay_stats_new(const assay_checkpoint* checkpoint, const uint32_t* tensors, size_t n, const assay_stats_options* options,
                             assay_stats** out, assay_error** error) {
  return guarded(error, [&]() -> Result<void> {
    if (checkpoint == nullptr || out == nullptr) return fail(Code::usage, "a NULL argument");
    *out = nullptr;
    ASSAY_TRY(const assay_stats_options wanted, options_of(options));
    const Checkpoint& opened = checkpoint->state->checkpoint;
    auto job = std::make_unique<assay_stats>(checkpoint->state);
    job->options.sample = wanted.sample != 0;
    job->options.quantiles = wanted.no_quantiles == 0;
    for (std::size_t i = 0; i < (tensors == nullptr ? opened.tensors.size() : n); ++i) {
      const std::size_t tensor = tensors == nullptr ? i : tensors[i];
      if (tensor >= opened.tensors.size()) return fail(Code::no_such_tensor, concat("tensor ", tensor, " of ", opened.tensors.size()));
      job->tensors.push_back(&opened.tensors[tensor]);
      job->total += job->bytes_of(opened.tensors[tensor]);
    }
    *out = job.release();
    return {};
  });
}
void assay_stats_free(assay_stats* stats) { delete stats; }

assay_status assay_stats_step(assay_stats* stats, int* done, assay_error** error) {
  return guarded(error, [&]() -> Result<void> {
    if (stats == nullptr || done == nullptr) return fail(Code::usage, "a NULL argument");
    ASSAY_CHECK(stats->step());
    *done = stats->done();
    return {};
  });
}

uint64_t assay_stats_bytes(const assay_stats* stats) { return stats != nullptr ? stats->total : 0; }
uint64_t assay_stats_bytes_done(const assay_stats* stats) { return stats != nullptr ? stats->measured() : 0; }
size_t assay_stats_count(const assay_stats* stats) { return stats != nullptr ? stats->results.size() : 0; }

assay_status assay_stats_result(const assay_stats* stats, size_t i, assay_buffer** out, assay_error** error) {
  const bool there = stats != nullptr && out != nullptr && i < stats->results.size();
  if (there && !stats->results[i]) {
    *out = nullptr;
    return hand_out(stats->results[i].error(), error);
  }
  return guarded(error, [&]() -> Result<void> {
    if (!there) return fail(Code::usage, "a NULL argument, or a result that is not there");
    *out = nullptr;
    report::Writer text;
    report::JsonWriter json(text);
    report::write_stats(json, *stats->tensors[i], &*stats->results[i]);
    hand_text(text.text(), out);
    return {};
  });
}

assay_status assay_stats_document(const assay_stats* stats, assay_buffer** out, assay_error** error) {
  return guarded(error, [&]() -> Result<void> {
    if (stats == nullptr || out == nullptr) return fail(Code::usage, "a NULL argument");
    *out = nullptr;
    const State& state = *stats->state;
    Findings findings = state.checkpoint.findings;
    bool complete = state.checkpoint.complete && stats->done();
    report::Writer text;
    report::JsonWriter json(text, 2);
    report::begin_document(json, "stats", state.files->label());
    json.key("tensors").begin_array();
    for (std::size_t i = 0; i < stats->results.size(); ++i) {
      const auto& result = stats->results[i];
      const Tensor& tensor = *stats->tensors[i];
      if (!result && tensor.readable) {
        Finding finding = Finding::from(result.error());
        complete = complete && finding.severity < Severity::damage;
        findings.add(std::move(finding));
      }
      report::write_stats(json, tensor, result ? &*result : nullptr);
    }
    json.end_array();
    report::end_document(json, complete, findings, nullptr);
    hand_text(text.text(), out);
    return {};
  });
}

}  // extern "C"
