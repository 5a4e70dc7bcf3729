// SPDX-License-Identifier: Apache-2.0
// JSON as events (RapidJSON's iterative SAX reader behind one narrow interface). Numbers arrive as text, so that nothing is
// lost; duplicate keys arrive twice and are the handler's to see; depth is bounded; UTF-8 is checked.
#pragma once

#include <cstdint>
#include <string_view>

#include "assay/limits.hpp"
#include "assay/source.hpp"

namespace assay::json {

/// Receives a document's events. Return false to stop; parse() then fails with what fail() was told.
/// Texts are valid during the call only. `offset` is absolute in the file: of the value's or key's end.
class Handler {
 public:
  virtual ~Handler() = default;
  virtual bool null() = 0;
  virtual bool boolean(bool value) = 0;
  virtual bool number(std::string_view text) = 0;  ///< as written, valid JSON number syntax
  virtual bool string(std::string_view text) = 0;  ///< unescaped; may hold NUL
  virtual bool key(std::string_view text) = 0;
  virtual bool start_object() = 0;
  virtual bool end_object() = 0;
  virtual bool start_array() = 0;
  virtual bool end_array() = 0;

  std::uint64_t offset = 0;  ///< set before each event

 protected:
  /// For `return stop(Code::bad_shape, "…")`.
  bool stop(Code code, std::string what);

 private:
  friend Result<std::uint64_t> parse(ByteView, Handler&, const Limits&);
  std::optional<Error> error_;
};

/// Parses one value and the blanks around it. Returns the count of bytes consumed up to and including the value's end; what
/// follows (trailing blanks or other text) is the caller's to judge. Fails with `bad-header` at an absolute offset, or the handler's error.
Result<std::uint64_t> parse(ByteView text, Handler& handler, const Limits& limits);

/// A JSON number text as u64; nothing when negative, fractional, with an exponent, or beyond 64 bits.
std::optional<std::uint64_t> to_u64(std::string_view number);
std::optional<std::int64_t> to_i64(std::string_view number);
/// To the nearest double.
double to_f64(std::string_view number);

}  // namespace assay::json
