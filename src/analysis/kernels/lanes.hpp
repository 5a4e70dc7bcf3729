// SPDX-License-Identifier: Apache-2.0
// What the reference and the vector loops share: how one code is read, the fixed lanes, and how they become one sum.
#pragma once

#include <bit>
#include <limits>
#include <type_traits>

#include "analysis/kernels/kernels.hpp"
#include "base/endian.hpp"
#include "base/half.hpp"

namespace assay::analysis::kernels {

inline constexpr std::size_t kLanes = 16;      // of double
inline constexpr std::size_t kFastLanes = 32;  // of float, two for each of double
inline constexpr std::size_t kFastRows = 128;  // rows until lanes of float are emptied into those of double

template <Real kReal>
using CodeOf =
    std::conditional_t<code_bytes(kReal) == 2, std::uint16_t, std::conditional_t<code_bytes(kReal) == 4, std::uint32_t, std::uint64_t>>;

template <class Code>
inline constexpr Code kMagnitude = static_cast<Code>(std::numeric_limits<Code>::max() >> 1);

template <Real kReal>
inline constexpr CodeOf<kReal> kInfinity = kReal == Real::f16    ? 0x7c00
                                           : kReal == Real::bf16 ? 0x7f80
                                           : kReal == Real::f32  ? 0x7f800000
                                                                 : static_cast<CodeOf<kReal>>(0x7ff0000000000000);

/// A code as a number: a float for the fast kinds, a double otherwise, always exact.
template <Real kReal>
auto number(CodeOf<kReal> code) {
  if constexpr (kReal == Real::bf16) return std::bit_cast<float>(static_cast<std::uint32_t>(code) << 16);
  else if constexpr (kReal == Real::f16) return f16_to_f32(code);
  else if constexpr (kReal == Real::f32) return static_cast<double>(std::bit_cast<float>(code));
  else if constexpr (kReal == Real::f64) return std::bit_cast<double>(code);
  else if constexpr (kReal == Real::i32) return static_cast<double>(static_cast<std::int32_t>(code));
  else return static_cast<double>(code);
}
template <Real kReal>
using NumberOf = decltype(number<kReal>(0));

template <class T, std::size_t kN>
struct LaneSums {
  T s1[kN] = {}, s2[kN] = {}, s3[kN] = {}, s4[kN] = {};

  void add(std::size_t lane, T d) {
    const T square = d * d;
    s1[lane] += d;
    s2[lane] += square;
    s3[lane] += square * d;
    s4[lane] += square * square;
  }
};

/// BF16 pairs neighbours, as a vector of codes falls apart into even and odd ones; F16 those half a row apart.
template <Real kReal>
inline constexpr std::size_t kPairStep = kReal == Real::bf16 ? 1 : kLanes;
template <Real kReal>
constexpr std::size_t first_of_pair(std::size_t lane) {
  return kReal == Real::bf16 ? 2 * lane : lane;
}

template <Real kReal>
void empty_into(LaneSums<double, kLanes>& wide, const LaneSums<float, kFastLanes>& lanes) {
  constexpr std::size_t kStep = kPairStep<kReal>;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    const std::size_t first = first_of_pair<kReal>(lane);
    wide.s1[lane] += static_cast<double>(lanes.s1[first] + lanes.s1[first + kStep]);
    wide.s2[lane] += static_cast<double>(lanes.s2[first] + lanes.s2[first + kStep]);
    wide.s3[lane] += static_cast<double>(lanes.s3[first] + lanes.s3[first + kStep]);
    wide.s4[lane] += static_cast<double>(lanes.s4[first] + lanes.s4[first + kStep]);
  }
}

/// Sums of pairs, and the largest |d| of each lane.
template <class T, std::size_t kN>
struct PairLanes {
  T aa[kN] = {}, bb[kN] = {}, ab[kN] = {}, dd[kN] = {}, abs[kN] = {}, max_abs[kN] = {};

  void add(std::size_t lane, T a, T b) {
    const T d = a - b, magnitude = d < 0 ? -d : d;
    aa[lane] += a * a;
    bb[lane] += b * b;
    ab[lane] += a * b;
    dd[lane] += d * d;
    abs[lane] += magnitude;
    max_abs[lane] = magnitude > max_abs[lane] ? magnitude : max_abs[lane];
  }
};

template <Real kReal>
void empty_into(PairLanes<double, kLanes>& wide, const PairLanes<float, kFastLanes>& lanes) {
  constexpr std::size_t kStep = kPairStep<kReal>;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    const std::size_t first = first_of_pair<kReal>(lane), second = first + kStep;
    wide.aa[lane] += static_cast<double>(lanes.aa[first] + lanes.aa[second]);
    wide.bb[lane] += static_cast<double>(lanes.bb[first] + lanes.bb[second]);
    wide.ab[lane] += static_cast<double>(lanes.ab[first] + lanes.ab[second]);
    wide.dd[lane] += static_cast<double>(lanes.dd[first] + lanes.dd[second]);
    wide.abs[lane] += static_cast<double>(lanes.abs[first] + lanes.abs[second]);
    const double most = lanes.max_abs[first] > lanes.max_abs[second] ? lanes.max_abs[first] : lanes.max_abs[second];
    wide.max_abs[lane] = most > wide.max_abs[lane] ? most : wide.max_abs[lane];
  }
}

inline void fold_into(Pairs& found, PairLanes<double, kLanes>& lanes) {
  for (std::size_t width = kLanes / 2; width > 0; width /= 2) {
    for (std::size_t i = 0; i < width; ++i) {
      lanes.aa[i] += lanes.aa[i + width];
      lanes.bb[i] += lanes.bb[i + width];
      lanes.ab[i] += lanes.ab[i + width];
      lanes.dd[i] += lanes.dd[i + width];
      lanes.abs[i] += lanes.abs[i + width];
      lanes.max_abs[i] = lanes.max_abs[i + width] > lanes.max_abs[i] ? lanes.max_abs[i + width] : lanes.max_abs[i];
    }
  }
  found.aa = lanes.aa[0];
  found.bb = lanes.bb[0];
  found.ab = lanes.ab[0];
  found.dd = lanes.dd[0];
  found.abs = lanes.abs[0];
  found.max_abs = lanes.max_abs[0];
}

/// What a pair of codes says beside the sums.
template <class Code>
void note_pair(Pairs& found, Code a, Code b) {
  using Signed = std::make_signed_t<Code>;
  const Code x = a & kMagnitude<Code>, y = b & kMagnitude<Code>;
  found.max_a = x > found.max_a ? x : found.max_a;
  found.max_b = y > found.max_b ? y : found.max_b;
  // Steps count from 0, to both sides.
  const auto to = [](Code code, Code magnitude) { return static_cast<Signed>(code != magnitude ? Code{0} - magnitude : magnitude); };
  const std::int64_t from_a = to(a, x), from_b = to(b, y);
  const auto steps = static_cast<std::uint64_t>(from_a > from_b ? from_a - from_b : from_b - from_a);
  found.max_steps = steps > found.max_steps ? steps : found.max_steps;
  found.changed += from_a != from_b;
}

/// Pairs far apart first, so that every machine adds in one order.
inline PowerSums folded(LaneSums<double, kLanes>& lanes) {
  for (std::size_t width = kLanes / 2; width > 0; width /= 2) {
    for (std::size_t i = 0; i < width; ++i) {
      lanes.s1[i] += lanes.s1[i + width];
      lanes.s2[i] += lanes.s2[i + width];
      lanes.s3[i] += lanes.s3[i + width];
      lanes.s4[i] += lanes.s4[i + width];
    }
  }
  return {lanes.s1[0], lanes.s2[0], lanes.s3[0], lanes.s4[0]};
}

template <class Code>
constexpr Extremes no_extremes() {
  using Signed = std::make_signed_t<Code>;
  return {std::numeric_limits<Signed>::max(), std::numeric_limits<Signed>::min(), std::numeric_limits<Code>::max(), 0};
}

/// The code of a number that is of the kind.
template <Real kReal>
CodeOf<kReal> code_of(double value) {
  if constexpr (kReal == Real::bf16) return f32_to_bf16(static_cast<float>(value));
  else if constexpr (kReal == Real::f16) return f32_to_f16(static_cast<float>(value));
  else if constexpr (kReal == Real::f32) return std::bit_cast<std::uint32_t>(static_cast<float>(value));
  else return std::bit_cast<std::uint64_t>(value);
}

/// The code that counts in sums: where it is not finite and that matters another one, which adds nothing.
template <Real kReal, bool kWild>
CodeOf<kReal> kept(CodeOf<kReal> code, [[maybe_unused]] CodeOf<kReal> other) {
  using Code = CodeOf<kReal>;
  if constexpr (kWild) return (code & kMagnitude<Code>) < kInfinity<kReal> ? code : other;
  else return code;
}

/// A place among codes in runs.
struct Place {
  const std::byte* p;
  const std::byte* ahead;
  std::size_t left;  ///< codes of this run
  const Runs* codes;
  std::size_t number = 0;

  explicit Place(const Runs& of) : p(of.begins[0]), ahead(of.ahead[0]), left(of.counts[0]), codes(&of) {}

  /// On to the next run at the end of one. Precondition: there are codes left.
  void settle() {
    while (left == 0) {
      ++number;
      p = codes->begins[number];
      ahead = codes->ahead[number];
      left = codes->counts[number];
    }
  }
  void pass(std::size_t n, std::size_t width) {
    p += n * width;
    ahead += n * width;
    left -= n;
  }
};

/// What one code adds beside the sums.
template <Real kReal, bool kWild>
void note(Measured& found, CodeOf<kReal> code, Below below) {
  using Code = CodeOf<kReal>;
  const Code magnitude = code & kMagnitude<Code>;
  const std::int64_t own = static_cast<std::make_signed_t<Code>>(code);
  Extremes& extremes = found.extremes;
  found.small += is_float(kReal) ? magnitude < below.limit : code == 0;
  if constexpr (kWild) {
    found.zeros += magnitude == 0;
    found.lower += magnitude < below.lower;
    found.infinities += magnitude == kInfinity<kReal>;
    if (magnitude >= kInfinity<kReal>) {
      ++found.special;
      return;
    }
  } else {
    extremes.min_signed = own < extremes.min_signed ? own : extremes.min_signed;
  }
  extremes.max_signed = own > extremes.max_signed ? own : extremes.max_signed;
  extremes.min_unsigned = code < extremes.min_unsigned ? code : extremes.min_unsigned;
  extremes.max_unsigned = code > extremes.max_unsigned ? code : extremes.max_unsigned;
}

/// What becomes of a number before its powers are summed; nothing, where the pivot is 0 and the scale 1, as they mostly are.
enum class Change : std::uint8_t { none, shifted, scaled };

template <Change kChange, class T>
T changed(T x, T factor) {
  if constexpr (kChange == Change::shifted) return x - factor;
  else if constexpr (kChange == Change::scaled) return x * factor;
  else return x;
}

}  // namespace assay::analysis::kernels
