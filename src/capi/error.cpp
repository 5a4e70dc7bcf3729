// SPDX-License-Identifier: Apache-2.0
#include "base/text.hpp"
#include "capi/handle.hpp"

using assay::Code;

assay_error::assay_error(const assay::Error& error)
    : status(assay::capi::status_of(error.code())), code(assay::code_name(error.code())), message(error.what()), hint(error.hint()),
      file(assay::escape(error.where().file)), member(assay::escape(error.where().member)), tensor(assay::escape(error.where().tensor)),
      offset(error.where().offset.value_or(ASSAY_NO_OFFSET)), length(error.where().length.value_or(ASSAY_NO_OFFSET)) {}

namespace assay::capi {

assay_status status_of(Code code) {
  switch (code) {
    case Code::usage:
    case Code::no_such_file:
    case Code::no_such_tensor:
    case Code::dangling_link: return ASSAY_USAGE;
    case Code::io_error:
    case Code::not_seekable:
    case Code::file_changed: return ASSAY_IO;
    case Code::need_range: return ASSAY_NEED_RANGE;
    case Code::limit_exceeded: return ASSAY_LIMIT;
    case Code::out_of_memory: return ASSAY_OUT_OF_MEMORY;
    case Code::unsupported:
    case Code::unsupported_compression:
    case Code::encrypted_member:
    case Code::unknown_dtype: return ASSAY_UNSUPPORTED;
    case Code::internal: return ASSAY_INTERNAL;
    default: break;
  }
  // The rows "Not weights" of errors.def stand together.
  return code >= Code::empty_file && code <= Code::unknown_format ? ASSAY_NOT_A_CHECKPOINT : ASSAY_MALFORMED;
}

assay_status hand_out(const Error& error, assay_error** out) noexcept {
  const assay_status status = status_of(error.code());
  if (out == nullptr) return status;
#ifdef __cpp_exceptions
  try {
#endif
    *out = new assay_error(error);
#ifdef __cpp_exceptions
  } catch (...) {
    return ASSAY_OUT_OF_MEMORY;
  }
#endif
  return status;
}

}  // namespace assay::capi

extern "C" {

const char* assay_version(void) { return assay::version(); }

void assay_error_free(assay_error* error) { delete error; }
assay_status assay_error_status(const assay_error* error) { return error != nullptr ? error->status : ASSAY_OK; }
const char* assay_error_code(const assay_error* error) { return error != nullptr ? error->code.c_str() : ""; }
const char* assay_error_message(const assay_error* error) { return error != nullptr ? error->message.c_str() : ""; }
const char* assay_error_hint(const assay_error* error) { return error != nullptr ? error->hint.c_str() : ""; }
const char* assay_error_file(const assay_error* error) { return error != nullptr ? error->file.c_str() : ""; }
const char* assay_error_member(const assay_error* error) { return error != nullptr ? error->member.c_str() : ""; }
const char* assay_error_tensor(const assay_error* error) { return error != nullptr ? error->tensor.c_str() : ""; }
uint64_t assay_error_offset(const assay_error* error) { return error != nullptr ? error->offset : ASSAY_NO_OFFSET; }
uint64_t assay_error_length(const assay_error* error) { return error != nullptr ? error->length : ASSAY_NO_OFFSET; }

}  // extern "C"
