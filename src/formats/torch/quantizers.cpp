// SPDX-License-Identifier: Apache-2.0
// TensorTable's part that reads quantizers:
//
//   (torch.per_tensor_affine, scale, zero point)
//   (torch.per_channel_affine, scales, zero points, axis)   two 1-D tensors, of floats both where the zero points are no integers;
//                                                           two lists in old files
#include <algorithm>

#include "base/arena.hpp"
#include "base/endian.hpp"
#include "base/text.hpp"
#include "formats/torch/tensor_table.hpp"

namespace assay::formats::torch {

namespace {

// A list of numbers in the pickle, where newer files have a tensor of them.
class ListedNumbers final : public Producer {
 public:
  ListedNumbers(std::shared_ptr<const Graph> graph, Node list) : graph_(std::move(graph)), list_(list) {}
  Result<ByteBlock> load(const ByteSource&) const override {
    const std::size_t n = graph_->length(list_);
    auto bytes = std::make_unique<std::byte[]>(n * sizeof(double));
    for (std::size_t i = 0; i < n; ++i) {
      const Node item = graph_->item(list_, i);
      store_le(bytes.get() + i * sizeof(double),
               graph_->kind(item) == Kind::real ? graph_->real(item) : static_cast<double>(graph_->integer(item)));
    }
    return ByteBlock(std::move(bytes), n * sizeof(double), graph_->offset(list_));
  }

 private:
  std::shared_ptr<const Graph> graph_;
  Node list_;
};

}  // namespace

void TensorTable::read_quantizer(std::uint32_t index, Node node, Node quantizer) {
  Tensor& tensor = checkpoint_.tensors[index];
  if (!tensor.readable) return;
  const auto refuse_as = [&](std::string what) { refuse(tensor, node, {Code::malformed_tensor, std::move(what)}); };
  const std::string_view scheme = global_name(graph_, item_at(graph_, quantizer, 0)).name;
  const Node scale = item_at(graph_, quantizer, 1), zero_point = item_at(graph_, quantizer, 2), axis = item_at(graph_, quantizer, 3);
  if (scheme.empty() || scale == kNoNode || zero_point == kNoNode) return refuse_as("its quantizer is not (scheme, scale, zero point)");
  Quantizer made;
  if (scheme.starts_with("per_tensor")) {
    const auto whole = integer_of(graph_, scale), zero = integer_of(graph_, zero_point);
    if ((!whole && kind_of(graph_, scale) != Kind::real) || !zero) return refuse_as("its scale or zero point is not a number");
    made.scale = whole ? static_cast<double>(*whole) : graph_.real(scale);
    made.zero_point = *zero;
  } else if (scheme.starts_with("per_channel")) {
    const auto dimension = integer_of(graph_, axis);
    if (!dimension || *dimension < 0 || static_cast<std::uint64_t>(*dimension) >= tensor.shape.size())
      return refuse_as(concat("its quantizer's axis is not among ", tensor.shape.size(), " dimensions"));
    made.scheme = Quantizer::Scheme::per_channel_affine;
    made.axis = static_cast<std::uint32_t>(*dimension);
    pending_.push_back({index, node, scale, zero_point});
  } else {
    return refuse_as(concat("quantisation scheme ", quote(scheme, 80), " is not known"));
  }
  tensor.quantizer = static_cast<std::uint32_t>(checkpoint_.quantizers.size());
  checkpoint_.quantizers.push_back(made);
}

// The tensor that this node was listed as, or one made of a list of numbers; without storage where there is neither.
Tensor TensorTable::channel_numbers(Node node) {
  const auto& listed = checkpoint_.node_tensors;
  const auto found = std::ranges::lower_bound(listed, std::pair{node, std::uint32_t{0}});
  if (found != listed.end() && found->first == node) return checkpoint_.tensors[found->second];
  const auto [known, fresh] = listed_numbers_.try_emplace(node);  // one list may serve many tensors
  Tensor& numbers = known->second;
  const Kind kind = kind_of(graph_, node);
  if (!fresh || (kind != Kind::list && kind != Kind::tuple)) return numbers;
  for (std::size_t i = 0; i < graph_.length(node); ++i)
    if (const Kind item = kind_of(graph_, graph_.item(node, i)); item != Kind::real && item != Kind::integer) return numbers;
  const std::uint64_t n = graph_.length(node);
  Storage storage;
  storage.file = pickle_.file;
  storage.nbytes = n * sizeof(double);
  storage.producer = std::make_shared<ListedNumbers>(pickle_.graph, node);
  numbers.dtype = DType::f64;
  numbers.numel = n;
  numbers.shape = checkpoint_.arena().numbers({&n, 1});
  numbers.storage = static_cast<std::uint32_t>(checkpoint_.storages.size());
  checkpoint_.storages.push_back(std::move(storage));
  return numbers;
}

std::optional<Error> TensorTable::resolve(const PendingQuantizer& pending) {
  const Tensor& tensor = checkpoint_.tensors[pending.tensor];
  Quantizer& quantizer = checkpoint_.quantizers[tensor.quantizer];
  quantizer.scales = channel_numbers(pending.scales);
  quantizer.zero_points = channel_numbers(pending.zero_points);
  const std::uint64_t channels = tensor.shape[quantizer.axis];
  for (const Tensor* const numbers : {&quantizer.scales, &quantizer.zero_points}) {
    const std::string_view what = numbers == &quantizer.scales ? "scales" : "zero points";
    if (numbers->storage == kNone || !numbers->readable || numbers->quantizer != kNone)
      return Error(Code::malformed_tensor, concat("its ", what, " are not readable"));
    if (numbers->numel != channels || numbers->numel > checkpoint_.storages[numbers->storage].nbytes)
      return Error(Code::malformed_tensor, concat("it has ", channels, " channels and ", numbers->numel, " ", what));
  }
  // Eager torch writes one name for both; zero points that are no integers tell them apart.
  if (dtype_info(quantizer.zero_points.dtype).kind == DTypeKind::real && !quantizer.zero_points.name.empty())
    quantizer.scheme = Quantizer::Scheme::per_channel_affine_float_qparams;
  return std::nullopt;
}

void TensorTable::resolve_quantizers() {
  for (const PendingQuantizer& pending : pending_) {
    const auto wrong = resolve(pending);
    if (!wrong) continue;
    Tensor& tensor = checkpoint_.tensors[pending.tensor];
    tensor.quantizer = kNone;
    refuse(tensor, pending.node, Finding::from(*wrong));
  }
  pending_.clear();
}

}  // namespace assay::formats::torch
