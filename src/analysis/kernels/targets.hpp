// SPDX-License-Identifier: Apache-2.0
// The instruction sets that vector loops are compiled for: AVX2 and AVX-512 on x86, whose baseline is left to the reference; NEON where it
// is the baseline. To be included before Highway.
#pragma once

#define HWY_DISABLED_TARGETS (~(HWY_AVX2 | HWY_AVX3 | HWY_NEON | HWY_EMU128 | HWY_SCALAR))
