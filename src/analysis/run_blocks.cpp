// SPDX-License-Identifier: Apache-2.0
#include "analysis/run_blocks.hpp"

#include <algorithm>
#include <memory>

#include "analysis/meter.hpp"
#include "base/try.hpp"
#include "values/blocks.hpp"

namespace assay::analysis {
namespace {

constexpr std::size_t kBlocks = 8;         // whose runs are looked up at a time
constexpr std::size_t kPieceBytes = 4096;  // long runs are cut, so that memory is not asked for all of the next one at once
constexpr std::size_t kCached = 2 * Meter::kBlockBytes;

}  // namespace

Result<void> each_block(const TensorReader& reader, std::uint64_t first, std::uint64_t count, bool whole, const CodesFn& fn) {
  const auto take = [&](std::uint64_t, std::span<const std::byte> codes) -> Result<void> {
    for (; codes.size() > kCached; codes = codes.subspan(kCached)) fn(codes.first(kCached));
    fn(codes);
    return {};
  };
  return values::for_each_raw_block(reader, first, count, take, whole ? static_cast<std::size_t>(count) * reader.raw_size() : kCached);
}

Result<void> each_full_block(const TensorReader& reader, std::uint64_t first, std::uint64_t count, bool whole, const CodesFn& fn) {
  if (reader.tensor().stride.empty() || reader.plain_view()) return each_block(reader, first, count, whole, fn);
  const std::size_t size = reader.raw_size(), held = whole ? static_cast<std::size_t>(count) : kCached / size;
  const auto buffer = std::make_unique_for_overwrite<std::byte[]>(held * size);
  for (std::uint64_t done = 0; done < count; done += held) {
    const auto now = static_cast<std::size_t>(std::min<std::uint64_t>(held, count - done));
    std::span<std::byte> codes(buffer.get(), now * size);
    ASSAY_CHECK(reader.read_raw(first + done, now, codes));
    for (; codes.size() > kCached; codes = codes.subspan(kCached)) fn(codes.first(kCached));
    fn(codes);
  }
  return {};
}

void RunBlocks::for_each(const values::MappedRuns& runs, std::uint64_t first, std::uint64_t count,
                         const std::function<void(const kernels::Runs&, std::size_t)>& fn) {
  const std::size_t size = runs.element_bytes(), block = Meter::kBlockBytes / size, codes = runs.element_codes();
  const std::size_t piece = std::min(static_cast<std::size_t>(std::min<std::uint64_t>(runs.length(), block)), kPieceBytes / size);
  // A block of runs that are no whole rows is copied before it is measured, so the next one is asked for meanwhile.
  const bool rows = runs.length() * codes % kernels::kRunStep == 0;
  const std::size_t later = std::max<std::size_t>((rows ? kernels::kAheadBytes : Meter::kBlockBytes) / (piece * size), 1);  // pieces
  for (std::uint64_t done = 0, now; done < count; done += now) {
    now = std::min<std::uint64_t>(kBlocks * block, count - done);
    begins_.clear();
    counts_.clear();
    std::size_t filled = 0;  // elements of a block
    runs.for_each(first + done, std::min<std::uint64_t>(now + later * piece, count - done), [&](const std::byte* begin, std::size_t left) {
      for (std::size_t part; left > 0; left -= part, begin += part * size) {
        part = std::min({left, piece, block - filled});
        begins_.push_back(begin);
        counts_.push_back(part * codes);
        filled = (filled + part) % block;
      }
    });
    ahead_ = begins_;
    if (begins_.size() > later) std::copy(begins_.begin() + static_cast<std::ptrdiff_t>(later), begins_.end(), ahead_.begin());
    std::size_t at = 0;
    for (std::uint64_t taken = 0; taken < now;) {
      const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(block, now - taken));
      fn({begins_.data() + at, counts_.data() + at, ahead_.data() + at}, n * codes);
      for (std::size_t passed = 0; passed < n * codes; ++at) passed += counts_[at];
      taken += n;
    }
  }
}

void RunBlocks::for_each_joined(const values::MappedRuns& runs, std::uint64_t first, std::uint64_t count, const CodesFn& fn) {
  const auto buffer = std::make_unique_for_overwrite<std::byte[]>(Meter::kBlockBytes);
  const std::size_t width = runs.element_bytes() / runs.element_codes();
  for_each(runs, first, count, [&](const kernels::Runs& codes, std::size_t n) {
    kernels::join(codes, n, width, buffer.get());
    fn(std::span<const std::byte>(buffer.get(), n * width));
  });
}

}  // namespace assay::analysis
