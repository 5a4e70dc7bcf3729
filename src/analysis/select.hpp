// SPDX-License-Identifier: Apache-2.0
// Choosing tensors: by patterns (an exact name, a part of the tree, a glob) and by the filter language of --where and of the page.
//
//   filter  = group { " | " group }        any group
//   group   = term { " " term }            all terms
//   term    = [ "-" ] ( name | key )       "-" is not
//   name    = word { "|" word }            any: part of the name, smart case; with * or ? the whole name; "in quotes" as it stands
//   key     = dtype:bf16,f16  role:attn.q  shape:*,4096  ndim:2  layer:0-7  expert:3  file:*00002*  readable:no
//             section:model  size>1G  params>=10M  numel<100  ndim>2
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "assay/checkpoint.hpp"

namespace assay::analysis {

class Filter {
 public:
  /// Fails with `usage`, naming the word that is not understood. Cost: linear in the text.
  static Result<Filter> parse(std::string_view text);
  /// True for every tensor when the text was empty.
  bool match(const Checkpoint& checkpoint, const Tensor& tensor) const;
  bool takes_all() const { return groups_.empty(); }

 private:
  enum class Kind : std::uint8_t { name, dtype, role, shape, ndim, layer, expert, file, readable, size, params, numel, section };
  struct Word {
    std::string text;
    bool exact = false;     ///< quoted
    bool any_case = false;  ///< no upper-case letter in it
    bool glob = false;
  };
  struct Bounds {
    std::uint64_t least = 0, most = 0;
  };
  struct Term {
    Kind kind = Kind::name;
    bool negated = false;
    std::vector<Word> words;     ///< name, dtype, shape, file: any of them
    std::vector<Bounds> bounds;  ///< numbers: any of them
  };
  friend class FilterParser;
  static bool holds(const Term& term, const Checkpoint& checkpoint, const Tensor& tensor);

  std::vector<std::vector<Term>> groups_;
};

/// A pattern chooses a tensor when it is its name, a dotted front part of its name ("model.layers.0"), or a glob that matches its
/// whole name. A name that is not printable may be given as escape() shows it.
bool pattern_matches(std::string_view pattern, std::string_view name);

struct Selection {
  std::vector<std::uint32_t> tensors;  ///< in the order of `order`
  std::vector<std::string> unmatched;  ///< patterns that chose nothing
};

/// The tensors of `order` that any pattern (all when there is none) and the filter choose.
Selection select(const Checkpoint& checkpoint, std::span<const std::uint32_t> order, std::span<const std::string> patterns,
                 const Filter& filter);

/// The number behind a component "layers", "layer", "h", "blocks" or "block", else the first number in the name; nothing without one.
std::optional<std::uint64_t> layer_of(std::string_view name);
/// The number behind a component "experts" or "expert".
std::optional<std::uint64_t> expert_of(std::string_view name);

/// "no tensor is named 'x'", with the nearest names as advice.
Error no_such_tensor(const Checkpoint& checkpoint, std::string_view pattern);

}  // namespace assay::analysis
