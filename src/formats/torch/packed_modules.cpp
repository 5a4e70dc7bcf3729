// SPDX-License-Identifier: Apache-2.0
// Quantised modules that were pickled whole keep their weights in tuples. Their parts get the names that state_dict() gives them.
//
//   convolution     torch.ao.nn.quantized…Conv2d and BUILD (in_channels, …, padding_mode, weight, bias, scale, zero_point, training)
//   packed weights  torch.ScriptObject() and BUILD (packed, class): (weight, bias) of a linear layer, (1, [weight], […], […]) of an
//   embedding
#include "formats/torch/rebuild.hpp"

namespace assay::formats::torch {

namespace {

constexpr std::string_view kConvolution[] = {"in_channels", "out_channels", "kernel_size",    "stride",     "padding",
                                             "dilation",    "transposed",   "output_padding", "groups",     "padding_mode",
                                             "weight",      "bias",         "scale",          "zero_point", "training"};

}  // namespace

bool add_quantised_convolution(const Graph& graph, Node module, Node state, Rebuilt& out) {
  const GlobalName name = global_name(graph, graph.callable(module));
  // torch.ao.nn.quantized.modules.conv, torch.nn.quantized…, torch.ao.nn.intrinsic.quantized…: Conv1d, ConvReLU2d, ConvTranspose3d
  if (!name.module.starts_with("torch.") || name.module.find(".quantized.") == std::string_view::npos || !name.name.starts_with("Conv"))
    return false;
  if (kind_of(graph, state) != Kind::tuple || graph.length(state) != std::size(kConvolution)) return false;
  for (std::size_t i = 0; i < std::size(kConvolution); ++i) out.parts.push_back({kConvolution[i], graph.item(state, i)});
  return true;
}

void rebuild_packed_object(const Call& call, Rebuilt& out) {
  const Graph& graph = call.graph;
  if (graph.states(call.node).size() != 1) return;
  const Node state = graph.states(call.node)[0];
  const Node packed = item_at(graph, state, 0), type = item_at(graph, state, 1);
  if (kind_of(graph, packed) != Kind::tuple) return;
  const Node weights = item_at(graph, packed, 1);
  if (integer_of(graph, item_at(graph, packed, 0)) && kind_of(graph, weights) == Kind::list && graph.length(weights) == 1) {
    out.form = Form::alias;
    out.inner = graph.item(weights, 0);
    return;
  }
  out.form = Form::container;
  out.is_object = true;
  out.text = kind_of(graph, type) == Kind::text ? std::string(graph.text(type)) : qualified_name(graph, graph.callable(call.node));
  out.groups.push_back({GroupKind::items, packed});
}

}  // namespace assay::formats::torch
