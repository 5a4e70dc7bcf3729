// SPDX-License-Identifier: Apache-2.0
// Shapes and names against config.json. Only what every family that uses the words means by them: more layers than promised are next-token
// predictors and towers, more rows than the vocabulary are padding.
#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "analysis/verify/verify.hpp"
#include "base/text.hpp"

namespace assay::analysis {

namespace {

constexpr std::string_view kEmbeddings[] = {"embed_tokens.weight", "wte.weight",      "word_embeddings.weight", "tok_embeddings.weight",
                                            "token_embd.weight",   "embed_in.weight", "shared.weight"};
/// Families whose embeddings are narrower than what they call hidden size.
constexpr std::string_view kProjected[] = {"opt", "albert", "electra", "mobilebert", "gemma3n"};

/// Layers of the stack that has most: "model.layers.7.…" counts for "model.layers".
struct Stack {
  std::string_view name;
  std::size_t layers = 0;
};
Stack deepest_stack(const Checkpoint& checkpoint) {
  std::map<std::string_view, std::set<std::uint64_t>> stacks;
  for (const Tensor& tensor : checkpoint.tensors) {
    std::size_t at = 0;
    while (at < tensor.name.size()) {
      const std::size_t dot = std::min(tensor.name.find('.', at), tensor.name.size());
      std::uint64_t number = 0;
      const auto [end, failure] = std::from_chars(tensor.name.data() + at, tensor.name.data() + dot, number);
      if (at > 0 && failure == std::errc() && end == tensor.name.data() + dot) {
        stacks[tensor.name.substr(0, at - 1)].insert(number);
        break;
      }
      at = dot + 1;
    }
  }
  Stack deepest;
  for (const auto& [name, numbers] : stacks)
    if (numbers.size() > deepest.layers) deepest = {name, numbers.size()};
  return deepest;
}

const Tensor* find_embedding(const Checkpoint& checkpoint) {
  const Tensor* found = nullptr;
  for (const Tensor& tensor : checkpoint.tensors) {
    const bool named = std::ranges::any_of(
        kEmbeddings, [&](std::string_view ending) { return tensor.name == ending || tensor.name.ends_with(concat('.', ending)); });
    if (named && tensor.shape.size() == 2 && dtype_info(tensor.dtype).kind == DTypeKind::real &&
        (found == nullptr || tensor.numel > found->numel))
      found = &tensor;
  }
  return found;
}

}  // namespace

Check check_config(const Checkpoint& checkpoint, const ModelConfig& config) {
  Check check{.name = "config"};
  const auto skip = [&](std::string why) {
    check.verdict = CheckVerdict::skip;
    check.detail = std::move(why);
    return check;
  };
  if (config.file.empty() || config.file == "metadata") return skip("no config.json beside it");
  std::vector<std::string> agreed;
  const auto compare = [&](bool agrees, std::string said, const std::string& found) {
    if (agrees) return agreed.push_back(std::move(said));
    check.wrong.push_back(concat(config.file, " says ", said, ", ", found));
  };
  const Stack stack = deepest_stack(checkpoint);
  if (config.layers && stack.layers > 0)
    compare(stack.layers >= config.layers->value, concat(config.layers->key, ' ', config.layers->value),
            concat(quote(stack.name), " has ", stack.layers));
  if (const Tensor* const embedding = find_embedding(checkpoint)) {
    const std::string shape = concat(quote(embedding->name), " is ", bracketed(embedding->shape));
    const bool projected = std::ranges::find(kProjected, config.model_type) != std::end(kProjected);
    if (config.hidden_size && !projected)
      compare(embedding->shape[1] == config.hidden_size->value, concat(config.hidden_size->key, ' ', config.hidden_size->value), shape);
    if (config.vocab_size)
      compare(embedding->shape[0] >= config.vocab_size->value, concat(config.vocab_size->key, ' ', config.vocab_size->value), shape);
  }
  if (agreed.empty() && check.wrong.empty()) return skip("nothing in it can be compared with the tensors");
  check.verdict = check.wrong.empty() ? CheckVerdict::pass : CheckVerdict::fail;
  if (!check.wrong.empty()) {
    check.detail = check.wrong.size() == 1 ? check.wrong.front() : concat(check.wrong.front(), "; and ", check.wrong.size() - 1, " more");
    return check;
  }
  check.detail = concat("the tensors are as ", config.file, " says: ");
  for (const std::string& said : agreed) check.detail += concat(&said == &agreed.front() ? "" : ", ", said);
  return check;
}

}  // namespace assay::analysis
