// SPDX-License-Identifier: Apache-2.0
// What the flags --exclude and --allow of `scan` did, so that one without effect is not taken for one that worked.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "analysis/scan/scan.hpp"
#include "assay/finding.hpp"

namespace assay::cli {

/// What --exclude leaves out of folders. A pattern is held against an entry's name, its path below the folder that was named, and its path
/// as the user would type it; '*' takes '/' too. "./x", "x/", "**/x" and "x/**" are what they are to other tools.
class Exclusions {
 public:
  explicit Exclusions(const std::vector<std::string>& patterns);
  /// `path` is an entry below the folder `top`.
  bool leave_out(const std::filesystem::path& top, const std::filesystem::path& path, bool is_folder);
  /// A warning for each pattern that nothing was like.
  std::vector<Finding> without_effect() const;

 private:
  struct Pattern {
    std::string given;
    std::vector<std::string> globs;     // for names, and paths below the folder
    std::vector<std::string> absolute;  // for whole paths
    bool folders_only = false;
    bool matched = false;
  };
  static Pattern read(const std::string& given, const std::filesystem::path& here);

  std::filesystem::path here_;
  std::vector<Pattern> patterns_;
};

/// Which of the names of --allow made a difference.
class AllowedNames {
 public:
  explicit AllowedNames(const std::vector<std::string>& names);
  /// Looks at the imports of a scanned file.
  void take(const scan::Report& report);
  /// A warning for each name that made none, with the reason.
  std::vector<Finding> without_effect() const;

 private:
  struct Name {
    std::string given;
    bool imported = false;
    scan::Verdict verdict = scan::Verdict::clean;  // the worst of its imports
    std::string why = {};
  };
  std::string reason(const Name& name) const;

  std::vector<Name> names_;
  std::set<std::string> unknown_;  // imported names that may have been meant
  bool all_seen_ = true;
};

}  // namespace assay::cli
