// SPDX-License-Identifier: Apache-2.0
// The loops as plain as they can be: a row of lanes at a time, so that a compiler may make vectors of them. The vector forms are held to
// these.
#include <cstring>

#include "analysis/kernels/lanes.hpp"

namespace assay::analysis::kernels {
namespace {

template <Real kReal, bool kWild, std::size_t kN>
void add_row(LaneSums<NumberOf<kReal>, kN>& lanes, const std::byte* p, std::size_t n, NumberOf<kReal> factor) {
  using Code = CodeOf<kReal>;
  for (std::size_t i = 0; i < n; ++i)
    lanes.add(i, difference<kReal, kWild>(kept<kReal, kWild>(load_le<Code>(p + i * sizeof(Code))), factor));
}

template <Real kReal, bool kWild>
Measured measure_by(const std::byte* p, std::size_t n, double by, Below below) {
  using Code = CodeOf<kReal>;
  const auto factor = static_cast<NumberOf<kReal>>(by);
  Measured found{.sums = {}, .extremes = no_extremes<Code>()};
  for (std::size_t i = 0; i < n; ++i) note<kReal, kWild>(found, load_le<Code>(p + i * sizeof(Code)), below);
  LaneSums<double, kLanes> wide;
  if constexpr (is_fast(kReal)) {
    while (n > 0) {
      LaneSums<float, kFastLanes> lanes;
      for (std::size_t row = 0; row < kFastRows && n > 0; ++row) {
        const std::size_t count = n < kFastLanes ? n : kFastLanes;
        if (count == kFastLanes) add_row<kReal, kWild>(lanes, p, kFastLanes, factor);
        else add_row<kReal, kWild>(lanes, p, count, factor);
        p += count * sizeof(Code);
        n -= count;
      }
      empty_into<kReal>(wide, lanes);
    }
  } else {
    for (; n >= kLanes; n -= kLanes, p += kLanes * sizeof(Code)) add_row<kReal, kWild>(wide, p, kLanes, factor);
    add_row<kReal, kWild>(wide, p, n, factor);
  }
  found.sums = folded(wide);
  return found;
}

template <Real kReal>
Measured measure(const std::byte* p, std::size_t n, double about, std::uint64_t limit) {
  return measure_by<kReal, false>(p, n, about, {limit, 0});
}

template <Real kReal>
Measured wild(const std::byte* p, std::size_t n, double scale, std::uint64_t limit, std::uint64_t lower) {
  return measure_by<kReal, true>(p, n, scale, {limit, lower});
}

template <class Code>
std::size_t below(const std::byte* p, std::size_t n, std::uint64_t limit) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < n; ++i) count += (load_le<Code>(p + i * sizeof(Code)) & kMagnitude<Code>) < limit;
  return count;
}

template <class Code>
std::size_t equal(const std::byte* p, std::size_t n, std::uint64_t code) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < n; ++i) count += load_le<Code>(p + i * sizeof(Code)) == code;
  return count;
}

template <Real kReal>
Pairs pairs(const std::byte* a, const std::byte* b, std::size_t n) {
  using Code = CodeOf<kReal>;
  Pairs found{};
  PairLanes<double, kLanes> wide;
  constexpr std::size_t kRow = is_fast(kReal) ? kFastLanes : kLanes, kRows = is_fast(kReal) ? kFastRows : 1;
  PairLanes<NumberOf<kReal>, kRow> lanes;
  for (std::size_t i = 0; i < n; ++i) {
    const Code x = load_le<Code>(a + i * sizeof(Code)), y = load_le<Code>(b + i * sizeof(Code));
    note_pair(found, x, y);
    lanes.add(i % kRow, number<kReal>(x), number<kReal>(y));
    if constexpr (is_fast(kReal)) {
      if (i + 1 < n && (i + 1) % (kRow * kRows) != 0) continue;
      empty_into<kReal>(wide, lanes);
      lanes = {};
    }
  }
  if constexpr (is_fast(kReal)) fold_into(found, wide);
  else fold_into(found, lanes);
  return found;
}

bool same(const std::byte* a, const std::byte* b, std::size_t size) { return std::memcmp(a, b, size) == 0; }

constexpr Table kReference = {
    "scalar",
    {measure<Real::bf16>, measure<Real::f16>, measure<Real::f32>, measure<Real::f64>, measure<Real::i32>, measure<Real::u32>},
    {wild<Real::bf16>, wild<Real::f16>, wild<Real::f32>, wild<Real::f64>},
    {below<std::uint16_t>, below<std::uint32_t>, below<std::uint64_t>},
    {equal<std::uint16_t>, equal<std::uint32_t>, equal<std::uint64_t>},
    {pairs<Real::bf16>, pairs<Real::f16>, pairs<Real::f32>},
    same,
};

}  // namespace

const Table& reference() { return kReference; }

}  // namespace assay::analysis::kernels
