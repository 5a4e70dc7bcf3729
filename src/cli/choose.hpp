// SPDX-License-Identifier: Apache-2.0
// The tensors that a listing command's arguments and flags choose, in their order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/summary.hpp"
#include "assay/checkpoint.hpp"
#include "cli/run.hpp"

namespace assay::cli {

struct Choice {
  std::vector<std::string> patterns;
  bool may_be_empty = false;   ///< nothing chosen is said on standard error, and no error
  std::string order = "file";  ///< "file", "name" (natural), "size", "numel", "dtype" or "offset"; numbers from the largest, offsets from 0
};

/// Applies patterns, --where, the order and --reverse, not --limit. Fails with `no-such-tensor` where a pattern, or all of
/// them together, choose nothing.
Result<std::vector<std::uint32_t>> choose(const Context& context, const Checkpoint& checkpoint, const Choice& choice);
/// "no tensor matches --where 'x'", with the nearest names or how a filter's words combine as advice. `patterns`: there were some.
Error nothing_matches(const Checkpoint& checkpoint, std::string_view filter, bool patterns);
/// The one tensor that a pattern chooses. Fails with `no-such-tensor`, with `usage` where it chooses several, and, where the
/// tensor's bytes cannot be right, with the finding that says so.
Result<const Tensor*> choose_one(const Context& context, const Checkpoint& checkpoint, const std::string& pattern);
/// The finding that made a tensor unreadable, as the answer to who asked for it; nothing for a tensor that has none.
std::optional<Error> why_unreadable(const Checkpoint& checkpoint, const Tensor& tensor);
/// Leaves the checkpoint with these tensors, in this order.
void keep_only(Checkpoint& checkpoint, const std::vector<std::uint32_t>& rows);
/// Keeps the first --limit rows.
void apply_limit(const Context& context, std::vector<std::uint32_t>& rows);

}  // namespace assay::cli
