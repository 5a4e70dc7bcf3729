// SPDX-License-Identifier: Apache-2.0
// What is lost with the end of a file: told once, not for every tensor.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "assay/checkpoint.hpp"
#include "base/work.hpp"

namespace assay::analysis {

/// A file that ends too early.
struct Cut {
  std::string file;            ///< in the set
  std::uint64_t size = 0;      ///< bytes that are there
  std::uint64_t missing = 0;   ///< bytes that are not, as far as is known
  std::uint64_t page = 0;      ///< bytes of a web page behind those that are there
  bool at_least = false;       ///< there may be more of them
  bool ends_in_zeros = false;  ///< its space was reserved: the download cannot go on from its size
};
std::vector<Cut> cuts(const Checkpoint& checkpoint);

/// True for a finding of a tensor or a member that the one of the whole file, which is cut, stands for.
bool told_with_cut(const Findings& findings, const Finding& finding);

/// A warning for each file that ends in zeros from the midst of a tensor on, as a download does that reserved its
/// space and did not end. A file that cannot be read is left to others to tell. Cost: reads the files from their ends to the first byte
/// that is none.
Work<void> find_zero_tails(const Checkpoint& checkpoint, std::vector<Finding>& findings);
/// The same as far as a few pages tell, marked `sampled`. Cost: one page of each file; of one that ends in zeros, some dozens.
Result<void> suspect_zero_tails(const Checkpoint& checkpoint, std::vector<Finding>& findings);

}  // namespace assay::analysis
