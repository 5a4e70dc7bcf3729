// SPDX-License-Identifier: Apache-2.0
// The element types, one row of dtypes.def each.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace assay {

enum class DType : std::uint8_t {
#define ASSAY_DTYPE(id, name, bits, kind, torch, storage_class) id,
#include "assay/dtypes.def"
#undef ASSAY_DTYPE
};

/// What an element's value is.
enum class DTypeKind : std::uint8_t {
  boolean,
  unsigned_integer,
  signed_integer,
  real,
  complex,
  bits,     ///< raw bits with no numeric meaning; shown as unsigned integers
  unknown,  ///< a name no table has: listed, its values not readable
};

struct DTypeInfo {
  DType id;
  std::string_view name;  ///< the safetensors spelling where there is one: "BF16"
  std::uint16_t bits;     ///< per element; 0 for unknown
  DTypeKind kind;
  std::string_view torch;          ///< "bfloat16"; "" where torch has none
  std::string_view storage_class;  ///< torch storage class without module, "BFloat16Storage"; "" where there is none
};

const DTypeInfo& dtype_info(DType dtype);
inline std::string_view dtype_name(DType dtype) { return dtype_info(dtype).name; }
inline unsigned dtype_bits(DType dtype) { return dtype_info(dtype).bits; }
/// By the name in `name` ("BF16"), exactly.
std::optional<DType> dtype_from_name(std::string_view name);
/// By torch's name ("bfloat16", also the aliases "float", "half", "cfloat" …).
std::optional<DType> dtype_from_torch(std::string_view name);
/// By torch storage class without its module ("HalfStorage"). UntypedStorage is U8.
std::optional<DType> dtype_from_storage_class(std::string_view name);

}  // namespace assay
