// SPDX-License-Identifier: Apache-2.0
#include "analysis/scan/told_imports.hpp"

#include <algorithm>
#include <variant>
#include <vector>

#include "analysis/scan/names.hpp"
#include "base/text.hpp"

namespace assay::scan {

namespace {

constexpr std::size_t kShownNames = 3;

/// The imported name of a finding of opening; "" for other findings.
std::string_view imported(const Finding& finding) {
  if (finding.code != Code::opaque_object) return {};
  for (const Fact& fact : finding.facts)
    if (fact.key == "name")
      if (const auto* name = std::get_if<std::string>(&fact.value)) return *name;
  return {};
}

Finding warning(std::string message, const Where& where, std::vector<std::string> names) {
  Finding finding(Code::dangerous_import, std::move(message), where);
  finding.severity = Severity::warning;  // to look at the file is harmless
  if (!names.empty()) finding.facts.push_back({"imports", std::move(names)});
  return finding;
}

}  // namespace

std::optional<Finding> warn_of_imports(const Findings& findings, const std::function<std::string(std::string_view)>& path_of) {
  const Finding* first = nullptr;
  std::vector<std::string> names;
  std::string_view why;
  for (const Finding& finding : findings.list()) {
    const std::string_view name = imported(finding);
    if (name.empty()) continue;
    const Judgement judged = judge_dotted(name);
    if (judged.verdict != Verdict::dangerous) continue;
    if (first == nullptr) first = &finding, why = judged.why;
    if (std::ranges::find(names, name) == names.end()) names.emplace_back(name);
  }
  const auto scan = [&](const Where& where) { return concat("assay scan ", path_of(where.file)); };
  if (first != nullptr) {
    std::string message = concat("not safe to load: imports ", name_list(names, kShownNames),
                                 names.size() == 1 ? concat(", which ", why) : "", " (", scan(first->where), " tells all)");
    return warning(std::move(message), first->where, std::move(names));
  }
  const auto noted = findings.counts().find(Code::opaque_object);
  if (noted == findings.counts().end() || noted->second < Findings::kPerCode) return std::nullopt;
  return warning(concat("imports more names than are looked at here (", scan({}), " judges them all)"), {}, {});
}

}  // namespace assay::scan
