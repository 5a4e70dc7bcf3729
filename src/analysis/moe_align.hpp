// SPDX-License-Identifier: Apache-2.0
// Experts that are alike but for the order of their neurons. The order means nothing to the network, and everything to a plain cosine.
// Each neuron (its row of gate and up, its column of down) is projected on a few random signs; neurons are matched by these sketches.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/moe.hpp"

namespace assay::analysis {

/// Where the neurons are in one matrix of an expert.
struct Neurons {
  std::uint64_t count = 0;   ///< 0 where they cannot be told
  std::uint64_t inputs = 0;  ///< elements per neuron and group
  bool by_rows = true;       ///< a neuron is a row; otherwise a column
  unsigned groups = 1;       ///< 2 where gate and up are one matrix
  bool interleaved = false;  ///< gate and up alternate; otherwise one after the other
  unsigned slot = 0;         ///< 0 gate, 1 up, 2 down; a joint matrix takes 0 and 1

  /// The place of neuron `n` of group `g` along its dimension.
  std::uint64_t place(std::uint64_t n, unsigned g) const { return interleaved ? n * groups + g : g * count + n; }
};

/// Decided by the layer's layout and the part's role; needs a down projection to count by.
Neurons neurons_of(const MoeLayer& layer, const ExpertPart& part);

class NeuronSketches {
 public:
  /// `neurons` per expert and `inputs` at most per matrix. Holds 100 bytes a neuron; usable() is false where that would be too much.
  NeuronSketches(std::uint64_t experts, std::uint64_t neurons, std::uint64_t inputs);
  bool usable() const { return experts_ > 0; }

  /// Adds elements [first, first + values.size()) of a matrix of `cols` columns of expert number `expert` (counted as they are stored).
  void add(std::size_t expert, const Neurons& neurons, std::uint64_t cols, std::uint64_t first, std::span<const double> values);
  /// Call once when all is added.
  void finish();
  /// How well the loudest neurons of `a` find partners among those of `b`: about the cosine of the matched ones. Cheap.
  double likeness(std::size_t a, std::size_t b) const;
  /// For each neuron of `a` one of `b`, each used once: greedy, the loudest first. Cost: 24 times neurons squared.
  std::vector<std::uint32_t> match(std::size_t a, std::size_t b) const;

 private:
  static constexpr std::size_t kSigns = 8, kSlots = 3, kSize = kSigns * kSlots;
  const float* sketch(std::size_t expert, std::size_t neuron) const { return &sketches_[(expert * neurons_ + neuron) * kSize]; }
  float closeness(std::size_t a, std::size_t na, std::size_t b, std::size_t nb) const;

  std::size_t experts_ = 0, neurons_ = 0;
  std::vector<float> signs_;            // [inputs][kSigns]
  std::vector<float> sketches_;         // [experts][neurons][kSize]
  std::vector<float> squares_;          // [experts][neurons]: squared length of the sketch
  std::vector<std::uint32_t> loudest_;  // [experts][neurons]: neurons by falling length
};

/// The inner product of two experts' weights after the neurons of `b` were put in the order `match` gives. Reads both once more.
Work<double> aligned_product(const Checkpoint& checkpoint, const MoeLayer& layer, const Expert& a, const Expert& b,
                             std::span<const std::uint32_t> match);

}  // namespace assay::analysis
