// SPDX-License-Identifier: Apache-2.0
// The loops over raw codes: what a whole checkpoint's bytes go through. Each has a scalar reference and a vector form, and both give
// the same bits on every machine: sums are kept in a fixed number of lanes, whatever the vectors' width, element i of a row of codes
// always in the same one, and no product is fused with a sum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace assay::analysis::kernels {

/// How codes are read; little endian, at any alignment.
enum class Real : std::uint8_t { bf16, f16, f32, f64, i32, u32 };
inline constexpr std::size_t kReals = 6, kFloats = 4;  // the floats come first

constexpr unsigned code_bytes(Real real) { return real == Real::f64 ? 8 : real == Real::bf16 || real == Real::f16 ? 2 : 4; }
constexpr bool is_float(Real real) { return real < Real::i32; }
/// Kinds whose sums are kept in lanes of float, from whose every 128 sums a double is made: sound where the largest |x - about| is
/// from 2^-20 to 2^28, with a relative error of some 1e-7 / sqrt(n / 128).
constexpr bool is_fast(Real real) { return real == Real::bf16 || real == Real::f16; }

/// Codes that stand in runs, as the rows of a slice do: without a copy they are gone through as one stretch.
struct Runs {
  const std::byte* const* begins;
  const std::size_t* counts;      ///< codes of each run: for the loops multiples of kRunStep, but the last
  const std::byte* const* ahead;  ///< for each run where memory is asked for as many bytes meanwhile: what comes much later
};
inline constexpr std::size_t kRunStep = 32;
// Memory is asked for bytes so long before they are needed: work and waiting would take turns otherwise.
inline constexpr std::size_t kAheadBytes = 16384;

/// Of codes as integers of their width, with a sign and without. Of floats they give the largest and the least value of each sign, and
/// whether there is a zero, an infinity or a NaN, without one comparison of floats.
struct Extremes {
  std::int64_t min_signed, max_signed;
  std::uint64_t min_unsigned, max_unsigned;
};

/// Of d, d², d³ and d⁴.
struct PowerSums {
  double s1, s2, s3, s4;
};

/// Magnitudes below these are counted, the second only by `wild`.
struct Below {
  std::uint64_t limit, lower;
};

struct Measured {
  PowerSums sums;
  Extremes extremes;
  std::size_t small = 0;  ///< codes of a magnitude below `limit`; integers that are 0
  // Only counted by `wild`:
  std::size_t zeros = 0;       ///< of either sign
  std::size_t lower = 0;       ///< codes of a magnitude below `lower`
  std::size_t special = 0;     ///< codes that are not finite
  std::size_t infinities = 0;  ///< of either sign, among them
};

/// Of pairs a, b and their difference d = a - b.
struct Pairs {
  double aa, bb, ab, dd, abs;  ///< sums of a², b², a·b, d², |d|
  double max_abs;              ///< of |d|
  std::size_t changed;         ///< d that are not 0
  std::uint64_t max_a, max_b;  ///< largest magnitudes, as codes
  std::uint64_t max_steps;     ///< from one value to the other, over those between: ulps
};
inline constexpr std::size_t kPairReals = 3;  // BF16, F16, F32

/// One set of loops. `n` counts codes: at least 1, at most kMostCodes. A magnitude is a code without its top bit.
struct Table {
  static constexpr std::size_t kMostCodes = 16384;
  const char* name;  ///< of the instruction set

  /// d = x - about. The sums mean nothing where a code is not finite.
  Measured (*measure[kReals])(const Runs& codes, std::size_t n, double about, std::uint64_t limit);
  /// d = x - about, or x * scale, a power of two, and of finite codes alone: one of both is idle, 0 or 1, and `about` is a number of the
  /// kind. Of the extremes `min_signed` is not sought.
  Measured (*wild[kFloats])(const Runs& codes, std::size_t n, double about, double scale, Below below);
  // By the width of the codes: 2, 4, 8 bytes.
  std::size_t (*below[3])(const std::byte* codes, std::size_t n, std::uint64_t limit);  ///< magnitudes below the limit
  std::size_t (*equal[3])(const std::byte* codes, std::size_t n, std::uint64_t code);
  /// The sums of fast kinds are sound where magnitudes are below 2^50 and max_abs is from 2^-40 on, or 0. What is not finite leaves only
  /// max_a or max_b right, which say so.
  Pairs (*pairs[kPairReals])(const std::byte* a, const std::byte* b, std::size_t n);
  /// Whether `size` bytes are the same, any number of them.
  bool (*same)(const std::byte* a, const std::byte* b, std::size_t size);
};

/// For any machine; the others agree with it bit by bit.
const Table& reference();
/// All that this machine can run, the reference first, the fastest last. Returns how many it has put into `tables`.
inline constexpr std::size_t kMostTables = 3;
std::size_t available(const Table* (&tables)[kMostTables]);
const Table& best();

/// The first `n` codes of `width` bytes in one stretch.
void join(const Runs& codes, std::size_t n, std::size_t width, std::byte* out);

/// While it lives, floats of this thread that are too small to be normal are taken and given as 0, or exactly: whatever the program has
/// chosen, which comes back in the end.
class Subnormals {
 public:
  enum class Mode : std::uint8_t { exact, flushed };
  explicit Subnormals(Mode mode);
  ~Subnormals();
  Subnormals(const Subnormals&) = delete;
  Subnormals& operator=(const Subnormals&) = delete;

 private:
  [[maybe_unused]] std::uint32_t before_, change_;
};

}  // namespace assay::analysis::kernels
