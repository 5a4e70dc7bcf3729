// SPDX-License-Identifier: Apache-2.0
// The vector forms of comparisons, compiled once for each instruction set.
#include <algorithm>
#include <cstring>

#include "analysis/kernels/targets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "analysis/kernels/pairs_native.cpp"
#include <hwy/foreach_target.h>

#include "analysis/kernels/vectors-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace assay::analysis::kernels::HWY_NAMESPACE {
#if HWY_TARGET != HWY_EMU128 && HWY_TARGET != HWY_SCALAR
namespace {

/// What pairs of codes say beside the sums, a vector of each at a time.
template <class Code>
struct PairNotes {
  using Signed = std::make_signed_t<Code>;
  using D = Tag<Code>;
  using DS = Tag<Signed>;
  hn::Vec<D> max_a, max_b, max_steps;
  Counter<Code> changed;

  HWY_INLINE PairNotes() { max_a = max_b = max_steps = hn::Zero(D()); }
  HWY_INLINE hn::Vec<DS> steps(hn::Vec<D> code, hn::Vec<D> magnitude) {
    // -m where the top bit is set: ~m + 1.
    const auto sign = hn::BroadcastSignBit(hn::BitCast(DS(), code));
    return hn::Sub(hn::Xor(hn::BitCast(DS(), magnitude), sign), sign);
  }
  HWY_INLINE void add(hn::Vec<D> a, hn::Vec<D> b) {
    const D d;
    const auto bits = hn::Set(d, kMagnitude<Code>);
    const auto x = hn::And(a, bits), y = hn::And(b, bits);
    max_a = hn::Max(max_a, x);
    max_b = hn::Max(max_b, y);
    const auto from_a = steps(a, x), from_b = steps(b, y);
    max_steps = hn::Max(max_steps, hn::BitCast(d, hn::Sub(hn::Max(from_a, from_b), hn::Min(from_a, from_b))));
    changed.add(hn::RebindMask(d, hn::Ne(from_a, from_b)));
  }
  HWY_INLINE void write(Pairs& found) const {
    found.max_a = std::max<std::uint64_t>(found.max_a, hn::GetLane(hn::MaxOfLanes(D(), max_a)));
    found.max_b = std::max<std::uint64_t>(found.max_b, hn::GetLane(hn::MaxOfLanes(D(), max_b)));
    found.max_steps = std::max<std::uint64_t>(found.max_steps, hn::GetLane(hn::MaxOfLanes(D(), max_steps)));
    found.changed += changed.total();
  }
};

template <class D>
struct VectorPairs {
  hn::Vec<D> aa, bb, ab, dd, abs, max_abs;

  HWY_INLINE VectorPairs() { aa = bb = ab = dd = abs = max_abs = hn::Zero(D()); }
  HWY_INLINE void add(hn::Vec<D> a, hn::Vec<D> b) {
    const auto d = hn::Sub(a, b), magnitude = hn::Abs(d);
    aa = hn::Add(aa, hn::Mul(a, a));
    bb = hn::Add(bb, hn::Mul(b, b));
    ab = hn::Add(ab, hn::Mul(a, b));
    dd = hn::Add(dd, hn::Mul(d, d));
    abs = hn::Add(abs, magnitude);
    max_abs = hn::Max(max_abs, magnitude);
  }
  template <class T, std::size_t kN>
  HWY_INLINE void store(PairLanes<T, kN>& lanes, std::size_t from) const {
    hn::StoreU(aa, D(), lanes.aa + from);
    hn::StoreU(bb, D(), lanes.bb + from);
    hn::StoreU(ab, D(), lanes.ab + from);
    hn::StoreU(dd, D(), lanes.dd + from);
    hn::StoreU(abs, D(), lanes.abs + from);
    hn::StoreU(max_abs, D(), lanes.max_abs + from);
  }
};

HWY_INLINE void ask_ahead(const std::byte* a, const std::byte* b) {
  __builtin_prefetch(a + kAhead, 0, 2);
  __builtin_prefetch(b + kAhead, 0, 2);
}

Pairs pairs_wide(const std::byte* a, const std::byte* b, std::size_t n) {
  const D64 d;
  const Tag<std::uint32_t> dc;
  const std::size_t step = hn::Lanes(d), rows = n / kLanes;
  Pairs found{};
  PairNotes<std::uint32_t> notes;
  PairLanes<double, kLanes> lanes;
  for (std::size_t from = 0; from < kLanes; from += 2 * step) {
    VectorPairs<D64> low, high;
    for (std::size_t row = 0; row < rows; ++row) {
      const std::byte *x = a + row * 64, *y = b + row * 64;
      if (from == 0) {
        ask_ahead(x, y);
        for (std::size_t at = 0; at < kLanes; at += hn::Lanes(dc))
          notes.add(hn::LoadU(dc, as<std::uint32_t>(x) + at), hn::LoadU(dc, as<std::uint32_t>(y) + at));
      }
      low.add(load_doubles<Real::f32>(d, x + from * 4), load_doubles<Real::f32>(d, y + from * 4));
      high.add(load_doubles<Real::f32>(d, x + (from + step) * 4), load_doubles<Real::f32>(d, y + (from + step) * 4));
    }
    low.store(lanes, from);
    high.store(lanes, from + step);
  }
  if (rows > 0) notes.write(found);
  for (std::size_t i = rows * kLanes; i < n; ++i) {
    const auto x = load_le<std::uint32_t>(a + i * 4), y = load_le<std::uint32_t>(b + i * 4);
    note_pair(found, x, y);
    lanes.add(i % kLanes, number<Real::f32>(x), number<Real::f32>(y));
  }
  fold_into(found, lanes);
  return found;
}

template <Real kReal, bool kNoting>
HWY_INLINE void add_fast_pairs(const std::byte* a, const std::byte* b, std::size_t rows, std::size_t from,
                               PairNotes<std::uint16_t>& all_notes, VectorPairs<D32>& low, VectorPairs<D32>& high) {
  const Tag<std::uint16_t> dc;
  PairNotes<std::uint16_t> notes = all_notes;
  for (std::size_t row = 0; row < rows; ++row, a += 64, b += 64) {
    if constexpr (kNoting) {
      ask_ahead(a, b);
      for (std::size_t at = 0; at < kFastLanes; at += hn::Lanes(dc))
        notes.add(hn::LoadU(dc, as<std::uint16_t>(a) + at), hn::LoadU(dc, as<std::uint16_t>(b) + at));
    }
    hn::Vec<D32> x, y, z, w;
    load_floats<kReal>(a, from, x, y);
    load_floats<kReal>(b, from, z, w);
    low.add(x, z);
    high.add(y, w);
  }
  if constexpr (kNoting) all_notes = notes;
}

template <Real kReal>
Pairs pairs_fast(const std::byte* a, const std::byte* b, std::size_t n) {
  const std::size_t step = hn::Lanes(D32());
  Pairs found{};
  PairNotes<std::uint16_t> notes;
  PairLanes<double, kLanes> wide;
  const bool any_row = n >= kFastLanes;
  while (n > 0) {
    const std::size_t count = std::min(n, kFastLanes * kFastRows), rows = count / kFastLanes;
    PairLanes<float, kFastLanes> lanes;
    for (std::size_t from = 0; from < kLanes; from += step) {
      VectorPairs<D32> low, high;
      if (from == 0) add_fast_pairs<kReal, true>(a, b, rows, from, notes, low, high);
      else add_fast_pairs<kReal, false>(a, b, rows, from, notes, low, high);
      store_pairs<kReal>(low.aa, high.aa, lanes.aa, from);
      store_pairs<kReal>(low.bb, high.bb, lanes.bb, from);
      store_pairs<kReal>(low.ab, high.ab, lanes.ab, from);
      store_pairs<kReal>(low.dd, high.dd, lanes.dd, from);
      store_pairs<kReal>(low.abs, high.abs, lanes.abs, from);
      store_pairs<kReal>(low.max_abs, high.max_abs, lanes.max_abs, from);
    }
    for (std::size_t i = rows * kFastLanes; i < count; ++i) {
      const auto x = load_le<std::uint16_t>(a + i * 2), y = load_le<std::uint16_t>(b + i * 2);
      note_pair(found, x, y);
      lanes.add(i % kFastLanes, number<kReal>(x), number<kReal>(y));
    }
    empty_into<kReal>(wide, lanes);
    n -= count;
    a += count * 2;
    b += count * 2;
  }
  if (any_row) notes.write(found);
  fold_into(found, wide);
  return found;
}

bool same(const std::byte* a, const std::byte* b, std::size_t size) {
  const Tag<std::uint8_t> d;
  const std::size_t step = hn::Lanes(d);
  constexpr std::size_t kLook = 4096;  // bytes between looks at what was found
  std::size_t at = 0;
  while (at + kLook <= size) {
    auto first = hn::Zero(d), second = hn::Zero(d);
    for (const std::size_t end = at + kLook; at < end; at += 2 * step) {
      ask_ahead(a + at, b + at);
      first = hn::Or(first, hn::Xor(hn::LoadU(d, as<std::uint8_t>(a + at)), hn::LoadU(d, as<std::uint8_t>(b + at))));
      second = hn::Or(second, hn::Xor(hn::LoadU(d, as<std::uint8_t>(a + at + step)), hn::LoadU(d, as<std::uint8_t>(b + at + step))));
    }
    if (!hn::AllTrue(d, hn::Eq(hn::Or(first, second), hn::Zero(d)))) return false;
  }
  return std::memcmp(a + at, b + at, size - at) == 0;
}

}  // namespace

Pairs pairs_bf16(const std::byte* a, const std::byte* b, std::size_t n) { return pairs_fast<Real::bf16>(a, b, n); }
Pairs pairs_f16(const std::byte* a, const std::byte* b, std::size_t n) { return pairs_fast<Real::f16>(a, b, n); }
Pairs pairs_f32(const std::byte* a, const std::byte* b, std::size_t n) { return pairs_wide(a, b, n); }
bool same_bytes(const std::byte* a, const std::byte* b, std::size_t size) { return same(a, b, size); }

#endif
}  // namespace assay::analysis::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
