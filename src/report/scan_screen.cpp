// SPDX-License-Identifier: Apache-2.0
// A scan for people: what loading would do comes first, in words and with its place.
#include <algorithm>
#include <vector>

#include "base/facts.hpp"
#include "base/sort.hpp"
#include "base/text.hpp"
#include "report/messages.hpp"
#include "report/scan_report.hpp"
#include "report/table.hpp"
#include "report/units.hpp"

namespace assay::report {

using scan::Report;
using scan::Status;
using scan::Verdict;
using scan::WeightsOnly;

namespace {

constexpr std::size_t kLongestName = 200;

/// How loudly a file's line speaks, and how the totals name it.
struct Tag {
  std::string_view word, total;
  Tone tone;
};
constexpr Tag kTags[] = {{"OK", "ok", Tone::good},
                         {"DANGER", "dangerous", Tone::bad},
                         {"UNKNOWN", "unknown", Tone::caution},
                         {"MALFORMED", "malformed", Tone::caution},
                         {"INCOMPLETE", "incomplete", Tone::caution},
                         {"UNREAD", "not read", Tone::bad}};

const Tag& tag_of(const ScannedFile& file) {
  if (file.error) return kTags[5];
  if (file.report.verdict == Verdict::dangerous) return kTags[1];
  if (file.report.verdict == Verdict::unknown) return kTags[2];
  if (file.report.status == Status::malformed) return kTags[3];
  return kTags[file.report.status == Status::incomplete ? 4 : 0];
}

std::string place_text(const scan::Place& place) {
  std::string text = concat(" at byte ", grouped(place.position));
  if (!place.member.empty()) text += concat(" of ", escape(place.member, kLongestName));
  if (place.stream > 1) text += concat(", pickle ", place.stream);
  return text;
}

/// The call that says most: commands before all else, then the last of a chain that leads to it.
const scan::Call* telling_call(const Report& report) {
  const scan::Call* found = nullptr;
  for (const scan::Call& call : report.calls) {
    if (call.verdict != report.verdict) continue;
    const bool runs = call.why == "runs commands" && call.callable.find("__import__") == std::string::npos;
    if (runs) return &call;
    found = &call;
  }
  return found;
}

std::string in_member(const Finding& finding) {
  const std::string& member = finding.where.member;
  if (member.empty() || finding.message.find(escape(member)) != std::string::npos) return finding.message;
  constexpr std::string_view kVerbs[] = {"is", "has", "holds", "names"};
  const std::string_view first = std::string_view(finding.message).substr(0, finding.message.find(' '));
  return concat(escape(member, kLongestName), std::ranges::find(kVerbs, first) != std::end(kVerbs) ? " " : ": ", finding.message);
}

/// What would run, then what could not be looked at, then the rest: a part that is not looked into hides no hook that is known.
int rank(const Finding& finding) {
  const bool runs = finding.code == Code::unknown_import || finding.code == Code::unknown_call;
  return finding.severity == Severity::danger ? 4 : runs ? 3 : static_cast<int>(finding.severity);
}

std::vector<const Finding*> gravest_first(const Findings& findings) {
  std::vector<const Finding*> list;
  for (const Finding& finding : findings.list()) list.push_back(&finding);
  sort_stable(list, [](const Finding* a, const Finding* b) { return rank(*a) > rank(*b); });
  return list;
}

std::string clean_text(const Report& report) {
  if (report.members.empty()) return "empty";
  std::string text(report.members[0].kind);
  const std::size_t names = report.imports.size();
  if (names != 0)
    text += concat(": ", counted(names, "name", "names"), names == 1 ? ", known to be harmless" : ", all known to be harmless");
  return text;
}

/// The worst thing in one phrase.
std::string headline(const ScannedFile& file) {
  if (file.error) return escape(file.error->what(), 300);
  const Report& report = file.report;
  if (report.clean()) return clean_text(report);
  if (report.verdict != Verdict::clean) {
    if (const scan::Call* call = telling_call(report)) return concat(call->words, place_text(call->place));
    const auto import = std::ranges::find(report.imports, report.verdict, &scan::Import::verdict);
    if (import != report.imports.end())
      return concat("imports ", escape(import->name, kLongestName), place_text(import->place), ", which ", import->why);
  }
  if (!report.findings.empty()) return in_member(*gravest_first(report.findings)[0]);
  return "not everything could be looked at";
}

// --- one file ---------------------------------------------------------------------------------------------------------------

/// An import whose call is told as well says nothing more.
bool is_called(const Report& report, const Finding& finding) {
  if (finding.code != Code::dangerous_import && finding.code != Code::unknown_import) return false;
  return std::ranges::any_of(report.calls, [&](const scan::Call& call) {
    return call.place.member == finding.where.member &&
           finding.message.starts_with(concat("imports ", escape(call.callable, kLongestName))) &&
           std::ranges::any_of(report.imports, [&](const scan::Import& import) { return import.name == call.callable; });
  });
}

/// Where in its member; nothing for what is only known by its place in the file.
std::optional<std::uint64_t> position_in_member(const Finding& finding) {
  const auto* number = fact_of<std::uint64_t>(finding, "position");
  return number != nullptr ? std::optional(*number) : std::nullopt;
}

void write_findings(Writer& out, const Style& style, const Report& report, std::size_t most) {
  std::vector<const Finding*> list = gravest_first(report.findings);
  if (most != ~std::size_t{0}) std::erase_if(list, [&](const Finding* finding) { return is_called(report, *finding); });
  if (list.empty()) return;
  Table table({{.title = ""},
               {.title = "IN"},
               {.title = "BYTE", .right = true},
               {.title = "WHAT", .flexible = true, .cut_end = true, .least = 30}});
  for (std::size_t i = 0; i < list.size() && i < most; ++i) {
    const Finding& finding = *list[i];
    table.cell(severity_name(finding.severity), severity_tone(finding.severity));
    const auto position = position_in_member(finding);
    const bool of_file = !position && finding.where.offset;
    table.cell(of_file ? std::string() : escape(finding.where.member, kLongestName));
    table.cell(position ? grouped(*position) : of_file ? grouped(*finding.where.offset) : std::string());
    table.cell(of_file && !finding.where.member.empty() ? in_member(finding) : finding.message);
  }
  out.put('\n');
  table.write(out, style);
  if (list.size() > most) out.put(concat(counted(list.size() - most, "more finding", "more findings"), "; -v shows all\n"));
}

void write_loaders(Writer& out, const Style& style, const Report& report) {
  using Answer = WeightsOnly::Answer;
  const WeightsOnly& safe = report.weights_only;
  if (safe.answer == Answer::accepts) out.put(concat("torch.load(weights_only=True) ", toned(style, Tone::good, "would accept it"), '\n'));
  if (safe.answer == Answer::refuses)
    out.put(concat("torch.load(weights_only=True) ", toned(style, Tone::good, "would refuse it"), ": ", safe.reason, '\n'));
  // Only what stands where a loader begins.
  const auto acts_in = [&](std::string_view member) {
    return std::ranges::any_of(report.calls, [&](const scan::Call& call) {
      return call.verdict == Verdict::dangerous && call.place.member == member && call.place.stream == 1;
    });
  };
  const std::string does = toned(style, Tone::bad, "would run it");
  if (!report.torch_member.empty() && acts_in(report.torch_member)) out.put(concat("torch.load(weights_only=False) ", does, '\n'));
  if (!report.members.empty() && report.members[0].kind == "pickle" && acts_in("")) out.put(concat("pickle.load ", does, '\n'));
}

void write_coverage(Writer& out, const Style& style, const Report& report) {
  std::uint64_t pickles = 0;
  for (const scan::Member& member : report.members) pickles += member.streams;
  std::string text = concat("looked at ", counted(report.members.size(), "part", "parts"));
  if (pickles != 0)
    text += concat(", ", counted(pickles, "pickle", "pickles"), " of ", bytes_text(style, report.pickle_bytes),
                   style.exact_bytes ? " bytes" : "");
  if (report.storages != 0) text += concat("; ", counted(report.storages, "storage", "storages"), " of tensors not read");
  out.put(toned(style, Tone::faint, text));
  out.put('\n');
}

/// What the user can do about names that only he can know.
void write_advice(Writer& out, const Report& report) {
  if (report.verdict != Verdict::unknown) return;
  const auto import = std::ranges::find(report.imports, Verdict::unknown, &scan::Import::verdict);
  if (import != report.imports.end() && import->name.find('?') == std::string::npos)
    out.put(concat("if you know what it does: assay scan --allow ", escape(import->name, kLongestName), '\n'));
}

void write_tag(Writer& out, const Style& style, const Tag& tag) {
  out.put(toned(style, tag.tone, tag.word));
  out.put("  ");
}

}  // namespace

void write_scan_screen(Writer& out, const Style& style, const ScannedFile& file, std::size_t most) {
  write_tag(out, style, tag_of(file));
  out.put(shown_name(style, file.path));
  out.put("  ");
  out.put(headline(file));
  out.put('\n');
  if (file.error) return;
  write_findings(out, style, file.report, most);
  out.put('\n');
  write_loaders(out, style, file.report);
  write_coverage(out, style, file.report);
  write_advice(out, file.report);
}

// --- several ----------------------------------------------------------------------------------------------------------------

ScanList::ScanList(const Style& style, bool all)
    : style_(style), all_(all),
      table_({{.title = "VERDICT"}, {.title = "FILE"}, {.title = "WHAT", .flexible = true, .cut_end = true, .least = 30}}),
      counts_(std::size(kTags)) {}

void ScanList::add(const ScannedFile& file) {
  const Tag& tag = tag_of(file);
  ++counts_[static_cast<std::size_t>(&tag - kTags)];
  if (&tag == kTags && !all_) return;
  table_.cell(tag.word, tag.tone);
  table_.cell(shown_name(style_, file.path));
  table_.cell(headline(file));
}

void ScanList::write(Writer& out) const {
  if (table_.rows() != 0) {
    table_.write(out, style_);
    out.put('\n');
  }
  std::string text;
  std::uint64_t files = 0;
  for (std::size_t i = 0; i < std::size(kTags); ++i) {
    files += counts_[i];
    if (counts_[i] != 0) text += concat(text.empty() ? " " : ", ", counts_[i], ' ', kTags[i].total);
  }
  out.put(concat(counted(files, "file", "files"), ':', text, '\n'));
}

}  // namespace assay::report
