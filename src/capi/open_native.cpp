// SPDX-License-Identifier: Apache-2.0
// Opening by path: only where there is a file system.
#include "base/try.hpp"
#include "capi/handle.hpp"

using namespace assay;
using namespace assay::capi;

namespace {

Result<std::unique_ptr<FileSet>> files_at(const char* path, const assay_options* options) {
  if (path == nullptr) return fail(Code::usage, "a NULL argument");
  ASSAY_TRY(const assay_options known, options_of(options));
  return open_path(path, known.no_mmap != 0 ? MapMode::never : MapMode::automatic);
}

}  // namespace

extern "C" {

assay_status assay_open(const char* path, const assay_options* options, assay_checkpoint** out, assay_error** error) {
  return guarded(error, [&]() -> Result<void> {
    if (out == nullptr) return fail(Code::usage, "a NULL argument");
    *out = nullptr;
    ASSAY_TRY(auto files, files_at(path, options));
    return open_into(std::move(files), out);
  });
}

assay_status assay_pickle_open(const char* path, const assay_options* options, assay_pickle** out, assay_error** error) {
  return guarded(error, [&]() -> Result<void> {
    if (out == nullptr) return fail(Code::usage, "a NULL argument");
    *out = nullptr;
    ASSAY_TRY(auto files, files_at(path, options));
    return open_pickle_into(std::move(files), out);
  });
}

}  // extern "C"
