// SPDX-License-Identifier: Apache-2.0
// The loops as plain as they can be: a row of lanes at a time, so that a compiler may make vectors of them. The vector forms are held to
// these.
#include <algorithm>
#include <cstring>

#include "analysis/kernels/lanes.hpp"

namespace assay::analysis::kernels {
namespace {

template <Real kReal>
struct Factors {
  NumberOf<kReal> about, scale;
  CodeOf<kReal> other;
};

template <Real kReal, bool kWild, std::size_t kN>
void add_row(LaneSums<NumberOf<kReal>, kN>& lanes, const std::byte* p, std::size_t n, const Factors<kReal>& by) {
  using Code = CodeOf<kReal>;
  for (std::size_t i = 0; i < n; ++i) {
    const auto shifted = number<kReal>(kept<kReal, kWild>(load_le<Code>(p + i * sizeof(Code)), by.other)) - by.about;
    lanes.add(i, kWild ? shifted * by.scale : shifted);
  }
}

template <Real kReal, bool kWild>
Measured measure_by(const Runs& codes, std::size_t n, double about, double scale, Below below) {
  using Code = CodeOf<kReal>;
  Factors<kReal> by{static_cast<NumberOf<kReal>>(about), static_cast<NumberOf<kReal>>(scale), 0};
  if constexpr (kWild) by.other = code_of<kReal>(about);
  Measured found{.sums = {}, .extremes = no_extremes<Code>()};
  LaneSums<double, kLanes> wide;
  constexpr std::size_t kRow = is_fast(kReal) ? kFastLanes : kLanes;
  LaneSums<float, kFastLanes> fast;
  std::size_t rows = 0;
  for (Place at(codes); n > 0;) {
    at.settle();
    const std::size_t count = std::min({n, at.left, kRow});
    for (std::size_t i = 0; i < count; ++i) note<kReal, kWild>(found, load_le<Code>(at.p + i * sizeof(Code)), below);
    if constexpr (is_fast(kReal)) {
      if (count == kRow) add_row<kReal, kWild>(fast, at.p, kRow, by);
      else add_row<kReal, kWild>(fast, at.p, count, by);
      if (++rows % kFastRows == 0 || count == n) {
        empty_into<kReal>(wide, fast);
        fast = {};
      }
    } else {
      if (count == kRow) add_row<kReal, kWild>(wide, at.p, kRow, by);
      else add_row<kReal, kWild>(wide, at.p, count, by);
    }
    at.pass(count, sizeof(Code));
    n -= count;
  }
  found.sums = folded(wide);
  return found;
}

template <Real kReal>
Measured measure(const Runs& codes, std::size_t n, double about, std::uint64_t limit) {
  return measure_by<kReal, false>(codes, n, about, 1, {limit, 0});
}

template <Real kReal>
Measured wild(const Runs& codes, std::size_t n, double about, double scale, Below below) {
  return measure_by<kReal, true>(codes, n, about, scale, below);
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

void join(const Runs& codes, std::size_t n, std::size_t width, std::byte* out) {
  for (Place at(codes); n > 0;) {
    at.settle();
    const std::size_t count = std::min(at.left, n), bytes = count * width;
    for (std::size_t part = 0; part < bytes; part += 64) __builtin_prefetch(at.ahead + part, 0, 2);
    std::memcpy(out, at.p, bytes);
    out += bytes;
    at.pass(count, width);
    n -= count;
  }
}

}  // namespace assay::analysis::kernels
