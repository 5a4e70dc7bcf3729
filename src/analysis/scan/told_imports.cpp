// SPDX-License-Identifier: Apache-2.0
#include "analysis/scan/told_imports.hpp"

#include <algorithm>
#include <unordered_set>
#include <vector>

#include "analysis/scan/names.hpp"
#include "base/facts.hpp"
#include "base/text.hpp"

namespace assay::scan {

namespace {

constexpr std::size_t kShownNames = 3, kMostNames = 1000;

/// The imported name of a finding of opening; "" for other findings.
std::string_view imported(const Finding& finding) {
  if (finding.code != Code::opaque_object) return {};
  const auto* name = fact_of<std::string>(finding, "name");
  return name != nullptr ? std::string_view(*name) : std::string_view();
}

/// Each imported name once.
template <class Take>
void for_each_import(const pickle::Graph& graph, Take&& take) {
  std::unordered_set<std::string> seen;
  for (const pickle::Event& event : graph.events()) {
    if (event.kind != pickle::EventKind::import_) continue;
    const pickle::GlobalName name = graph.global(event.node);
    if (seen.insert(concat(name.module, '\n', name.name)).second) take(event.node);
  }
}

Finding warning(std::string message, const Where& where, std::vector<std::string> names) {
  Finding finding(Code::dangerous_import, std::move(message), where);
  finding.severity = Severity::warning;  // to look at the file is harmless
  if (!names.empty()) finding.facts.push_back({"imports", std::move(names)});
  return finding;
}

}  // namespace

std::optional<Finding> warn_of_imports(const Checkpoint& checkpoint, const std::function<std::string(std::string_view)>& path_of) {
  std::vector<std::string> names;
  std::string_view why;
  Where where;
  const auto take = [&](std::string_view name, const Judgement& judged, const Where& at) {
    if (judged.verdict != Verdict::dangerous || std::ranges::find(names, name) != names.end() || names.size() == kMostNames) return;
    if (names.empty()) where = at, why = judged.why;
    names.emplace_back(name);
  };
  for (const Finding& finding : checkpoint.findings.list())
    if (const std::string_view name = imported(finding); !name.empty()) take(name, judge_dotted(name), finding.where);
  if (checkpoint.values) {
    Where main;
    if (checkpoint.files.size() > 1) main.file = checkpoint.files[0].name;
    for_each_import(*checkpoint.values, [&](pickle::Node node) {
      const pickle::GlobalName mapped = checkpoint.values->mapped_global(node);
      if (checkpoint.format == "torch-script" && (mapped.module == "__torch__" || mapped.module.starts_with("__torch__.")))
        return;  // types of its own
      take(concat(mapped.module, '.', mapped.name), judge_name(checkpoint.values->global(node), mapped, {}), main);
    });
  }
  const auto scan = [&] { return concat("assay scan ", path_of(where.file)); };
  if (!names.empty()) {
    std::string message = concat("not safe to load: imports ", name_list(names, kShownNames),
                                 names.size() == 1 ? concat(", which ", why) : "", " (", scan(), " tells all)");
    return warning(std::move(message), where, std::move(names));
  }
  const auto noted = checkpoint.findings.counts().find(Code::opaque_object);
  if (noted == checkpoint.findings.counts().end() || noted->second < Findings::kPerCode) return std::nullopt;
  return warning(concat("imports more names than are looked at here (", scan(), " judges them all)"), {}, {});
}

}  // namespace assay::scan
