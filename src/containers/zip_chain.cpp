// SPDX-License-Identifier: Apache-2.0
// Archives one behind the other: what a distributed checkpoint's writer leaves.
#include <algorithm>
#include <array>

#include "base/endian.hpp"
#include "base/try.hpp"
#include "bytes/window.hpp"
#include "containers/zip_layout.hpp"

namespace assay::zip {

namespace {

/// What reading failed with, rather than what the bytes are.
bool is_reading_error(Code code) {
  return code == Code::need_range || code == Code::io_error || code == Code::file_changed || code == Code::out_of_memory;
}

/// Where the archive begins that ends at `end`, by the numbers of its end record; `end` where they make no sense.
Result<std::uint64_t> claimed_begin(const ByteSource& source, std::uint64_t end) {
  constexpr std::size_t kMost = kEndRecordSize + kZip64LocatorSize;
  std::array<std::byte, kMost> bytes{};
  const std::size_t n = end < kMost ? kEndRecordSize : kMost;
  ASSAY_CHECK(source.read(end - n, std::span(bytes).last(n)));
  const std::byte* p = bytes.data() + kZip64LocatorSize;
  const bool wide = load_le<std::uint32_t>(bytes.data()) == kZip64Locator;
  const std::uint64_t size = std::uint64_t{load_le<std::uint32_t>(p + 12)} + load_le<std::uint32_t>(p + 16) + kEndRecordSize +
                             (wide ? kZip64LocatorSize + kZip64EndSize : 0);
  return size <= end ? end - size : end;
}

/// True when the bytes are one archive from the first to the last.
bool is_filled_by(const ByteSource& source, const Result<Directory>& directory) {
  return directory && !directory->salvaged && directory->prefix == 0 && directory->end_offset == source.size();
}

}  // namespace

Result<std::vector<std::uint64_t>> find_chain(const ByteSource& source, const Limits& limits) {
  constexpr std::size_t kMostArchives = 100'000;
  std::vector<std::uint64_t> begins;
  for (std::uint64_t end = source.size(); end != 0 && begins.size() < kMostArchives;) {
    // Writers of such files leave no comment: without an end record here there is no need to look further.
    std::array<std::byte, 4> signature;
    if (end < kEndRecordSize) return std::vector<std::uint64_t>{};
    ASSAY_CHECK(source.read(end - kEndRecordSize, signature));
    if (load_le<std::uint32_t>(signature.data()) != kEndRecord) return std::vector<std::uint64_t>{};
    // A look at the archive alone, where its end record is right, costs what it is; one at all in front of it costs the longest tail.
    ASSAY_TRY(const std::uint64_t begin, claimed_begin(source, end));
    if (begin < end) {
      const WindowSource alone(source, begin, end - begin);
      auto directory = read_directory(alone, limits);
      if (!directory && is_reading_error(directory.error().code())) return fail(std::move(directory).error());
      if (is_filled_by(alone, directory)) {
        begins.push_back(begin);
        end = begin;
        continue;
      }
    }
    const WindowSource window(source, 0, end);
    auto directory = read_directory(window, limits);
    if (!directory) {
      if (is_reading_error(directory.error().code())) return fail(std::move(directory).error());
      return std::vector<std::uint64_t>{};
    }
    if (directory->salvaged || directory->end_offset != end || directory->prefix >= end) return std::vector<std::uint64_t>{};
    begins.push_back(directory->prefix);
    end = directory->prefix;
  }
  if (begins.empty() || begins.back() != 0) return std::vector<std::uint64_t>{};
  std::ranges::reverse(begins);
  return begins;
}

}  // namespace assay::zip
