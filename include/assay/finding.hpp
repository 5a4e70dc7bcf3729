// SPDX-License-Identifier: Apache-2.0
// A Finding is odd but not fatal: it stands beside the answer, where an Error stands in its place.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "assay/result.hpp"

namespace assay {

struct Finding {
  Code code;
  Severity severity;
  std::string message;  ///< lower case, no full stop, the bad value shown
  Where where;
  std::vector<Fact> facts;

  /// A finding of the code's usual severity.
  Finding(Code code, std::string message, Where where = {}, std::vector<Fact> facts = {});
  /// The same facts as an error that only concerned a part of the file.
  static Finding from(const Error& error);
};

/// The findings of one operation in the order they were made. At most `kPerCode` of one code are kept whole; the rest are
/// counted, so that a hostile file cannot make the report larger than the file.
class Findings {
 public:
  static constexpr std::size_t kPerCode = 1000;

  void add(Finding finding);
  /// Puts a finding that sums up the others before them.
  void add_first(Finding finding);
  const std::vector<Finding>& list() const { return list_; }
  /// How many findings of this code were made beyond those kept.
  std::size_t suppressed(Code code) const;
  bool empty() const { return list_.empty(); }
  bool has(Code code) const;
  /// True when any finding, kept or counted, is at least this severe.
  bool any_at_least(Severity severity) const;
  const std::map<Code, std::size_t>& counts() const { return counts_; }

 private:
  std::vector<Finding> list_;
  std::map<Code, std::size_t> counts_;
  Severity worst_ = Severity::note;
};

}  // namespace assay
