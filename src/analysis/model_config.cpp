// SPDX-License-Identifier: Apache-2.0
#include "analysis/model_config.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <string_view>

#include "base/text.hpp"
#include "base/try.hpp"
#include "containers/json.hpp"

namespace assay::analysis {
namespace {

// The preferred spelling first. All are looked for at every depth; the outermost one counts.
constexpr std::string_view kExperts[] = {"num_local_experts",  "num_experts", "n_routed_experts",        "moe_num_experts",
                                         "num_routed_experts", "n_experts",   "moe_num_primary_experts", "expert_count"};
constexpr std::string_view kZeroExperts[] = {"zero_expert_num"};
constexpr std::string_view kTopK[] = {"num_experts_per_tok",
                                      "num_experts_per_token",
                                      "experts_per_token",
                                      "moe_topk",
                                      "moe_top_k",
                                      "moe_k",
                                      "top_k_experts",
                                      "num_selected_experts",
                                      "n_activated_experts",
                                      "router_top_k",
                                      "moe_num_active_primary_experts",
                                      "expert_used_count"};
constexpr std::string_view kLayers[] = {"num_hidden_layers", "n_layers", "n_layer", "num_layers", "block_count"};
constexpr std::string_view kHiddenSize[] = {"hidden_size", "n_embd", "d_model", "dim", "embedding_length"};
constexpr std::string_view kVocabSize[] = {"vocab_size", "padded_vocab_size"};

/// Families whose top-k is in their code and not in their configuration.
struct FixedTopK {
  std::string_view model_type;
  std::uint64_t top_k;
};
constexpr FixedTopK kFixedTopK[] = {{"switch_transformers", 1}, {"nllb-moe", 2}};

constexpr std::size_t kNowhere = std::numeric_limits<std::size_t>::max();

/// Settings gathered as they are met; the better place replaces the worse.
class Gatherer {
 public:
  void count(std::string_view path, std::span<const std::uint64_t> values) {
    if (values.empty()) return;
    const std::uint64_t largest = *std::max_element(values.begin(), values.end());
    std::uint64_t value = largest;
    if (values.size() > 1 && path.ends_with("moe_num_experts")) {
      value = 0;
      for (const std::uint64_t part : values) value += std::min(part, std::numeric_limits<std::uint32_t>::max() + std::uint64_t{0});
    }
    if (value == 0) return;
    offer(0, kExperts, path, value, made_.experts);
    offer(1, kZeroExperts, path, value, made_.zero_experts);
    offer(2, kTopK, path, largest, made_.top_k);
    offer(3, kLayers, path, largest, made_.layers);
    offer(4, kHiddenSize, path, largest, made_.hidden_size);
    offer(5, kVocabSize, path, largest, made_.vocab_size);
  }
  void text(std::string_view path, std::string_view value) {
    if (path == "model_type") made_.model_type = std::string(value.substr(0, 256));
    if (path == "architectures" && made_.architectures.size() < 16) made_.architectures.emplace_back(value.substr(0, 256));
  }
  void boolean(std::string_view path, bool value) {
    const std::size_t depth = static_cast<std::size_t>(std::count(path.begin(), path.end(), '.'));
    if (last(path) != "tie_word_embeddings" || depth >= tie_depth_ || is_beside(path)) return;
    tie_depth_ = depth;
    made_.tie_word_embeddings = value;
  }
  ModelConfig take() {
    for (const FixedTopK& fixed : kFixedTopK)
      if (!made_.top_k && made_.model_type == fixed.model_type) made_.top_k = {fixed.top_k, concat("model_type ", fixed.model_type)};
    return std::move(made_);
  }

 private:
  static std::string_view last(std::string_view path) { return path.substr(path.rfind('.') + 1); }
  /// Of a tower beside the language model.
  static bool is_beside(std::string_view path) {
    return path.starts_with("vision") || path.starts_with("audio") || path.find(".vision") != path.npos || path.find(".audio") != path.npos;
  }
  void offer(std::size_t which, std::span<const std::string_view> spellings, std::string_view path, std::uint64_t value,
             std::optional<ModelConfig::Count>& into) {
    const auto found = std::find(spellings.begin(), spellings.end(), last(path));
    if (found == spellings.end()) return;
    const std::size_t depth = static_cast<std::size_t>(std::count(path.begin(), path.end(), '.'));
    const std::size_t rank = (is_beside(path) ? 100000 : 0) + depth * 100 + static_cast<std::size_t>(found - spellings.begin());
    if (rank >= rank_[which]) return;
    rank_[which] = rank;
    into = {value, std::string(path)};
  }

  ModelConfig made_;
  std::array<std::size_t, 6> rank_ = {kNowhere, kNowhere, kNowhere, kNowhere, kNowhere, kNowhere};
  std::size_t tie_depth_ = kNowhere;
};

class ConfigHandler final : public json::Handler {
 public:
  explicit ConfigHandler(Gatherer& into) : into_(into) {}
  bool null() override { return true; }
  bool boolean(bool value) override {
    into_.boolean(path_, value);
    return true;
  }
  bool number(std::string_view text) override {
    const auto value = json::to_u64(text);
    if (!value) return true;
    if (in_list()) {
      if (list_.size() < kLongestList) list_.push_back(*value);
    } else {
      into_.count(path_, std::span(&*value, 1));
    }
    return true;
  }
  bool string(std::string_view text) override {
    into_.text(path_, text);
    return true;
  }
  bool key(std::string_view text) override {
    path_.resize(open_.back().length);
    if (!path_.empty()) path_ += '.';
    path_ += text.substr(0, kLongestKey);
    return true;
  }
  bool start_object() override { return open(false); }
  bool end_object() override { return close(); }
  bool start_array() override {
    list_.clear();
    return open(true);
  }
  bool end_array() override {
    close();
    into_.count(path_, list_);
    list_.clear();
    return true;
  }

 private:
  static constexpr std::size_t kLongestKey = 256, kLongestList = 4096;
  struct Open {
    std::size_t length;  // of the path within
    bool list;
  };
  bool in_list() const { return !open_.empty() && open_.back().list; }
  bool open(bool list) {
    open_.push_back({path_.size(), list});
    return true;
  }
  bool close() {
    path_.resize(open_.back().length);
    open_.pop_back();
    return true;
  }

  Gatherer& into_;
  std::string path_;
  std::vector<Open> open_;
  std::vector<std::uint64_t> list_;
};

/// True when the file is there and was understood.
Result<bool> read_file(const FileSet& files, const std::string& name, Gatherer& into, Findings& findings, const Limits& limits) {
  const auto give_up = [&](Error error) -> Result<bool> {
    if (error.code() == Code::need_range) return std::unexpected(std::move(error));
    if (error.code() != Code::no_such_file)
      findings.add(Finding(Code::bad_metadata, concat(quote(name), " cannot be used: ", error.what()), {.file = name}));
    return false;
  };
  auto source = files.open(name);
  if (!source) return give_up(std::move(source).error());
  const std::uint64_t size = (*source)->size();
  if (size > limits.json_bytes)
    return give_up(Error(Code::limit_exceeded, concat("it has ", size, " bytes, more than the limit of ", limits.json_bytes)));
  auto bytes = (*source)->fetch(0, size);
  if (!bytes) return give_up(std::move(bytes).error());
  ConfigHandler handler(into);
  auto parsed = json::parse(bytes->view(), handler, limits);
  if (!parsed) return give_up(std::move(parsed).error());
  return true;
}

}  // namespace

Result<ModelConfig> read_model_config(const FileSet& files, const Checkpoint& checkpoint, Findings& findings, const Limits& limits) {
  std::string folder = checkpoint.files.empty() ? std::string() : checkpoint.files[0].name;
  const std::size_t slash = folder.rfind('/');
  folder.resize(slash == std::string::npos ? 0 : slash + 1);
  for (const std::string_view name : {"config.json", "params.json"}) {
    Gatherer gatherer;
    ASSAY_TRY(const bool found, read_file(files, folder + std::string(name), gatherer, findings, limits));
    if (!found) continue;
    ModelConfig config = gatherer.take();
    config.file = name;
    return config;
  }
  Gatherer gatherer;
  for (const MetadataEntry& entry : checkpoint.metadata) {
    if (entry.kind == MetadataEntry::Kind::integer && entry.integer > 0) {
      const auto value = static_cast<std::uint64_t>(entry.integer);
      gatherer.count(entry.key, std::span(&value, 1));
    }
  }
  ModelConfig config = gatherer.take();
  if (config.experts || config.top_k || config.layers) config.file = "metadata";
  return config;
}

}  // namespace assay::analysis
