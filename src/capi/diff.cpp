// SPDX-License-Identifier: Apache-2.0
// The comparison of two checkpoints as a document: what `assay diff --json` does, one tensor after another.
#include "analysis/diff.hpp"

#include <optional>

#include "analysis/match.hpp"
#include "base/try.hpp"
#include "capi/job.hpp"
#include "report/diff_report.hpp"
#include "report/documents.hpp"

using namespace assay;
using namespace assay::capi;

namespace {

struct Sides {
  const State& a;
  const State& b;
  Watch& watch;
  Findings findings;
  bool complete;
};

Finding named(const State& side, Finding finding) {
  if (finding.where.file.empty()) finding.where.file = side.files->label();
  return finding;
}

/// To be read of both sides for the pairs.
std::uint64_t bytes_of(const Checkpoint& a, const Checkpoint& b, const analysis::Matching& matching, const analysis::DiffOptions& options) {
  std::uint64_t bytes = 0;
  for (const analysis::TensorPair& pair : matching.pairs)
    bytes += analysis::bytes_to_compare(a.tensors[pair.a], b.tensors[pair.b], options);
  return bytes;
}

/// What cannot be read stays unmatched.
Work<std::vector<std::optional<analysis::ContentHash>>> hashes_of(const Checkpoint& checkpoint, std::span<const std::uint32_t> tensors) {
  std::vector<std::optional<analysis::ContentHash>> hashes;
  for (const std::uint32_t t : tensors) {
    auto hash = co_await analysis::content_hash_work(checkpoint, checkpoint.tensors[t]);
    hashes.push_back(hash ? std::optional(*hash) : std::nullopt);
  }
  co_return hashes;
}

Work<analysis::Matching> match(const Sides& sides, const analysis::DiffOptions& options) {
  const Checkpoint &a = sides.a.checkpoint, &b = sides.b.checkpoint;
  analysis::Matching matching = analysis::match_names(a, b);
  // Of a sample nothing is hashed: that takes all bytes.
  if (!options.values || options.sample) co_return matching;
  const analysis::ContentCandidates candidates = analysis::content_candidates(matching, a, b);
  ASSAY_AWAIT(const auto hashes_a, hashes_of(a, candidates.a));
  ASSAY_AWAIT(const auto hashes_b, hashes_of(b, candidates.b));
  analysis::match_by_content(matching, candidates, hashes_a, hashes_b);
  co_return matching;
}

/// Compares one pair; where a side cannot be read, its dtypes and shapes alone.
Work<void> compare(Sides& sides, const analysis::DiffOptions& options, report::DiffRow& row) {
  const Tensor& x = sides.a.checkpoint.tensors[row.pair.a];
  const Tensor& y = sides.b.checkpoint.tensors[row.pair.b];
  auto difference = co_await analysis::compare_work(sides.a.checkpoint, x, sides.b.checkpoint, y, options);
  if (difference) {
    row.difference = *std::move(difference);
    co_return {};
  }
  row.failed = true;
  sides.complete = false;
  analysis::DiffOptions structure = options;
  structure.values = false;
  if (auto shapes = analysis::compare_tensors(sides.a.checkpoint, x, sides.b.checkpoint, y, structure)) row.difference = *std::move(shapes);
  // The finding that made a tensor unreadable is there already.
  if (!x.readable || !y.readable) co_return {};
  const bool of_b = x.name != y.name && difference.error().where().tensor == y.name;
  sides.findings.add(named(of_b ? sides.b : sides.a, Finding::from(difference.error())));
  co_return {};
}

Work<report::DiffReport> compare_all(Sides& sides, const analysis::DiffOptions& options) {
  const Checkpoint &a = sides.a.checkpoint, &b = sides.b.checkpoint;
  ASSAY_AWAIT(const analysis::Matching matching, match(sides, options));
  report::DiffReport report;
  report.a = &a;
  report.b = &b;
  report.path_a = sides.a.files->label();
  report.path_b = sides.b.files->label();
  report.options = options;
  report.only_a = matching.only_a;
  report.only_b = matching.only_b;
  const std::uint64_t all = bytes_of(a, b, matching, options);
  std::uint64_t done = 0;
  for (const analysis::TensorPair& pair : matching.pairs) {
    if (!sides.watch.goes_on(done, all)) break;
    report::DiffRow row{pair, {}};
    ASSAY_AWAIT_CHECK(compare(sides, options, row));
    report.rows.push_back(std::move(row));
    done += analysis::bytes_to_compare(a.tensors[pair.a], b.tensors[pair.b], options);
  }
  report::finish_report(report, "rel");
  co_return report;
}

}  // namespace

namespace assay::capi {

Work<std::string> diff_work(std::shared_ptr<const State> a, std::shared_ptr<const State> b, bool values, bool sample, Watch& watch) {
  Sides sides{*a, *b, watch, {}, a->checkpoint.complete && b->checkpoint.complete};
  for (const State* side : {&sides.a, &sides.b})
    for (const Finding& finding : side->checkpoint.findings.list()) sides.findings.add(named(*side, finding));
  analysis::DiffOptions options;
  options.values = values;
  options.sample = sample;
  ASSAY_AWAIT(const report::DiffReport report, compare_all(sides, options));
  report::Writer text;
  report::JsonWriter json(text, 2);
  report::begin_document(json, "diff", report.path_a);
  report::write_diff_keys(json, report);
  report::end_document(json, sides.complete && !watch.stopped, sides.findings, nullptr);
  co_return std::string(text.text());
}

std::uint64_t diff_bytes(const State& a, const State& b, bool values, bool sample) {
  if (!values) return 0;
  analysis::DiffOptions options;
  options.sample = sample;
  return bytes_of(a.checkpoint, b.checkpoint, analysis::match_names(a.checkpoint, b.checkpoint), options);
}

}  // namespace assay::capi

extern "C" {

assay_status assay_report_diff(const assay_checkpoint* a, const assay_checkpoint* b, int values, assay_watch_fn watch, void* context,
                               assay_buffer** out, assay_error** error) {
  return guarded(error, [&]() -> Result<void> {
    if (a == nullptr || b == nullptr || out == nullptr) return fail(Code::usage, "a NULL argument");
    *out = nullptr;
    Watch watching{watch, context};
    ASSAY_TRY(const std::string text, diff_work(a->state, b->state, values != 0, false, watching).go_on());
    hand_text(text, out);
    return {};
  });
}

}  // extern "C"
