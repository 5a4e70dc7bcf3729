// SPDX-License-Identifier: Apache-2.0
// ByteView, what every ByteSource shares, and the kinds that need no operating system.
#include "assay/source.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>
#include <new>

#include "base/arith.hpp"
#include "base/sort.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "bytes/names.hpp"

namespace assay {

ByteView ByteView::slice(std::size_t pos, std::size_t n) const {
  if (!within(pos, n, size())) __builtin_trap();
  return {bytes_.subspan(pos, n), offset_ + pos};
}

std::string_view ByteView::text() const { return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()}; }

// --- every source -----------------------------------------------------------------------------------------------------------

Result<void> ByteSource::available(std::uint64_t offset, std::uint64_t n) const {
  if (within(offset, n, size())) return {};
  const std::uint64_t left = offset < size() ? size() - offset : 0;
  return fail(
      Error(Code::truncated, concat(n, n == 1 ? " byte" : " bytes", " from offset ", offset, " pass the end of the file at ", size()))
          .at(offset)
          .expected_found(n, left));
}

std::optional<ByteView> ByteSource::mapped(std::uint64_t, std::uint64_t) const { return std::nullopt; }

Result<void> ByteSource::check_unchanged() const { return {}; }

Result<ByteBlock> ByteSource::fetch(std::uint64_t offset, std::uint64_t n) const {
  ASSAY_CHECK(available(offset, n));
  std::unique_ptr<std::byte[]> bytes;
  if (n <= std::numeric_limits<std::size_t>::max() / 2) bytes.reset(new (std::nothrow) std::byte[static_cast<std::size_t>(n)]);
  if (!bytes) return fail(Error(Code::out_of_memory, concat("no memory for ", n, " bytes of the file")).span(offset, n));
  const auto size = static_cast<std::size_t>(n);
  ASSAY_CHECK(read(offset, {bytes.get(), size}));
  return ByteBlock(std::move(bytes), size, offset);
}

Result<ByteBlock> ByteSource::view(std::uint64_t offset, std::uint64_t n) const {
  if (const auto in_place = mapped(offset, n)) return ByteBlock(*in_place);
  return fetch(offset, n);
}

// --- memory -----------------------------------------------------------------------------------------------------------------

namespace {
void copy_out(std::span<const std::byte> bytes, std::uint64_t offset, std::span<std::byte> out) {
  if (!out.empty()) std::memcpy(out.data(), bytes.data() + offset, out.size());
}
}  // namespace

MemorySource::MemorySource(std::vector<std::byte> bytes) : owned_(std::move(bytes)), bytes_(owned_) {}

std::shared_ptr<MemorySource> MemorySource::borrow(std::span<const std::byte> bytes) {
  std::shared_ptr<MemorySource> source(new MemorySource);
  source->bytes_ = bytes;
  return source;
}

Result<void> MemorySource::read(std::uint64_t offset, std::span<std::byte> out) const {
  ASSAY_CHECK(available(offset, out.size()));
  copy_out(bytes_, offset, out);
  return {};
}

std::optional<ByteView> MemorySource::mapped(std::uint64_t offset, std::uint64_t n) const {
  if (!within(offset, n, bytes_.size())) return std::nullopt;
  return ByteView(bytes_.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(n)), offset);
}

// --- ranges -----------------------------------------------------------------------------------------------------------------

namespace {
constexpr auto kOffsetBefore = [](std::uint64_t at, const auto& range) { return at < range.offset; };
}  // namespace

void RangeSource::add(std::uint64_t offset, std::vector<std::byte> bytes) {
  if (offset >= size_ || bytes.empty()) return;
  if (bytes.size() > size_ - offset) bytes.resize(static_cast<std::size_t>(size_ - offset));
  const std::uint64_t end = offset + bytes.size();

  // Only the gaps are filled: bytes that are held never move, so what was given out stays valid.
  std::vector<Range> filled;
  auto next = std::upper_bound(ranges_.begin(), ranges_.end(), offset, kOffsetBefore);
  std::uint64_t at = next == ranges_.begin() ? offset : std::max(offset, (next - 1)->end());
  for (; at < end; ++next) {
    const std::uint64_t gap_end = next == ranges_.end() ? end : std::min(end, next->offset);
    if (at == offset && gap_end == end) filled.push_back({at, std::move(bytes)});
    else if (at < gap_end) filled.push_back({at, {bytes.data() + (at - offset), bytes.data() + (gap_end - offset)}});
    if (next == ranges_.end()) break;
    at = next->end();
  }
  const auto held = ranges_.insert(ranges_.end(), std::make_move_iterator(filled.begin()), std::make_move_iterator(filled.end()));
  std::inplace_merge(ranges_.begin(), held, ranges_.end(), [](const Range& a, const Range& b) { return a.offset < b.offset; });
}

const RangeSource::Range* RangeSource::holding(std::uint64_t offset) const {
  const auto after = std::upper_bound(ranges_.begin(), ranges_.end(), offset, kOffsetBefore);
  if (after == ranges_.begin()) return nullptr;
  const Range& range = *(after - 1);
  return offset < range.end() ? &range : nullptr;
}

Result<void> RangeSource::available(std::uint64_t offset, std::uint64_t n) const {
  ASSAY_CHECK(ByteSource::available(offset, n));
  // From the first byte that is missing to the last one: what is held on either side need not be fetched again.
  std::uint64_t from = offset, to = offset + n;
  while (from < to) {
    const Range* range = holding(from);
    if (!range) break;
    from = range->end();
  }
  if (from >= to) return {};
  while (const Range* range = holding(to - 1)) to = range->offset;
  return fail(Error(Code::need_range, concat("bytes ", from, " to ", to, " are not at hand")).span(from, to - from));
}

Result<void> RangeSource::read(std::uint64_t offset, std::span<std::byte> out) const {
  ASSAY_CHECK(available(offset, out.size()));
  while (!out.empty()) {
    const Range& range = *holding(offset);
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), range.end() - offset));
    copy_out(range.bytes, offset - range.offset, out.first(n));
    offset += n;
    out = out.subspan(n);
  }
  return {};
}

std::optional<ByteView> RangeSource::mapped(std::uint64_t offset, std::uint64_t n) const {
  const Range* range = holding(offset);
  if (!range || n > range->end() - offset) return std::nullopt;
  return ByteView(std::span(range->bytes).subspan(static_cast<std::size_t>(offset - range->offset), static_cast<std::size_t>(n)), offset);
}

std::uint64_t RangeSource::held() const {
  std::uint64_t held = 0;
  for (const Range& range : ranges_) held += range.bytes.size();
  return held;
}

// --- sets of sources --------------------------------------------------------------------------------------------------------

namespace {
constexpr auto kNameBefore = [](const auto& file, std::string_view name) { return file.first < name; };
}  // namespace

void SourceSet::add(std::string name, std::shared_ptr<ByteSource> source) {
  const auto place = std::lower_bound(files_.begin(), files_.end(), name, kNameBefore);
  if (place != files_.end() && place->first == name) place->second = std::move(source);
  else files_.emplace(place, std::move(name), std::move(source));
}

Result<std::vector<FileSet::Entry>> SourceSet::list() const {
  std::vector<Entry> entries;
  for (const auto& [name, source] : files_) {
    const std::size_t slash = name.find('/');
    if (slash == std::string::npos) entries.push_back({name, source->size(), false});
    else if (entries.empty() || !entries.back().folder || entries.back().name != std::string_view(name).substr(0, slash))
      entries.push_back({name.substr(0, slash), 0, true});
  }
  sort_stable(entries, [](const Entry& a, const Entry& b) { return a.name < b.name; });
  return entries;
}

Result<std::shared_ptr<ByteSource>> SourceSet::open(std::string_view name) const {
  // The host may call its files what it likes; only other names must be plain.
  const auto find = [this](std::string_view wanted) {
    const auto place = std::lower_bound(files_.begin(), files_.end(), wanted, kNameBefore);
    return place != files_.end() && place->first == wanted ? place->second : nullptr;
  };
  if (auto source = find(name)) return source;
  ASSAY_TRY(const std::string plain, name_within_set(name));
  if (auto source = find(plain)) return source;
  return fail(Code::no_such_file, concat("there is no ", quote(name), " in ", quote(label_)));
}

}  // namespace assay
