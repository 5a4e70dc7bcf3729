// SPDX-License-Identifier: Apache-2.0
// NumPy's names of element types.
#pragma once

#include <string_view>

#include "assay/dtype.hpp"

namespace assay::formats::torch {

struct NumpyType {
  DType dtype = DType::unknown;
  char kind = 0;  ///< numpy's letter: b i u f c U S V O M m
  bool big_endian = false;
};

/// By the array protocol's text: "<f4", "|b1", "c16". Texts, dates, structures and objects have no dtype here.
NumpyType numpy_type(std::string_view text);

}  // namespace assay::formats::torch
