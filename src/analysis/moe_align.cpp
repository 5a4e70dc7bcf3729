// SPDX-License-Identifier: Apache-2.0
#include "analysis/moe_align.hpp"

#include <algorithm>
#include <numeric>

#include "assay/values.hpp"
#include "base/arith.hpp"
#include "base/sort.hpp"
#include "base/try.hpp"

namespace assay::analysis {
namespace {

constexpr std::uint64_t kMostFloats = std::uint64_t{64} << 20;
constexpr std::uint64_t kMostInputs = std::uint64_t{1} << 20;

std::uint64_t mixed(std::uint64_t z) {
  z += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

}  // namespace

Neurons neurons_of(const MoeLayer& layer, const ExpertPart& part) {
  Neurons neurons;
  if (part.rows == 0 || part.cols == 0 || part.kind != PartKind::weight || part.role == ExpertRole::other || layer.experts.empty() ||
      layer.layout == ExpertLayout::unknown)
    return neurons;
  const auto by_rows = [&](ExpertRole role) {
    if (layer.layout == ExpertLayout::neuron_first) return true;
    return (role != ExpertRole::down) == (layer.layout == ExpertLayout::linear);
  };
  // The down projection has one column (or row) per neuron; only a joint matrix has two of them.
  std::uint64_t inner = 0;
  for (const ExpertPart& other : layer.experts[0].parts)
    if (other.role == ExpertRole::down && other.kind == PartKind::weight) inner = by_rows(other.role) ? other.rows : other.cols;
  neurons.by_rows = by_rows(part.role);
  const std::uint64_t along = neurons.by_rows ? part.rows : part.cols;
  if (inner == 0 || (along != inner && (part.role != ExpertRole::gate_up || along != 2 * inner))) return neurons;
  neurons.count = inner;
  neurons.inputs = neurons.by_rows ? part.cols : part.rows;
  neurons.groups = along == inner ? 1 : 2;
  neurons.interleaved = layer.interleaved;
  neurons.slot = part.role == ExpertRole::down ? 2 : part.role == ExpertRole::up ? 1 : 0;
  return neurons;
}

NeuronSketches::NeuronSketches(std::uint64_t experts, std::uint64_t neurons, std::uint64_t inputs) {
  const auto all = checked_mul(experts, neurons);
  if (experts < 2 || neurons < 2 || inputs == 0 || inputs > kMostInputs || !all || *all > kMostFloats / kSize) return;
  experts_ = static_cast<std::size_t>(experts);
  neurons_ = static_cast<std::size_t>(neurons);
  sketches_.resize(static_cast<std::size_t>(*all) * kSize);
  signs_.resize(static_cast<std::size_t>(inputs) * kSigns);
  for (std::size_t input = 0; input < inputs; ++input) {
    const std::uint64_t bits = mixed(input);
    for (std::size_t s = 0; s < kSigns; ++s) signs_[input * kSigns + s] = (bits >> s & 1) != 0 ? 1.0f : -1.0f;
  }
}

void NeuronSketches::add(std::size_t expert, const Neurons& neurons, std::uint64_t cols, std::uint64_t first,
                         std::span<const double> values) {
  if (!usable() || neurons.count != neurons_) return;
  float* const own = &sketches_[expert * neurons_ * kSize + neurons.slot * kSigns];
  const auto target = [&](std::uint64_t along) {
    const std::uint64_t neuron = neurons.interleaved ? along / neurons.groups : along % neurons.count;
    const std::uint64_t group = neurons.interleaved ? along % neurons.groups : along / neurons.count;
    return own + static_cast<std::size_t>(neuron * kSize + group * kSigns);
  };
  std::uint64_t row = first / cols, col = first % cols;
  for (std::size_t i = 0; i < values.size(); ++row, col = 0) {
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(values.size() - i, cols - col));
    const double* x = values.data() + i;
    if (neurons.by_rows) {
      const float* signs = &signs_[static_cast<std::size_t>(col) * kSigns];
      float sums[kSigns] = {};
      for (std::size_t k = 0; k < n; ++k)
        for (std::size_t s = 0; s < kSigns; ++s) sums[s] += static_cast<float>(x[k]) * signs[k * kSigns + s];
      float* const sketch = target(row);
      for (std::size_t s = 0; s < kSigns; ++s) sketch[s] += sums[s];
    } else {
      const float* signs = &signs_[static_cast<std::size_t>(row) * kSigns];
      for (std::size_t k = 0; k < n; ++k) {
        float* const sketch = target(col + k);
        for (std::size_t s = 0; s < kSigns; ++s) sketch[s] += static_cast<float>(x[k]) * signs[s];
      }
    }
    i += n;
  }
}

void NeuronSketches::finish() {
  if (!usable()) return;
  squares_.resize(experts_ * neurons_);
  loudest_.resize(experts_ * neurons_);
  for (std::size_t e = 0; e < experts_; ++e) {
    float* const squares = &squares_[e * neurons_];
    for (std::size_t n = 0; n < neurons_; ++n) {
      const float* own = sketch(e, n);
      squares[n] = std::inner_product(own, own + kSize, own, 0.0f);
    }
    const auto order = std::span(loudest_).subspan(e * neurons_, neurons_);
    std::iota(order.begin(), order.end(), 0u);
    sort_stable(order, [&](std::uint32_t a, std::uint32_t b) { return squares[a] > squares[b]; });
  }
}

/// 1 for equal sketches, about 0 for unrelated ones: a cosine that also minds the lengths.
float NeuronSketches::closeness(std::size_t a, std::size_t na, std::size_t b, std::size_t nb) const {
  const float *x = sketch(a, na), *y = sketch(b, nb);
  float product = 0;
  for (std::size_t s = 0; s < kSize; ++s) product += x[s] * y[s];
  const float size = squares_[a * neurons_ + na] + squares_[b * neurons_ + nb];
  return size > 0 ? 2 * product / size : 0;
}

double NeuronSketches::likeness(std::size_t a, std::size_t b) const {
  constexpr std::size_t kAsked = 32, kOffered = 512;
  if (!usable()) return 0;
  const std::size_t asked = std::min(neurons_, kAsked), offered = std::min(neurons_, kOffered);
  double sum = 0;
  for (std::size_t i = 0; i < asked; ++i) {
    float best = -1;
    for (std::size_t j = 0; j < offered; ++j)
      best = std::max(best, closeness(a, loudest_[a * neurons_ + i], b, loudest_[b * neurons_ + j]));
    sum += static_cast<double>(best);
  }
  return sum / static_cast<double>(asked);
}

std::vector<std::uint32_t> NeuronSketches::match(std::size_t a, std::size_t b) const {
  std::vector<std::uint32_t> partner(neurons_);
  std::vector<std::uint32_t> left(loudest_.begin() + static_cast<std::ptrdiff_t>(b * neurons_),
                                  loudest_.begin() + static_cast<std::ptrdiff_t>((b + 1) * neurons_));
  for (std::size_t i = 0; i < neurons_; ++i) {
    const std::uint32_t asking = loudest_[a * neurons_ + i];
    std::size_t best = 0;
    float closest = -3;
    for (std::size_t j = 0; j < left.size(); ++j) {
      const float close = closeness(a, asking, b, left[j]);
      if (close > closest) closest = close, best = j;
    }
    partner[asking] = left[best];
    left[best] = left.back();
    left.pop_back();
  }
  return partner;
}

namespace {

Result<TensorReader> open_part(const Checkpoint& checkpoint, const ExpertPart& part) {
  return TensorReader::open(checkpoint, part.view ? *part.view : checkpoint.tensors[part.tensor]);
}

double product(std::span<const double> x, std::span<const double> y) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
  return sum;
}

Work<double> matched_product(const Checkpoint& checkpoint, const ExpertPart& a, const ExpertPart& b, const Neurons& neurons,
                             std::span<const std::uint32_t> match) {
  ASSAY_TAKE(const TensorReader from_a, open_part(checkpoint, a));
  ASSAY_TAKE(const TensorReader from_b, open_part(checkpoint, b));
  const auto cols = static_cast<std::size_t>(a.cols);
  std::vector<double> x(cols), y(cols);
  double sum = 0;
  if (neurons.by_rows) {
    for (std::uint64_t n = 0; n < neurons.count; ++n) {
      for (unsigned g = 0; g < neurons.groups; ++g) {
        ASSAY_READ(from_a.read_f64(a.first + neurons.place(n, g) * cols, x));
        ASSAY_READ(from_b.read_f64(b.first + neurons.place(match[static_cast<std::size_t>(n)], g) * cols, y));
        sum += product(x, y);
      }
    }
    co_return sum;
  }
  for (std::uint64_t row = 0; row < a.rows; ++row) {
    ASSAY_READ(from_a.read_f64(a.first + row * cols, x));
    ASSAY_READ(from_b.read_f64(b.first + row * cols, y));
    for (std::uint64_t n = 0; n < neurons.count; ++n)
      for (unsigned g = 0; g < neurons.groups; ++g)
        sum += x[static_cast<std::size_t>(neurons.place(n, g))] *
               y[static_cast<std::size_t>(neurons.place(match[static_cast<std::size_t>(n)], g))];
  }
  co_return sum;
}

}  // namespace

Work<double> aligned_product(const Checkpoint& checkpoint, const MoeLayer& layer, const Expert& a, const Expert& b,
                             std::span<const std::uint32_t> match) {
  double sum = 0;
  for (const ExpertPart& part : a.parts) {
    const Neurons neurons = neurons_of(layer, part);
    if (part.kind != PartKind::weight || neurons.count != match.size()) continue;
    for (const ExpertPart& other : b.parts) {
      if (other.projection != part.projection || other.suffix != part.suffix || other.rows != part.rows || other.cols != part.cols)
        continue;
      ASSAY_AWAIT(const double own, matched_product(checkpoint, part, other, neurons, match));
      sum += own;
      break;
    }
  }
  co_return sum;
}

}  // namespace assay::analysis
