// SPDX-License-Identifier: Apache-2.0
// Integers and + - * / sqrt on doubles only, which IEEE 754 rounds the same way everywhere; no sine or logarithm, whose last bits
// differ between C libraries. The build forbids contracting a * b + c here, which would skip a rounding on some machines.
#include "model/synthetic.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "base/text.hpp"

namespace assay::model {

namespace {

constexpr std::uint64_t kLayers = 4, kExperts = 8, kArchetypes = 4;
constexpr std::uint64_t kHidden = 96, kInner = 192, kVocabulary = 512;
constexpr std::uint64_t kHeads = 8, kKeyHeads = 2, kHeadSize = 12;
constexpr double kNoise = 0.16;   // of an archetype's norm, in its noisy copy
constexpr double kSpread = 0.05;  // root mean square of an archetype
constexpr double kInitial = 0.02;

/// splitmix64: one addition, two multiplications, and every seed is a good one.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t bits() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  /// In [0, 1), 53 bits.
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }
  /// Nearly normal, of variance 1: twelve uniforms of 16 bits and their mean taken off.
  double normal() {
    std::uint64_t sum = 0;
    for (int i = 0; i < 3; ++i)
      for (std::uint64_t four = bits(), part = 0; part < 4; ++part, four >>= 16) sum += four & 0xffff;
    return static_cast<double>(sum) * 0x1p-16 - (6 - 12 * 0x1p-17);
  }

 private:
  std::uint64_t state_;
};

/// A stream of its own for each purpose.
Random stream(std::uint64_t seed, std::uint64_t layer, std::uint64_t expert, std::uint64_t matrix) {
  return Random(Random(seed + 0x100000001b3u * (layer * 64 + expert * 8 + matrix + 1)).bits());
}

double norm(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return std::sqrt(sum);
}

void scale_to_norm(std::span<double> values, double wanted) {
  const double factor = wanted / norm(values);
  for (double& value : values) value *= factor;
}

/// -1 … 1 … -1, linear in between, once in `period`.
double triangle(double at, double period) {
  const double turns = at / period;
  const double phase = turns - static_cast<double>(static_cast<std::int64_t>(turns));
  return phase < 0.5 ? 4 * phase - 1 : 3 - 4 * phase;
}

// The four archetypes, by what a picture of them shows. Each fills a row-major matrix.
using Matrix = std::vector<double>;

/// A bright diagonal band on a faint ground.
void banded(Matrix& out, std::uint64_t rows, std::uint64_t cols, Random& random) {
  const double width = static_cast<double>(cols) / 10;
  for (std::uint64_t i = 0; i < rows; ++i) {
    const double centre = static_cast<double>(i * cols) / static_cast<double>(rows);
    for (std::uint64_t j = 0; j < cols; ++j) {
      const double away = std::abs(static_cast<double>(j) - centre) / width;
      out[i * cols + j] = random.normal() * (0.08 + 1 / (1 + away * away * away * away));
    }
  }
}

/// Four waves across rows times four across columns: a weave of rank four.
void low_rank(Matrix& out, std::uint64_t rows, std::uint64_t cols, Random& random) {
  for (int wave = 0; wave < 4; ++wave) {
    const double row_period = static_cast<double>(rows) / (1.5 + wave), col_period = static_cast<double>(cols) / (2.5 + 2 * wave);
    const double row_phase = random.uniform() * row_period, col_phase = random.uniform() * col_period;
    const double weight = 1.0 / (1 + wave);
    for (std::uint64_t i = 0; i < rows; ++i)
      for (std::uint64_t j = 0; j < cols; ++j)
        out[i * cols + j] +=
            weight * triangle(static_cast<double>(i) + row_phase, row_period) * triangle(static_cast<double>(j) + col_phase, col_period);
  }
}

/// A board of 8 x 8 squares, each as loud as chance has it.
void blocks(Matrix& out, std::uint64_t rows, std::uint64_t cols, Random& random) {
  double loudness[8][8];
  for (auto& line : loudness)
    for (double& square : line) square = random.bits() % 3 == 0 ? 1 : 0.15 * random.uniform();
  for (std::uint64_t i = 0; i < rows; ++i)
    for (std::uint64_t j = 0; j < cols; ++j) out[i * cols + j] = random.normal() * loudness[i * 8 / rows][j * 8 / cols];
}

/// Nine in ten elements 0, the rest with heavy tails, and three loud columns.
void sparse(Matrix& out, std::uint64_t rows, std::uint64_t cols, Random& random) {
  std::uint64_t loud[3];
  for (std::uint64_t& column : loud) column = random.bits() % cols;
  for (std::uint64_t i = 0; i < rows; ++i) {
    for (std::uint64_t j = 0; j < cols; ++j) {
      const bool is_loud = std::find(std::begin(loud), std::end(loud), j) != std::end(loud);
      const bool kept = random.bits() % 10 == 0;
      const double heavy = random.normal() / std::sqrt(random.uniform() + 0.02);
      out[i * cols + j] = is_loud ? 1.5 * heavy : kept ? heavy : 0;
    }
  }
}

constexpr void (*kShapes[kArchetypes])(Matrix&, std::uint64_t, std::uint64_t, Random&) = {banded, low_rank, blocks, sparse};

class Builder {
 public:
  explicit Builder(std::uint64_t seed) : seed_(seed) {}

  void add(std::string name, std::vector<std::uint64_t> shape, std::span<const double> values) {
    SyntheticTensor tensor{std::move(name), std::move(shape), {}};
    tensor.values.reserve(values.size());
    for (const double value : values) tensor.values.push_back(static_cast<float>(value));
    tensors_.push_back(std::move(tensor));
  }

  /// Normal numbers around `mean`.
  void add_normal(std::string name, std::vector<std::uint64_t> shape, double mean, double std) {
    std::uint64_t n = 1;
    for (const std::uint64_t size : shape) n *= size;
    Random random = stream(seed_, 1000, tensors_.size(), 0);
    Matrix values(static_cast<std::size_t>(n));
    for (double& value : values) value = mean + std * random.normal();
    add(std::move(name), std::move(shape), values);
  }

  /// Matrix number `matrix` of one expert: its archetype, with noise for the second four.
  void add_expert(std::string name, std::uint64_t layer, std::uint64_t expert, std::uint64_t matrix, std::uint64_t rows,
                  std::uint64_t cols) {
    const std::uint64_t archetype = expert % kArchetypes;
    const auto n = static_cast<std::size_t>(rows * cols);
    Matrix values(n);
    Random random = stream(seed_, layer, archetype, matrix);
    kShapes[archetype](values, rows, cols, random);
    scale_to_norm(values, kSpread * std::sqrt(static_cast<double>(n)));
    if (expert >= kArchetypes) {
      Random noise_source = stream(seed_, layer, expert, matrix);
      Matrix noise(n);
      for (double& value : noise) value = noise_source.normal();
      scale_to_norm(noise, kNoise * norm(values));
      for (std::size_t i = 0; i < n; ++i) values[i] += noise[i];
    }
    add(std::move(name), {rows, cols}, values);
  }

  std::vector<SyntheticTensor> take() { return std::move(tensors_); }

 private:
  std::uint64_t seed_;
  std::vector<SyntheticTensor> tensors_;
};

void add_layer(Builder& builder, std::uint64_t layer) {
  const std::string prefix = concat("model.layers.", layer, '.');
  const std::string attention = prefix + "self_attn.", moe = prefix + "block_sparse_moe.";
  builder.add_normal(attention + "q_proj.weight", {kHeads * kHeadSize, kHidden}, 0, kInitial);
  builder.add_normal(attention + "k_proj.weight", {kKeyHeads * kHeadSize, kHidden}, 0, kInitial);
  builder.add_normal(attention + "v_proj.weight", {kKeyHeads * kHeadSize, kHidden}, 0, kInitial);
  builder.add_normal(attention + "o_proj.weight", {kHidden, kHeads * kHeadSize}, 0, kInitial);
  builder.add_normal(moe + "gate.weight", {kExperts, kHidden}, 0, kInitial);
  for (std::uint64_t expert = 0; expert < kExperts; ++expert) {
    const std::string own = concat(moe, "experts.", expert, '.');
    builder.add_expert(own + "w1.weight", layer, expert, 0, kInner, kHidden);
    builder.add_expert(own + "w2.weight", layer, expert, 1, kHidden, kInner);
    builder.add_expert(own + "w3.weight", layer, expert, 2, kInner, kHidden);
  }
  builder.add_normal(prefix + "input_layernorm.weight", {kHidden}, 1, kInitial);
  builder.add_normal(prefix + "post_attention_layernorm.weight", {kHidden}, 1, kInitial);
}

}  // namespace

std::vector<SyntheticTensor> synthetic_model(std::uint64_t seed) {
  Builder builder(seed);
  builder.add_normal("model.embed_tokens.weight", {kVocabulary, kHidden}, 0, kInitial);
  for (std::uint64_t layer = 0; layer < kLayers; ++layer) add_layer(builder, layer);
  builder.add_normal("model.norm.weight", {kHidden}, 1, kInitial);
  builder.add_normal("lm_head.weight", {kVocabulary, kHidden}, 0, kInitial);
  return builder.take();
}

}  // namespace assay::model
