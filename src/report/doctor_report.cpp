// SPDX-License-Identifier: Apache-2.0
#include "report/doctor_report.hpp"

#include <algorithm>
#include <vector>

#include "analysis/cut.hpp"
#include "base/sort.hpp"
#include "base/text.hpp"
#include "report/messages.hpp"
#include "report/units.hpp"

namespace assay::report {

void write_doctor_keys(JsonWriter& json, const analysis::Checkup& checkup, const Findings& findings) {
  json.key("healthy").boolean(!findings.any_at_least(Severity::warning));
  json.key("checked").integer(checkup.checked);
  json.key("skipped").integer(checkup.skipped);
  json.key("bytes").integer(checkup.bytes);
  if (checkup.sampled > 0) {
    json.key("exact").boolean(false);
    json.key("sampled").integer(checkup.sampled);
  }
  json.key("advice").begin_object();
  for (const auto& [code, count] : findings.counts())
    if (!code_hint(code).empty()) json.key(code_name(code)).text(code_hint(code));
  json.end_object();
}

namespace {

struct Kind {
  Severity severity;
  Code code;
  std::vector<const Finding*> findings;
};

/// The worst first, then in the order they were found.
std::vector<Kind> kinds_of(const Findings& findings) {
  std::vector<Kind> kinds;
  for (const Finding& finding : findings.list()) {
    if (analysis::told_with_cut(findings, finding)) continue;
    const auto same = [&](const Kind& kind) { return kind.code == finding.code && kind.severity == finding.severity; };
    const auto found = std::ranges::find_if(kinds, same);
    if (found == kinds.end()) kinds.push_back({finding.severity, finding.code, {&finding}});
    else found->findings.push_back(&finding);
  }
  sort_stable(kinds, std::ranges::greater(), &Kind::severity);
  return kinds;
}

void write_kind(Writer& out, const Style& style, const Kind& kind, std::string_view on_cuts) {
  constexpr std::size_t kShown = 8;
  out.put('\n');
  out.put(toned(style, severity_tone(kind.severity), severity_name(kind.severity)));
  out.put(concat(": ", code_name(kind.code), "\n"));
  for (std::size_t i = 0; i < kind.findings.size() && i < kShown; ++i) out.put(concat("  ", kind.findings[i]->message, "\n"));
  if (kind.findings.size() > kShown) out.put(concat("  and ", kind.findings.size() - kShown, " more; --json lists them\n"));
  const std::string_view hint = kind.code == Code::truncated && !on_cuts.empty() ? on_cuts : code_hint(kind.code);
  if (!hint.empty()) out.put(toned(style, Tone::faint, concat("  ", hint)) + "\n");
}

}  // namespace

void write_doctor_screen(Writer& out, const Style& style, std::string_view title, const analysis::Checkup& checkup,
                         const Findings& findings, const DoctorContext& about) {
  std::uint64_t bad = 0, notes = 0;
  for (const Finding& finding : findings.list())
    if (!analysis::told_with_cut(findings, finding)) ++(finding.severity >= Severity::warning ? bad : notes);
  out.put(toned(style, Tone::strong, shown_name(style, title)));
  out.put(concat(": ", counted(checkup.checked, "tensor", "tensors"), " checked, ", bytes_text(style, checkup.bytes),
                 style.exact_bytes ? " bytes" : ""));
  if (checkup.skipped > 0) out.put(concat("; ", checkup.skipped, " without values"));
  out.put(": ");
  if (bad == 0) out.put(toned(style, Tone::good, "healthy"));
  else out.put(toned(style, Tone::caution, counted(bad, "finding", "findings")));
  if (notes > 0) out.put(concat(", ", counted(notes, "note", "notes")));
  out.put('\n');
  if (about.check_sums) out.put(toned(style, Tone::faint, "  check sums were not compared; assay verify does") + "\n");
  for (const Kind& kind : kinds_of(findings)) write_kind(out, style, kind, about.on_cuts);
}

}  // namespace assay::report
