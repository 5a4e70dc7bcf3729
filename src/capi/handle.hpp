// SPDX-License-Identifier: Apache-2.0
// What is behind the opaque handles of assay.h, and the one place where exceptions end.
#pragma once

#include <algorithm>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

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
assay_status hand_out(const Error& error, assay_error** out) noexcept;

/// Runs `body`, which returns Result<void>, and turns every way of failing into a status. The core never throws by itself; the standard
/// library may (out of memory).
template <class Body>
assay_status guarded(assay_error** error, Body&& body) noexcept {
  if (error != nullptr) *error = nullptr;
#ifdef __cpp_exceptions
  try {
#endif
    Result<void> result = body();
    return result ? ASSAY_OK : hand_out(result.error(), error);
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

/// The ranges of a file that a host gave, and can take back. Whoever asks for one that is missing is told of which file: not every
/// reader knows.
class AddedRanges final : public ByteSource {
 public:
  AddedRanges(std::string name, std::uint64_t size) : name_(std::move(name)), ranges_(std::make_unique<RangeSource>(size)) {}
  std::uint64_t size() const override { return ranges_->size(); }
  Result<void> available(std::uint64_t offset, std::uint64_t n) const override { return named(ranges_->available(offset, n)); }
  Result<void> read(std::uint64_t offset, std::span<std::byte> out) const override { return named(ranges_->read(offset, out)); }
  std::optional<ByteView> mapped(std::uint64_t offset, std::uint64_t n) const override { return ranges_->mapped(offset, n); }
  void add(std::uint64_t offset, std::vector<std::byte> bytes) { ranges_->add(offset, std::move(bytes)); }
  void clear() { ranges_ = std::make_unique<RangeSource>(size()); }

 private:
  Result<void> named(Result<void> result) const {
    return result ? std::move(result) : Result<void>(fail(std::move(result).error().in_file(name_)));
  }

  std::string name_;
  std::unique_ptr<RangeSource> ranges_;
};

/// The caller's options checked and defaults filled in.
Result<assay_options> options_of(const assay_options* options);
/// Opens the set into a new handle.
Result<void> open_into(std::unique_ptr<FileSet> files, assay_checkpoint** out);
Result<void> open_pickle_into(std::unique_ptr<FileSet> files, assay_pickle** out);
/// A set of one file in the caller's memory.
std::unique_ptr<FileSet> borrow(const void* data, std::size_t size, const char* name);

/// A host's wish to be told how far work is, and to end it.
struct Watch {
  assay_watch_fn call = nullptr;
  void* context = nullptr;
  bool stopped = false;

  /// False when the host wants an end.
  bool goes_on(std::uint64_t done, std::uint64_t of) {
    if (call != nullptr && !stopped && call(context, done, of) == 0) stopped = true;
    return !stopped;
  }
};

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

/// Bytes given to the caller: a document, a list of numbers.
struct assay_buffer {
  std::string bytes;
};

inline void hand_text(std::string_view text, assay_buffer** out) { *out = new assay_buffer{std::string(text)}; }

struct assay_files {
  struct File {
    std::string name;
    std::shared_ptr<assay::ByteSource> source;
    assay::capi::AddedRanges* ranges;  ///< the same source where the host adds ranges to it; null where it is called back
  };
  std::string label;
  bool whole = false;
  std::vector<File> files;

  const File* find(std::string_view name) const {
    const auto found = std::ranges::find(files, name, &File::name);
    return found == files.end() ? nullptr : &*found;
  }
};
