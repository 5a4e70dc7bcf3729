// SPDX-License-Identifier: Apache-2.0
// A model's configuration from text. Header-only.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string_view>
#include <vector>

#include "analysis/model_config.hpp"

namespace assay::testing {

inline analysis::ModelConfig config_of(std::string_view json) {
  SourceSet set("set", "model.safetensors");
  const auto bytes = std::as_bytes(std::span(json));
  set.add("config.json", std::make_shared<MemorySource>(std::vector<std::byte>(bytes.begin(), bytes.end())));
  Findings findings;
  auto config = analysis::read_model_config(set, Checkpoint(), findings);
  EXPECT_TRUE(config.has_value());
  EXPECT_TRUE(findings.empty());
  return config ? *std::move(config) : analysis::ModelConfig{};
}

}  // namespace assay::testing
