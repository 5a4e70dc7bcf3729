// SPDX-License-Identifier: Apache-2.0
// A tensor's elements as text, a block at a time.
#pragma once

#include <cstdint>
#include <string_view>

#include "assay/values.hpp"
#include "report/writer.hpp"

namespace assay::report {

enum class ValueStyle : std::uint8_t {
  json,  ///< NaN and infinities as strings, complex as [re, im]
  text,  ///< the same words without quotes, complex as re+imj
};

struct ValueRange {
  std::uint64_t first = 0;
  std::uint64_t n = 0;
};

/// Elements [first, first + n) in logical order, `separator` between them. Floats are the shortest text that reads back to the same
/// f32 (F64 and C128: f64), integers exact, booleans true and false, raw bits as unsigned integers.
/// Memory: a block of elements. Answers with how many were written: fewer than n only once `stop` said true.
Result<std::uint64_t> write_values(Writer& out, const TensorReader& reader, ValueRange range, ValueStyle style, std::string_view separator,
                                   bool (*stop)() = nullptr);

}  // namespace assay::report
