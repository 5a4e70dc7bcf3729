// SPDX-License-Identifier: Apache-2.0
#include "analysis/doctor/roles.hpp"

#include <algorithm>

namespace assay::analysis {
namespace {

enum class In : std::uint8_t {
  front,      // the name begins so
  name,       // somewhere in the name
  last,       // the last component is this
  last_part,  // somewhere in the last component
};

struct Row {
  In in;
  std::string_view text;
  TensorRole role;
};

// The first row that fits decides.
constexpr Row kRows[] = {
    {In::front, "optimizer", TensorRole::state},
    {In::front, "optim.", TensorRole::state},
    {In::name, "exp_avg", TensorRole::state},
    {In::name, "momentum_buffer", TensorRole::state},
    {In::last, "running_mean", TensorRole::state},
    {In::last, "running_var", TensorRole::state},
    {In::last_part, "rng_state", TensorRole::state},
    {In::name, "lora_", TensorRole::adapter},
    {In::name, ".lora.", TensorRole::adapter},
    {In::name, "_lora.", TensorRole::adapter},
    {In::last_part, "hada_w", TensorRole::adapter},
    {In::last_part, "lokr_w", TensorRole::adapter},
    {In::last, "position_ids", TensorRole::index},
    {In::last, "token_type_ids", TensorRole::index},
    {In::last, "relative_position_index", TensorRole::index},
    {In::last, "num_batches_tracked", TensorRole::counter},
    {In::last_part, "mask", TensorRole::mask},
    {In::last_part, "scale", TensorRole::scale},
    {In::last_part, "zero", TensorRole::scale},
    {In::last_part, "absmax", TensorRole::scale},
    {In::last, "g_idx", TensorRole::scale},
    {In::last, "SCB", TensorRole::scale},
    {In::last_part, "bias", TensorRole::bias},
    {In::last, "beta", TensorRole::bias},
    {In::name, "norm", TensorRole::norm},
    {In::name, "Norm", TensorRole::norm},
    {In::name, "ln_", TensorRole::norm},
    {In::name, ".ln", TensorRole::norm},
    {In::name, ".bn", TensorRole::norm},
    {In::last, "gamma", TensorRole::norm},
    {In::name, "embed", TensorRole::embedding},
    {In::name, "wte.", TensorRole::embedding},
    {In::name, "wpe.", TensorRole::embedding},
    {In::name, "token_embd", TensorRole::embedding},
    {In::name, "lm_head", TensorRole::embedding},
};

}  // namespace

TensorRole role_of(const Tensor& tensor) {
  const std::string_view name = tensor.name, last = name.substr(name.rfind('.') + 1);
  for (const Row& row : kRows) {
    const bool fits = row.in == In::front  ? name.starts_with(row.text)
                      : row.in == In::name ? name.find(row.text) != name.npos
                      : row.in == In::last ? last == row.text
                                           : last.find(row.text) != last.npos;
    // A projection within a block called norm, or a causal mask called bias, is neither.
    if (!fits || (row.role == TensorRole::norm && tensor.shape.size() >= 2)) continue;
    if (row.role == TensorRole::bias && tensor.shape.size() >= 4) return TensorRole::mask;
    return row.role;
  }
  return tensor.shape.size() >= 2 ? TensorRole::weight : TensorRole::other;
}

std::string_view layer_module(std::string_view name) {
  for (std::size_t at = 0; at <= name.size();) {
    const std::size_t dot = std::min(name.find('.', at), name.size());
    if (is_number(name.substr(at, dot - at))) return name.substr(0, dot);
    at = dot + 1;
  }
  return {};
}

}  // namespace assay::analysis
