// SPDX-License-Identifier: Apache-2.0
// The comparison of two checkpoints as a document: what `assay diff --json` does, one tensor after another.
#include "analysis/diff.hpp"

#include <optional>

#include "analysis/match.hpp"
#include "base/try.hpp"
#include "capi/handle.hpp"
#include "report/diff_report.hpp"
#include "report/documents.hpp"

using namespace assay;
using namespace assay::capi;

namespace {

struct Sides {
  const State& a;
  const State& b;
  Watch watch;
  Findings findings;
  bool complete;
};

Finding named(const State& side, Finding finding) {
  if (finding.where.file.empty()) finding.where.file = side.files->label();
  return finding;
}

std::uint64_t bytes_of(const Checkpoint& checkpoint, std::span<const std::uint32_t> tensors) {
  std::uint64_t bytes = 0;
  for (const std::uint32_t t : tensors) bytes += checkpoint.tensors[t].nbytes();
  return bytes;
}

/// What cannot be read stays unmatched; only `need-range` fails.
Result<std::vector<std::optional<analysis::ContentHash>>> hashes_of(const Checkpoint& checkpoint, std::span<const std::uint32_t> tensors) {
  std::vector<std::optional<analysis::ContentHash>> hashes;
  for (const std::uint32_t t : tensors) {
    auto hash = analysis::content_hash(checkpoint, checkpoint.tensors[t]);
    if (!hash && hash.error().code() == Code::need_range) return fail(std::move(hash).error());
    hashes.push_back(hash ? std::optional(*hash) : std::nullopt);
  }
  return hashes;
}

Result<analysis::Matching> match(const Sides& sides, bool values) {
  const Checkpoint &a = sides.a.checkpoint, &b = sides.b.checkpoint;
  analysis::Matching matching = analysis::match_names(a, b);
  if (!values) return matching;
  const analysis::ContentCandidates candidates = analysis::content_candidates(matching, a, b);
  ASSAY_TRY(const auto hashes_a, hashes_of(a, candidates.a));
  ASSAY_TRY(const auto hashes_b, hashes_of(b, candidates.b));
  analysis::match_by_content(matching, candidates, hashes_a, hashes_b);
  return matching;
}

/// Compares one pair; where a side cannot be read, its dtypes and shapes alone.
Result<void> compare(Sides& sides, const analysis::DiffOptions& options, report::DiffRow& row) {
  const Tensor& x = sides.a.checkpoint.tensors[row.pair.a];
  const Tensor& y = sides.b.checkpoint.tensors[row.pair.b];
  auto difference = analysis::compare_tensors(sides.a.checkpoint, x, sides.b.checkpoint, y, options);
  if (difference) {
    row.difference = *std::move(difference);
    return {};
  }
  if (difference.error().code() == Code::need_range) return fail(std::move(difference).error());
  row.failed = true;
  sides.complete = false;
  analysis::DiffOptions structure = options;
  structure.values = false;
  if (auto shapes = analysis::compare_tensors(sides.a.checkpoint, x, sides.b.checkpoint, y, structure)) row.difference = *std::move(shapes);
  // The finding that made a tensor unreadable is there already.
  if (!x.readable || !y.readable) return {};
  const bool of_b = x.name != y.name && difference.error().where().tensor == y.name;
  sides.findings.add(named(of_b ? sides.b : sides.a, Finding::from(difference.error())));
  return {};
}

Result<report::DiffReport> compare_all(Sides& sides, bool values) {
  const Checkpoint &a = sides.a.checkpoint, &b = sides.b.checkpoint;
  ASSAY_TRY(const analysis::Matching matching, match(sides, values));
  report::DiffReport report;
  report.a = &a;
  report.b = &b;
  report.path_a = sides.a.files->label();
  report.path_b = sides.b.files->label();
  report.options.values = values;
  report.only_a = matching.only_a;
  report.only_b = matching.only_b;
  std::vector<std::uint32_t> tensors;
  for (const analysis::TensorPair& pair : matching.pairs) tensors.push_back(pair.a);
  const std::uint64_t all = bytes_of(a, tensors);
  std::uint64_t done = 0;
  for (const analysis::TensorPair& pair : matching.pairs) {
    if (!sides.watch.goes_on(done, all)) break;
    report.rows.push_back({pair, {}});
    ASSAY_CHECK(compare(sides, report.options, report.rows.back()));
    done += a.tensors[pair.a].nbytes();
  }
  report::finish_report(report, "rel");
  return report;
}

}  // namespace

extern "C" {

assay_status assay_report_diff(const assay_checkpoint* a, const assay_checkpoint* b, int values, assay_watch_fn watch, void* context,
                               assay_buffer** out, assay_error** error) {
  return guarded(error, [&]() -> Result<void> {
    if (a == nullptr || b == nullptr || out == nullptr) return fail(Code::usage, "a NULL argument");
    *out = nullptr;
    Sides sides{*a->state, *b->state, {watch, context}, {}, a->state->checkpoint.complete && b->state->checkpoint.complete};
    for (const State* side : {&sides.a, &sides.b})
      for (const Finding& finding : side->checkpoint.findings.list()) sides.findings.add(named(*side, finding));
    ASSAY_TRY(const report::DiffReport report, compare_all(sides, values != 0));
    report::Writer text;
    report::JsonWriter json(text, 2);
    report::begin_document(json, "diff", report.path_a);
    report::write_diff_keys(json, report);
    report::end_document(json, sides.complete && !sides.watch.stopped, sides.findings, nullptr);
    hand_text(text.text(), out);
    return {};
  });
}

}  // extern "C"
