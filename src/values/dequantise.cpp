// SPDX-License-Identifier: Apache-2.0
#include "values/dequantise.hpp"

#include <utility>

#include "base/text.hpp"
#include "base/try.hpp"
#include "values/blocks.hpp"

namespace assay::values {

namespace {

/// One number per channel, backed by bytes: a length that only strides of 0 reach would be an allocation by a claimed number.
Result<void> check_numbers(const Checkpoint& checkpoint, const Tensor& numbers, std::string_view what, std::uint64_t channels) {
  if (numbers.storage == kNone || numbers.storage >= checkpoint.storages.size() || !numbers.readable || numbers.quantizer != kNone)
    return fail(Code::malformed_tensor, concat("its ", what, " are not readable"));
  if (numbers.numel != channels || numbers.numel > checkpoint.storages[numbers.storage].nbytes)
    return fail(Code::malformed_tensor, concat("it has ", channels, " channels, ", numbers.numel, " ", what));
  return {};
}

Result<void> read_numbers(const Checkpoint& checkpoint, const Tensor& numbers, const Limits& limits, std::vector<double>& out) {
  ASSAY_TRY(const TensorReader reader, TensorReader::open(checkpoint, numbers, limits));
  return for_each_block(reader, [&](std::uint64_t, std::span<const double> block) -> Result<void> {
    out.insert(out.end(), block.begin(), block.end());
    return {};
  });
}

}  // namespace

Result<Dequantiser> Dequantiser::make(const Checkpoint& checkpoint, const Tensor& tensor, const Limits& limits) {
  if (tensor.quantizer >= checkpoint.quantizers.size())
    return fail(Code::internal, concat("quantizer ", tensor.quantizer, " is not listed"));
  const Quantizer& quantizer = checkpoint.quantizers[tensor.quantizer];
  Dequantiser made(checkpoint, quantizer, limits);
  if (!quantizer.per_channel()) {
    made.scales_ = {whole_scale(quantizer)};
    made.zero_points_ = {static_cast<double>(quantizer.zero_point)};
    made.inner_ = std::max<std::uint64_t>(tensor.numel, 1);
    return made;
  }
  if (quantizer.axis >= tensor.shape.size())
    return fail(Code::malformed_tensor, concat("channels along dimension ", quantizer.axis, " of ", tensor.shape.size()));
  const std::uint64_t channels = tensor.shape[quantizer.axis];
  ASSAY_CHECK(check_numbers(checkpoint, quantizer.scales, "scales", channels));
  ASSAY_CHECK(check_numbers(checkpoint, quantizer.zero_points, "zero points", channels));
  // The product of all sizes fits: a TensorReader has checked it, or will.
  if (tensor.numel > 0)
    for (std::size_t i = quantizer.axis + 1; i < tensor.shape.size(); ++i) made.inner_ *= tensor.shape[i];
  return made;
}

Result<void> Dequantiser::prepare() {
  if (!scales_.empty()) return {};
  std::vector<double> scales;
  ASSAY_CHECK(read_numbers(*checkpoint_, quantizer_->scales, limits_, scales));
  zero_points_.clear();  // of an attempt that lacked a range
  ASSAY_CHECK(read_numbers(*checkpoint_, quantizer_->zero_points, limits_, zero_points_));
  scales_ = std::move(scales);
  return {};
}

}  // namespace assay::values
