// SPDX-License-Identifier: Apache-2.0
// A file that ends too early says so once, for all tensors that are lost with its end.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "assay/checkpoint.hpp"

namespace assay::formats {

struct CutFile {
  std::string_view where = {};  ///< "227 bytes into record 'm/data/6'"
  std::uint64_t missing = 0;    ///< bytes, as far as is known; 0 where nothing is
  bool at_least = false;        ///< there may be more of them
  bool within = false;          ///< what claims its size, so that zeros at the end may be its own
  std::vector<Fact> facts = {};
};

/// The first finding of a checkpoint of one file: where it ends, what is missing, and the tensors that are not whole. Its fact `missing`
/// marks it as the one that stands for those of single tensors; `ends_in_zeros` is there where the last bytes say that they were never
/// written. Fails with `need-range`.
Result<void> tell_cut(Checkpoint& checkpoint, CutFile cut);

}  // namespace assay::formats
