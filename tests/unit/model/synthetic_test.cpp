// SPDX-License-Identifier: Apache-2.0
#include "model/synthetic.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <map>
#include <set>

namespace assay::model {
namespace {

double dot(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * b[i];
  return sum;
}

double cosine(const std::vector<float>& a, const std::vector<float>& b) { return dot(a, b) / std::sqrt(dot(a, a) * dot(b, b)); }

/// FNV-1a over the bits of all values, low byte first.
std::uint64_t hash(const std::vector<SyntheticTensor>& tensors) {
  std::uint64_t state = 0xcbf29ce484222325u;
  for (const auto& tensor : tensors) {
    for (const float value : tensor.values) {
      const auto bits = std::bit_cast<std::uint32_t>(value);
      for (int byte = 0; byte < 4; ++byte) state = (state ^ (bits >> (8 * byte) & 0xff)) * 0x100000001b3u;
    }
  }
  return state;
}

class Synthetic : public testing::Test {
 protected:
  Synthetic() : tensors_(synthetic_model()) {
    for (const auto& tensor : tensors_) by_name_[tensor.name] = &tensor;
  }
  const SyntheticTensor& expert(int layer, int number, int matrix) const {
    return *by_name_.at("model.layers." + std::to_string(layer) + ".block_sparse_moe.experts." + std::to_string(number) + ".w" +
                        std::to_string(matrix) + ".weight");
  }
  std::vector<SyntheticTensor> tensors_;
  std::map<std::string, const SyntheticTensor*> by_name_;
};

TEST_F(Synthetic, IsShapedLikeMixtral) {
  EXPECT_EQ(tensors_.size(), 4u * (4 + 1 + 8 * 3 + 2) + 3);
  EXPECT_EQ(by_name_.size(), tensors_.size());
  EXPECT_EQ(tensors_.front().name, "model.embed_tokens.weight");
  EXPECT_EQ(tensors_.back().name, "lm_head.weight");
  using Shape = std::vector<std::uint64_t>;
  EXPECT_EQ(by_name_.at("model.layers.3.self_attn.k_proj.weight")->shape, (Shape{24, 96}));
  EXPECT_EQ(by_name_.at("model.layers.0.block_sparse_moe.gate.weight")->shape, (Shape{8, 96}));
  EXPECT_EQ(by_name_.at("model.layers.0.post_attention_layernorm.weight")->shape, (Shape{96}));
  EXPECT_EQ(expert(2, 7, 1).shape, (Shape{192, 96}));
  EXPECT_EQ(expert(2, 7, 2).shape, (Shape{96, 192}));
  std::size_t values = 0;
  for (const auto& tensor : tensors_) {
    std::uint64_t numel = 1;
    for (const std::uint64_t size : tensor.shape) numel *= size;
    EXPECT_EQ(tensor.values.size(), numel) << tensor.name;
    values += tensor.values.size();
    for (const float value : tensor.values) ASSERT_TRUE(std::isfinite(value));
  }
  EXPECT_EQ(values, 1963872u);
}

TEST_F(Synthetic, HasTheSameBitsOnEveryMachine) {
  EXPECT_EQ(hash(tensors_), 5252756501841295760u);
  EXPECT_NE(hash(synthetic_model(8)), hash(tensors_));
}

TEST_F(Synthetic, TheSecondFourAreTheFirstFourPlusNoise) {
  for (int layer = 0; layer < 4; ++layer) {
    for (int archetype = 0; archetype < 4; ++archetype) {
      for (int matrix = 1; matrix <= 3; ++matrix) {
        const auto& clean = expert(layer, archetype, matrix).values;
        const auto& noisy = expert(layer, archetype + 4, matrix).values;
        std::vector<float> noise(clean.size());
        for (std::size_t i = 0; i < clean.size(); ++i) noise[i] = noisy[i] - clean[i];
        EXPECT_NEAR(std::sqrt(dot(noise, noise) / dot(clean, clean)), 0.16, 1e-6);
        EXPECT_GT(cosine(clean, noisy), 0.97);
      }
    }
  }
}

TEST_F(Synthetic, ArchetypesShareNothing) {
  for (int layer = 0; layer < 4; ++layer)
    for (int matrix = 1; matrix <= 3; ++matrix)
      for (int a = 0; a < 4; ++a)
        for (int b = a + 1; b < 4; ++b) EXPECT_LT(std::abs(cosine(expert(layer, a, matrix).values, expert(layer, b, matrix).values)), 0.05);
  // Nor do layers.
  for (int a = 0; a < 4; ++a) EXPECT_LT(std::abs(cosine(expert(0, a, 1).values, expert(1, a, 1).values)), 0.6);
}

}  // namespace
}  // namespace assay::model
