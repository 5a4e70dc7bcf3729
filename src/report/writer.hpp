// SPDX-License-Identifier: Apache-2.0
// Text put together in one buffer and handed on in large pieces: no call per cell, no allocation per row.
#pragma once

#include <algorithm>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

namespace assay::report {

class Writer {
 public:
  /// Receives the text in order. `state` is the caller's.
  using Drain = void (*)(void* state, std::string_view text);

  /// Keeps all text: see text().
  Writer() = default;
  /// Hands the text on whenever 64 KiB have come together, and on flush().
  Writer(Drain drain, void* state) : drain_(drain), state_(state) {}
  Writer(Writer&& other) noexcept
      : drain_(other.drain_), state_(other.state_), buffer_(std::move(other.buffer_)), size_(std::exchange(other.size_, 0)),
        used_(std::exchange(other.used_, 0)) {}

  void put(std::string_view text) {
    if (text.empty()) return;
    if (text.size() > size_ - used_) make_room(text.size());
    std::memcpy(buffer_.get() + used_, text.data(), text.size());
    used_ += text.size();
  }
  void put(char c) { put(std::string_view(&c, 1)); }
  template <std::integral T>
    requires(!std::same_as<T, char> && !std::same_as<T, bool>)
  void number(T value) {
    constexpr std::size_t kMostDigits = 20;
    if (kMostDigits > size_ - used_) make_room(kMostDigits);
    used_ = static_cast<std::size_t>(std::to_chars(buffer_.get() + used_, buffer_.get() + size_, value).ptr - buffer_.get());
  }
  void repeat(char c, std::size_t n) {
    if (n > size_ - used_) make_room(n);
    std::memset(buffer_.get() + used_, c, n);
    used_ += n;
  }
  /// Room for `n` bytes, to be written by the caller, who then says with `took` where they end.
  char* room(std::size_t n) {
    if (n > size_ - used_) make_room(n);
    return buffer_.get() + used_;
  }
  void took(const char* end) { used_ = static_cast<std::size_t>(end - buffer_.get()); }
  void flush() {
    if (drain_ == nullptr || used_ == 0) return;
    drain_(state_, text());
    used_ = 0;
  }
  /// What has not been handed on: all of it where there is no drain. Valid until the next call.
  std::string_view text() const { return {buffer_.get(), used_}; }

 private:
  static constexpr std::size_t kFull = 64 * 1024;
  void make_room(std::size_t n) {
    flush();
    if (n <= size_ - used_) return;
    size_ = std::max({used_ + n, 2 * size_, drain_ != nullptr ? kFull : std::size_t{256}});
    auto larger = std::make_unique_for_overwrite<char[]>(size_);
    if (used_ > 0) std::memcpy(larger.get(), buffer_.get(), used_);
    buffer_ = std::move(larger);
  }

  Drain drain_ = nullptr;
  void* state_ = nullptr;
  std::unique_ptr<char[]> buffer_;
  std::size_t size_ = 0;
  std::size_t used_ = 0;
};

}  // namespace assay::report
