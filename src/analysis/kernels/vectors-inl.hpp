// SPDX-License-Identifier: Apache-2.0
// What the files of vector loops share, compiled once for each instruction set.
#if defined(ASSAY_KERNELS_VECTORS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_KERNELS_VECTORS_INL_HPP
#undef ASSAY_KERNELS_VECTORS_INL_HPP
#else
#define ASSAY_KERNELS_VECTORS_INL_HPP
#endif

#include <hwy/highway.h>

#include "analysis/kernels/lanes.hpp"

HWY_BEFORE_NAMESPACE();
namespace assay::analysis::kernels::HWY_NAMESPACE {
#if HWY_TARGET != HWY_EMU128 && HWY_TARGET != HWY_SCALAR

// Of pairs_native.cpp.
Pairs pairs_bf16(const std::byte* a, const std::byte* b, std::size_t n);
Pairs pairs_f16(const std::byte* a, const std::byte* b, std::size_t n);
Pairs pairs_f32(const std::byte* a, const std::byte* b, std::size_t n);
bool same_bytes(const std::byte* a, const std::byte* b, std::size_t size);

namespace {

// Constructors are written out and lambdas marked: what a compiler makes up itself is not for the instruction set.
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
const T* as(const std::byte* p) {
  return reinterpret_cast<const T*>(p);
}

template <class Code>
using Tag = hn::CappedTag<Code, 64 / sizeof(Code)>;

constexpr bool kLongVectors = HWY_TARGET == HWY_AVX3;  // of 64 bytes

constexpr std::size_t kAhead = kAheadBytes;

/// Lanes of true, counted. At most as many rounds as a lane can hold.
template <class Code>
struct Counter {
  hn::Vec<Tag<Code>> lanes;
  std::size_t count;

  HWY_INLINE Counter() : count(0) { lanes = hn::Zero(Tag<Code>()); }
  HWY_INLINE void add(hn::Mask<Tag<Code>> where) {
    const Tag<Code> d;
#if HWY_TARGET == HWY_AVX3
    count += hn::CountTrue(d, where);
#else
    lanes = hn::Sub(lanes, hn::VecFromMask(d, where));
#endif
  }
  HWY_INLINE std::size_t total() const {
    Code stored[64 / sizeof(Code)];
    hn::StoreU(lanes, Tag<Code>(), stored);
    std::size_t total = count;
    for (std::size_t i = 0; i < hn::Lanes(Tag<Code>()); ++i) total += stored[i];
    return total;
  }
};

using D64 = hn::CappedTag<double, 8>;

template <Real kReal>
HWY_INLINE hn::Vec<D64> load_doubles(D64 d, const std::byte* p) {
  if constexpr (kReal == Real::f64) {
    return hn::LoadU(d, as<double>(p));
  } else if constexpr (kReal == Real::f32) {
    return hn::PromoteTo(d, hn::LoadU(hn::Rebind<float, D64>(), as<float>(p)));
  } else if constexpr (kReal == Real::i32) {
    return hn::PromoteTo(d, hn::LoadU(hn::Rebind<std::int32_t, D64>(), as<std::int32_t>(p)));
  } else {
    // 2^52 + x has x in its low bits, and 2^52 is taken away without a rounding.
    const hn::Rebind<std::uint64_t, D64> d64;
    const auto wide = hn::PromoteTo(d64, hn::LoadU(hn::Rebind<std::uint32_t, D64>(), as<std::uint32_t>(p)));
    return hn::Sub(hn::BitCast(d, hn::Or(wide, hn::Set(d64, 0x4330000000000000u))), hn::Set(d, 0x1p52));
  }
}

using D32 = hn::CappedTag<float, 16>;

/// A vector of codes as the lanes of float that kPairStep pairs.
template <Real kReal, class V>
HWY_INLINE void split_codes(V codes, hn::Vec<D32>& x, hn::Vec<D32>& y) {
  const D32 d;
  if constexpr (kReal == Real::bf16) {
    const hn::RebindToUnsigned<D32> du;
    const auto both = hn::BitCast(du, codes);
    x = hn::BitCast(d, hn::ShiftLeft<16>(both));
    y = hn::BitCast(d, hn::And(both, hn::Set(du, 0xffff0000u)));
  } else {
    const hn::Repartition<hwy::float16_t, D32> d16;
    const hn::Half<decltype(d16)> dh;
    const auto halves = hn::BitCast(d16, codes);
    x = hn::PromoteTo(d, hn::LowerHalf(dh, halves));
    y = hn::PromoteTo(d, hn::UpperHalf(dh, halves));
  }
}

/// The lanes of float for the lanes of double from `from` on.
template <Real kReal>
HWY_INLINE void load_floats(const std::byte* p, std::size_t from, hn::Vec<D32>& x, hn::Vec<D32>& y) {
  const D32 d;
  if constexpr (kReal == Real::bf16) {
    split_codes<kReal>(hn::LoadU(hn::Repartition<std::uint16_t, D32>(), as<std::uint16_t>(p) + 2 * from), x, y);
  } else {
    const hn::Rebind<hwy::float16_t, D32> d16;
    x = hn::PromoteTo(d, hn::LoadU(d16, as<hwy::float16_t>(p) + from));
    y = hn::PromoteTo(d, hn::LoadU(d16, as<hwy::float16_t>(p) + from + kLanes));
  }
}

template <Real kReal>
HWY_INLINE void store_pairs(hn::Vec<D32> a, hn::Vec<D32> b, float* lanes, std::size_t from) {
  const D32 d;
  if constexpr (kReal == Real::bf16) {
    hn::StoreInterleaved2(a, b, d, lanes + 2 * from);
  } else {
    hn::StoreU(a, d, lanes + from);
    hn::StoreU(b, d, lanes + from + kLanes);
  }
}

}  // namespace
#endif
}  // namespace assay::analysis::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
