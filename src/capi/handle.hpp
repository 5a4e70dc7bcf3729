// SPDX-License-Identifier: Apache-2.0
// What is behind the opaque handles of assay.h, and the one place where exceptions end.
#pragma once

#include <exception>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "assay/assay.h"
#include "assay/assay.hpp"

namespace assay::capi {

/// What a checkpoint handle shares with its readers and pickles, so that the order of closing does not matter.
struct State {
  std::unique_ptr<FileSet> files;
  Checkpoint checkpoint;
};

assay_status status_of(Code code);
/// Puts the error into *out, where there is one, and returns its status. Never throws.
assay_status hand_out(Error&& error, assay_error** out) noexcept;

/// Runs `body`, which returns Result<void>, and turns every way of failing into a status. The core never throws by itself; the standard
/// library may (out of memory).
template <class Body>
assay_status guarded(assay_error** error, Body&& body) noexcept {
  if (error != nullptr) *error = nullptr;
#ifdef __cpp_exceptions
  try {
#endif
    Result<void> result = body();
    return result ? ASSAY_OK : hand_out(std::move(result).error(), error);
#ifdef __cpp_exceptions
  } catch (const std::bad_alloc&) {
    return ASSAY_OUT_OF_MEMORY;
  } catch (const std::exception& thrown) {
    return hand_out(Error(Code::internal, thrown.what()), error);
  } catch (...) {
    return hand_out(Error(Code::internal, "an unknown exception"), error);
  }
#endif
}

/// The caller's options checked and defaults filled in.
Result<assay_options> options_of(const assay_options* options);
/// Opens the set into a new handle.
Result<void> open_into(std::unique_ptr<FileSet> files, assay_checkpoint** out);
Result<void> open_pickle_into(std::unique_ptr<FileSet> files, assay_pickle** out);
/// A set of one file in the caller's memory.
std::unique_ptr<FileSet> borrow(const void* data, std::size_t size, const char* name);

inline const char* give(std::string_view text, std::size_t* length) {
  if (length != nullptr) *length = text.size();
  return text.data() == nullptr ? "" : text.data();
}

}  // namespace assay::capi

struct assay_error {
  assay_status status;
  std::string code, message, hint, file, member, tensor;
  std::uint64_t offset, length;

  explicit assay_error(const assay::Error& error);
};

struct assay_checkpoint {
  std::shared_ptr<const assay::capi::State> state;
};
