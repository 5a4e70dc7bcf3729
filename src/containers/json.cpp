// SPDX-License-Identifier: Apache-2.0
#include "containers/json.hpp"

#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>

#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <string>

#include "base/text.hpp"

namespace assay::json {

namespace {

// The reader's own texts are sentences; ours are not.
std::string_view describe(rapidjson::ParseErrorCode code) {
  switch (code) {
    case rapidjson::kParseErrorDocumentEmpty: return "no value";
    case rapidjson::kParseErrorObjectMissName: return "an object member has no name";
    case rapidjson::kParseErrorObjectMissColon: return "no ':' behind a member's name";
    case rapidjson::kParseErrorObjectMissCommaOrCurlyBracket: return "no ',' or '}' behind an object member";
    case rapidjson::kParseErrorArrayMissCommaOrSquareBracket: return "no ',' or ']' behind an array element";
    case rapidjson::kParseErrorStringUnicodeEscapeInvalidHex: return "a \\u escape needs four hex digits";
    case rapidjson::kParseErrorStringUnicodeSurrogateInvalid: return "half a surrogate pair in a string";
    case rapidjson::kParseErrorStringEscapeInvalid: return "unknown escape in a string";
    case rapidjson::kParseErrorStringMissQuotationMark: return "a string does not end";
    case rapidjson::kParseErrorStringInvalidEncoding: return "invalid UTF-8 or a control character in a string";
    case rapidjson::kParseErrorNumberTooBig: return "a number too large for a double";
    case rapidjson::kParseErrorNumberMissFraction: return "a number ends after its point";
    case rapidjson::kParseErrorNumberMissExponent: return "a number ends in its exponent";
    default: return "not a value";
  }
}

using Stream = rapidjson::MemoryStream;

/// Stands between the reader's events and a Handler: adds offsets, counts depth, refuses what the reader lets pass.
class Adapter {
 public:
  Adapter(Handler& handler, const Stream& stream, std::uint64_t base, std::uint32_t max_depth)
      : handler_(handler), stream_(stream), base_(base), max_depth_(max_depth) {}

  bool Null() { return at().null(); }
  bool Bool(bool value) { return at().boolean(value); }
  bool RawNumber(const char* text, rapidjson::SizeType n, bool) { return at().number({text, n}); }
  bool String(const char* text, rapidjson::SizeType n, bool) { return whole({text, n}) && at().string({text, n}); }
  bool Key(const char* text, rapidjson::SizeType n, bool) { return whole({text, n}) && at().key({text, n}); }
  // The reader tells of a bracket before it takes it.
  bool StartObject() { return deeper() && at(1).start_object(); }
  bool EndObject(rapidjson::SizeType) { return --depth_, at(1).end_object(); }
  bool StartArray() { return deeper() && at(1).start_array(); }
  bool EndArray(rapidjson::SizeType) { return --depth_, at(1).end_array(); }
  // Numbers come as text, so these never happen; the reader asks for them all the same.
  bool Int(int) { return false; }
  bool Uint(unsigned) { return false; }
  bool Int64(std::int64_t) { return false; }
  bool Uint64(std::uint64_t) { return false; }
  bool Double(double) { return false; }

  std::optional<Error>& error() { return error_; }

 private:
  Handler& at(std::uint64_t ahead = 0) {
    handler_.offset = base_ + stream_.Tell() + ahead;
    return handler_;
  }
  bool deeper() {
    if (++depth_ <= max_depth_) return true;
    error_ = Error(Code::limit_exceeded, concat("JSON nested deeper than ", max_depth_, " levels")).at(base_ + stream_.Tell());
    return false;
  }
  // A lone low surrogate written as an escape comes out as three bytes that are no UTF-8.
  bool whole(std::string_view text) {
    if (valid_utf8(text)) return true;
    error_ =
        Error(Code::bad_header, concat("JSON: ", describe(rapidjson::kParseErrorStringUnicodeSurrogateInvalid))).at(base_ + stream_.Tell());
    return false;
  }

  Handler& handler_;
  const Stream& stream_;
  std::uint64_t base_;
  std::uint32_t max_depth_;
  std::uint32_t depth_ = 0;
  std::optional<Error> error_;
};

constexpr unsigned kFlags = rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag | rapidjson::kParseNumbersAsStringsFlag |
                            rapidjson::kParseStopWhenDoneFlag;

template <class T>
std::optional<T> to_integer(std::string_view number) {
  T value = 0;
  const auto [end, failed] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (failed != std::errc{} || end != number.data() + number.size()) return std::nullopt;
  return value;
}

}  // namespace

bool Handler::stop(Code code, std::string what) {
  error_ = Error(code, std::move(what)).at(offset);
  return false;
}

Result<std::uint64_t> parse(ByteView text, Handler& handler, const Limits& limits) {
  const std::string_view bytes = text.text();
  Stream stream(bytes.data(), bytes.size());
  Adapter adapter(handler, stream, text.offset(), limits.json_depth);
  rapidjson::Reader reader;
  const rapidjson::ParseResult result = reader.Parse<kFlags>(stream, adapter);
  if (!result.IsError()) return stream.Tell();
  if (handler.error_) return fail(std::move(*handler.error_));
  if (adapter.error()) return fail(std::move(*adapter.error()));
  if (result.Code() == rapidjson::kParseErrorTermination) return fail(Error(Code::bad_header, "JSON: refused").at(handler.offset));
  return fail(Error(Code::bad_header, concat("JSON: ", describe(result.Code()))).at(text.offset() + result.Offset()));
}

std::optional<std::uint64_t> to_u64(std::string_view number) { return to_integer<std::uint64_t>(number); }
std::optional<std::int64_t> to_i64(std::string_view number) { return to_integer<std::int64_t>(number); }

double to_f64(std::string_view number) {
#ifdef __cpp_lib_to_chars
  double value = 0;
  // Only the range can fail, and only downwards: the reader refuses what is too large.
  std::from_chars(number.data(), number.data() + number.size(), value);
  return value;
#else
  return std::strtod(std::string(number).c_str(), nullptr);
#endif
}

}  // namespace assay::json
