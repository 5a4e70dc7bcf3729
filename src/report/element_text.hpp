// SPDX-License-Identifier: Apache-2.0
// Single elements of a matrix as text: the number, its code in hex, its bits by their meaning.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/matrix_view.hpp"
#include "report/value_text.hpp"

namespace assay::report {

enum class ElementForm : std::uint8_t {
  number,  ///< reals in four significant digits, all else exact
  exact,   ///< the shortest text that reads back to the same number
  hex,     ///< the code as it stands in the file, most significant digit first
  bits,    ///< sign, exponent and mantissa apart; bytes apart where there are none
};

/// Fields of a real's code, most significant first; all 0 for dtypes that have none.
struct BitFields {
  unsigned sign = 0, exponent = 0, mantissa = 0;
};
BitFields bit_fields(DType dtype);

/// Element (row, col). Quantised elements: the number they stand for, and the code of the stored integer.
Result<std::string> element_text(const analysis::MatrixView& view, std::uint64_t row, std::uint64_t col, ElementForm form);
/// Writes all elements of the matrix in row-major order as JSON values, ", " between them; ends early once `stop` says true.
Result<void> write_elements_json(Writer& out, const analysis::MatrixView& view, bool (*stop)());
/// "sign 1, exponent 120, mantissa 87/128" of a real; "" for other dtypes.
Result<std::string> fields_text(const analysis::MatrixView& view, std::uint64_t row, std::uint64_t col);

}  // namespace assay::report
