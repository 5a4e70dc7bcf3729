// SPDX-License-Identifier: Apache-2.0
// What config.json beside a model says, in its many spellings.
#include "analysis/model_config.hpp"

#include <gtest/gtest.h>

#include "config_testing.hpp"

namespace assay::analysis {
namespace {

using testing::config_of;

TEST(ModelConfigFile, TakesTheOutermostOfManySpellings) {
  const ModelConfig config = config_of(R"({"architectures": ["A"], "vision_config": {"num_experts": 2, "tie_word_embeddings": true},
      "text_config": {"moe_topk": [6, 6], "num_hidden_layers": 7, "tie_word_embeddings": false}, "ffn_config": {"moe_num_experts": 16}})");
  EXPECT_EQ(config.experts->value, 16u);
  EXPECT_EQ(config.experts->key, "ffn_config.moe_num_experts");
  EXPECT_EQ(config.top_k->value, 6u);
  EXPECT_EQ(config.layers->value, 7u);
  EXPECT_EQ(config.tie_word_embeddings, false);
  EXPECT_EQ(config.architectures, std::vector<std::string>{"A"});
  EXPECT_EQ(config_of(R"({"moe_num_experts": [64, 64]})").experts->value, 128u);
  EXPECT_EQ(config_of(R"({"model_type": "switch_transformers"})").top_k->value, 1u);
  EXPECT_FALSE(config_of(R"({"num_experts": null, "n_routed_experts": 0})").experts.has_value());
}

TEST(ModelConfigFile, IsAFindingWhenItIsBroken) {
  SourceSet set("set", "");
  set.add("config.json", std::make_shared<MemorySource>(std::vector<std::byte>(3, std::byte{'{'})));
  Findings findings;
  const auto config = read_model_config(set, Checkpoint(), findings);
  ASSERT_TRUE(config.has_value());
  EXPECT_TRUE(config->file.empty());
  EXPECT_TRUE(findings.has(Code::bad_metadata));
}

}  // namespace
}  // namespace assay::analysis
