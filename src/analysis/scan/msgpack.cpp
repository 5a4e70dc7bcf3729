// SPDX-License-Identifier: Apache-2.0
//
//   msgpack  one value: a type byte, a length of 0 to 4 bytes (big endian), the content; maps and arrays hold that many values
//   Flax     a map of maps; arrays are of extension 1, whose content is a msgpack array of its own: shape, name of the dtype, bytes in
//            C order; 2 is a complex number, 3 a NumPy scalar
// Nothing in it is called or imported. What other programs put into plain bytes may be anything.
#include <algorithm>

#include "analysis/scan/sniff.hpp"
#include "base/text.hpp"
#include "base/try.hpp"

namespace assay::scan {

namespace {

constexpr std::size_t kDeepest = 1024;  // as far as Python's msgpack goes
constexpr std::uint64_t kChunk = std::uint64_t{64} << 10;

/// Bytes one after the other, fetched in chunks; contents are stepped over.
class Reader {
 public:
  explicit Reader(const ByteSource& source) : source_(source) {}

  std::uint64_t at() const { return at_; }
  std::uint64_t left() const { return source_.size() - at_; }
  Result<std::uint64_t> number(std::size_t n) {
    if (left() < n)
      return fail(Error(Code::truncated, concat("a value needs ", counted(n, "byte", "bytes"), ", ", left(), " are left")).at(at_));
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < n; ++i) {
      ASSAY_TRY(const std::uint8_t byte, next());
      value = value << 8 | byte;
    }
    return value;
  }
  Result<void> skip(std::uint64_t n) {
    if (left() < n) return fail(Error(Code::truncated, concat("a value of ", n, " bytes, ", left(), " are left")).at(at_));
    at_ += n;
    return {};
  }

 private:
  Result<std::uint8_t> next() {
    if (at_ < begin_ || at_ - begin_ >= chunk_.view().size()) {
      begin_ = at_;
      ASSAY_TRY(chunk_, source_.view(at_, std::min(kChunk, left())));
    }
    return std::to_integer<std::uint8_t>(chunk_.view()[static_cast<std::size_t>(at_++ - begin_)]);
  }
  const ByteSource& source_;
  std::uint64_t at_ = 0, begin_ = 0;
  ByteBlock chunk_;
};

class Walker {
 public:
  explicit Walker(const ByteSource& source) : in_(source) {}

  Result<Msgpack> run() {
    open_.push_back(1);
    while (!open_.empty()) {
      if (open_.back() == 0) {
        open_.pop_back();
        continue;
      }
      --open_.back();
      ASSAY_CHECK(value());
    }
    out_.end = in_.at();
    return std::move(out_);
  }

 private:
  Result<void> value() {
    const std::uint64_t at = in_.at();
    ASSAY_TRY(const std::uint64_t type, in_.number(1));
    if (type <= 0x7f || type >= 0xe0) return {};
    if (type <= 0x8f) return open(2 * (type & 15), at);
    if (type <= 0x9f) return open(type & 15, at);
    if (type <= 0xbf) return in_.skip(type & 31);
    if (type == 0xc0 || type == 0xc2 || type == 0xc3) return {};
    if (type == 0xc1) return fail(Error(Code::bad_header, "a msgpack value of type 0xc1, which is never used").at(at));
    if (type >= 0xca && type <= 0xd3) {  // floats and integers
      constexpr std::uint8_t kSizes[] = {4, 8, 1, 2, 4, 8, 1, 2, 4, 8};
      return in_.skip(kSizes[type - 0xca]);
    }
    if (type >= 0xd4 && type <= 0xd8) return extension(std::uint64_t{1} << (type - 0xd4), at);
    const bool wide = type >= 0xdc;  // lists begin at 2 bytes, all else at 1
    const std::uint64_t kind = type >= 0xde ? 0xde : type >= 0xdc ? 0xdc : type >= 0xd9 ? 0xd9 : type >= 0xc7 ? 0xc7 : 0xc4;
    ASSAY_TRY(const std::uint64_t n, in_.number((wide ? 2u : 1u) << (type - kind)));
    switch (kind) {
      case 0xde: return open(2 * n, at);
      case 0xdc: return open(n, at);
      case 0xd9: return in_.skip(n);
      case 0xc7: return extension(n, at);
      default: return bytes(n);
    }
  }
  Result<void> open(std::uint64_t n, std::uint64_t at) {
    if (open_.size() > kDeepest)
      return fail(Error(Code::limit_exceeded, concat("values stand more than ", kDeepest, " deep within each other")).at(at));
    // Each has a byte at least.
    if (n > in_.left()) return fail(Error(Code::truncated, concat(n, " values, ", in_.left(), " bytes are left")).at(at));
    open_.push_back(n);
    return {};
  }
  Result<void> extension(std::uint64_t n, std::uint64_t at) {
    ASSAY_TRY(const std::uint64_t type, in_.number(1));
    constexpr std::uint64_t kArray = 1, kComplex = 2, kScalar = 3, kTimestamp = 0xff;
    if (type != kArray && type != kComplex && type != kScalar && type != kTimestamp && !out_.unknown_extension)
      out_.unknown_extension = {type < 128 ? static_cast<int>(type) : static_cast<int>(type) - 256, at};
    return in_.skip(n);
  }
  Result<void> bytes(std::uint64_t n) {
    const std::uint64_t begin = in_.at();
    ASSAY_CHECK(in_.skip(n));
    if (n == 0) return {};
    if (out_.bytes.size() == Msgpack::kMostBytes) out_.bytes.back().second = in_.at();  // and all between
    else out_.bytes.emplace_back(begin, in_.at());
    return {};
  }

  Reader in_;
  Msgpack out_;
  std::vector<std::uint64_t> open_;  // values that are still to come, of each list around
};

}  // namespace

bool looks_like_msgpack(ByteView head) {
  if (head.size() < 8) return false;
  const auto byte = [&](std::size_t i) { return std::to_integer<unsigned>(head[i]); };
  const std::size_t key = byte(0) > 0x80 && byte(0) <= 0x8f ? 1 : byte(0) == 0xde ? 3 : byte(0) == 0xdf ? 5 : 0;
  if (key == 0) return false;
  const bool is_short = byte(key) > 0xa0 && byte(key) <= 0xbf;
  if (!is_short && byte(key) != 0xd9) return false;
  const std::size_t length = is_short ? byte(key) - 0xa0 : byte(key + 1);
  const std::string_view text = head.text().substr(key + (is_short ? 1 : 2)).substr(0, length);
  return length > 0 && text.size() == length && std::ranges::all_of(text, [](char c) { return c >= 0x20 && c < 0x7f; });
}

Result<Msgpack> read_msgpack(const ByteSource& source) { return Walker(source).run(); }

}  // namespace assay::scan
