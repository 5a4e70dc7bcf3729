// SPDX-License-Identifier: Apache-2.0
#include "analysis/scan/paths.hpp"

#include <algorithm>
#include <cstdint>

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

}  // namespace assay::scan
