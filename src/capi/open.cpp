// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <vector>

#include "base/arith.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "capi/handle.hpp"

using namespace assay;

namespace {

/// A file that the host reads by calling back.
class HostSource final : public ByteSource {
 public:
  HostSource(std::uint64_t size, assay_read_fn read, void* context) : size_(size), read_(read), context_(context) {}
  std::uint64_t size() const override { return size_; }
  Result<void> read(std::uint64_t offset, std::span<std::byte> out) const override {
    ASSAY_CHECK(available(offset, out.size()));
    if (out.empty() || read_(context_, offset, out.data(), out.size()) == 0) return {};
    return fail(Error(Code::io_error, concat("the host could not read ", out.size(), " bytes")).span(offset, out.size()));
  }

 private:
  std::uint64_t size_;
  assay_read_fn read_;
  void* context_;
};

}  // namespace

namespace assay::capi {

Result<assay_options> options_of(const assay_options* options) {
  assay_options known = ASSAY_OPTIONS;
  if (options == nullptr) return known;
  if (options->size < sizeof known.size)
    return fail(Code::usage, concat("options.size is ", options->size, "; set it to sizeof(assay_options)"));
  std::memcpy(&known, options, std::min<std::size_t>(options->size, sizeof known));
  // A newer caller may only use what this library knows: fields beyond must be left at zero.
  const auto* bytes = reinterpret_cast<const unsigned char*>(options);
  for (std::size_t i = sizeof known; i < options->size; ++i) {
    if (bytes[i] != 0) return fail(Code::usage, concat("byte ", i, " of the options is set, this library knows ", sizeof known));
  }
  return known;
}

Result<void> open_into(std::unique_ptr<FileSet> files, assay_checkpoint** out) {
  ASSAY_TRY(Checkpoint checkpoint, open(*files));
  auto state = std::make_shared<State>();
  state->files = std::move(files);
  state->checkpoint = std::move(checkpoint);
  *out = new assay_checkpoint{std::move(state)};
  return {};
}

std::unique_ptr<FileSet> borrow(const void* data, std::size_t size, const char* name) {
  const std::string label = name != nullptr && *name != '\0' ? name : "memory";
  auto set = std::make_unique<SourceSet>(label, label);
  set->add(label, MemorySource::borrow({static_cast<const std::byte*>(data), size}));
  return set;
}

}  // namespace assay::capi

using namespace assay::capi;

extern "C" {

assay_status assay_open_memory(const void* data, size_t size, const char* name, const assay_options* options, assay_checkpoint** out,
                               assay_error** error) {
  return guarded(error, [&]() -> Result<void> {
    if (out == nullptr || (data == nullptr && size != 0)) return fail(Code::usage, "a NULL argument");
    *out = nullptr;
    ASSAY_CHECK(options_of(options));
    return open_into(borrow(data, size, name), out);
  });
}

void assay_close(assay_checkpoint* checkpoint) { delete checkpoint; }

assay_status assay_files_new(const char* label, assay_files** out, assay_error** error) {
  return guarded(error, [&]() -> Result<void> {
    if (out == nullptr) return fail(Code::usage, "a NULL argument");
    *out = nullptr;
    auto files = std::make_unique<assay_files>();
    if (label != nullptr) files->label = label;
    *out = files.release();
    return {};
  });
}

assay_status assay_files_add(assay_files* files, const char* name, uint64_t size, assay_error** error) {
  return guarded(error, [&]() -> Result<void> {
    if (files == nullptr || name == nullptr) return fail(Code::usage, "a NULL argument");
    if (files->find(name) != nullptr) return fail(Code::usage, concat("the set already has a file ", quote(name)));
    auto ranges = std::make_shared<AddedRanges>(name, size);
    files->files.push_back({name, ranges, ranges.get()});
    return {};
  });
}

assay_status assay_files_add_reader(assay_files* files, const char* name, uint64_t size, assay_read_fn read, void* context,
                                    assay_error** error) {
  return guarded(error, [&]() -> Result<void> {
    if (files == nullptr || name == nullptr || read == nullptr) return fail(Code::usage, "a NULL argument");
    if (files->find(name) != nullptr) return fail(Code::usage, concat("the set already has a file ", quote(name)));
    files->files.push_back({name, std::make_shared<HostSource>(size, read, context), nullptr});
    return {};
  });
}

assay_status assay_files_add_range(assay_files* files, const char* name, uint64_t offset, const void* data, size_t n, assay_error** error) {
  return guarded(error, [&]() -> Result<void> {
    if (files == nullptr || name == nullptr || (data == nullptr && n != 0)) return fail(Code::usage, "a NULL argument");
    const assay_files::File* file = files->find(name);
    if (file == nullptr) return fail(Code::no_such_file, concat("the set has no file ", quote(name)));
    if (file->ranges == nullptr) return fail(Code::usage, concat(quote(name), " is read by calling back"));
    const std::uint64_t size = file->source->size();
    if (!within(offset, n, size)) return fail(Code::usage, concat(n, " bytes at ", offset, " exceed the file's ", size));
    const auto* bytes = static_cast<const std::byte*>(data);
    if (n != 0) file->ranges->add(offset, std::vector<std::byte>(bytes, bytes + n));
    return {};
  });
}

void assay_files_drop_ranges(assay_files* files, const char* name) {
  if (files == nullptr || name == nullptr) return;
  if (const assay_files::File* file = files->find(name); file != nullptr && file->ranges != nullptr) file->ranges->clear();
}

void assay_files_set_whole(assay_files* files) {
  if (files != nullptr) files->whole = true;
}

assay_status assay_files_open(assay_files* files, const assay_options* options, assay_checkpoint** out, assay_error** error) {
  return guarded(error, [&]() -> Result<void> {
    if (files == nullptr || out == nullptr) return fail(Code::usage, "a NULL argument");
    *out = nullptr;
    ASSAY_CHECK(options_of(options));
    if (files->files.empty()) return fail(Code::usage, "the set has no files");
    const std::string primary = files->whole ? "" : files->files[0].name;
    auto set = std::make_unique<SourceSet>(files->label.empty() ? primary : files->label, primary);
    for (const auto& file : files->files) set->add(file.name, file.source);
    return open_into(std::move(set), out);
  });
}

void assay_files_free(assay_files* files) { delete files; }

}  // extern "C"
