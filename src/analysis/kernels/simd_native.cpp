// SPDX-License-Identifier: Apache-2.0
// The vector forms, compiled once for each instruction set. Where none is for the machine, the reference runs.
#include <algorithm>

#include "analysis/kernels/targets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "analysis/kernels/simd_native.cpp"
#include <hwy/foreach_target.h>

#include "analysis/kernels/vectors-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace assay::analysis::kernels::HWY_NAMESPACE {
#if HWY_TARGET != HWY_EMU128 && HWY_TARGET != HWY_SCALAR
namespace {

/// Without its zeros, which would cost as much as the loop over a small block.
template <class T>
union Unset {
  Unset() {}
  T it;
};

/// What is gathered beside the sums, a vector of codes at a time.
template <Real kReal, bool kWild>
struct Notes {
  using Code = CodeOf<kReal>;
  using Signed = std::make_signed_t<Code>;
  using D = Tag<Code>;
  using DS = Tag<Signed>;

  hn::Vec<D> min_u, max_u, other;  // other: what stands for codes that are not finite
  hn::Vec<DS> min_s, max_s, limit, lower_limit;
  Counter<Code> small, zeros, lower, finite, infinities;

  HWY_INLINE Notes(Below below, Code stand_in) {
    other = hn::Set(D(), stand_in);
    min_u = hn::Set(D(), hwy::LimitsMax<Code>());
    max_u = hn::Zero(D());
    min_s = hn::Set(DS(), hwy::LimitsMax<Signed>());
    max_s = hn::Set(DS(), hwy::LimitsMin<Signed>());
    limit = hn::Set(DS(), static_cast<Signed>(below.limit));
    lower_limit = hn::Set(DS(), static_cast<Signed>(below.lower));
  }
  /// Gives the codes that count in sums.
  HWY_INLINE hn::Vec<D> add(hn::Vec<D> v) {
    const D d;
    const DS ds;
    const auto s = hn::BitCast(ds, v);
    // Magnitudes have no top bit, and signed comparisons are cheaper.
    const auto magnitude = hn::BitCast(ds, hn::And(v, hn::Set(d, kMagnitude<Code>)));
    if constexpr (is_float(kReal)) small.add(hn::RebindMask(d, hn::Lt(magnitude, limit)));
    else small.add(hn::Eq(v, hn::Zero(d)));
    if constexpr (kWild) {
      const auto infinity = hn::Set(ds, static_cast<Signed>(kInfinity<kReal>));
      const auto kept = hn::Lt(magnitude, infinity);
      finite.add(hn::RebindMask(d, kept));
      zeros.add(hn::RebindMask(d, hn::Eq(magnitude, hn::Zero(ds))));
      lower.add(hn::RebindMask(d, hn::Lt(magnitude, lower_limit)));
      infinities.add(hn::RebindMask(d, hn::Eq(magnitude, infinity)));
      min_u = hn::IfThenElse(hn::RebindMask(d, kept), hn::Min(min_u, v), min_u);
      max_u = hn::IfThenElse(hn::RebindMask(d, kept), hn::Max(max_u, v), max_u);
      max_s = hn::IfThenElse(kept, hn::Max(max_s, s), max_s);
      v = hn::IfThenElse(hn::RebindMask(d, kept), v, other);
    } else {
      min_u = hn::Min(min_u, v);
      max_u = hn::Max(max_u, v);
      max_s = hn::Max(max_s, s);
      min_s = hn::Min(min_s, s);
    }
    return v;
  }
  /// Of `n` codes.
  HWY_INLINE void write(Measured& found, std::size_t n) const {
    Extremes& extremes = found.extremes;
    extremes.min_unsigned = std::min<std::uint64_t>(extremes.min_unsigned, hn::GetLane(hn::MinOfLanes(D(), min_u)));
    extremes.max_unsigned = std::max<std::uint64_t>(extremes.max_unsigned, hn::GetLane(hn::MaxOfLanes(D(), max_u)));
    extremes.min_signed = std::min<std::int64_t>(extremes.min_signed, hn::GetLane(hn::MinOfLanes(DS(), min_s)));
    extremes.max_signed = std::max<std::int64_t>(extremes.max_signed, hn::GetLane(hn::MaxOfLanes(DS(), max_s)));
    found.small += small.total();
    if constexpr (kWild) {
      found.zeros += zeros.total();
      found.lower += lower.total();
      found.special += n - finite.total();
      found.infinities += infinities.total();
    }
  }
};

/// Four sums, in one vector each.
template <class D>
struct VectorSums {
  hn::Vec<D> s1, s2, s3, s4;

  HWY_INLINE VectorSums() { s1 = s2 = s3 = s4 = hn::Zero(D()); }
  HWY_INLINE void add(hn::Vec<D> d) {
    const auto square = hn::Mul(d, d);
    s1 = hn::Add(s1, d);
    s2 = hn::Add(s2, square);
    s3 = hn::Add(s3, hn::Mul(square, d));
    s4 = hn::Add(s4, hn::Mul(square, square));
  }
};

template <Change kChange, class V>
HWY_INLINE V changed_vector(V x, V factor) {
  if constexpr (kChange == Change::shifted) return hn::Sub(x, factor);
  else if constexpr (kChange == Change::scaled) return hn::Mul(x, factor);
  else return x;
}

/// x where it is finite, 0 elsewhere.
HWY_INLINE hn::Vec<D64> finite(D64 d, hn::Vec<D64> x) {
  const hn::RebindToUnsigned<D64> du;
  const auto exponent = hn::Set(du, kInfinity<Real::f64>);
  return hn::IfThenZeroElse(hn::RebindMask(d, hn::Eq(hn::And(hn::BitCast(du, x), exponent), exponent)), x);
}

HWY_INLINE hn::Vec<D32> finite(D32 d, hn::Vec<D32> x) {
  const hn::RebindToUnsigned<D32> du;
  const auto exponent = hn::Set(du, kInfinity<Real::f32>);
  return hn::IfThenZeroElse(hn::RebindMask(d, hn::Eq(hn::And(hn::BitCast(du, x), exponent), exponent)), x);
}

/// Of what may not be finite, which adds nothing: 0 before the change, or behind it where that would make it something else.
template <Change kChange, class D>
HWY_INLINE hn::Vec<D> changed_finite(D d, hn::Vec<D> x, hn::Vec<D> factor) {
  if constexpr (kChange == Change::shifted) return finite(d, changed_vector<kChange>(x, factor));
  else return changed_vector<kChange>(finite(d, x), factor);
}

/// The kept codes of a row as two vectors of doubles, where a row of 64 bytes is one vector: no value has to be looked at again.
template <Real kReal, class V>
HWY_INLINE void split_row(V low, V high, hn::Vec<D64>& x, hn::Vec<D64>& y) {
  const D64 d;
  if constexpr (kReal == Real::f64) {
    x = hn::BitCast(d, low);
    y = hn::BitCast(d, high);
  } else {
    const hn::Repartition<float, D64> d32;
    const hn::Half<decltype(d32)> dh;
    const auto floats = hn::BitCast(d32, low);
    x = hn::PromoteTo(d, hn::LowerHalf(dh, floats));
    y = hn::PromoteTo(d, hn::UpperHalf(dh, floats));
  }
}

template <Real kReal, bool kWild, Change kChange, bool kNoting>
HWY_INLINE void add_rows(const Place& at, std::size_t rows, std::size_t from, double factor, Notes<kReal, kWild>& notes,
                         VectorSums<D64>& low, VectorSums<D64>& high) {
  using Code = CodeOf<kReal>;
  constexpr std::size_t kRow = kLanes * sizeof(Code);
  const D64 d;
  const Tag<Code> dc;
  const std::size_t step = hn::Lanes(d);
  const auto factors = hn::Set(d, factor);
  const std::byte *p = at.p, *ahead = at.ahead;
  for (std::size_t row = 0; row < rows; ++row, p += kRow, ahead += kRow) {
    hn::Vec<D64> x, y;
    if constexpr (kNoting)
      for (std::size_t part = 0; part < kRow; part += 64) __builtin_prefetch(ahead + part, 0, 2);
    if constexpr (kWild && kNoting && kLongVectors) {
      const auto front = notes.add(hn::LoadU(dc, as<Code>(p)));
      const auto back = kRow > 64 ? notes.add(hn::LoadU(dc, as<Code>(p + kRow - 64))) : front;
      split_row<kReal>(front, back, x, y);
      x = changed_vector<kChange>(x, factors);
      y = changed_vector<kChange>(y, factors);
    } else {
      if constexpr (kNoting)
        for (std::size_t part = 0; part < kRow; part += hn::Lanes(dc) * sizeof(Code)) notes.add(hn::LoadU(dc, as<Code>(p + part)));
      x = load_doubles<kReal>(d, p + from * sizeof(Code));
      y = load_doubles<kReal>(d, p + (from + step) * sizeof(Code));
      x = kWild ? changed_finite<kChange>(d, x, factors) : changed_vector<kChange>(x, factors);
      y = kWild ? changed_finite<kChange>(d, y, factors) : changed_vector<kChange>(y, factors);
    }
    low.add(x);
    high.add(y);
  }
}

HWY_INLINE void store_sums(const VectorSums<D64>& sums, LaneSums<double, kLanes>& lanes, std::size_t from) {
  const D64 d;
  hn::StoreU(sums.s1, d, lanes.s1 + from);
  hn::StoreU(sums.s2, d, lanes.s2 + from);
  hn::StoreU(sums.s3, d, lanes.s3 + from);
  hn::StoreU(sums.s4, d, lanes.s4 + from);
}

/// Calls fn(place, rows) for the `rows` rows of `width` codes from `at` on, run by run, and moves `at` behind them.
template <class Code, class Fn>
HWY_INLINE void each_rows(Place& at, std::size_t rows, std::size_t width, const Fn& fn) {
  while (rows > 0) {
    at.settle();
    const std::size_t now = std::min(rows, at.left / width);
    fn(at, now);
    at.pass(now * width, sizeof(Code));
    rows -= now;
  }
}

/// Two vectors of lanes at a time: where vectors are short, the codes, which are in the nearest cache by then, are gone through again.
template <Real kReal, bool kWild, Change kChange>
Measured measure_wide_by(const Runs& codes, std::size_t n, double factor, Below below, CodeOf<kReal> other) {
  using Code = CodeOf<kReal>;
  const std::size_t step = 2 * hn::Lanes(D64()), rows = n / kLanes;
  Measured found{.sums = {}, .extremes = no_extremes<Code>()};
  Notes<kReal, kWild> notes(below, other);
  Unset<LaneSums<double, kLanes>> unset;
  LaneSums<double, kLanes>& lanes = unset.it;
  Place at(codes);
  for (std::size_t from = 0; from < kLanes; from += step) {
    VectorSums<D64> low, high;
    at = Place(codes);
    each_rows<Code>(at, rows, kLanes, [&](const Place& place, std::size_t now) HWY_ATTR {
      if (from == 0) add_rows<kReal, kWild, kChange, true>(place, now, from, factor, notes, low, high);
      else add_rows<kReal, kWild, kChange, false>(place, now, from, factor, notes, low, high);
    });
    store_sums(low, lanes, from);
    store_sums(high, lanes, from + step / 2);
  }
  if (rows > 0) notes.write(found, rows * kLanes);
  if (n % kLanes != 0) at.settle();
  for (std::size_t i = 0; i < n % kLanes; ++i) {
    const Code code = load_le<Code>(at.p + i * sizeof(Code));
    note<kReal, kWild>(found, code, below);
    lanes.add(i, changed<kChange>(number<kReal>(kept<kReal, kWild>(code, other)), factor));
  }
  found.sums = folded(lanes);
  return found;
}

/// Adds lanes of float, two for each lane of double; the first time there is nothing to add to.
HWY_INLINE void widen_into(bool first, double* lanes, hn::Vec<D32> a, hn::Vec<D32> b) {
  const hn::Half<D32> dh;
  const hn::Rebind<double, hn::Half<D32>> d64;
  const auto pair = hn::Add(a, b);
  const std::size_t half = hn::Lanes(dh);
  const auto low = hn::PromoteTo(d64, hn::LowerHalf(dh, pair)), high = hn::PromoteTo(d64, hn::UpperHalf(dh, pair));
  hn::StoreU(first ? low : hn::Add(hn::LoadU(d64, lanes), low), d64, lanes);
  hn::StoreU(first ? high : hn::Add(hn::LoadU(d64, lanes + half), high), d64, lanes + half);
}

template <Real kReal, bool kWild, Change kChange, bool kNoting>
HWY_INLINE void add_fast_rows(const Place& at, std::size_t rows, std::size_t from, float factor, Notes<kReal, kWild>& notes,
                              VectorSums<D32>& low, VectorSums<D32>& high) {
  constexpr std::size_t kRow = kFastLanes * 2;
  const D32 d;
  const Tag<std::uint16_t> dc;
  const auto factors = hn::Set(d, factor);
  const std::byte *p = at.p, *ahead = at.ahead;
  for (std::size_t row = 0; row < rows; ++row, p += kRow, ahead += kRow) {
    hn::Vec<D32> x, y;
    if constexpr (kNoting) __builtin_prefetch(ahead, 0, 2);
    if constexpr (kWild && kNoting && kLongVectors) {
      split_codes<kReal>(notes.add(hn::LoadU(dc, as<std::uint16_t>(p))), x, y);
      x = changed_vector<kChange>(x, factors);
      y = changed_vector<kChange>(y, factors);
    } else {
      if constexpr (kNoting)
        for (std::size_t part = 0; part < kFastLanes; part += hn::Lanes(dc)) notes.add(hn::LoadU(dc, as<std::uint16_t>(p) + part));
      load_floats<kReal>(p, from, x, y);
      x = kWild ? changed_finite<kChange>(d, x, factors) : changed_vector<kChange>(x, factors);
      y = kWild ? changed_finite<kChange>(d, y, factors) : changed_vector<kChange>(y, factors);
    }
    low.add(x);
    high.add(y);
  }
}

template <Real kReal, bool kWild, Change kChange>
Measured measure_fast_by(const Runs& codes, std::size_t n, double factor, Below below, std::uint16_t other) {
  const std::size_t step = hn::Lanes(D32());
  const auto single = static_cast<float>(factor);
  Measured found{.sums = {}, .extremes = no_extremes<std::uint16_t>()};
  Notes<kReal, kWild> notes(below, other);
  Unset<LaneSums<double, kLanes>> unset;
  LaneSums<double, kLanes>& wide = unset.it;
  const std::size_t in_rows = n / kFastLanes * kFastLanes;
  bool first = true;
  for (Place begin(codes); n > 0; first = false) {
    const std::size_t count = std::min(n, kFastLanes * kFastRows), rows = count / kFastLanes;
    Unset<LaneSums<float, kFastLanes>> lanes;  // only written where a row is not full
    Place at = begin;
    for (std::size_t from = 0; from < kLanes; from += step) {
      VectorSums<D32> low, high;
      at = begin;
      each_rows<std::uint16_t>(at, rows, kFastLanes, [&](const Place& place, std::size_t now) HWY_ATTR {
        if (from == 0) add_fast_rows<kReal, kWild, kChange, true>(place, now, from, single, notes, low, high);
        else add_fast_rows<kReal, kWild, kChange, false>(place, now, from, single, notes, low, high);
      });
      if (count % kFastLanes == 0) {
        widen_into(first, wide.s1 + from, low.s1, high.s1);
        widen_into(first, wide.s2 + from, low.s2, high.s2);
        widen_into(first, wide.s3 + from, low.s3, high.s3);
        widen_into(first, wide.s4 + from, low.s4, high.s4);
      } else {
        store_pairs<kReal>(low.s1, high.s1, lanes.it.s1, from);
        store_pairs<kReal>(low.s2, high.s2, lanes.it.s2, from);
        store_pairs<kReal>(low.s3, high.s3, lanes.it.s3, from);
        store_pairs<kReal>(low.s4, high.s4, lanes.it.s4, from);
      }
    }
    if (count % kFastLanes != 0) {
      if (first) wide = {};
      at.settle();
      for (std::size_t i = 0; i < count % kFastLanes; ++i) {
        const auto code = load_le<std::uint16_t>(at.p + i * 2);
        note<kReal, kWild>(found, code, below);
        lanes.it.add(i, changed<kChange>(number<kReal>(kept<kReal, kWild>(code, other)), single));
      }
      empty_into<kReal>(wide, lanes.it);
    }
    n -= count;
    begin = at;
  }
  if (in_rows > 0) notes.write(found, in_rows);
  found.sums = folded(wide);
  return found;
}

template <Real kReal, bool kWild, Change kChange>
Measured measure_by(const Runs& codes, std::size_t n, double factor, Below below, CodeOf<kReal> other = 0) {
  if constexpr (is_fast(kReal)) return measure_fast_by<kReal, kWild, kChange>(codes, n, factor, below, other);
  else return measure_wide_by<kReal, kWild, kChange>(codes, n, factor, below, other);
}

template <Real kReal>
Measured measure(const Runs& codes, std::size_t n, double about, std::uint64_t limit) {
  if (about == 0) return measure_by<kReal, false, Change::none>(codes, n, 0, {limit, 0});
  return measure_by<kReal, false, Change::shifted>(codes, n, about, {limit, 0});
}

template <Real kReal>
Measured wild(const Runs& codes, std::size_t n, double about, double scale, Below below) {
  if (scale != 1) return measure_by<kReal, true, Change::scaled>(codes, n, scale, below);
  if (about == 0) return measure_by<kReal, true, Change::none>(codes, n, 0, below);
  return measure_by<kReal, true, Change::shifted>(codes, n, about, below, code_of<kReal>(about));
}

template <class Code>
std::size_t below(const std::byte* p, std::size_t n, std::uint64_t limit) {
  using Signed = std::make_signed_t<Code>;
  const Tag<Code> d;
  const Tag<Signed> ds;
  const auto magnitude = hn::Set(d, kMagnitude<Code>);
  const auto limits = hn::Set(ds, static_cast<Signed>(limit));
  Counter<Code> counter;
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= n; i += hn::Lanes(d))
    counter.add(hn::RebindMask(d, hn::Lt(hn::BitCast(ds, hn::And(hn::LoadU(d, as<Code>(p) + i), magnitude)), limits)));
  std::size_t count = counter.total();
  for (; i < n; ++i) count += (load_le<Code>(p + i * sizeof(Code)) & kMagnitude<Code>) < limit;
  return count;
}

template <class Code>
std::size_t equal(const std::byte* p, std::size_t n, std::uint64_t code) {
  const Tag<Code> d;
  const auto wanted = hn::Set(d, static_cast<Code>(code));
  Counter<Code> counter;
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= n; i += hn::Lanes(d)) counter.add(hn::Eq(hn::LoadU(d, as<Code>(p) + i), wanted));
  std::size_t count = counter.total();
  for (; i < n; ++i) count += load_le<Code>(p + i * sizeof(Code)) == code;
  return count;
}

}  // namespace

extern const Table kTable;
constexpr Table kTable = {
    HWY_STR(HWY_NAMESPACE) + 2,  // "N_AVX2" without the front
    {measure<Real::bf16>, measure<Real::f16>, measure<Real::f32>, measure<Real::f64>, measure<Real::i32>, measure<Real::u32>},
    {wild<Real::bf16>, wild<Real::f16>, wild<Real::f32>, wild<Real::f64>},
    {below<std::uint16_t>, below<std::uint32_t>, below<std::uint64_t>},
    {equal<std::uint16_t>, equal<std::uint32_t>, equal<std::uint64_t>},
    {pairs_bf16, pairs_f16, pairs_f32},
    same_bytes,
};

#endif
}  // namespace assay::analysis::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::analysis::kernels {

std::size_t available(const Table* (&tables)[kMostTables]) {
  std::size_t count = 0;
  tables[count++] = &reference();
#if HWY_ARCH_X86 && (HWY_TARGETS & HWY_AVX2)
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
                    __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("f16c") && __builtin_cpu_supports("aes") &&
                    __builtin_cpu_supports("pclmul");
  if (avx2) tables[count++] = &N_AVX2::kTable;
#if HWY_TARGETS & HWY_AVX3
  if (avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw"))
    tables[count++] = &N_AVX3::kTable;
#endif
#elif HWY_TARGETS & HWY_NEON
  tables[count++] = &N_NEON::kTable;
#endif
  return count;
}

const Table& best() {
  const Table* tables[kMostTables];
  return *tables[available(tables) - 1];
}

}  // namespace assay::analysis::kernels
#endif
