// SPDX-License-Identifier: Apache-2.0
// Conversions between float and the 16-bit kinds, exact one way and rounded to nearest even the other.
#pragma once

#include <cstdint>

namespace assay {

float f16_to_f32(std::uint16_t bits);
float bf16_to_f32(std::uint16_t bits);
std::uint16_t f32_to_f16(float value);  ///< overflow to infinity, NaN kept quiet
std::uint16_t f32_to_bf16(float value);

}  // namespace assay
