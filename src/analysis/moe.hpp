// SPDX-License-Identifier: Apache-2.0
// Mixtures of experts: one view of (layer, expert, projection) over every way of storing them, and what the weights say about them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/model_config.hpp"
#include "analysis/moe_names.hpp"
#include "assay/checkpoint.hpp"
#include "base/work.hpp"

namespace assay::analysis {

/// One tensor of one expert, or one expert's slice of a tensor that holds all of them. Texts live in the Checkpoint.
struct ExpertPart {
  std::uint32_t tensor = 0;
  ExpertRole role = ExpertRole::other;
  PartKind kind = PartKind::weight;
  std::string_view projection, suffix;
  std::uint64_t numel = 0;             ///< of the slice
  std::uint64_t rows = 0, cols = 0;    ///< of the slice where it is a matrix
  std::uint64_t first = 0;             ///< the slice begins at this element of the tensor, in logical order
  std::shared_ptr<const Tensor> view;  ///< the slice as a tensor where it is not a run in logical order
};

struct Expert {
  std::uint64_t index = 0;
  std::vector<ExpertPart> parts;     ///< of all experts of a layer in the same order
  std::uint64_t parameters = 0;      ///< elements of weights and biases, packed ones as they are stored
  std::uint64_t bytes = 0;           ///< of all parts
  std::vector<std::string> lacking;  ///< projections that other experts of the layer have: "w3.weight"
  // Filled by measure_experts.
  bool measured = false;       ///< false where a part of it could not be read
  std::optional<double> norm;  ///< Frobenius norm over its weights; finite values only
  std::optional<double> absmax;
  std::optional<double> router_norm;  ///< of its row of the router
  std::uint64_t not_finite = 0;
  std::string dead;  ///< why it can do nothing; "" where it can
};

struct Router {
  std::uint32_t tensor = 0;
  std::uint64_t experts = 0;  ///< entries along the experts' dimension
  unsigned axis = 0;
};

struct SimilarPair {
  std::uint64_t a = 0, b = 0;            ///< indices of experts, a < b
  double cosine = 0;                     ///< of all weights, flattened
  std::optional<double> aligned_cosine;  ///< after the neurons of b were matched to those of a, where that is notably more
};

struct MoeLayer {
  std::string prefix;  ///< the module that has the experts: "model.layers.0.block_sparse_moe"
  std::optional<std::uint64_t> layer;
  bool extra = false;       ///< a multi-token-prediction layer beyond the model's own
  std::uint64_t count = 0;  ///< experts that there should be
  Stacking stacking = Stacking::per_expert;
  ExpertLayout layout = ExpertLayout::unknown;
  std::string layout_from;             ///< how the layout was decided
  bool interleaved = false;            ///< gate and up rows of a joint projection alternate
  std::string count_from;              ///< "config.json num_experts", "router", "names", "tensors"
  std::vector<Router> routers;         ///< one as a rule
  std::vector<std::string> shared;     ///< modules of shared experts
  std::vector<Expert> experts;         ///< those that are there, by index
  std::vector<std::uint64_t> missing;  ///< at most kListed of them
  std::uint64_t missing_count = 0;
  // Filled by measure_experts.
  bool sampled = false;  ///< what follows, and norms, is of a sample
  std::vector<std::uint64_t> dead;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> identical;  ///< at most kListed
  std::vector<SimilarPair> similar;                                ///< not identical ones, the most similar first; at most kListed
  std::uint64_t identical_count = 0, similar_count = 0;
  std::optional<double> mean_cosine;  ///< over all pairs

  static constexpr std::size_t kListed = 1000;
};

struct Moe {
  std::vector<MoeLayer> layers;    ///< in natural order of their prefixes
  std::uint64_t expert_count = 0;  ///< per layer; the largest where layers differ
  std::optional<std::uint64_t> top_k;
  std::string top_k_from;
  bool detected() const { return !layers.empty(); }
};

/// Finds the experts by their names; the configuration and the routers confirm the count. What does not agree becomes a finding.
/// Reads no values. Cost: linear in the tensors, times the rows of the table of names.
Moe find_experts(const Checkpoint& checkpoint, const ModelConfig& config, std::vector<Finding>& findings);

struct MoeOptions {
  double similar = 0.9;     ///< the least cosine of a pair to report
  bool align = true;        ///< also look for experts that are alike but for the order of their neurons
  std::size_t threads = 1;  ///< layers that are measured at once, each with memory of its own
  /// Of an expert's matrix above 1 MiB look at 64 KiB of each MiB only. Norms are then estimates, pairs that are equal there are told as
  /// similar, not as identical, and nothing is looked for in another order: MoeLayer::sampled.
  bool sample = false;
  /// Called as the work goes on, with layers done and their number; false stops it.
  std::function<bool(std::size_t done, std::size_t of)> watch;
};

/// Reads every expert once (twice where two seem alike but for their order) and fills what the values say. A tensor that cannot be read
/// costs its expert the measurement and becomes a finding; only `need-range` fails. Memory: a few MiB and a square of the experts' number.
/// Cost: for every layer, its elements times half its experts.
Result<void> measure_experts(const Checkpoint& checkpoint, Moe& moe, const MoeOptions& options, std::vector<Finding>& findings);
/// The same on one thread, waiting for what is not at hand. What is given must live as long.
Work<void> measure_experts_work(const Checkpoint& checkpoint, Moe& moe, const MoeOptions& options, std::vector<Finding>& findings);
/// Bytes that measuring reads at least, from headers.
std::uint64_t bytes_to_measure(const Checkpoint& checkpoint, const Moe& moe, bool sample);

/// Which experts of each layer to keep, when only `keep` of them may stay. Nothing is written.
struct MoePlan {
  enum class Why : std::uint8_t { dead, identical, similar, least_routed, least_norm };
  struct Drop {
    std::uint64_t expert = 0;
    Why why = Why::dead;
    double value = 0;                 ///< the cosine, or the norm of its router row or its weights
    std::optional<std::uint64_t> of;  ///< the expert that stands for it
  };
  struct Layer {
    std::vector<std::uint64_t> keep;
    std::vector<Drop> drop;  ///< in the order they were given up
  };
  std::uint64_t keep = 0;
  std::vector<Layer> layers;                            ///< as Moe::layers
  std::uint64_t parameters_saved = 0, bytes_saved = 0;  ///< of experts and their router rows
};

/// Dead experts go first, then of the most similar pair the one with the smaller router row, then the smallest router row (without a
/// router: the smallest norm). Precondition: the experts are measured.
MoePlan plan_experts(const Checkpoint& checkpoint, const Moe& moe, std::uint64_t keep);

/// "linear", "input-first", "neuron-first", "unknown".
std::string_view layout_name(ExpertLayout layout);

}  // namespace assay::analysis
