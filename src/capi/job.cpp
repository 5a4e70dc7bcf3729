// SPDX-License-Identifier: Apache-2.0
#include "capi/job.hpp"

#include <optional>
#include <utility>

#include "base/text.hpp"
#include "base/try.hpp"

using namespace assay;
using namespace assay::capi;

struct assay_job {
  Watch watch = {};
  std::uint64_t bytes = 0;
  std::optional<Work<std::string>> work = {};  // until its document was given
};

extern "C" {

assay_status assay_job_new(const assay_checkpoint* checkpoint, const char* command, const char* filter, int sample, assay_job** out,
                           assay_error** error) {
  return guarded(error, [&]() -> Result<void> {
    if (checkpoint == nullptr || command == nullptr || out == nullptr) return fail(Code::usage, "a NULL argument");
    *out = nullptr;
    const Document* document = find_document(command);
    if (document == nullptr) return fail(Code::usage, concat("there is no document ", quote(command)));
    auto job = std::make_unique<assay_job>();
    ASSAY_TRY(job->bytes, document_bytes(*document, *checkpoint->state, sample != 0));
    job->work = document_work(*document, checkpoint->state, filter != nullptr ? filter : "", sample != 0, job->watch);
    *out = job.release();
    return {};
  });
}

assay_status assay_job_new_diff(const assay_checkpoint* a, const assay_checkpoint* b, int values, int sample, assay_job** out,
                                assay_error** error) {
  return guarded(error, [&]() -> Result<void> {
    if (a == nullptr || b == nullptr || out == nullptr) return fail(Code::usage, "a NULL argument");
    *out = nullptr;
    auto job = std::make_unique<assay_job>();
    job->bytes = diff_bytes(*a->state, *b->state, values != 0, sample != 0);
    job->work = diff_work(a->state, b->state, values != 0, sample != 0, job->watch);
    *out = job.release();
    return {};
  });
}

assay_status assay_job_run(assay_job* job, assay_watch_fn watch, void* context, assay_buffer** out, assay_error** error) {
  return guarded(error, [&]() -> Result<void> {
    if (job == nullptr || out == nullptr) return fail(Code::usage, "a NULL argument");
    *out = nullptr;
    if (!job->work) return fail(Code::usage, "the job is over");
    job->watch.call = watch;
    job->watch.context = context;
    Work<std::string> work = *std::exchange(job->work, std::nullopt);  // what throws is over
    auto text = work.go_on();
    if (!text) {
      if (text.error().code() == Code::need_range) job->work = std::move(work);
      return fail(std::move(text).error());
    }
    hand_text(*text, out);
    return {};
  });
}

uint64_t assay_job_bytes(const assay_job* job) { return job != nullptr ? job->bytes : 0; }
void assay_job_free(assay_job* job) { delete job; }

}  // extern "C"
