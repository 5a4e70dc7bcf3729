// SPDX-License-Identifier: Apache-2.0
// Reading a ByteView from front to back. The first failure sticks: later reads give zeros, and error() tells what was being
// read where. So a header is read field by field and checked once.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "assay/result.hpp"
#include "assay/source.hpp"
#include "base/endian.hpp"

namespace assay {

class Cursor {
 public:
  explicit Cursor(ByteView bytes) : bytes_(bytes) {}

  std::size_t position() const { return position_; }
  std::size_t left() const { return bytes_.size() - position_; }
  std::uint64_t offset() const { return bytes_.offset(position_); }  ///< absolute in the file
  bool ok() const { return !error_.has_value(); }
  /// Precondition: !ok().
  Error take_error() { return std::move(*error_); }

  std::uint8_t u8(std::string_view what) { return le<std::uint8_t>(what); }
  std::uint16_t u16_le(std::string_view what) { return le<std::uint16_t>(what); }
  std::uint32_t u32_le(std::string_view what) { return le<std::uint32_t>(what); }
  std::uint64_t u64_le(std::string_view what) { return le<std::uint64_t>(what); }
  std::int32_t i32_le(std::string_view what) { return le<std::int32_t>(what); }
  std::int64_t i64_le(std::string_view what) { return le<std::int64_t>(what); }
  std::uint32_t u32_be(std::string_view what) { return be<std::uint32_t>(what); }
  double f64_be(std::string_view what) { return be<double>(what); }

  /// The next n bytes, in place; an empty view after a failure.
  ByteView take(std::uint64_t n, std::string_view what);
  void skip(std::uint64_t n, std::string_view what) { take(n, what); }
  /// Up to and without the next newline, which is consumed; fails when there is none.
  std::string_view line(std::string_view what);
  /// A u64 count of things of at least `least_size` bytes each; refuses one that the bytes left cannot hold.
  std::uint64_t count_u64_le(std::size_t least_size, std::string_view what);

  void fail(Error error);

 private:
  template <class T>
  T le(std::string_view what) {
    const ByteView bytes = take(sizeof(T), what);
    return bytes.empty() ? T{} : load_le<T>(bytes.data());
  }
  template <class T>
  T be(std::string_view what) {
    const ByteView bytes = take(sizeof(T), what);
    return bytes.empty() ? T{} : load_be<T>(bytes.data());
  }

  ByteView bytes_;
  std::size_t position_ = 0;
  std::optional<Error> error_;
};

}  // namespace assay
