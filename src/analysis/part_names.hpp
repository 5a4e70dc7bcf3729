// SPDX-License-Identifier: Apache-2.0
// Which part of a model a tensor is, in one word for all families: "attn.q" is q_proj, wq, query and attn_q.
#pragma once

#include <span>
#include <string_view>

#include "assay/tensor.hpp"

namespace assay::analysis {

/// "attn.q", "attn.k", "attn.v", "attn.kv", "attn.qkv", "attn.o", "mlp.gate", "mlp.up", "mlp.down", "mlp.gate_up", "router", "embed",
/// "head", "norm";
/// "" for what has no such name. A bias is of the part it is added to.
std::string_view part_of(const Tensor& tensor);
/// Its kind: "weight", "embedding", "norm", "bias", "adapter", "index", "counter", "scale", "mask", "state", "other".
std::string_view kind_of(const Tensor& tensor);
/// True where the word is the part ("attn.q"), what stands before or behind its dot ("attn", "q"), the kind ("norm"), or "expert" for
/// tensors of experts.
bool has_role(const Tensor& tensor, std::string_view word);
/// Every word that has_role may be true for.
std::span<const std::string_view> role_words();

}  // namespace assay::analysis
