// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "analysis/moe.hpp"
#include "base/arith.hpp"

namespace assay::analysis {
namespace {

class LayerPlanner {
 public:
  LayerPlanner(const MoeLayer& layer, std::uint64_t keep) : layer_(layer), keep_(keep) {
    for (const Expert& expert : layer.experts) staying_.push_back(&expert);
    for (const Expert& expert : layer.experts) routed_ = routed_ && expert.router_norm.has_value();
  }
  MoePlan::Layer run() {
    while (staying_.size() > keep_)
      if (!drop_dead() && !drop_identical() && !drop_similar()) drop_least();
    for (const Expert* expert : staying_) made_.keep.push_back(expert->index);
    return std::move(made_);
  }

 private:
  double worth(const Expert& expert) const { return routed_ ? *expert.router_norm : expert.norm.value_or(0); }
  const Expert* staying(std::uint64_t index) const {
    const auto found = std::ranges::lower_bound(staying_, index, {}, [](const Expert* expert) { return expert->index; });
    return found == staying_.end() || (*found)->index != index ? nullptr : *found;
  }
  void drop(const Expert& expert, MoePlan::Why why, double value, std::optional<std::uint64_t> of = {}) {
    made_.drop.push_back({expert.index, why, value, of});
    std::erase(staying_, &expert);
  }
  /// The one of two that is worth less goes; of equals the later one.
  void drop_of(const Expert& a, const Expert& b, MoePlan::Why why, double cosine) {
    const bool first = worth(a) < worth(b);
    drop(first ? a : b, why, cosine, (first ? b : a).index);
  }
  bool drop_dead() {
    const auto found = std::ranges::find_if(staying_, [](const Expert* expert) { return !expert->dead.empty(); });
    if (found == staying_.end()) return false;
    drop(**found, MoePlan::Why::dead, 0);
    return true;
  }
  bool drop_identical() {
    for (const auto& [a, b] : layer_.identical) {
      const Expert *of_a = staying(a), *of_b = staying(b);
      if (of_a == nullptr || of_b == nullptr) continue;
      drop_of(*of_a, *of_b, MoePlan::Why::identical, 1);
      return true;
    }
    return false;
  }
  bool drop_similar() {
    for (const SimilarPair& pair : layer_.similar) {
      const Expert *of_a = staying(pair.a), *of_b = staying(pair.b);
      if (of_a == nullptr || of_b == nullptr) continue;
      drop_of(*of_a, *of_b, MoePlan::Why::similar, pair.aligned_cosine.value_or(pair.cosine));
      return true;
    }
    return false;
  }
  void drop_least() {
    const auto least = std::ranges::min_element(staying_, {}, [&](const Expert* expert) { return worth(*expert); });
    drop(**least, routed_ ? MoePlan::Why::least_routed : MoePlan::Why::least_norm, worth(**least));
  }

  const MoeLayer& layer_;
  std::uint64_t keep_;
  std::vector<const Expert*> staying_;  // by index
  bool routed_ = true;
  MoePlan::Layer made_;
};

}  // namespace

MoePlan plan_experts(const Checkpoint& checkpoint, const Moe& moe, std::uint64_t keep) {
  MoePlan plan;
  plan.keep = keep;
  const auto save = [&](std::uint64_t parameters, std::uint64_t bytes) {
    plan.parameters_saved = checked_add(plan.parameters_saved, parameters).value_or(plan.parameters_saved);
    plan.bytes_saved = checked_add(plan.bytes_saved, bytes).value_or(plan.bytes_saved);
  };
  for (const MoeLayer& layer : moe.layers) {
    plan.layers.push_back(LayerPlanner(layer, keep).run());
    std::uint64_t row = 0, row_bytes = 0;
    if (!layer.routers.empty()) {
      const Tensor& router = checkpoint.tensors[layer.routers[0].tensor];
      row = router.shape[1 - layer.routers[0].axis];
      row_bytes = bits_to_bytes(checked_mul(row, dtype_bits(router.dtype)).value_or(0));
    }
    for (const MoePlan::Drop& drop : plan.layers.back().drop) {
      const auto expert = std::ranges::lower_bound(layer.experts, drop.expert, {}, &Expert::index);
      save(expert->parameters, expert->bytes);
      save(row, row_bytes);
    }
  }
  return plan;
}

}  // namespace assay::analysis
