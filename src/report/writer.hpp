// SPDX-License-Identifier: Apache-2.0
// Text put together in one buffer and handed on in large pieces: no call per cell, no allocation per row.
#pragma once

#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace assay::report {

class Writer {
 public:
  /// Receives the text in order. `state` is the caller's.
  using Drain = void (*)(void* state, std::string_view text);

  /// Keeps all text: see text().
  Writer() = default;
  /// Hands the text on whenever 64 KiB have come together, and on flush().
  Writer(Drain drain, void* state) : drain_(drain), state_(state) { text_.reserve(kFull + kFull / 4); }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  void put(std::string_view text) {
    text_ += text;
    if (text_.size() >= kFull) spill();
  }
  void put(char c) { text_ += c; }
  template <std::integral T>
    requires(!std::same_as<T, char> && !std::same_as<T, bool>)
  void number(T value) {
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    put(std::string_view(digits, static_cast<std::size_t>(end - digits)));
  }
  void repeat(char c, std::size_t n) { text_.append(n, c); }
  void repeat(std::string_view text, std::size_t n) {
    while (n-- > 0) put(text);
  }
  void flush() {
    if (drain_ != nullptr && !text_.empty()) drain_(state_, text_), text_.clear();
  }
  /// What has not been handed on: all of it where there is no drain.
  const std::string& text() const { return text_; }

 private:
  static constexpr std::size_t kFull = 64 * 1024;
  void spill() {
    if (drain_ != nullptr) flush();
  }

  Drain drain_ = nullptr;
  void* state_ = nullptr;
  std::string text_;
};

}  // namespace assay::report
