// SPDX-License-Identifier: Apache-2.0
#include "values/storage_bytes.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/arith.hpp"
#include "base/text.hpp"
#include "base/try.hpp"

namespace assay::values {

Result<void> StorageBytes::prepare() {
  if (prepared_) return {};
  if (is_produced()) {
    ASSAY_TRY(produced_, storage_->producer->load(*file_));
    if (produced_.view().size() != storage_->nbytes)
      return fail(Error(Code::size_mismatch, concat("storage ", quote(storage_->key), " decodes to ", produced_.view().size(),
                                                    " bytes, not the ", storage_->nbytes, " promised"))
                      .expected_found(storage_->nbytes, produced_.view().size()));
  } else if (!checked_add(base(), high_) || !within(absolute(low_), high_ - low_, source().size())) {
    return fail(Error(Code::truncated, concat("its bytes end ", high_, " bytes after offset ", base(), ", the file has ", source().size()))
                    .at(base())
                    .expected_found(high_, source().size() - std::min(source().size(), base())));
  }
  prepared_ = true;
  return {};
}

std::optional<ByteView> StorageBytes::mapped(std::uint64_t offset, std::uint64_t n) const {
  if (is_produced()) return std::nullopt;
  return source().mapped(absolute(offset), n);
}

const std::byte* StorageBytes::in_place(std::uint64_t offset, std::uint64_t n) const {
  if (is_produced()) return produced_.view().slice(static_cast<std::size_t>(offset), static_cast<std::size_t>(n)).data();
  if (!held_.view().empty() && offset >= held_low_ && within(offset - held_low_, n, held_.view().size()))
    return held_.view().data() + (offset - held_low_);
  const auto view = mapped(offset, n);
  return view ? view->data() : nullptr;
}

Result<const std::byte*> StorageBytes::load(std::uint64_t offset, std::uint64_t n, std::uint64_t eager) {
  if (n > kHeldBytes) return nullptr;
  std::uint64_t from = offset, size = n;
  if (n > eager && high_ - low_ <= kHeldBytes) {
    from = low_;
    size = high_ - low_;
  } else if (n > eager) {
    // The next block will look almost at the same place, a little further on; twice as much each time ends the repetition.
    size = std::min({std::max<std::uint64_t>(n, 2 * std::uint64_t{held_.view().size()}), kHeldBytes, high_ - offset});
  }
  ASSAY_TRY(held_, source().fetch(absolute(from), size));
  held_low_ = from;
  return held_.view().data() + (offset - from);
}

Result<void> StorageBytes::read(std::uint64_t offset, std::span<std::byte> out) const { return source().read(absolute(offset), out); }

void StorageBytes::use_pages(std::uint64_t places) {
  if (page_bytes_ != 0) return;
  constexpr std::uint64_t kLeast = 64, kMost = std::uint64_t{64} << 10;
  page_bytes_ = std::clamp(std::bit_floor(kHeldBytes / std::max<std::uint64_t>(places, 1)), kLeast, kMost);
  slots_ = static_cast<std::size_t>(kHeldBytes / page_bytes_);
}

Result<const std::byte*> StorageBytes::page(std::uint64_t number) {
  if (const auto found = slot_of_.find(number); found != slot_of_.end()) return pages_[found->second].get();
  const std::uint64_t from = std::max(number * page_bytes_, low_);
  const std::uint64_t to = std::min((number + 1) * page_bytes_, high_);
  std::size_t slot = pages_.size();
  if (slot < slots_) {
    pages_.push_back(std::make_unique<std::byte[]>(static_cast<std::size_t>(page_bytes_)));
    page_in_.push_back(number);
  } else {
    slot = oldest_;
    oldest_ = (oldest_ + 1) % slots_;
    slot_of_.erase(page_in_[slot]);
  }
  // Entered only once it is whole: a failed read leaves a slot that nothing finds.
  page_in_[slot] = number;
  const auto at = static_cast<std::size_t>(from - number * page_bytes_);
  ASSAY_CHECK(source().read(absolute(from), std::span(pages_[slot].get() + at, static_cast<std::size_t>(to - from))));
  slot_of_.emplace(number, slot);
  return pages_[slot].get();
}

Result<void> StorageBytes::read_paged(std::uint64_t offset, std::span<std::byte> out) {
  while (!out.empty()) {
    const auto at = static_cast<std::size_t>(offset % page_bytes_);
    ASSAY_TRY(const std::byte* bytes, page(offset / page_bytes_));
    const std::size_t n = std::min(out.size(), static_cast<std::size_t>(page_bytes_) - at);
    std::memcpy(out.data(), bytes + at, n);
    out = out.subspan(n);
    offset += n;
  }
  return {};
}

}  // namespace assay::values
