// SPDX-License-Identifier: Apache-2.0
#include "analysis/part_names.hpp"

#include <algorithm>
#include <iterator>

#include "analysis/doctor/roles.hpp"
#include "analysis/moe_names.hpp"
#include "analysis/select.hpp"

namespace assay::analysis {
namespace {

enum class Where : std::uint8_t { anywhere, attention, elsewhere };

struct Row {
  std::string_view component;
  Where where;
  std::string_view part;
};

// By a dotted component of the name, the last one that has a row.
constexpr Row kRows[] = {
    {"q_proj", Where::anywhere, "attn.q"},
    {"wq", Where::anywhere, "attn.q"},
    {"query", Where::anywhere, "attn.q"},
    {"to_q", Where::anywhere, "attn.q"},
    {"q_lin", Where::anywhere, "attn.q"},
    {"attn_q", Where::anywhere, "attn.q"},
    {"q_a_proj", Where::anywhere, "attn.q"},
    {"q_b_proj", Where::anywhere, "attn.q"},
    {"q", Where::attention, "attn.q"},
    {"k_proj", Where::anywhere, "attn.k"},
    {"wk", Where::anywhere, "attn.k"},
    {"key", Where::anywhere, "attn.k"},
    {"to_k", Where::anywhere, "attn.k"},
    {"k_lin", Where::anywhere, "attn.k"},
    {"attn_k", Where::anywhere, "attn.k"},
    {"k", Where::attention, "attn.k"},
    {"v_proj", Where::anywhere, "attn.v"},
    {"wv", Where::anywhere, "attn.v"},
    {"value", Where::anywhere, "attn.v"},
    {"to_v", Where::anywhere, "attn.v"},
    {"v_lin", Where::anywhere, "attn.v"},
    {"attn_v", Where::anywhere, "attn.v"},
    {"v", Where::attention, "attn.v"},
    {"kv_a_proj_with_mqa", Where::anywhere, "attn.kv"},
    {"kv_b_proj", Where::anywhere, "attn.kv"},
    {"to_kv", Where::anywhere, "attn.kv"},
    {"qkv_proj", Where::anywhere, "attn.qkv"},
    {"qkv", Where::anywhere, "attn.qkv"},
    {"Wqkv", Where::anywhere, "attn.qkv"},
    {"c_attn", Where::anywhere, "attn.qkv"},
    {"query_key_value", Where::anywhere, "attn.qkv"},
    {"linear_qkv", Where::anywhere, "attn.qkv"},
    {"attn_qkv", Where::anywhere, "attn.qkv"},
    {"in_proj_weight", Where::attention, "attn.qkv"},
    {"in_proj_bias", Where::attention, "attn.qkv"},
    {"o_proj", Where::anywhere, "attn.o"},
    {"to_out", Where::anywhere, "attn.o"},
    {"out_lin", Where::anywhere, "attn.o"},
    {"attn_output", Where::anywhere, "attn.o"},
    {"linear_proj", Where::anywhere, "attn.o"},
    {"wo", Where::attention, "attn.o"},
    {"o", Where::attention, "attn.o"},
    {"out_proj", Where::attention, "attn.o"},
    {"c_proj", Where::attention, "attn.o"},
    {"dense", Where::attention, "attn.o"},
    {"proj", Where::attention, "attn.o"},
    {"gate_proj", Where::anywhere, "mlp.gate"},
    {"ffn_gate", Where::anywhere, "mlp.gate"},
    {"ffn_gate_exps", Where::anywhere, "mlp.gate"},
    {"w1", Where::elsewhere, "mlp.gate"},
    {"wi_0", Where::elsewhere, "mlp.gate"},
    {"up_proj", Where::anywhere, "mlp.up"},
    {"ffn_up", Where::anywhere, "mlp.up"},
    {"ffn_up_exps", Where::anywhere, "mlp.up"},
    {"w3", Where::elsewhere, "mlp.up"},
    {"wi", Where::elsewhere, "mlp.up"},
    {"wi_1", Where::elsewhere, "mlp.up"},
    {"fc1", Where::elsewhere, "mlp.up"},
    {"c_fc", Where::elsewhere, "mlp.up"},
    {"lin1", Where::elsewhere, "mlp.up"},
    {"linear_fc1", Where::elsewhere, "mlp.up"},
    {"intermediate", Where::elsewhere, "mlp.up"},
    {"dense_h_to_4h", Where::elsewhere, "mlp.up"},
    {"down_proj", Where::anywhere, "mlp.down"},
    {"ffn_down", Where::anywhere, "mlp.down"},
    {"ffn_down_exps", Where::anywhere, "mlp.down"},
    {"w2", Where::elsewhere, "mlp.down"},
    {"wo", Where::elsewhere, "mlp.down"},
    {"fc2", Where::elsewhere, "mlp.down"},
    {"c_proj", Where::elsewhere, "mlp.down"},
    {"lin2", Where::elsewhere, "mlp.down"},
    {"linear_fc2", Where::elsewhere, "mlp.down"},
    {"dense_4h_to_h", Where::elsewhere, "mlp.down"},
    {"gate_up_proj", Where::anywhere, "mlp.gate_up"},
    {"w13", Where::elsewhere, "mlp.gate_up"},
    {"lm_head", Where::anywhere, "head"},
    {"embed_out", Where::anywhere, "head"},
};

// In the order of TensorRole.
constexpr std::string_view kKinds[] = {"weight",  "embedding", "norm", "bias",  "adapter", "index",
                                       "counter", "scale",     "mask", "state", "other"};

constexpr std::string_view kExpert = "expert";
constexpr std::string_view kWords[] = {"attn",     "attn.q",      "attn.k", "attn.v", "attn.kv", "attn.qkv",  "attn.o",   "q",
                                       "k",        "v",           "kv",     "qkv",    "o",       "mlp",       "mlp.gate", "mlp.up",
                                       "mlp.down", "mlp.gate_up", "gate",   "up",     "down",    "gate_up",   "router",   "embed",
                                       "head",     "norm",        "expert", "weight", "bias",    "embedding", "adapter",  "index",
                                       "counter",  "scale",       "mask",   "state",  "other"};

bool in_attention(std::string_view name) {
  return name.find("attn") != name.npos || name.find("attention") != name.npos || name.find("Attention") != name.npos;
}

}  // namespace

std::string_view kind_of(const Tensor& tensor) { return kKinds[static_cast<std::size_t>(role_of(tensor))]; }

std::string_view part_of(const Tensor& tensor) {
  const std::string_view name = tensor.name;
  const bool attention = in_attention(name);
  for (std::size_t end = name.size();;) {
    const std::size_t dot = name.substr(0, end).rfind('.');
    const std::size_t begin = dot == std::string_view::npos ? 0 : dot + 1;
    const std::string_view component = name.substr(begin, end - begin);
    const auto* found = std::ranges::find_if(kRows, [&](const Row& row) {
      return row.component == component && (row.where == Where::anywhere || (row.where == Where::attention) == attention);
    });
    if (found != std::end(kRows)) return found->part;
    if (dot == std::string_view::npos) break;
    end = dot;
  }
  const TensorRole role = role_of(tensor);
  if (role == TensorRole::norm) return "norm";
  if (role == TensorRole::embedding) return "embed";
  if (name == "output.weight") return "head";
  return tensor.shape.size() == 2 && parse_router_name(name) ? std::string_view("router") : std::string_view();
}

bool has_role(const Tensor& tensor, std::string_view word) {
  if (word == kind_of(tensor)) return true;
  if (word == kExpert) return expert_of(tensor.name).has_value() || parse_expert_name(tensor.name, tensor.shape.size()).has_value();
  const std::string_view part = part_of(tensor);
  if (part.empty() || word.empty()) return false;
  const std::size_t dot = part.find('.');
  return word == part || (dot != std::string_view::npos && (word == part.substr(0, dot) || word == part.substr(dot + 1)));
}

std::span<const std::string_view> role_words() { return kWords; }

}  // namespace assay::analysis
