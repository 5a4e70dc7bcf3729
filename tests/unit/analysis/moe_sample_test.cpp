// SPDX-License-Identifier: Apache-2.0
// A first look at experts, of a part of their matrices.
#include <gtest/gtest.h>

#include "analysis/moe.hpp"
#include "base/text.hpp"
#include "checkpoint_builder.hpp"

namespace assay::analysis {
namespace {

using testing::CheckpointBuilder;
using Shape = std::vector<std::uint64_t>;

struct Found {
  Moe moe;
  std::vector<Finding> findings;
};
Found find(const CheckpointBuilder& builder) {
  Found found;
  found.moe = find_experts(builder.made, {}, found.findings);
  return found;
}
const std::string kBlock = "model.layers.3.block_sparse_moe";

TEST(MeasureExperts, ASampleIsMarkedAndNearTheTruth) {
  CheckpointBuilder builder;
  const Shape up = {768, 1024};  // 3 MiB
  builder.add_random(kBlock + ".gate.weight", {3, 1024});
  std::vector<std::vector<float>> first;
  for (std::uint64_t e = 0; e < 3; ++e) {
    for (const std::string_view part : {"w1", "w2", "w3"}) {
      const Shape shape = part == "w2" ? Shape{1024, 768} : up;
      std::vector<float> values = builder.random(shape, 1.0f + static_cast<float>(e));
      if (e == 0) first.push_back(values);
      if (e == 2) {
        // The first expert but for what a sample does not see.
        values = first[part == "w1" ? 0 : part == "w2" ? 1 : 2];
        values[400'000] += 1;
      }
      builder.add(concat(kBlock, ".experts.", e, '.', part, ".weight"), shape, values);
    }
  }
  Found exact = find(builder);
  ASSERT_TRUE(measure_experts(builder.made, exact.moe, {.watch = {}}, exact.findings).has_value());
  Found sampled = find(builder);
  ASSERT_TRUE(measure_experts(builder.made, sampled.moe, {.sample = true, .watch = {}}, sampled.findings).has_value());
  const MoeLayer &whole = exact.moe.layers.at(0), &part = sampled.moe.layers.at(0);
  EXPECT_FALSE(whole.sampled);
  EXPECT_TRUE(part.sampled);
  for (std::size_t e = 0; e < 3; ++e) EXPECT_NEAR(*part.experts[e].norm / *whole.experts[e].norm, 1, 0.01);
  EXPECT_TRUE(whole.identical.empty());
  EXPECT_TRUE(part.identical.empty());  // though all that was looked at is equal
  ASSERT_EQ(part.similar.size(), 1u);
  EXPECT_NEAR(part.similar[0].cosine, 1, 1e-9);
  EXPECT_NEAR(*part.mean_cosine, *whole.mean_cosine, 0.01);
  const std::uint64_t all = bytes_to_measure(builder.made, exact.moe, false);
  EXPECT_EQ(all, 9 * 3 * 1024 * 1024 + 3 * 1024 * 4);
  EXPECT_LT(bytes_to_measure(builder.made, exact.moe, true), all / 10);
}

}  // namespace
}  // namespace assay::analysis
