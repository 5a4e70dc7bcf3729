// SPDX-License-Identifier: Apache-2.0
// A part of a source as a source of its own: what reads a file can read a member of an archive.
#pragma once

#include <algorithm>

#include "assay/source.hpp"
#include "base/arith.hpp"
#include "base/text.hpp"

namespace assay {

/// Offsets count from the window's start; errors of reading name the outer source's offsets, which is what a host must supply.
/// The outer source must live as long.
class WindowSource : public ByteSource {
 public:
  /// What of [begin, begin + size) the outer source holds.
  WindowSource(const ByteSource& outer, std::uint64_t begin, std::uint64_t size)
      : outer_(outer), begin_(std::min(begin, outer.size())), size_(std::min(size, outer.size() - begin_)) {}

  std::uint64_t size() const override { return size_; }
  Result<void> available(std::uint64_t offset, std::uint64_t n) const override {
    if (!within(offset, n, size_)) return past_end(offset, n);
    return outer_.available(begin_ + offset, n);
  }
  Result<void> read(std::uint64_t offset, std::span<std::byte> out) const override {
    if (!within(offset, out.size(), size_)) return past_end(offset, out.size());
    return outer_.read(begin_ + offset, out);
  }
  std::optional<ByteView> mapped(std::uint64_t offset, std::uint64_t n) const override {
    if (!within(offset, n, size_)) return std::nullopt;
    const auto view = outer_.mapped(begin_ + offset, n);
    if (!view) return std::nullopt;
    return ByteView(view->span(), offset);
  }

 private:
  Result<void> past_end(std::uint64_t offset, std::uint64_t n) const {
    return fail(Error(Code::truncated, concat(n, " bytes at ", offset, " are needed, the part has ", size_)).at(offset));
  }
  const ByteSource& outer_;
  std::uint64_t begin_, size_;
};

/// The same, which keeps the outer source alive.
class PartSource final : public WindowSource {
 public:
  PartSource(std::shared_ptr<const ByteSource> whole, std::uint64_t begin, std::uint64_t size)
      : WindowSource(*whole, begin, size), whole_(std::move(whole)) {}
  Result<void> check_unchanged() const override { return whole_->check_unchanged(); }

 private:
  std::shared_ptr<const ByteSource> whole_;
};

}  // namespace assay
