// SPDX-License-Identifier: Apache-2.0
#include "cli/scan_flags.hpp"

#include <algorithm>
#include <string_view>

#include "base/text.hpp"

namespace assay::cli {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMostSuggestions = 1000;  // names that are kept to be suggested

Finding no_effect(std::string_view flag, const std::string& value, std::string_view why) {
  Finding finding(Code::usage, concat(flag, ' ', quote(value, 200), " has no effect: ", why));
  finding.severity = Severity::warning;
  return finding;
}

bool strip_front(std::string& text, std::string_view front) {
  if (!text.starts_with(front)) return false;
  text.erase(0, front.size());
  return true;
}
bool strip_back(std::string& text, std::string_view back) {
  if (!text.ends_with(back) || text.size() == back.size()) return false;
  text.resize(text.size() - back.size());
  return true;
}

}  // namespace

// --- --exclude --------------------------------------------------------------------------------------------------------------

Exclusions::Pattern Exclusions::read(const std::string& given, const fs::path& here) {
  Pattern pattern{.given = given, .globs = {}, .absolute = {}};
  std::string glob = given;
  while (strip_front(glob, "./")) {
  }
  while (strip_back(glob, "/") || strip_back(glob, "/**")) pattern.folders_only = true;
  bool at_any_depth = false;
  while (strip_front(glob, "**/")) at_any_depth = true;
  if (glob.empty()) return pattern;
  pattern.globs.push_back(glob);
  if (const std::size_t between = glob.find("/**/"); between != std::string::npos)  // also for no folder at all
    pattern.globs.push_back(glob.erase(between, 3));
  for (std::size_t i = 0, n = pattern.globs.size(); i < n; ++i) {
    if (at_any_depth) pattern.globs.push_back(concat("*/", pattern.globs[i]));
    else pattern.absolute.push_back((here / pattern.globs[i]).lexically_normal().generic_string());
  }
  return pattern;
}

Exclusions::Exclusions(const std::vector<std::string>& patterns) {
  std::error_code failure;
  here_ = fs::current_path(failure);
  for (const std::string& pattern : patterns) patterns_.push_back(read(pattern, here_));
}

bool Exclusions::leave_out(const fs::path& top, const fs::path& path, bool is_folder) {
  if (patterns_.empty()) return false;
  const std::string name = path.filename().string(), below = path.lexically_relative(top).generic_string();
  const std::string whole = (here_ / path).lexically_normal().generic_string();
  bool matched = false;
  for (Pattern& pattern : patterns_) {
    if (pattern.folders_only && !is_folder) continue;
    const auto is_like = [&](const std::string& glob) { return glob_match(glob, name) || glob_match(glob, below); };
    const auto is_whole = [&](const std::string& glob) { return glob_match(glob, whole); };
    if (!std::ranges::any_of(pattern.globs, is_like) && !std::ranges::any_of(pattern.absolute, is_whole)) continue;
    pattern.matched = matched = true;
  }
  return matched;
}

std::vector<Finding> Exclusions::without_effect() const {
  std::vector<Finding> warnings;
  for (const Pattern& pattern : patterns_)
    if (!pattern.matched) warnings.push_back(no_effect("--exclude", pattern.given, "nothing below the folders that were named is like it"));
  return warnings;
}

// --- --allow ----------------------------------------------------------------------------------------------------------------

AllowedNames::AllowedNames(const std::vector<std::string>& names) {
  for (const std::string& name : names) names_.push_back({name});
}

void AllowedNames::take(const scan::Report& report) {
  if (names_.empty()) return;
  if (report.imports_left_out != 0) all_seen_ = false;
  for (const scan::Import& import : report.imports) {
    if (import.verdict == scan::Verdict::unknown && unknown_.size() < kMostSuggestions) unknown_.insert(import.name);
    for (Name& name : names_) {
      if (name.given != import.name) continue;
      if (!name.imported || import.verdict > name.verdict) name.verdict = import.verdict, name.why = import.why;
      name.imported = true;
    }
  }
}

std::string AllowedNames::reason(const Name& name) const {
  const scan::Judgement judged = scan::judge_dotted(name.given);
  if (name.imported && name.verdict == scan::Verdict::unknown) return concat("it ", name.why);
  if (judged.verdict == scan::Verdict::dangerous) return concat("the name is known as dangerous, it ", judged.why);
  if (judged.verdict == scan::Verdict::clean) return "the name is known to be harmless as it is";
  if (name.imported || !all_seen_) return {};
  std::string text = "no such name is imported";
  const std::vector<std::string_view> names(unknown_.begin(), unknown_.end());
  const auto near = nearest(name.given, names);
  for (std::size_t i = 0; i < near.size(); ++i) text += concat(i == 0 ? "; did you mean " : ", ", quote(near[i], 200));
  return near.empty() ? text : text + "?";
}

std::vector<Finding> AllowedNames::without_effect() const {
  std::vector<Finding> warnings;
  for (const Name& name : names_)
    if (const std::string why = reason(name); !why.empty()) warnings.push_back(no_effect("--allow", name.given, why));
  return warnings;
}

}  // namespace assay::cli
