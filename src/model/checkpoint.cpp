// SPDX-License-Identifier: Apache-2.0
#include "assay/checkpoint.hpp"

#include "base/arena.hpp"
#include "base/arith.hpp"
#include "base/text.hpp"

namespace assay {

std::uint64_t Tensor::nbytes() const {
  // numel * bits may overflow where the elements themselves would fit no file; such a tensor is refused by its format.
  const auto bits = checked_mul(numel, dtype_bits(dtype));
  return bits ? bits_to_bytes(*bits) : std::numeric_limits<std::uint64_t>::max();
}

bool Tensor::contiguous() const {
  if (stride.empty() || numel == 0) return true;
  std::uint64_t expected = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    // The stride of a dimension of one element moves nowhere.
    if (shape[i] != 1 && stride[i] != expected) return false;
    expected *= shape[i];
  }
  return true;
}

std::uint64_t Tensor::stride_of(std::size_t dimension) const {
  if (!stride.empty()) return stride[dimension];
  std::uint64_t product = 1;
  for (std::size_t i = shape.size() - 1; i > dimension; --i) product *= shape[i];
  return product;
}

std::string_view quantizer_scheme_name(Quantizer::Scheme scheme) {
  constexpr std::string_view kNames[] = {"per_tensor_affine", "per_channel_affine", "per_channel_affine_float_qparams"};
  return kNames[static_cast<std::size_t>(scheme)];
}

Checkpoint::Checkpoint() : arena_(std::make_unique<Arena>()) {}
Checkpoint::~Checkpoint() = default;
Checkpoint::Checkpoint(Checkpoint&&) noexcept = default;
Checkpoint& Checkpoint::operator=(Checkpoint&&) noexcept = default;

const Tensor* Checkpoint::find(std::string_view name) const {
  for (const Tensor& tensor : tensors)
    if (tensor.name == name) return &tensor;
  return nullptr;
}

const CheckpointFile* Checkpoint::file_of(const Tensor& tensor) const {
  return tensor.storage == kNone ? nullptr : &files[storages[tensor.storage].file];
}

std::optional<std::uint64_t> Checkpoint::file_offset(const Tensor& tensor) const {
  if (tensor.storage == kNone || storages[tensor.storage].producer) return std::nullopt;
  if (tensor.storage_offset == 0) return storages[tensor.storage].offset;
  const auto bits = checked_mul(tensor.storage_offset, dtype_bits(tensor.dtype));
  if (!bits || *bits % 8 != 0) return std::nullopt;
  return checked_add(storages[tensor.storage].offset, *bits / 8);
}

void Checkpoint::add(Finding finding) {
  if (finding.severity >= Severity::damage) complete = false;
  findings.add(std::move(finding));
}

void Checkpoint::refuse(Tensor& tensor, Finding finding) {
  if (tensor.stride.size() != tensor.shape.size()) tensor.stride = {};  // what cannot be a view is listed as none
  tensor.readable = false;
  if (finding.where.tensor.empty()) finding.where.tensor = tensor.name;
  add(std::move(finding));
}

}  // namespace assay
