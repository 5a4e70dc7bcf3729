// SPDX-License-Identifier: Apache-2.0
// From the stored integers of a quantised tensor to numbers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "assay/values.hpp"

namespace assay::values {

/// (q - zero_point) * scale with torch's roundings: the difference to single precision, then the product. Integers up to 2^53 come in
/// exactly. A scale of the whole tensor is taken in single precision, those of channels as they stand.
inline float dequantised(double q, double zero_point, double scale) {
  return static_cast<float>(static_cast<double>(static_cast<float>(q - zero_point)) * scale);
}
inline double whole_scale(const Quantizer& quantizer) { return static_cast<double>(static_cast<float>(quantizer.scale)); }

/// The quantizer of one tensor, made ready. The Checkpoint must outlive it.
class Dequantiser {
 public:
  /// Checks that the quantizer fits the tensor; reads nothing. Precondition: the tensor has a quantizer.
  static Result<Dequantiser> make(const Checkpoint& checkpoint, const Tensor& tensor, const Limits& limits);
  /// Reads the scales and zero points of a quantizer per channel. Call before apply(); repeated calls cost nothing.
  Result<void> prepare();
  /// Element first + i of the tensor, in logical order, stored as q[i], to out[i].
  template <class T>
  void apply(std::uint64_t first, std::span<const double> q, T* out) const {
    for (std::size_t i = 0; i < q.size();) {
      const std::uint64_t at = first + i;
      const auto channel = static_cast<std::size_t>(at / inner_ % scales_.size());
      const std::size_t end = i + static_cast<std::size_t>(std::min<std::uint64_t>(inner_ - at % inner_, q.size() - i));
      for (; i < end; ++i) out[i] = dequantised(q[i], zero_points_[channel], scales_[channel]);
    }
  }

 private:
  Dequantiser(const Checkpoint& checkpoint, const Quantizer& quantizer, const Limits& limits)
      : checkpoint_(&checkpoint), quantizer_(&quantizer), limits_(limits) {}

  const Checkpoint* checkpoint_;
  const Quantizer* quantizer_;
  Limits limits_;
  std::uint64_t inner_ = 1;  // elements that stand together in one channel
  std::vector<double> scales_, zero_points_;
};

}  // namespace assay::values
