// SPDX-License-Identifier: Apache-2.0
#include "assay/dtype.hpp"

#include <cstddef>
#include <iterator>

namespace assay {

namespace {

constexpr DTypeInfo kTypes[] = {
#define ASSAY_DTYPE(id, name, bits, kind, torch, storage_class) {DType::id, name, bits, DTypeKind::kind, torch, storage_class},
#include "assay/dtypes.def"
#undef ASSAY_DTYPE
};

// torch.float is torch.float32 and so on; pickles carry the canonical name, people and other writers also these.
constexpr struct {
  std::string_view alias;
  DType dtype;
} kTorchAliases[] = {
    {"float", DType::f32}, {"double", DType::f64}, {"half", DType::f16},     {"long", DType::i64},  {"int", DType::i32},
    {"short", DType::i16}, {"cfloat", DType::c64}, {"cdouble", DType::c128}, {"chalf", DType::c32},
};

template <std::string_view DTypeInfo::* kField>
std::optional<DType> find_by(std::string_view name) {
  if (name.empty()) return std::nullopt;
  for (const DTypeInfo& type : kTypes)
    if (type.*kField == name) return type.id;
  return std::nullopt;
}

}  // namespace

const DTypeInfo& dtype_info(DType dtype) { return kTypes[static_cast<std::size_t>(dtype)]; }

std::optional<DType> dtype_from_name(std::string_view name) {
  const auto found = find_by<&DTypeInfo::name>(name);
  return found == DType::unknown ? std::nullopt : found;
}

std::optional<DType> dtype_from_torch(std::string_view name) {
  for (const auto& [alias, dtype] : kTorchAliases)
    if (alias == name) return dtype;
  return find_by<&DTypeInfo::torch>(name);
}

std::optional<DType> dtype_from_storage_class(std::string_view name) {
  if (name == "UntypedStorage" || name == "_UntypedStorage") return DType::u8;
  return find_by<&DTypeInfo::storage_class>(name);
}

}  // namespace assay
