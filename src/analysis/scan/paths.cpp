// SPDX-License-Identifier: Apache-2.0
#include "analysis/scan/paths.hpp"

#include <algorithm>
#include <cstdint>

#include "analysis/scan/scanner.hpp"
#include "base/text.hpp"
#include "base/try.hpp"

namespace assay::scan {

namespace {

/// From the root, or from a drive's.
bool is_absolute(std::string_view path) { return path.starts_with('/') || path.starts_with('\\') || (path.size() > 1 && path[1] == ':'); }

/// Takes the first step off a path.
std::string_view take_step(std::string_view& path) {
  const std::size_t end = std::min(path.find_first_of("/\\"), path.size());
  const std::string_view step = path.substr(0, end);
  path.remove_prefix(std::min(end + 1, path.size()));
  return step;
}

constexpr std::string_view kLeaves = "has a name that leaves the archive's folder";

std::string link_fault(std::string_view target) { return concat("is a link to ", quote(target, 80), ", outside of the archive's folder"); }

/// What a member that is a symbolic link leads to; "" where that cannot be read.
Result<std::string> link_target(const ByteSource& source, const zip::Member& member) {
  constexpr std::uint64_t kLongestPath = 4096;
  auto begin = zip::data_offset(source, member);
  if (!begin) {
    if (must_propagate(begin.error())) return std::unexpected(std::move(begin).error());
    return std::string();
  }
  if (*begin >= source.size()) return std::string();
  ASSAY_TRY(const ByteBlock bytes, source.view(*begin, std::min({member.packed_size, kLongestPath, source.size() - *begin})));
  return std::string(bytes.view().text());
}

}  // namespace

bool escapes_folder(std::string_view name) {
  if (is_absolute(name)) return true;
  while (!name.empty())
    if (take_step(name) == "..") return true;
  return false;
}

bool leads_out(std::string_view name, std::string_view target) {
  if (is_absolute(target)) return true;
  std::int64_t depth = -1;  // the last step is the link itself
  while (!name.empty())
    if (const std::string_view step = take_step(name); !step.empty() && step != ".") ++depth;
  depth = std::max<std::int64_t>(depth, 0);
  while (!target.empty() && depth >= 0) {
    const std::string_view step = take_step(target);
    if (step == "..") --depth;
    else if (!step.empty() && step != ".") ++depth;
  }
  return depth < 0;
}

Result<std::string> path_fault(const ByteSource& source, const zip::Member& member) {
  if (escapes_folder(member.name)) return std::string(kLeaves);
  if (!member.link || member.method != 0) return std::string();
  ASSAY_TRY(const std::string target, link_target(source, member));
  return leads_out(member.name, target) ? link_fault(target) : std::string();
}

std::string path_fault(const tar::Member& member) {
  if (escapes_folder(member.name)) return std::string(kLeaves);
  // A hard link names a path of the archive, a symbolic one a path from its own folder on.
  return leads_out(member.type == '2' ? member.name : std::string(), member.link) ? link_fault(member.link) : std::string();
}

}  // namespace assay::scan
