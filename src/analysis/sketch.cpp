// SPDX-License-Identifier: Apache-2.0
#include "analysis/sketch.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "assay/values.hpp"
#include "base/try.hpp"

namespace assay::analysis {

Result<Sketch> sketch(const Checkpoint& checkpoint, const Tensor& tensor, const Stats& stats, const Limits& limits) {
  constexpr std::uint64_t kStretches = 16, kStretch = 4096;
  Sketch drawn{};
  if (tensor.numel == 0 || !stats.mean || !stats.std || !(*stats.std > 0) || !std::isfinite(*stats.std)) return drawn;
  ASSAY_TRY(const TensorReader reader, TensorReader::open(checkpoint, tensor, limits));
  const bool all = tensor.numel <= kStretches * kStretch;
  const std::uint64_t stretches = all ? 1 : kStretches, length = all ? tensor.numel : kStretch;
  const double low = *stats.mean - 3 * *stats.std, cells_per_unit = kSketchCells / (6 * *stats.std);
  std::vector<double> values(static_cast<std::size_t>(length));
  std::array<std::uint64_t, kSketchCells> counts{};
  for (std::uint64_t i = 0; i < stretches; ++i) {
    ASSAY_CHECK(reader.read_f64(stretches == 1 ? 0 : (tensor.numel - length) / (stretches - 1) * i, std::span(values)));
    for (const double value : values) {
      if (!std::isfinite(value)) continue;
      const double cell = std::clamp((value - low) * cells_per_unit, 0.0, kSketchCells - 0.5);
      ++counts[static_cast<std::size_t>(cell)];
    }
  }
  const std::uint64_t most = std::ranges::max(counts);
  for (std::size_t i = 0; i < kSketchCells && most > 0; ++i) drawn[i] = static_cast<std::uint8_t>((counts[i] * 8 + most - 1) / most);
  return drawn;
}

}  // namespace assay::analysis
