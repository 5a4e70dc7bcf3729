// SPDX-License-Identifier: Apache-2.0
// c10's numbers of element types, as C++ writers store them.
#pragma once

#include <cstdint>
#include <iterator>
#include <string_view>

namespace assay::formats::torch {

/// torch's name, "float32"; "" for a number that none has.
inline std::string_view c10_type_name(std::int64_t number) {
  constexpr std::string_view kNames[] = {
      "uint8",     "int8",       "int16",   "int32", "int64",  "float16",     "float32",       "float64",         "complex32",
      "complex64", "complex128", "bool",    "qint8", "quint8", "qint32",      "bfloat16",      "quint4x2",        "quint2x4",
      "bits1x8",   "bits2x4",    "bits4x2", "bits8", "bits16", "float8_e5m2", "float8_e4m3fn", "float8_e5m2fnuz", "float8_e4m3fnuz",
      "uint16",    "uint32",     "uint64"};
  return number >= 0 && number < static_cast<std::int64_t>(std::size(kNames)) ? kNames[number] : number == 44 ? "float8_e8m0fnu" : "";
}

}  // namespace assay::formats::torch
