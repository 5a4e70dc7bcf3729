// SPDX-License-Identifier: Apache-2.0
// Asking a checkpoint: every accessor takes any handle and any index.
#include <iterator>

#include "capi/handle.hpp"

using namespace assay;
using namespace assay::capi;

namespace {

// The C names and numbers of dtypes must be the rows of dtypes.def: rows are appended, never moved.
struct Row {
  int number;
  std::string_view name;
};
#define ROW(name) {ASSAY_DTYPE_##name, #name}
constexpr Row kNamed[] = {
    ROW(UNKNOWN), ROW(BOOL),        ROW(F4),          ROW(F6_E2M3), ROW(F6_E3M2), ROW(U8),      ROW(I8),      ROW(F8_E5M2), ROW(F8_E4M3),
    ROW(F8_E8M0), ROW(F8_E4M3FNUZ), ROW(F8_E5M2FNUZ), ROW(I16),     ROW(U16),     ROW(F16),     ROW(BF16),    ROW(I32),     ROW(U32),
    ROW(F32),     ROW(C64),         ROW(F64),         ROW(I64),     ROW(U64),     ROW(C32),     ROW(BC32),    ROW(C128),    ROW(QI8),
    ROW(QU8),     ROW(QI32),        ROW(QU4X2),       ROW(QU2X4),   ROW(BITS1X8), ROW(BITS2X4), ROW(BITS4X2), ROW(BITS8),   ROW(BITS16),
};
#undef ROW
constexpr Row kTable[] = {
#define ASSAY_DTYPE(id, name, bits, kind, torch, storage_class) {static_cast<int>(DType::id), name},
#include "assay/dtypes.def"
#undef ASSAY_DTYPE
};
constexpr bool tables_agree() {
  if (std::size(kNamed) != std::size(kTable)) return false;
  for (std::size_t i = 0; i < std::size(kTable); ++i) {
    if (kNamed[i].number != kTable[i].number || kNamed[i].name != kTable[i].name || kTable[i].number != static_cast<int>(i)) return false;
  }
  return true;
}
static_assert(tables_agree(), "assay.h and dtypes.def disagree");
static_assert(static_cast<int>(Severity::note) == ASSAY_NOTE && static_cast<int>(Severity::warning) == ASSAY_WARNING &&
              static_cast<int>(Severity::damage) == ASSAY_DAMAGE && static_cast<int>(Severity::danger) == ASSAY_DANGER);
static_assert(static_cast<int>(MetadataEntry::Kind::null) == ASSAY_METADATA_NULL &&
              static_cast<int>(MetadataEntry::Kind::boolean) == ASSAY_METADATA_BOOLEAN &&
              static_cast<int>(MetadataEntry::Kind::integer) == ASSAY_METADATA_INTEGER &&
              static_cast<int>(MetadataEntry::Kind::real) == ASSAY_METADATA_REAL &&
              static_cast<int>(MetadataEntry::Kind::text) == ASSAY_METADATA_TEXT &&
              static_cast<int>(MetadataEntry::Kind::json) == ASSAY_METADATA_JSON &&
              static_cast<int>(MetadataEntry::Kind::object) == ASSAY_METADATA_OBJECT);

template <class List>
auto at(const List& list, std::size_t i) -> decltype(&list[0]) {
  return i < list.size() ? &list[i] : nullptr;
}
const Tensor* tensor_at(const assay_checkpoint* c, std::size_t i) { return c != nullptr ? at(c->state->checkpoint.tensors, i) : nullptr; }
const Storage* storage_at(const assay_checkpoint* c, std::size_t i) {
  return c != nullptr ? at(c->state->checkpoint.storages, i) : nullptr;
}
const CheckpointFile* file_at(const assay_checkpoint* c, std::size_t i) {
  return c != nullptr ? at(c->state->checkpoint.files, i) : nullptr;
}
const Finding* finding_at(const assay_checkpoint* c, std::size_t i) {
  return c != nullptr ? at(c->state->checkpoint.findings.list(), i) : nullptr;
}
const MetadataEntry* metadata_at(const assay_checkpoint* c, std::size_t i) {
  return c != nullptr ? at(c->state->checkpoint.metadata, i) : nullptr;
}

}  // namespace

extern "C" {

const char* assay_dtype_name(assay_dtype dtype) {
  const auto row = static_cast<std::size_t>(dtype);
  return row < std::size(kTable) ? kTable[row].name.data() : kTable[0].name.data();
}
unsigned assay_dtype_bits(assay_dtype dtype) {
  const auto row = static_cast<std::size_t>(dtype);
  return row < std::size(kTable) ? dtype_bits(static_cast<DType>(row)) : 0;
}

const char* assay_checkpoint_format(const assay_checkpoint* c) { return c != nullptr ? c->state->checkpoint.format.c_str() : ""; }
const char* assay_checkpoint_container(const assay_checkpoint* c) { return c != nullptr ? c->state->checkpoint.container.c_str() : ""; }
int assay_checkpoint_complete(const assay_checkpoint* c) { return c != nullptr && c->state->checkpoint.complete ? 1 : 0; }

size_t assay_file_count(const assay_checkpoint* c) { return c != nullptr ? c->state->checkpoint.files.size() : 0; }
const char* assay_file_name(const assay_checkpoint* c, size_t i) {
  const auto* file = file_at(c, i);
  return file != nullptr ? file->name.c_str() : "";
}
uint64_t assay_file_size(const assay_checkpoint* c, size_t i) {
  const auto* file = file_at(c, i);
  return file != nullptr ? file->size : 0;
}

size_t assay_tensor_count(const assay_checkpoint* c) { return c != nullptr ? c->state->checkpoint.tensors.size() : 0; }
size_t assay_tensor_find(const assay_checkpoint* c, const char* name, size_t length) {
  if (c == nullptr || name == nullptr) return ASSAY_NO_INDEX;
  const Tensor* tensor = c->state->checkpoint.find({name, length});
  return tensor != nullptr ? static_cast<size_t>(tensor - c->state->checkpoint.tensors.data()) : ASSAY_NO_INDEX;
}
const char* assay_tensor_name(const assay_checkpoint* c, size_t i, size_t* length) {
  const Tensor* tensor = tensor_at(c, i);
  return give(tensor != nullptr ? tensor->name : std::string_view(), length);
}
assay_dtype assay_tensor_dtype(const assay_checkpoint* c, size_t i) {
  const Tensor* tensor = tensor_at(c, i);
  return tensor != nullptr ? static_cast<assay_dtype>(tensor->dtype) : ASSAY_DTYPE_UNKNOWN;
}
const char* assay_tensor_source_dtype(const assay_checkpoint* c, size_t i, size_t* length) {
  const Tensor* tensor = tensor_at(c, i);
  return give(tensor != nullptr ? tensor->source_dtype : std::string_view(), length);
}
size_t assay_tensor_rank(const assay_checkpoint* c, size_t i) {
  const Tensor* tensor = tensor_at(c, i);
  return tensor != nullptr ? tensor->shape.size() : 0;
}
uint64_t assay_tensor_dim(const assay_checkpoint* c, size_t i, size_t dimension) {
  const Tensor* tensor = tensor_at(c, i);
  return tensor != nullptr && dimension < tensor->shape.size() ? tensor->shape[dimension] : 0;
}
uint64_t assay_tensor_stride(const assay_checkpoint* c, size_t i, size_t dimension) {
  const Tensor* tensor = tensor_at(c, i);
  return tensor != nullptr && dimension < tensor->shape.size() ? tensor->stride_of(dimension) : 0;
}
uint64_t assay_tensor_numel(const assay_checkpoint* c, size_t i) {
  const Tensor* tensor = tensor_at(c, i);
  return tensor != nullptr ? tensor->numel : 0;
}
uint64_t assay_tensor_nbytes(const assay_checkpoint* c, size_t i) {
  const Tensor* tensor = tensor_at(c, i);
  return tensor != nullptr ? tensor->nbytes() : 0;
}
int assay_tensor_contiguous(const assay_checkpoint* c, size_t i) {
  const Tensor* tensor = tensor_at(c, i);
  return tensor != nullptr && tensor->contiguous() ? 1 : 0;
}
int assay_tensor_readable(const assay_checkpoint* c, size_t i) {
  const Tensor* tensor = tensor_at(c, i);
  return tensor != nullptr && tensor->readable ? 1 : 0;
}
uint64_t assay_tensor_file_offset(const assay_checkpoint* c, size_t i) {
  const Tensor* tensor = tensor_at(c, i);
  return tensor != nullptr ? c->state->checkpoint.file_offset(*tensor).value_or(ASSAY_NO_OFFSET) : ASSAY_NO_OFFSET;
}
size_t assay_tensor_file(const assay_checkpoint* c, size_t i) {
  const Tensor* tensor = tensor_at(c, i);
  return tensor != nullptr ? assay_storage_file(c, assay_tensor_storage(c, i)) : ASSAY_NO_INDEX;
}
const char* assay_tensor_file_name(const assay_checkpoint* c, size_t i) { return assay_file_name(c, assay_tensor_file(c, i)); }
size_t assay_tensor_storage(const assay_checkpoint* c, size_t i) {
  const Tensor* tensor = tensor_at(c, i);
  return tensor != nullptr && tensor->storage != kNone ? tensor->storage : ASSAY_NO_INDEX;
}
uint64_t assay_tensor_storage_offset(const assay_checkpoint* c, size_t i) {
  const Tensor* tensor = tensor_at(c, i);
  return tensor != nullptr ? tensor->storage_offset : 0;
}

size_t assay_storage_count(const assay_checkpoint* c) { return c != nullptr ? c->state->checkpoint.storages.size() : 0; }
uint64_t assay_storage_nbytes(const assay_checkpoint* c, size_t i) {
  const Storage* storage = storage_at(c, i);
  return storage != nullptr ? storage->nbytes : 0;
}
uint64_t assay_storage_file_offset(const assay_checkpoint* c, size_t i) {
  const Storage* storage = storage_at(c, i);
  return storage != nullptr ? storage->offset : ASSAY_NO_OFFSET;
}
size_t assay_storage_file(const assay_checkpoint* c, size_t i) {
  const Storage* storage = storage_at(c, i);
  return storage != nullptr && storage->file < c->state->checkpoint.files.size() ? storage->file : ASSAY_NO_INDEX;
}

size_t assay_finding_count(const assay_checkpoint* c) { return c != nullptr ? c->state->checkpoint.findings.list().size() : 0; }
assay_severity assay_finding_severity(const assay_checkpoint* c, size_t i) {
  const Finding* finding = finding_at(c, i);
  return finding != nullptr ? static_cast<assay_severity>(finding->severity) : ASSAY_NOTE;
}
const char* assay_finding_code(const assay_checkpoint* c, size_t i) {
  const Finding* finding = finding_at(c, i);
  return finding != nullptr ? give(code_name(finding->code), nullptr) : "";
}
const char* assay_finding_message(const assay_checkpoint* c, size_t i) {
  const Finding* finding = finding_at(c, i);
  return finding != nullptr ? finding->message.c_str() : "";
}
const char* assay_finding_hint(const assay_checkpoint* c, size_t i) {
  const Finding* finding = finding_at(c, i);
  return finding != nullptr ? give(code_hint(finding->code), nullptr) : "";
}
const char* assay_finding_file(const assay_checkpoint* c, size_t i) {
  const Finding* finding = finding_at(c, i);
  return finding != nullptr ? finding->where.file.c_str() : "";
}
const char* assay_finding_member(const assay_checkpoint* c, size_t i) {
  const Finding* finding = finding_at(c, i);
  return finding != nullptr ? finding->where.member.c_str() : "";
}
const char* assay_finding_tensor(const assay_checkpoint* c, size_t i, size_t* length) {
  const Finding* finding = finding_at(c, i);
  return give(finding != nullptr ? std::string_view(finding->where.tensor) : std::string_view(), length);
}
uint64_t assay_finding_offset(const assay_checkpoint* c, size_t i) {
  const Finding* finding = finding_at(c, i);
  return finding != nullptr ? finding->where.offset.value_or(ASSAY_NO_OFFSET) : ASSAY_NO_OFFSET;
}
uint64_t assay_finding_length(const assay_checkpoint* c, size_t i) {
  const Finding* finding = finding_at(c, i);
  return finding != nullptr ? finding->where.length.value_or(ASSAY_NO_OFFSET) : ASSAY_NO_OFFSET;
}

size_t assay_metadata_count(const assay_checkpoint* c) { return c != nullptr ? c->state->checkpoint.metadata.size() : 0; }
assay_metadata_kind assay_metadata_entry_kind(const assay_checkpoint* c, size_t i) {
  const MetadataEntry* entry = metadata_at(c, i);
  return entry != nullptr ? static_cast<assay_metadata_kind>(entry->kind) : ASSAY_METADATA_NULL;
}
const char* assay_metadata_key(const assay_checkpoint* c, size_t i, size_t* length) {
  const MetadataEntry* entry = metadata_at(c, i);
  return give(entry != nullptr ? entry->key : std::string_view(), length);
}
const char* assay_metadata_text(const assay_checkpoint* c, size_t i, size_t* length) {
  const MetadataEntry* entry = metadata_at(c, i);
  return give(entry != nullptr ? entry->text : std::string_view(), length);
}
int64_t assay_metadata_integer(const assay_checkpoint* c, size_t i) {
  const MetadataEntry* entry = metadata_at(c, i);
  if (entry == nullptr) return 0;
  return entry->kind == MetadataEntry::Kind::boolean ? static_cast<int64_t>(entry->boolean) : entry->integer;
}
double assay_metadata_real(const assay_checkpoint* c, size_t i) {
  const MetadataEntry* entry = metadata_at(c, i);
  return entry != nullptr ? entry->real : 0;
}

}  // extern "C"
