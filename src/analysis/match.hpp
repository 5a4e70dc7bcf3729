// SPDX-License-Identifier: Apache-2.0
// Which tensor of one checkpoint is which of another: by name, by name without what wrappers put before it, and by content.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "assay/checkpoint.hpp"
#include "base/work.hpp"

namespace assay::analysis {

enum class MatchKind : std::uint8_t {
  name,     ///< the very same name
  prefix,   ///< the same name but for a prefix
  content,  ///< another name; same dtype, shape and bytes
};

/// Indices into the two checkpoints' tensors.
struct TensorPair {
  std::uint32_t a = kNone, b = kNone;
  MatchKind kind = MatchKind::name;
};

struct Matching {
  std::vector<TensorPair> pairs;              ///< in the order of A's names
  std::vector<std::uint32_t> only_a, only_b;  ///< in natural order of their names
};

/// Pairs the tensors in three steps, each over what the one before left: equal names; names that are equal, and unique, without
/// wrappers (_orig_mod, _fsdp_wrapped_module, module, …) and without leading containers (model, state_dict, …); and names of which
/// one side's are the other's behind a prefix that most of them share. Cost: sorting the names a few times.
Matching match_names(const Checkpoint& a, const Checkpoint& b);

/// The name without wrapper components anywhere and a leading "module"; with `containers` also without leading "model",
/// "state_dict" and their like. The last component always stays.
std::string plain_name(std::string_view name, bool containers);

/// What is left of two names when their common last components are taken away, dots included: ("module.", "").
struct Prefixes {
  std::string_view a, b;
  auto operator<=>(const Prefixes&) const = default;
};
Prefixes prefixes_of(std::string_view a, std::string_view b);

/// 128 bits of a tensor's dtype, shape and elements. Equal tensors have equal ones; it is no proof of equality, nor meant against
/// somebody who looks for collisions.
struct ContentHash {
  std::uint64_t low = 0, high = 0;
  auto operator<=>(const ContentHash&) const = default;
};
/// Reads every element. Memory: a block.
Result<ContentHash> content_hash(const Checkpoint& checkpoint, const Tensor& tensor, const Limits& limits = {});
/// The same, waiting for what is not at hand.
Work<ContentHash> content_hash_work(const Checkpoint& checkpoint, const Tensor& tensor, Limits limits = {});

/// The tensors of only_a and only_b worth hashing: readable, not empty, and with one of equal dtype and shape on the other side.
struct ContentCandidates {
  std::vector<std::uint32_t> a, b;
};
ContentCandidates content_candidates(const Matching& matching, const Checkpoint& a, const Checkpoint& b);
/// Pairs candidates of equal hashes, in the order of their names. Hashes stand beside the candidates; one that failed is absent.
void match_by_content(Matching& matching, const ContentCandidates& candidates, std::span<const std::optional<ContentHash>> hashes_a,
                      std::span<const std::optional<ContentHash>> hashes_b);

}  // namespace assay::analysis
