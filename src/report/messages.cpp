// SPDX-License-Identifier: Apache-2.0
#include "report/messages.hpp"

#include <algorithm>
#include <vector>

#include "analysis/cut.hpp"
#include "base/sort.hpp"
#include "base/text.hpp"
#include "report/screens.hpp"
#include "report/units.hpp"

namespace assay::report {

Tone severity_tone(Severity severity) {
  constexpr Tone kTones[] = {Tone::accent, Tone::caution, Tone::bad, Tone::bad};
  return kTones[static_cast<std::size_t>(severity)];
}

namespace {

struct Line {
  std::string_view word;  ///< "error", "warning"
  Tone tone;
  Code code;
  std::string_view message;
  const Where& where;
  std::string_view hint;
};

void write_line(Writer& out, const Style& style, const Naming& naming, const Line& line) {
  // Wrong usage is about the command line, not about a file.
  const std::string place = !line.where.file.empty()   ? naming.path_of(line.where.file)
                            : line.code == Code::usage ? std::string()
                                                       : naming.label;
  if (!place.empty()) {
    out.put(shown_name(style, place));
    if (line.where.offset) {
      out.put(':');
      out.put(hex(*line.where.offset));
    }
    out.put(": ");
  }
  out.put(toned(style, line.tone, line.word));
  out.put(": ");
  out.put(line.message);
  // The trail, as far as the message does not say it itself: in quotes, since 'a' is a name and a word too.
  const std::pair<std::string_view, const std::string&> trail[] = {{"in", line.where.member}, {"tensor", line.where.tensor}};
  for (const auto& [what, name] : trail)
    if (!name.empty() && line.message.find(quote(name)) == std::string_view::npos)
      out.put(concat(", ", what, " '", shown_name(style, name), "'"));
  out.put(begin(style, Tone::faint));
  out.put(" [");
  out.put(code_name(line.code));
  out.put(']');
  out.put(end(style, Tone::faint));
  out.put('\n');
  if (line.hint.empty()) return;
  out.put("hint: ");
  out.put(line.hint);
  out.put('\n');
}

}  // namespace

std::string Naming::path_of(std::string_view file) const {
  if (!primary.empty()) {
    if (file == primary) return label;
    const std::size_t slash = label.rfind('/');
    return concat(slash == std::string::npos ? std::string_view() : std::string_view(label).substr(0, slash + 1), file);
  }
  return concat(label, label.empty() || label.ends_with('/') ? "" : "/", file);
}

void write_error_line(Writer& out, const Style& style, const Naming& naming, const Error& error) {
  write_line(out, style, naming, {"error", Tone::bad, error.code(), error.what(), error.where(), error.hint()});
}

void write_finding_line(Writer& out, const Style& style, const Naming& naming, const Finding& finding) {
  write_line(out, style, naming,
             {severity_name(finding.severity), severity_tone(finding.severity), finding.code, finding.message, finding.where, ""});
}

void write_finding_lines(Writer& out, const Style& style, const Naming& naming, const Findings& findings, Severity least,
                         std::size_t most) {
  std::vector<const Finding*> list;
  for (const Finding& finding : findings.list())
    if (finding.severity >= least && !analysis::told_with_cut(findings, finding)) list.push_back(&finding);
  sort_stable(list, [](const Finding* a, const Finding* b) { return a->severity > b->severity; });
  for (std::size_t i = 0; i < list.size() && i < most; ++i) write_finding_line(out, style, naming, *list[i]);
  std::size_t left_out = list.size() - std::min(list.size(), most);
  for (const auto& [code, count] : findings.counts())
    if (code_severity(code) >= least) left_out += findings.suppressed(code);
  if (left_out == 0) return;
  out.put(concat("and ", counted(left_out, "finding", "findings"), " more; --json lists "));
  out.put(list.size() > most ? "them\n" : "the first of each kind\n");
}

std::string resume_command(const Naming& naming, const analysis::Cut& cut) {
  const std::string file = shell_word(naming.path_of(cut.file));
  return concat(cut.page ? concat("truncate -s ", cut.size, " ", file, " && ") : std::string(), "curl -L -C - -o ", file, " URL");
}

std::string advice_on_cuts(const Naming& naming, const Checkpoint& checkpoint) {
  const std::vector<analysis::Cut> cuts = analysis::cuts(checkpoint);
  if (cuts.empty()) return {};
  if (std::ranges::any_of(cuts, &analysis::Cut::ends_in_zeros)) return "the end was never written; get the file again from the start";
  const std::string first = resume_command(naming, cuts[0]);
  return cuts.size() == 1 ? concat("get the rest: ", first) : concat("get the rest of ", cuts.size(), " files, the first with: ", first);
}

}  // namespace assay::report
