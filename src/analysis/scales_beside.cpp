// SPDX-License-Identifier: Apache-2.0
#include "analysis/scales_beside.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "assay/values.hpp"
#include "base/arena.hpp"
#include "base/text.hpp"

namespace assay::analysis {
namespace {

bool has_codes(const Tensor& tensor) { return dtype_bits(tensor.dtype) <= 8; }

/// A single scale is read; of one for each row `zeros` are the zero points, which it has room for.
std::optional<Quantizer> quantizer_of(Checkpoint& checkpoint, const Tensor& tensor, const Tensor& scales, std::uint32_t zeros) {
  Quantizer made;
  if (!scales.readable || scales.quantizer != kNone || dtype_info(scales.dtype).kind != DTypeKind::real || dtype_bits(scales.dtype) < 16)
    return std::nullopt;
  if (scales.numel == 1) {
    const auto reader = TensorReader::open(checkpoint, scales);
    if (!reader || !reader->read_f64(0, std::span(&made.scale, 1))) return std::nullopt;
    return made;
  }
  const bool is_column = scales.shape.size() == 1 || (scales.shape.size() == 2 && scales.shape[1] == 1);
  if (!is_column || tensor.shape.empty() || scales.numel != tensor.shape[0] || scales.numel > checkpoint.storages[zeros].nbytes)
    return std::nullopt;
  made.scheme = Quantizer::Scheme::per_channel_affine;
  made.scales = scales;
  made.zero_points.dtype = DType::u8;
  made.zero_points.numel = scales.numel;
  made.zero_points.shape = checkpoint.arena().numbers(std::span(&made.zero_points.numel, 1));
  made.zero_points.storage = zeros;
  return made;
}

/// A storage of zeros, as long as the longest scales.
std::uint32_t add_zeros(Checkpoint& checkpoint, const ScalesBeside& scales_beside, std::span<const std::uint32_t> tensors) {
  std::uint64_t most = 0;
  for (const std::uint32_t t : tensors) {
    const Tensor* scales = scales_beside.of(checkpoint.tensors[t]);
    // No more than the file has bytes for.
    if (scales != nullptr && scales->readable && scales->storage < checkpoint.storages.size())
      most = std::max(most, std::min(scales->numel, checkpoint.storages[scales->storage].nbytes));
  }
  Storage storage;
  storage.nbytes = most;
  storage.file = static_cast<std::uint32_t>(checkpoint.files.size());
  checkpoint.files.push_back({"zeros", most, std::make_shared<MemorySource>(std::vector<std::byte>(static_cast<std::size_t>(most)))});
  checkpoint.storages.push_back(storage);
  return static_cast<std::uint32_t>(checkpoint.storages.size() - 1);
}

}  // namespace

ScalesBeside::ScalesBeside(const Checkpoint& checkpoint) : checkpoint_(checkpoint) {
  if (std::ranges::none_of(checkpoint.tensors, has_codes)) return;
  for (std::uint32_t t = 0; t < checkpoint.tensors.size(); ++t) tensors_.emplace(checkpoint.tensors[t].name, t);
}

const Tensor* ScalesBeside::find(const std::string& name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : &checkpoint_.tensors[found->second];
}

const Tensor* ScalesBeside::of(const Tensor& tensor) const {
  constexpr std::string_view kWeight = ".weight";
  constexpr std::string_view kTails[] = {"_scale", "_scale_inv", "_scales"}, kInstead[] = {".scale", ".scales"};
  if (!has_codes(tensor)) return nullptr;
  const std::string_view name = tensor.name;
  for (const std::string_view tail : kTails)
    if (const Tensor* found = find(concat(name, tail))) return found;
  if (name.ends_with(kWeight))
    for (const std::string_view tail : kInstead)
      if (const Tensor* found = find(concat(name.substr(0, name.size() - kWeight.size()), tail))) return found;
  return nullptr;
}

void apply_scales_beside(Checkpoint& checkpoint, const ScalesBeside& scales_beside, std::span<const std::uint32_t> tensors) {
  if (tensors.empty()) return;
  const std::uint32_t zeros = add_zeros(checkpoint, scales_beside, tensors);
  for (const std::uint32_t t : tensors) {
    Tensor& tensor = checkpoint.tensors[t];
    const Tensor* scales = scales_beside.of(tensor);
    if (scales == nullptr || tensor.quantizer != kNone) continue;
    if (auto made = quantizer_of(checkpoint, tensor, *scales, zeros)) {
      checkpoint.quantizers.push_back(*std::move(made));
      tensor.quantizer = static_cast<std::uint32_t>(checkpoint.quantizers.size() - 1);
    }
  }
}

}  // namespace assay::analysis
