// SPDX-License-Identifier: Apache-2.0
#include "analysis/kernels/kernels.hpp"

#ifdef __SSE2__
#include <xmmintrin.h>
#endif

namespace assay::analysis::kernels {

// Only x86 pays for subnormal numbers; elsewhere they are always taken exactly.
#ifdef __SSE2__
namespace {

constexpr std::uint32_t kInputsAreZero = 1u << 6, kResultsToZero = 1u << 15;

}  // namespace

Subnormals::Subnormals(Mode mode) : before_(_mm_getcsr()) {
  const std::uint32_t exact = before_ & ~(kInputsAreZero | kResultsToZero);
  _mm_setcsr(mode == Mode::exact ? exact : exact | kInputsAreZero | kResultsToZero);
}
Subnormals::~Subnormals() { _mm_setcsr(before_); }
#else
Subnormals::Subnormals(Mode) : before_(0) {}
Subnormals::~Subnormals() = default;
#endif

}  // namespace assay::analysis::kernels
