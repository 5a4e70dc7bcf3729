// SPDX-License-Identifier: Apache-2.0
// What the config.json beside a checkpoint says about it, in the many spellings there are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "assay/checkpoint.hpp"
#include "assay/source.hpp"

namespace assay::analysis {

struct ModelConfig {
  /// A number and where it was said: "text_config.num_experts".
  struct Count {
    std::uint64_t value = 0;
    std::string key;
  };
  std::string file;  ///< "config.json", "params.json", "metadata" for the checkpoint's own; "" where nothing was found
  std::string model_type;
  std::vector<std::string> architectures;
  std::optional<Count> experts;       ///< per layer; of a list per layer the largest, of ERNIE's list per modality the sum
  std::optional<Count> zero_experts;  ///< that the router knows and nothing is stored for
  std::optional<Count> top_k;
  std::optional<Count> layers;
  std::optional<Count> hidden_size;
  std::optional<Count> vocab_size;
  std::optional<bool> tie_word_embeddings;
};

/// Reads config.json or params.json of the folder the checkpoint's first file is in; where there is none, the checkpoint's own metadata
/// ("llama.expert_count"). A file that cannot be understood is a finding, not a failure; only `need-range` fails. Cost: one small file.
Result<ModelConfig> read_model_config(const FileSet& files, const Checkpoint& checkpoint, Findings& findings, const Limits& limits = {});

}  // namespace assay::analysis
