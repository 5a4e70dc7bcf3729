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
