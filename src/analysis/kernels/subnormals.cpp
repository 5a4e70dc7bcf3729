// SPDX-License-Identifier: Apache-2.0
#include "analysis/kernels/kernels.hpp"

#ifdef __SSE2__
#include <xmmintrin.h>
#endif

namespace assay::analysis::kernels {

// Only x86 pays for subnormal numbers; elsewhere they are always taken exactly.
#ifdef __SSE2__
namespace {

constexpr std::uint32_t kInputsAreZero = 1u << 6, kResultsToZero = 1u << 15, kBoth = kInputsAreZero | kResultsToZero;

}  // namespace

// Writing the register takes as long as a few hundred codes: only where it changes something.
Subnormals::Subnormals(Mode mode) : before_(_mm_getcsr()), change_((before_ ^ (mode == Mode::exact ? 0 : kBoth)) & kBoth) {
  if (change_ != 0) _mm_setcsr(before_ ^ change_);
}
Subnormals::~Subnormals() {
  if (change_ != 0) _mm_setcsr(before_);
}
#else
Subnormals::Subnormals(Mode) : before_(0), change_(0) {}
Subnormals::~Subnormals() = default;
#endif

}  // namespace assay::analysis::kernels
