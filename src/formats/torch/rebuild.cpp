// SPDX-License-Identifier: Apache-2.0
#include "formats/torch/rebuild.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "formats/torch/changes.hpp"

namespace assay::formats::torch {

namespace {

constexpr std::size_t kModuleKeys = 64;
constexpr unsigned kNestedCalls = 8;  // rebuild_from_type_v2 within rebuild_from_type_v2; torch itself makes two

// A module ending in '*' stands for it and everything below it.
struct Row {
  std::string_view module, name;
  Handler handler;
  bool makes_tensor = false;  // or an array, or a storage
};
const Row* find_row(const GlobalName& name);

void refer(Rebuilt& out, Node inner) {
  out.form = Form::alias;
  out.inner = inner;
}

void read_tensor_metadata(const Call& call, Node metadata, Rebuilt& out) {
  const Graph& graph = call.graph;
  // jit wraps the dict in restore_type_tag(dict, "Dict[str, Any]").
  if (kind_of(graph, metadata) == Kind::call) metadata = item_at(graph, graph.args(metadata), 0);
  if (kind_of(graph, metadata) != Kind::dict) return;
  out.cost += 2 * graph.pair_count(metadata);
  const Node conj = graph.get(metadata, "conj"), neg = graph.get(metadata, "neg");
  out.tensor.conj = conj != kNoNode && truth_of(graph, conj);
  out.tensor.neg = neg != kNoNode && truth_of(graph, neg);
}

// (storage, offset, size, stride[, requires_grad, hooks[, metadata]])
void rebuild_tensor(const Call& call, Rebuilt& out) {
  out.form = Form::tensor;
  out.tensor.storage = call.arg(0);
  out.tensor.offset = call.arg(1);
  out.tensor.size = call.arg(2);
  out.tensor.stride = call.arg(3);
  read_tensor_metadata(call, call.arg(6), out);
}

// (storage, offset, size, stride, requires_grad, hooks, dtype[, metadata])
void rebuild_tensor_v3(const Call& call, Rebuilt& out) {
  rebuild_tensor(call, out);
  out.tensor.dtype = call.arg(6);
  read_tensor_metadata(call, call.arg(7), out);
}

// (tensor, requires_grad, hooks)
void rebuild_parameter(const Call& call, Rebuilt& out) {
  refer(out, call.arg(0));
  out.parameter = true;
}

// A state that is a dict, or (dict or None, slots); anything else a class with __setstate__ wanted.
void add_attributes(const Graph& graph, Node state, Rebuilt& out);  // as a module's, where it is one

void add_state(const Graph& graph, Node state, Rebuilt& out) {
  const Kind kind = kind_of(graph, state);
  if (kind == Kind::dict) {
    out.groups.push_back({GroupKind::attributes, state});
  } else if (kind == Kind::tuple && graph.length(state) == 2 && kind_of(graph, graph.item(state, 1)) == Kind::dict) {
    add_state(graph, kind_of(graph, graph.item(state, 0)) == Kind::dict ? graph.item(state, 0) : kNoNode, out);
    out.groups.push_back({GroupKind::attributes, graph.item(state, 1)});
  } else if (is_sequence(kind)) {
    out.groups.push_back({GroupKind::items, state});
  } else if (kind == Kind::call) {
    out.parts.push_back({"state", state});
  }
}

// (tensor, requires_grad, hooks, state)
void rebuild_parameter_with_state(const Call& call, Rebuilt& out) {
  rebuild_parameter(call, out);
  add_state(call.graph, call.arg(3), out);
  exchange_data(call.graph, call.arg(3), out);
}

// (storage, offset, size, stride, quantizer, requires_grad, hooks); quantizer = (qscheme, scale, zero point) or (qscheme, scales, zero
// points, axis)
void rebuild_quantized(const Call& call, Rebuilt& out) {
  rebuild_tensor(call, out);
  const Graph& graph = call.graph;
  const Node quantizer = out.tensor.quantizer = call.arg(4);
  const bool per_channel = item_at(graph, quantizer, 3) != kNoNode;
  out.parts.push_back({"qscheme", item_at(graph, quantizer, 0)});
  out.parts.push_back({per_channel ? "scales" : "scale", item_at(graph, quantizer, 1)});
  out.parts.push_back({per_channel ? "zero_points" : "zero_point", item_at(graph, quantizer, 2)});
  if (per_channel) out.parts.push_back({"axis", item_at(graph, quantizer, 3)});
}

// Those with an empty label are passed over.
void add_parts(const Call& call, Node tuple, std::initializer_list<std::string_view> labels, Rebuilt& out) {
  std::size_t i = 0;
  for (const std::string_view label : labels) {
    const Node item = item_at(call.graph, tuple, i++);
    if (item != kNoNode && !label.empty()) out.parts.push_back({label, item});
  }
}

// (layout, (indices, values, size[, is_coalesced])), compressed: (layout, (compressed, plain, values, size));
// jit: (1, size, requires_grad, indices, values, hooks) or (2, size, requires_grad, crow, col, values, hooks)
void rebuild_sparse(const Call& call, Rebuilt& out) {
  out.form = Form::container;
  const Graph& graph = call.graph;
  if (integer_of(graph, call.arg(0)) == 1) {
    out.is_object = true;
    out.text = "torch.sparse_coo";
    return add_parts(call, call.args, {"", "size", "", "indices", "values"}, out);
  }
  if (integer_of(graph, call.arg(0))) {
    out.is_object = true;
    out.text = "torch.sparse_csr";
    return add_parts(call, call.args, {"", "size", "", "crow_indices", "col_indices", "values"}, out);
  }
  const std::string layout = pickle::describe(graph, call.arg(0));
  out.parts.push_back({"layout", call.arg(0)});
  const Node data = call.arg(1);
  // 4 items are (indices, values, size, is_coalesced) or a compressed form; the compressed ones end with a size.
  if (layout.find("sparse_coo") != std::string::npos) add_parts(call, data, {"indices", "values", "size", "is_coalesced"}, out);
  else if (layout.find("sparse_csc") != std::string::npos || layout.find("sparse_bsc") != std::string::npos)
    add_parts(call, data, {"ccol_indices", "row_indices", "values", "size"}, out);
  else add_parts(call, data, {"crow_indices", "col_indices", "values", "size"}, out);
}

// (buffer, sizes, strides, storage offsets)
void rebuild_nested(const Call& call, Rebuilt& out) {
  out.form = Form::container;
  out.is_object = true;
  out.text = "nested tensor";
  add_parts(call, call.args, {"values", "sizes", "strides", "storage_offsets"}, out);
}

// ({values, offsets, lengths, …},); what else is there are caches
void rebuild_jagged(const Call& call, Rebuilt& out) {
  out.form = Form::container;
  if (kind_of(call.graph, call.arg(0)) == Kind::dict) out.cost += 3 * call.graph.pair_count(call.arg(0));
  for (const std::string_view label : {"values", "offsets", "lengths"}) {
    const Node part = kind_of(call.graph, call.arg(0)) == Kind::dict ? call.graph.get(call.arg(0), label) : kNoNode;
    if (kind_of(call.graph, part) != Kind::none) out.parts.push_back({label, part});
  }
}

// (dict of the module, …): a traced module, with its code as text
void rebuild_traced_module(const Call& call, Rebuilt& out) {
  out.form = Form::container;
  add_attributes(call.graph, call.arg(0), out);
}

// (dtype, size, stride, requires_grad)
void rebuild_meta(const Call& call, Rebuilt& out) {
  out.form = Form::tensor;
  out.tensor.meta = true;
  out.tensor.dtype = call.arg(0);
  out.tensor.size = call.arg(1);
  out.tensor.stride = call.arg(2);
}

// (array or tensor, dtype, device, requires_grad)
void rebuild_on_device(const Call& call, Rebuilt& out) { refer(out, call.arg(0)); }

// (class, dtype, size, stride, offset, layout, device, requires_grad): no data; the real tensors are in the state around it
void rebuild_wrapper_subclass(const Call& call, Rebuilt& out) {
  out.form = Form::container;
  out.is_object = true;
  out.text = qualified_name(call.graph, call.arg(0));
  add_parts(call, call.args, {"", "dtype", "size"}, out);
}

// (function, type, args, state)
void rebuild_from_type(const Call& call, Rebuilt& out) {
  const Graph& graph = call.graph;
  const Row* row = call.depth < kNestedCalls ? find_row(global_name(graph, call.arg(0))) : nullptr;
  const std::string type = qualified_name(graph, call.arg(1));
  if (row != nullptr) {
    row->handler({graph, call.node, call.arg(2), call.depth + 1}, out);
  } else {
    out.form = Form::container;
    out.groups.push_back({GroupKind::items, call.arg(2)});
  }
  if (type.ends_with("Parameter")) out.parameter = true;
  if (!type.ends_with(".Tensor") && !type.ends_with(".Parameter")) {
    out.is_object = true;
    out.text = type;
  }
  if (row == nullptr || row->handler != rebuild_jagged) add_state(graph, call.arg(3), out);  // there the same tensors once more
  exchange_data(graph, call.arg(3), out);
}

// Parameter(tensor[, requires_grad]), Variable(tensor); before 0.4 the tensor could come by BUILD: (data, _, hooks, requires_grad,
// volatile)
void rebuild_variable(const Call& call, Rebuilt& out) {
  const Graph& graph = call.graph;
  Node data = call.arg(0);
  for (const Node state : graph.states(call.node)) {
    if (data == kNoNode && graph.length(state) == 5) data = item_at(graph, state, 0);
    if (kind_of(graph, state) == Kind::dict) add_state(graph, state, out);
  }
  if (data != kNoNode) refer(out, data);
}

void rebuild_old_parameter(const Call& call, Rebuilt& out) {
  rebuild_variable(call, out);
  out.parameter = true;
}

// FloatTensor() and BUILD (storage, offset, size, stride); sparse FloatTensor(indices, values, size)
void rebuild_tensor_class(const Call& call, Rebuilt& out) {
  if (length_of(call.graph, call.args) < 2) return;  // its states may say more
  out.form = Form::container;
  add_parts(call, call.args, {"indices", "values", "size"}, out);
}

void rebuild_uninitialized(const Call&, Rebuilt& out) {
  out.form = Form::value;
  out.is_object = true;
  out.text = "uninitialized";
}

// build_intlist(list), restore_type_tag(container, type): the container itself
void rebuild_tagged(const Call& call, Rebuilt& out) { refer(out, call.arg(0)); }

// (bytes of a whole legacy stream, whose object is one storage)
void rebuild_embedded(const Call&, Rebuilt& out) { out.form = Form::storage; }

// Generator(device) and BUILD (seed, offset, state)
void rebuild_generator(const Call& call, Rebuilt& out) {
  out.form = Form::container;
  for (const Node state : call.graph.states(call.node)) add_parts(call, state, {"seed", "offset", "state"}, out);
}

constexpr Row kRows[] = {
    {"torch*", "_rebuild_tensor_v2", rebuild_tensor, true},
    {"torch*", "_rebuild_tensor_v3", rebuild_tensor_v3, true},
    {"torch*", "_rebuild_parameter", rebuild_parameter, true},
    {"torch*", "_rebuild_tensor", rebuild_tensor, true},
    {"torch*", "_rebuild_parameter_with_state", rebuild_parameter_with_state, true},
    {"torch*", "_rebuild_qtensor", rebuild_quantized, true},
    {"torch*", "_rebuild_sparse_tensor", rebuild_sparse},
    {"torch*", "_rebuild_sparse_csr_tensor", rebuild_sparse},
    {"torch*", "_rebuild_nested_tensor", rebuild_nested},
    {"torch*", "_rebuild_njt", rebuild_jagged},
    {"torch.fx*", "reduce_graph_module", rebuild_traced_module},
    {"torch.fx*", "reduce_deploy_graph_module", rebuild_traced_module},
    {"torch*", "_rebuild_meta_tensor_no_storage", rebuild_meta, true},
    {"torch*", "_rebuild_device_tensor_from_numpy", rebuild_on_device, true},
    {"torch*", "_rebuild_xla_tensor", rebuild_on_device, true},
    {"torch*", "_rebuild_device_tensor_from_cpu_tensor", rebuild_on_device, true},
    {"torch*", "_rebuild_wrapper_subclass", rebuild_wrapper_subclass},
    {"torch*", "_rebuild_from_type_v2", rebuild_from_type, true},
    {"torch*", "_rebuild_from_type", rebuild_from_type, true},
    {"torch.nn.parameter", "Parameter", rebuild_old_parameter, true},
    {"torch.nn", "Parameter", rebuild_old_parameter, true},
    {"torch.nn.parameter", "Buffer", rebuild_variable, true},
    {"torch.autograd.variable", "Variable", rebuild_variable, true},
    {"torch.autograd", "Variable", rebuild_variable, true},
    {"torch.nn.parameter", "UninitializedParameter", rebuild_uninitialized},
    {"torch.nn.parameter", "UninitializedBuffer", rebuild_uninitialized},
    {"torch", "Size", rebuild_size},
    {"torch", "device", rebuild_device},
    {"torch.serialization", "_get_layout", rebuild_layout},
    {"torch.storage", "_load_from_bytes", rebuild_embedded, true},
    {"torch._C", "Generator", rebuild_generator},
    {"torch", "ScriptObject", rebuild_packed_object},
    {"torch.jit._pickle", "build_intlist", rebuild_tagged},
    {"torch.jit._pickle", "build_doublelist", rebuild_tagged},
    {"torch.jit._pickle", "build_boollist", rebuild_tagged},
    {"torch.jit._pickle", "build_tensorlist", rebuild_tagged},
    {"torch.jit._pickle", "restore_type_tag", rebuild_tagged},
    {"collections", "OrderedDict", rebuild_ordered_dict},
    {"collections", "defaultdict", rebuild_ordered_dict},
    {"collections", "Counter", rebuild_counter},
    {"collections", "deque", rebuild_collection},
    {"builtins", "dict", rebuild_counter},
    {"builtins", "set", rebuild_collection},
    {"builtins", "frozenset", rebuild_collection},
    {"builtins", "list", rebuild_collection},
    {"builtins", "tuple", rebuild_collection},
    {"builtins", "complex", rebuild_complex},
    {"builtins", "bytes", rebuild_bytes},
    {"builtins", "bytearray", rebuild_bytes},
    {"builtins", "getattr", rebuild_getattr},
    {"_codecs", "encode", rebuild_bytes},
    {"numpy*", "_reconstruct", rebuild_numpy_array, true},
    {"numpy*", "_frombuffer", rebuild_numpy_buffer, true},
    {"numpy*", "scalar", rebuild_numpy_scalar},
    {"joblib.numpy_pickle", "NumpyArrayWrapper", rebuild_joblib_array},
    {"sklearn.externals.joblib.numpy_pickle", "NumpyArrayWrapper", rebuild_joblib_array},
    {"numpy", "dtype", rebuild_numpy_dtype},
    {"pathlib*", "PosixPath", rebuild_path},
    {"pathlib*", "WindowsPath", rebuild_path},
    {"pathlib*", "PurePosixPath", rebuild_path},
    {"pathlib*", "PureWindowsPath", rebuild_path},
    {"pathlib*", "Path", rebuild_path},
    {"datetime", "datetime", rebuild_datetime},
    {"datetime", "date", rebuild_date},
};

bool module_matches(std::string_view pattern, std::string_view module) {
  if (!pattern.ends_with('*')) return pattern == module;
  pattern.remove_suffix(1);
  return module.starts_with(pattern) && (module.size() == pattern.size() || module[pattern.size()] == '.');
}

// The tensor classes of every element type: torch.FloatTensor, torch.cuda.sparse.HalfTensor, torch.Tensor.
constexpr Row kTensorClass{"torch*", "", rebuild_tensor_class, true};
bool is_tensor_class(const GlobalName& name) {
  constexpr std::string_view kModules[] = {"torch", "torch.cuda", "torch.sparse", "torch.cuda.sparse"};
  return name.name.ends_with("Tensor") && std::ranges::find(kModules, name.module) != std::end(kModules);
}

const Row* find_row(const GlobalName& name) {
  for (const Row& row : kRows)
    if (row.name == name.name && module_matches(row.module, name.module)) return &row;
  return is_tensor_class(name) ? &kTensorClass : nullptr;
}

// Imports of ordinary checkpoints that the table above does not hold: they name things and run nothing of the author's.
constexpr struct {
  std::string_view module, name;  // name "" means all of them
} kKnownGlobals[] = {
    {"torch.nn*", ""},
    {"torch.optim*", ""},
    {"torch.nested*", ""},
    {"torch._dynamo.decorators", "_DimRange"},
    {"torch.ao.nn*", ""},
    {"torch.distributed.remote_device", "_remote_device"},
    {"torch.distributed.tensor*", ""},
    {"torch.distributed._tensor*", ""},
    {"torch.distributed._shard*", ""},
    {"torch.distributed.device_mesh", "DeviceMesh"},
    {"torch.distributed._mesh_layout", ""},
    {"builtins", "object"},
    {"builtins", "int"},
    {"builtins", "float"},
    {"builtins", "str"},
    {"builtins", "bool"},
    {"builtins", "slice"},
    {"builtins", "range"},
    {"builtins", "long"},
    {"builtins", "unicode"},
    {"builtins", "xrange"},
    {"collections", ""},
    {"copyreg", "_reconstructor"},
    {"datetime", ""},
    {"decimal", "Decimal"},
    {"fractions", "Fraction"},
    {"uuid", "UUID"},
    {"argparse", "Namespace"},
    {"types", "SimpleNamespace"},
    {"pathlib*", ""},
    {"numpy", ""},
    {"numpy.dtypes", ""},
    {"numpy.random*", ""},
    {"ml_dtypes", ""},
    {"torch._utils", "torch"},
    {"torch.storage", ""},
    {"torch.jit._pickle", ""},
    {"torch._tensor", ""},
    {"__torch__*", ""},
};

bool is_torch_value(const GlobalName& name) {
  constexpr std::string_view kSchemes[] = {"per_tensor_affine",
                                           "per_tensor_symmetric",
                                           "per_channel_affine",
                                           "per_channel_symmetric",
                                           "per_channel_affine_float_qparams",
                                           "Tensor",
                                           "contiguous_format",
                                           "channels_last"};
  if (name.module != "torch" && name.module != "torch.cuda") return false;
  return name.name.ends_with("Storage") || dtype_from_torch(name.name) || std::ranges::find(kSchemes, name.name) != std::end(kSchemes);
}

// A whole module as torch.nn keeps it: parameters and buffers before what is below, named as state_dict() names them.
void add_module_groups(const Graph& graph, Node state, Rebuilt& out) {
  for (const std::string_view table : {"_parameters", "_buffers", "_modules"}) {
    Node entries = kNoNode;
    for (std::size_t i = 0; i < std::min<std::size_t>(graph.pair_count(state), kModuleKeys); ++i)
      if (graph.text(graph.key(state, i)) == table) entries = graph.value(state, i);
    if (entries == kNoNode) continue;
    const Kind kind = graph.kind(entries);
    if (kind == Kind::dict || (kind == Kind::call && graph.pair_count(entries) > 0)) out.groups.push_back({GroupKind::members, entries});
    else if (kind == Kind::call) out.groups.push_back({GroupKind::pair_items, item_at(graph, graph.args(entries), 0)});
  }
  out.groups.push_back({GroupKind::module_attributes, state});
}

// Module.__init__ sets these before anything else, so they are among the first keys; a hostile state may have millions.
bool is_module_state(const Graph& graph, Node state) {
  if (kind_of(graph, state) != Kind::dict) return false;
  bool parameters = false, modules = false;
  const std::size_t pairs = std::min<std::size_t>(graph.pair_count(state), kModuleKeys);
  for (std::size_t i = 0; i < pairs; ++i) {
    const std::string_view key = graph.text(graph.key(state, i));
    parameters |= key == "_parameters";
    modules |= key == "_modules";
  }
  return parameters && modules;
}

// "('true')": a tuple of one without the comma that would make it Python.
std::string arguments_text(const Graph& graph, Node args) {
  std::string text = pickle::describe(graph, args);
  if (text.ends_with(",)")) text.erase(text.size() - 2, 1);
  return text;
}

bool all_plain(const Graph& graph, Node sequence) {
  for (std::size_t i = 0; i < length_of(graph, sequence); ++i)
    if (!is_plain(kind_of(graph, graph.item(sequence, i)))) return false;
  return true;
}

void add_attributes(const Graph& graph, Node state, Rebuilt& out) {
  if (is_module_state(graph, state)) add_module_groups(graph, state, out);
  else add_state(graph, state, out);
}

}  // namespace

void Rebuilt::clear() {
  form = Form::opaque;
  tensor = {};
  array = {};
  scalar = {};
  inner = kNoNode;
  cost = 0;
  parameter = is_object = false;
  text.clear();
  groups.clear();
  parts.clear();
}

void add_object_groups(const Graph& graph, Node object, Rebuilt& out) {
  for (const Node state : graph.states(object))
    if (!add_quantised_convolution(graph, object, state, out)) add_attributes(graph, state, out);
  if (graph.pair_count(object) > 0) out.groups.push_back({GroupKind::pairs, object});
  if (graph.length(object) > 0) out.groups.push_back({GroupKind::items, object});
}

void rebuild(const Graph& graph, Node call, Rebuilt& out) {
  out.clear();
  const Node args = graph.args(call);
  out.cost = graph.states(call).size();
  if (const Row* row = find_row(global_name(graph, graph.callable(call)))) {
    row->handler({graph, call, args}, out);
    if (row->makes_tensor) set_from_states(graph, call, out);
  }
  out.cost += out.text.size() + out.groups.size() + out.parts.size();
  if (out.form != Form::opaque) return;

  out.is_object = true;
  out.cost += length_of(graph, args);
  const bool plain = is_sequence(kind_of(graph, args)) && all_plain(graph, args);
  out.text = qualified_name(graph, graph.callable(call));
  if (plain && graph.length(args) > 0) out.text += arguments_text(graph, args);
  add_object_groups(graph, call, out);
  out.cost += out.groups.size();
  if (!plain && is_sequence(kind_of(graph, args))) out.groups.push_back({GroupKind::items, args});
  if (graph.kwargs(call) != kNoNode) out.groups.push_back({GroupKind::pairs, graph.kwargs(call)});
}

bool is_tensor(const Graph& graph, Node call, Rebuilt& scratch) {
  scratch.clear();
  for (unsigned i = 0; i < kNestedCalls && kind_of(graph, call) == Kind::call; ++i) {
    if (find_row(global_name(graph, graph.callable(call))) == nullptr) break;
    const std::uint64_t cost = scratch.cost;
    rebuild(graph, call, scratch);
    scratch.cost += cost;
    if (scratch.form != Form::alias) return scratch.form == Form::tensor;
    call = scratch.inner;
  }
  return false;
}

bool makes_tensor(const Graph& graph, Node call) {
  const Row* const row = find_row(global_name(graph, graph.callable(call)));
  return row != nullptr && row->makes_tensor;
}

bool is_known_global(const GlobalName& name) {
  if (find_row(name) != nullptr || is_torch_value(name)) return true;
  return std::ranges::any_of(kKnownGlobals, [&](const auto& known) {
    return module_matches(known.module, name.module) && (known.name.empty() || known.name == name.name);
  });
}

}  // namespace assay::formats::torch
