// SPDX-License-Identifier: Apache-2.0
// Finding the experts. Names decide what is an expert, a router, a shared expert; the count comes from the configuration, the router or
// the numbers in the names; sizes only ever confirm.
#include "analysis/moe.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <unordered_map>

#include "analysis/select.hpp"
#include "analysis/summary.hpp"
#include "base/arith.hpp"
#include "base/sort.hpp"
#include "base/text.hpp"

namespace assay::analysis {
namespace {

constexpr std::uint64_t kMostExperts = 1u << 16;  // of one layer
constexpr std::uint64_t kMostSlices = 2u << 20;   // of stacked tensors in a checkpoint; real ones have half a million at most
constexpr std::string_view kInputFirstModels[] = {"llama4", "llama4_text", "qwen3_vl_moe", "qwen3_vl_moe_text", "gpt_oss"};

struct Member {
  std::uint32_t tensor;
  ExpertName name;
};

struct Block {
  std::string_view name;
  std::vector<Member> members;
};

using Routers = std::unordered_map<std::string_view, std::vector<Router>>;
using SharedModules = std::unordered_map<std::string_view, std::vector<std::string_view>>;  // by the module they are in

struct Names {
  std::vector<Block> blocks;  // in file order
  Routers routers;
  SharedModules shared;
};

Names read_names(const Checkpoint& checkpoint) {
  Names names;
  std::unordered_map<std::string_view, std::size_t> block_of;
  for (std::uint32_t t = 0; t < checkpoint.tensors.size(); ++t) {
    const Tensor& tensor = checkpoint.tensors[t];
    if (const auto shared = parse_shared_name(tensor.name)) {
      auto& list = names.shared[parent_of(*shared)];
      if (std::find(list.begin(), list.end(), *shared) == list.end() && list.size() < 64) list.push_back(*shared);
    } else if (const auto expert = parse_expert_name(tensor.name, tensor.shape.size())) {
      const auto [at, made] = block_of.try_emplace(expert->block, names.blocks.size());
      if (made) names.blocks.push_back({expert->block, {}});
      names.blocks[at->second].members.push_back({t, *expert});
    } else if (tensor.shape.size() == 2) {
      if (const auto router = parse_router_name(tensor.name))
        names.routers[router->block].push_back({t, tensor.shape[router->axis], router->axis});
    }
  }
  return names;
}

/// The routers of a block: its own, one within "experts", or one beside it.
std::vector<Router> routers_of(const Names& names, std::string_view block) {
  const std::string within = concat(block, block.empty() ? "" : ".", "experts");
  for (const std::string_view place : {block, std::string_view(within), parent_of(block)}) {
    const auto found = names.routers.find(place);
    if (found != names.routers.end()) return found->second;
  }
  return {};
}

std::vector<std::string> shared_of(const Names& names, std::string_view block) {
  std::vector<std::string> list;
  for (const std::string_view place : {block, parent_of(block)}) {
    const auto found = names.shared.find(place);
    if (found == names.shared.end() || (place.empty() && !block.empty())) continue;
    for (const std::string_view module : found->second) list.emplace_back(module);
  }
  return list;
}

/// One expert's part of a tensor whose dimension `axis` the experts divide into stretches of `extent`.
ExpertPart slice(const Tensor& tensor, std::uint64_t expert, std::size_t axis, std::uint64_t extent, bool drop) {
  struct Owned {
    std::vector<std::uint64_t> shape, stride;
    Tensor tensor;
  };
  Owned made;
  ExpertPart part;
  part.numel = 1;
  for (std::size_t d = 0; d < tensor.shape.size(); ++d) {
    if (d == axis && drop) continue;
    made.shape.push_back(d == axis ? extent : tensor.shape[d]);
    made.stride.push_back(tensor.stride_of(d));
    part.numel *= made.shape.back();
  }
  if (made.shape.size() == 2) part.rows = made.shape[0], part.cols = made.shape[1];
  part.first = expert * part.numel;
  if (axis == 0) return part;
  auto owned = std::make_shared<Owned>(std::move(made));
  owned->tensor = tensor;
  owned->tensor.shape = owned->shape;
  owned->tensor.stride = owned->stride;
  owned->tensor.numel = part.numel;
  owned->tensor.storage_offset += expert * extent * tensor.stride_of(axis);
  part.first = 0;
  part.view = std::shared_ptr<const Tensor>(owned, &owned->tensor);
  return part;
}

class LayerBuilder {
 public:
  LayerBuilder(const Checkpoint& checkpoint, const ModelConfig& config, const Block& block, std::vector<Router> routers,
               std::uint64_t& slices_left, std::vector<Finding>& findings)
      : checkpoint_(checkpoint), config_(config), block_(block), slices_left_(slices_left), findings_(findings) {
    layer_.prefix = std::string(block.name);
    layer_.routers = std::move(routers);
    layer_.layer = layer_of(block.name);
  }

  /// False when these are no experts after all.
  bool build() {
    if (!choose_stacking()) return false;
    const bool good = layer_.stacking == Stacking::per_expert ? add_each() : add_stacked();
    if (!good) return false;
    count_what_is_missing();
    decide_layout();
    for (Expert& expert : layer_.experts) sum(expert);
    layer_.extra = layer_.prefix.find("mtp") != std::string::npos ||
                   (config_.layers && layer_.layer && *layer_.layer >= config_.layers->value && config_.layers->value > 0);
    return true;
  }
  MoeLayer take() { return std::move(layer_); }

 private:
  const Tensor& tensor(const Member& member) const { return checkpoint_.tensors[member.tensor]; }
  static bool is_main(const Member& member) { return member.name.kind == PartKind::weight || member.name.kind == PartKind::packed; }
  bool choose_stacking();
  bool add_each();
  bool add_stacked();
  std::optional<std::uint64_t> stacked_count();
  std::size_t stacked_axis(const Tensor& tensor) const;
  void add_part(Expert& expert, const Member& member, ExpertPart part);
  void note_lacking();
  void turn_routers(std::uint64_t stored);
  void count_what_is_missing();
  std::uint64_t expected_count(std::uint64_t stored, std::uint64_t highest);
  void decide_layout();
  void warn(Code code, std::string message, std::vector<Fact> facts = {}, std::string_view tensor = {});
  void sum(Expert& expert) const;
  std::uint64_t router_rows() const;

  const Checkpoint& checkpoint_;
  const ModelConfig& config_;
  const Block& block_;
  std::uint64_t& slices_left_;
  std::vector<Finding>& findings_;
  MoeLayer layer_;
};

void LayerBuilder::warn(Code code, std::string message, std::vector<Fact> facts, std::string_view tensor) {
  if (layer_.layer) facts.push_back({"layer", *layer_.layer});
  facts.push_back({"prefix", layer_.prefix});
  findings_.push_back(Finding(code, std::move(message), {.tensor = std::string(tensor)}, std::move(facts)));
}

/// Several routers share one numbering (text and vision), so their entries add up.
std::uint64_t LayerBuilder::router_rows() const {
  std::uint64_t rows = 0;
  for (const Router& router : layer_.routers) rows += router.experts;
  return rows;
}

/// The way most weights of the block are stored. A block that mixes ways keeps the one with the most elements.
bool LayerBuilder::choose_stacking() {
  std::array<std::uint64_t, 4> weight = {};
  bool strong = false;
  for (const Member& member : block_.members) {
    if (!is_main(member)) continue;
    auto& sum = weight[static_cast<std::size_t>(member.name.stacking)];
    sum = checked_add(sum, std::max<std::uint64_t>(tensor(member).numel, 1)).value_or(std::numeric_limits<std::uint64_t>::max());
    strong = strong || member.name.strong;
  }
  // A matrix stacked by rows and one by columns are two halves of one way.
  if (weight[static_cast<std::size_t>(Stacking::columns)] > 0) weight[static_cast<std::size_t>(Stacking::rows)] += 1;
  const auto most = std::max_element(weight.begin(), weight.begin() + 3);
  layer_.stacking = static_cast<Stacking>(most - weight.begin());
  return *most > 0 && (strong || !layer_.routers.empty() || config_.experts.has_value());
}

void LayerBuilder::add_part(Expert& expert, const Member& member, ExpertPart part) {
  part.tensor = member.tensor;
  part.role = member.name.role;
  part.kind = member.name.kind;
  part.projection = member.name.projection;
  part.suffix = member.name.suffix;
  expert.parts.push_back(std::move(part));
}

bool LayerBuilder::add_each() {
  std::map<std::uint64_t, Expert> experts;
  std::map<std::pair<std::string_view, std::string_view>, std::uint64_t> mains;  // how many experts have this weight
  for (const Member& member : block_.members) {
    if (member.name.stacking != Stacking::per_expert || member.name.expert >= kMostExperts) continue;
    const Tensor& whole = tensor(member);
    ExpertPart part;
    part.numel = whole.numel;
    if (whole.shape.size() == 2) part.rows = whole.shape[0], part.cols = whole.shape[1];
    Expert& expert = experts[member.name.expert];
    expert.index = member.name.expert;
    add_part(expert, member, std::move(part));
    if (is_main(member)) ++mains[{member.name.projection, member.name.suffix}];
  }
  // Two experts at least that have a weight in common, or one and others that are known to be missing.
  std::uint64_t most = 0;
  for (const auto& [name, count] : mains) most = std::max(most, count);
  const std::uint64_t rows = router_rows();
  const bool known = std::ranges::any_of(block_.members, [](const Member& member) { return member.name.role != ExpertRole::other; });
  if (!known && rows == 0 && !config_.experts) return false;  // a list of something else
  if (most < 2 && (most == 0 || rows < 2 || rows > kMostExperts || experts.rbegin()->first >= rows)) return false;
  for (auto& [index, expert] : experts) {
    sort_stable(expert.parts, {}, [](const ExpertPart& part) { return std::pair(part.projection, part.suffix); });
    layer_.experts.push_back(std::move(expert));
  }
  note_lacking();
  return true;
}

/// What at least half of the experts have and one has not.
void LayerBuilder::note_lacking() {
  std::map<std::pair<std::string_view, std::string_view>, std::uint64_t> owners;
  for (const Expert& expert : layer_.experts)
    for (const ExpertPart& part : expert.parts) ++owners[{part.projection, part.suffix}];
  for (Expert& expert : layer_.experts) {
    for (const auto& [name, count] : owners) {
      if (count * 2 < layer_.experts.size() || count == layer_.experts.size()) continue;
      const bool has =
          std::ranges::any_of(expert.parts, [&](const ExpertPart& part) { return std::pair(part.projection, part.suffix) == name; });
      if (!has) expert.lacking.push_back(concat(name.first, name.first.empty() || name.second.empty() ? "" : ".", name.second));
    }
    if (expert.lacking.empty()) continue;
    warn(Code::missing_expert,
         concat("expert ", expert.index, " of ", quote(layer_.prefix), " lacks ", name_list(expert.lacking, 3),
                ", which other experts have"),
         {{"expert", expert.index}, {"lacking", expert.lacking}});
  }
}

/// The number of experts that stacked tensors hold: from the configuration, else the router, else the fused dimension itself.
std::optional<std::uint64_t> LayerBuilder::stacked_count() {
  const std::uint64_t rows = router_rows();
  std::optional<std::uint64_t> fused;
  for (const Member& member : block_.members)
    if (member.name.stacking == Stacking::fused && is_main(member) && !fused) fused = tensor(member).shape[0];
  if (layer_.stacking == Stacking::fused) {
    // The dimension is what is stored; a configuration that names another one of the shape is believed where the router says so too.
    if (config_.experts && config_.experts->value == fused) layer_.count_from = concat(config_.file, " ", config_.experts->key);
    else if (rows == fused) layer_.count_from = "router";
    else layer_.count_from = "tensors";
    if (config_.experts && config_.experts->value != *fused && rows == config_.experts->value) {
      for (const Member& member : block_.members) {
        if (member.name.stacking != Stacking::fused || !is_main(member)) continue;
        const auto shape = tensor(member).shape;
        if (std::find(shape.begin() + 1, shape.end(), rows) == shape.end()) return fused;
      }
      layer_.count_from = concat(config_.file, " ", config_.experts->key);
      return rows;
    }
    return fused;
  }
  if (config_.experts) {
    layer_.count_from = concat(config_.file, " ", config_.experts->key);
    return config_.experts->value;
  }
  if (rows > 0) layer_.count_from = "router";
  return rows > 0 ? std::optional(rows) : std::nullopt;
}

/// The experts' own dimension of a fused tensor: the first, unless it cannot be.
std::size_t LayerBuilder::stacked_axis(const Tensor& tensor) const {
  if (tensor.shape[0] == layer_.count) return 0;
  const auto found = std::find(tensor.shape.begin(), tensor.shape.end(), layer_.count);
  return found == tensor.shape.end() ? tensor.shape.size() : static_cast<std::size_t>(found - tensor.shape.begin());
}

bool LayerBuilder::add_stacked() {
  const auto count = stacked_count();
  if (!count || *count < 2 || *count > kMostExperts) return false;
  layer_.count = *count;
  layer_.experts.resize(static_cast<std::size_t>(*count));
  for (std::size_t e = 0; e < layer_.experts.size(); ++e) layer_.experts[e].index = e;
  bool any = false;
  for (const Member& member : block_.members) {
    const Tensor& whole = tensor(member);
    if (member.name.stacking == Stacking::per_expert || whole.shape.empty()) continue;
    const bool fused = member.name.stacking == Stacking::fused;
    std::size_t axis = member.name.stacking == Stacking::columns ? whole.shape.size() - 1 : 0;
    if (fused) axis = is_main(member) ? stacked_axis(whole) : whole.shape[0] == *count ? 0 : whole.shape.size();
    if (axis >= whole.shape.size() || (!fused && (whole.shape[axis] % *count != 0 || whole.shape[axis] == 0))) {
      if (is_main(member))
        warn(Code::expert_count_mismatch,
             concat(quote(whole.name), " of shape ", bracketed(whole.shape), " cannot be divided among ", *count, " experts"),
             {{"expected", *count}}, whole.name);
      continue;
    }
    if (*count > slices_left_) {
      warn(Code::limit_exceeded, concat("more than ", kMostSlices, " slices of experts; ", quote(whole.name), " is left out"), {},
           whole.name);
      continue;
    }
    slices_left_ -= *count;
    const std::uint64_t extent = fused ? 1 : whole.shape[axis] / *count;
    for (std::uint64_t e = 0; e < *count; ++e)
      add_part(layer_.experts[static_cast<std::size_t>(e)], member, slice(whole, e, axis, extent, fused));
    any = any || is_main(member);
  }
  return any;
}

/// How many experts there should be, given how many are stored and the highest number among them.
std::uint64_t LayerBuilder::expected_count(std::uint64_t stored, std::uint64_t highest) {
  const std::uint64_t rows = router_rows();
  const std::uint64_t zero = config_.zero_experts ? config_.zero_experts->value : 0;
  const std::uint64_t routed = rows > zero ? rows - zero : 0;
  const std::uint64_t said = config_.experts ? config_.experts->value : 0;
  const std::string by_config = config_.experts ? concat(config_.file, " ", config_.experts->key) : std::string();
  if (said > 0 && said != stored) {
    // Where router and tensors agree the model was pruned, or the configuration is another model's.
    const bool pruned = routed == stored && highest + 1 == stored;
    if (pruned || said < highest + 1)
      warn(Code::expert_count_mismatch, concat(by_config, " says ", said, " experts, ", quote(layer_.prefix), " has ", stored),
           {{"expected", said}, {"found", stored}});
    else if (said <= kMostExperts && (routed == 0 || routed == said)) return layer_.count_from = by_config, said;
  }
  // Entries beyond the stored experts are experts that are missing, which is said elsewhere; unless the configuration counts none more.
  const bool stacked = layer_.stacking != Stacking::per_expert;
  if (rows > 0 && rows != stored && routed != stored && (stacked || said == stored || rows < highest + 1)) {
    warn(Code::expert_count_mismatch,
         concat("the router has ", counted(rows, "entry", "entries"), " for ", stored, " experts in ", quote(layer_.prefix)),
         {{"expected", rows}, {"found", stored}}, checkpoint_.tensors[layer_.routers[0].tensor].name);
  }
  if (said == stored && highest < said) return layer_.count_from = by_config, said;
  if (routed > highest && routed <= kMostExperts) return layer_.count_from = "router", routed;
  layer_.count_from = "names";
  return highest + 1;
}

/// A router that lies the other way round, as the configuration says, or as its other dimension, which is that of the experts' inputs,
/// shows.
void LayerBuilder::turn_routers(std::uint64_t stored) {
  if (layer_.routers.size() != 1) return;
  Router& router = layer_.routers[0];
  const std::uint64_t other = checkpoint_.tensors[router.tensor].shape[1 - router.axis];
  if (router.experts == stored) return;
  const bool said = config_.experts && router.experts != config_.experts->value && other == config_.experts->value;
  const bool is_hidden = std::ranges::any_of(layer_.experts[0].parts, [&](const ExpertPart& part) {
    const bool known = part.kind == PartKind::weight && part.role != ExpertRole::other;
    return known && (router.experts == part.rows || router.experts == part.cols);  // whichever way the experts lie
  });
  const bool shown = !config_.experts && other == stored && is_hidden;
  if (!said && !shown) return;
  router.axis = 1 - router.axis;
  router.experts = other;
}

void LayerBuilder::count_what_is_missing() {
  const std::uint64_t stored = layer_.experts.size(), highest = layer_.experts.back().index;
  turn_routers(stored);
  const std::string count_from = layer_.count_from;
  const std::uint64_t expected = expected_count(stored, highest);
  if (layer_.stacking != Stacking::per_expert) {  // what is stored is all there is
    layer_.count_from = count_from;
    layer_.count = stored;
    return;
  }
  layer_.count = expected;
  layer_.missing_count = layer_.count - stored;
  auto next = layer_.experts.begin();
  for (std::uint64_t e = 0; e < layer_.count && layer_.missing.size() < MoeLayer::kListed; ++e) {
    if (next != layer_.experts.end() && next->index == e) ++next;
    else layer_.missing.push_back(e);
  }
  if (layer_.missing.empty()) return;
  std::vector<std::string> named;
  for (const std::uint64_t e : layer_.missing) named.push_back(decimal(e));
  std::string list = named[0];
  for (std::size_t i = 1; i < named.size() && i < 8; ++i) list += concat(", ", named[i]);
  if (named.size() > 8) list += ", …";
  warn(Code::missing_expert, concat(quote(layer_.prefix), " has ", stored, " of ", layer_.count, " experts; missing: ", list),
       {{"missing", std::move(named)}, {"expected", layer_.count}, {"found", stored}});
}

/// What two matrices of one expert say about how they lie; the shapes of a pair can be told apart only where gate and up are joint.
ExpertLayout layout_of_pair(const ExpertPart& up, const ExpertPart& down) {
  if (up.rows == 2 * down.cols && up.cols == down.rows) return ExpertLayout::linear;
  if (up.cols == 2 * down.rows && up.rows == down.cols) return ExpertLayout::input_first;
  return ExpertLayout::unknown;
}

void LayerBuilder::decide_layout() {
  const ExpertName* named = nullptr;
  for (const Member& member : block_.members)
    if (member.name.stacking == layer_.stacking && member.name.kind == PartKind::weight) named = &member.name;
  layer_.interleaved = config_.model_type == "gpt_oss";
  for (const Member& member : block_.members)
    if (member.name.role == ExpertRole::gate_up && member.name.stacking == Stacking::fused && member.name.kind == PartKind::bias)
      layer_.interleaved = true;
  if (named == nullptr) return;  // packed: the codes have a layout of their own
  layer_.layout = named->layout;
  layer_.layout_from = "names";
  if (named->layout != ExpertLayout::unknown) return;
  const ExpertPart *up = nullptr, *down = nullptr;
  bool joint = false;
  for (const ExpertPart& part : layer_.experts[0].parts) {
    if (part.kind != PartKind::weight) continue;
    if (part.role == ExpertRole::down) down = &part;
    else if (part.role != ExpertRole::other) up = &part;
    joint = joint || part.role == ExpertRole::gate_up;
  }
  const ExpertLayout by_pair = joint && up != nullptr && down != nullptr ? layout_of_pair(*up, *down) : ExpertLayout::unknown;
  const bool by_model = std::ranges::find(kInputFirstModels, config_.model_type) != std::end(kInputFirstModels);
  if (by_model && by_pair != ExpertLayout::linear) {
    layer_.layout = ExpertLayout::input_first;
    layer_.layout_from = concat(config_.file, " model_type ", config_.model_type);
  } else if (by_pair != ExpertLayout::unknown) {
    layer_.layout = by_pair;
    layer_.layout_from = "gate_up and down together";
  } else if (!joint) {
    layer_.layout = ExpertLayout::linear;
  } else {
    layer_.layout_from.clear();
  }
}

void LayerBuilder::sum(Expert& expert) const {
  for (const ExpertPart& part : expert.parts) {
    const auto bits = checked_mul(part.numel, dtype_bits(checkpoint_.tensors[part.tensor].dtype));
    expert.bytes = checked_add(expert.bytes, bits ? bits_to_bytes(*bits) : 0).value_or(expert.bytes);
    if (part.kind != PartKind::companion) expert.parameters = checked_add(expert.parameters, part.numel).value_or(expert.parameters);
  }
}

}  // namespace

std::string_view layout_name(ExpertLayout layout) {
  constexpr std::string_view kNames[] = {"unknown", "linear", "input-first", "neuron-first"};
  return kNames[static_cast<std::size_t>(layout)];
}

namespace {

/// A layer of experts without a router, where others of the same kind have one.
void find_lost_routers(const Moe& moe, std::vector<Finding>& findings) {
  for (const MoeLayer& layer : moe.layers) {
    const bool lost = layer.routers.empty() && std::ranges::any_of(moe.layers, [&](const MoeLayer& other) {
                        return !other.routers.empty() && other.stacking == layer.stacking && other.count == layer.count;
                      });
    if (!lost) continue;
    std::vector<Fact> facts;
    if (layer.layer) facts.push_back({"layer", *layer.layer});
    facts.push_back({"prefix", layer.prefix});
    findings.push_back(Finding(Code::missing_router,
                               concat(quote(layer.prefix), " has ", layer.count, " experts and no router; other layers have one"), {},
                               std::move(facts)));
  }
}

}  // namespace

Moe find_experts(const Checkpoint& checkpoint, const ModelConfig& config, std::vector<Finding>& findings) {
  Moe moe;
  if (config.top_k) {
    moe.top_k = config.top_k->value;
    moe.top_k_from = concat(config.file, " ", config.top_k->key);
  }
  Names names = read_names(checkpoint);
  sort_stable(names.blocks, [](const Block& a, const Block& b) { return natural_less(a.name, b.name); });
  std::uint64_t slices_left = kMostSlices;
  for (const Block& block : names.blocks) {
    LayerBuilder builder(checkpoint, config, block, routers_of(names, block.name), slices_left, findings);
    if (!builder.build()) continue;
    MoeLayer layer = builder.take();
    layer.shared = shared_of(names, block.name);
    moe.expert_count = std::max(moe.expert_count, layer.count);
    moe.layers.push_back(std::move(layer));
  }
  find_lost_routers(moe, findings);
  return moe;
}

}  // namespace assay::analysis
