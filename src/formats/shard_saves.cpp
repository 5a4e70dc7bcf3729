// SPDX-License-Identifier: Apache-2.0
#include "formats/shard_saves.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/text.hpp"
#include "model/naming.hpp"

namespace assay::formats {

std::vector<Finding> find_other_saves(const Checkpoint& set, std::span<const std::uint32_t> shard_of_tensor,
                                      std::span<const std::string> shards) {
  using Kind = std::pair<DType, std::vector<std::uint64_t>>;
  std::map<std::string, std::map<Kind, std::set<std::uint32_t>>> roles;  // by numberless name: the shards that hold it so
  for (std::size_t i = 0; i < set.tensors.size(); ++i) {
    const Tensor& tensor = set.tensors[i];
    roles[model::numberless(tensor.name)][{tensor.dtype, {tensor.shape.begin(), tensor.shape.end()}}].insert(shard_of_tensor[i]);
  }
  struct Blame {
    std::uint64_t shared = 0, unlike = 0;
    std::string example;
  };
  std::vector<Blame> blame(shards.size());
  for (const auto& [role, kinds] : roles) {
    std::set<std::uint32_t> holders;
    for (const auto& [kind, of_kind] : kinds) holders.insert(of_kind.begin(), of_kind.end());
    if (holders.size() < 2) continue;
    const auto usual = std::ranges::max_element(kinds, {}, [](const auto& kind) { return kind.second.size(); });
    for (const std::uint32_t shard : holders) {
      ++blame[shard].shared;
      if (usual->second.contains(shard)) continue;
      const auto own = std::ranges::find_if(kinds, [&](const auto& kind) { return kind.second.contains(shard); });
      if (blame[shard].unlike++ == 0)
        blame[shard].example = concat(quote(role), " is ", dtype_name(own->first.first), ' ', bracketed(own->first.second), ", elsewhere ",
                                      dtype_name(usual->first.first), ' ', bracketed(usual->first.second));
    }
  }
  const auto is_odd = [](const Blame& b) { return b.unlike * 2 > b.shared; };
  std::vector<Finding> found;
  if (std::ranges::count_if(blame, is_odd) * 2 > static_cast<std::ptrdiff_t>(blame.size())) return found;
  for (std::size_t i = 0; i < blame.size(); ++i) {
    if (!is_odd(blame[i])) continue;
    found.emplace_back(Code::wrong_shard,
                       concat(quote(shards[i]), " is of another save than the other files: ", blame[i].example,
                              blame[i].unlike > 1 ? concat(", and so are ", blame[i].unlike - 1, " more kinds of tensors") : std::string()),
                       Where{.file = shards[i]});
    found.back().severity = Severity::warning;
  }
  return found;
}

}  // namespace assay::formats
