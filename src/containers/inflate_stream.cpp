// SPDX-License-Identifier: Apache-2.0
#include "containers/inflate_stream.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/endian.hpp"
#include "base/text.hpp"
#include "containers/inflate.hpp"

namespace assay {

namespace {

constexpr int kLongestCode = 15;
constexpr int kQuickBits = 9;

/// Bits of the packed bytes, least first. Past the end it gives zeros and remembers.
class Bits {
 public:
  explicit Bits(ByteView bytes) : bytes_(bytes) {}

  std::uint32_t peek(int n) {
    if (count_ < n) fill();
    return static_cast<std::uint32_t>(held_ & ((std::uint64_t{1} << n) - 1));
  }
  void drop(int n) {
    held_ >>= n;
    count_ -= n;
  }
  std::uint32_t take(int n) {
    const std::uint32_t value = peek(n);
    drop(n);
    return value;
  }
  bool overrun() const { return static_cast<int>(padding_) * 8 > count_; }
  void to_byte() { drop(count_ & 7); }
  /// Bytes used, those wholly unread given back.
  std::size_t position() const {
    const std::size_t unread = static_cast<std::size_t>(count_ / 8);
    return next_ - std::min(next_, unread > padding_ ? unread - padding_ : 0);
  }
  /// Continues with whole bytes from `position`.
  void restart(std::size_t position) {
    next_ = position;
    held_ = 0;
    count_ = 0;
    padding_ = 0;
  }

 private:
  void fill() {
    while (count_ <= 56) {
      if (next_ < bytes_.size()) held_ |= std::uint64_t{std::to_integer<std::uint8_t>(bytes_[next_++])} << count_;
      else ++padding_;
      count_ += 8;
    }
  }
  ByteView bytes_;
  std::size_t next_ = 0;
  std::uint64_t held_ = 0;
  int count_ = 0;
  std::size_t padding_ = 0;  // bytes of zeros put behind the end
};

/// A canonical Huffman code: short codes by table, the rest by counting.
class Huffman {
 public:
  /// False when the lengths are no code: over-subscribed, or incomplete and not one symbol of one bit, as zlib and libdeflate have it.
  bool set(const std::uint8_t* lengths, std::size_t n) {
    count_.fill(0);
    for (std::size_t i = 0; i < n; ++i) ++count_[lengths[i]];
    count_[0] = 0;
    int left = 1, used = 0;
    for (int length = 1; length <= kLongestCode; ++length) {
      left = left * 2 - count_[static_cast<std::size_t>(length)];
      used += count_[static_cast<std::size_t>(length)];
      if (left < 0) return false;
    }
    if (left > 0 && used > 0 && !(used == 1 && count_[1] == 1)) return false;
    std::array<std::uint16_t, kLongestCode + 2> next{};
    for (std::size_t length = 1; length <= kLongestCode; ++length)
      next[length + 1] = static_cast<std::uint16_t>(next[length] + count_[length]);
    for (std::size_t i = 0; i < n; ++i)
      if (lengths[i] != 0) symbols_[next[lengths[i]]++] = static_cast<std::uint16_t>(i);
    fill_quick();
    return true;
  }

  /// The next symbol; -1 when the bits are no code.
  int take(Bits& bits) const {
    const std::uint32_t ahead = bits.peek(kLongestCode);
    const std::uint16_t quick = quick_[ahead & ((1u << kQuickBits) - 1)];
    if (quick != 0) {
      bits.drop(quick & 15);
      return quick >> 4;
    }
    int code = 0, first = 0, index = 0;
    for (int length = 1; length <= kLongestCode; ++length) {
      code |= static_cast<int>(ahead >> (length - 1) & 1);
      const int here = count_[static_cast<std::size_t>(length)];
      if (code - here < first) {
        bits.drop(length);
        return symbols_[static_cast<std::size_t>(index + code - first)];
      }
      index += here;
      first = (first + here) << 1;
      code <<= 1;
    }
    return -1;
  }

 private:
  void fill_quick() {
    quick_.fill(0);
    std::uint32_t code = 0, index = 0;
    for (std::uint32_t length = 1; length <= kQuickBits; ++length, code <<= 1) {
      for (int i = 0; i < count_[length]; ++i, ++code, ++index) {
        std::uint32_t reversed = 0;
        for (std::uint32_t bit = 0; bit < length; ++bit) reversed |= (code >> bit & 1) << (length - 1 - bit);
        for (; reversed < (1u << kQuickBits); reversed += 1u << length)
          quick_[reversed] = static_cast<std::uint16_t>(symbols_[index] << 4 | length);
      }
    }
  }

  std::array<std::uint16_t, kLongestCode + 1> count_{};
  std::array<std::uint16_t, 288> symbols_{};
  std::array<std::uint16_t, 1 << kQuickBits> quick_{};  // symbol << 4 | length; 0 for longer codes
};

constexpr std::uint16_t kLengthBase[] = {3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
                                         31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
constexpr std::uint8_t kLengthExtra[] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
constexpr std::uint16_t kDistanceBase[] = {1,   2,   3,   4,   5,   7,    9,    13,   17,   25,   33,   49,   65,    97,    129,
                                           193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};
constexpr std::uint8_t kDistanceExtra[] = {0, 0, 0, 0, 1, 1, 2, 2,  3,  3,  4,  4,  5,  5,  6,
                                           6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13};

class Inflater {
 public:
  Inflater(ByteView packed, std::uint64_t max_size, std::vector<std::byte>& out)
      : packed_(packed), bits_(packed), max_(max_size), out_(out), begin_(out.size()) {}

  bool run() {
    bool last = false;
    while (!last && !error_) {
      last = bits_.take(1) != 0;
      switch (bits_.take(2)) {
        case 0: stored(); break;
        case 1: fixed(); break;
        case 2: dynamic(); break;
        default: damaged("has a block of no known kind");
      }
      if (!error_ && bits_.overrun()) cut();
    }
    return !error_;
  }
  std::size_t consumed() const { return bits_.position(); }
  std::optional<Error>& error() { return error_; }

 private:
  void damaged(std::string_view what) {
    if (bits_.overrun()) return cut();
    if (!error_)
      error_ = Error(Code::inflate_failed, concat("the deflate stream ", what, " after ", out_.size() - begin_, " bytes"))
                   .at(packed_.offset(bits_.position()));
  }
  void cut() {
    if (!error_)
      error_ = Error(Code::truncated, concat("the deflate stream ends early, after ", out_.size() - begin_, " bytes"))
                   .at(packed_.offset(packed_.size()));
  }
  bool room(std::size_t n) {
    if (n <= max_ - std::min<std::uint64_t>(max_, out_.size())) return true;
    if (!error_) error_ = Error(Code::limit_exceeded, concat("inflates to more than ", max_, " bytes")).at(packed_.offset());
    return false;
  }

  void stored() {
    bits_.to_byte();
    const std::size_t at = bits_.position();
    if (packed_.size() - at < 4) return bits_.restart(packed_.size()), cut();
    const std::uint16_t n = load_le<std::uint16_t>(packed_.data() + at), check = load_le<std::uint16_t>(packed_.data() + at + 2);
    if ((n ^ check) != 0xffff) return damaged("has a stored block whose length is damaged");
    const std::size_t there = std::min<std::size_t>(n, packed_.size() - at - 4);
    if (!room(there)) return;
    const auto span = packed_.slice(at + 4, there).span();
    out_.insert(out_.end(), span.begin(), span.end());
    bits_.restart(at + 4 + there);
    if (there < n) cut();
  }

  void fixed() {
    std::array<std::uint8_t, 288> lengths;
    for (std::size_t i = 0; i < 288; ++i) lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
    literals_.set(lengths.data(), 288);
    lengths.fill(5);
    distances_.set(lengths.data(), 32);  // the last two mean nothing: an error where they occur
    symbols();
  }

  void dynamic() {
    constexpr std::uint8_t kOrder[] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
    const std::size_t literals = bits_.take(5) + 257, distances = bits_.take(5) + 1, codes = bits_.take(4) + 4;
    if (literals > 286 || distances > 30) return damaged("claims too many codes");
    std::array<std::uint8_t, 320> lengths{};
    for (std::size_t i = 0; i < codes; ++i) lengths[kOrder[i]] = static_cast<std::uint8_t>(bits_.take(3));
    Huffman lengths_code;
    if (!lengths_code.set(lengths.data(), 19)) return damaged("has a code of lengths that is none");
    lengths.fill(0);
    for (std::size_t i = 0; i < literals + distances;) {
      const int symbol = lengths_code.take(bits_);
      if (symbol < 0 || bits_.overrun()) return damaged("has a code length that is none");
      if (symbol < 16) {
        lengths[i++] = static_cast<std::uint8_t>(symbol);
        continue;
      }
      if (symbol == 16 && i == 0) return damaged("repeats a code length before the first");
      const std::uint8_t value = symbol == 16 ? lengths[i - 1] : 0;
      std::size_t repeat = symbol == 16 ? 3 + bits_.take(2) : symbol == 17 ? 3 + bits_.take(3) : 11 + bits_.take(7);
      if (repeat > literals + distances - i) return damaged("repeats a code length too often");
      while (repeat-- > 0) lengths[i++] = value;
    }
    if (lengths[256] == 0) return damaged("has a block without end");
    if (!literals_.set(lengths.data(), literals) || !distances_.set(lengths.data() + literals, distances))
      return damaged("has a code that is none");
    symbols();
  }

  void symbols() {
    while (true) {
      const int symbol = literals_.take(bits_);
      if (symbol < 0 || symbol > 285) return damaged("has a symbol that is none");
      if (bits_.overrun()) return cut();
      if (symbol == 256) return;
      if (symbol < 256) {
        if (!room(1)) return;
        out_.push_back(static_cast<std::byte>(symbol));
        continue;
      }
      const std::size_t l = static_cast<std::size_t>(symbol - 257);
      const std::size_t length = kLengthBase[l] + bits_.take(kLengthExtra[l]);
      const int d = distances_.take(bits_);
      if (d < 0 || d > 29) return damaged("has a distance that is none");
      const std::size_t distance = kDistanceBase[d] + bits_.take(kDistanceExtra[d]);
      if (bits_.overrun()) return cut();
      if (distance > out_.size() - begin_) return damaged("copies from before its start");
      if (!room(length)) return;
      copy(distance, length);
    }
  }

  void copy(std::size_t distance, std::size_t length) {
    const std::size_t from = out_.size() - distance;
    out_.resize(out_.size() + length);
    std::byte* to = out_.data() + from + distance;
    const std::byte* source = out_.data() + from;
    if (distance >= length) std::memcpy(to, source, length);
    else
      for (std::size_t i = 0; i < length; ++i) to[i] = source[i];
  }

  ByteView packed_;
  Bits bits_;
  std::uint64_t max_;
  std::vector<std::byte>& out_;
  std::size_t begin_;  // of this stream's output
  std::optional<Error> error_;
  Huffman literals_, distances_;
};

}  // namespace

Inflated inflate_stream(ByteView packed, std::uint64_t max_size) {
  Inflated out;
  Inflater inflater(packed, max_size, out.bytes);
  inflater.run();
  out.consumed = inflater.consumed();
  out.broken = std::move(inflater.error());
  return out;
}

bool is_gzip(ByteView head) {
  return head.size() >= 3 && head[0] == std::byte{0x1f} && head[1] == std::byte{0x8b} && head[2] == std::byte{8};
}

bool is_zlib(ByteView head) {
  if (head.size() < 2) return false;
  const unsigned method = std::to_integer<unsigned>(head[0]), flags = std::to_integer<unsigned>(head[1]);
  return (method & 0x0f) == 8 && method >> 4 <= 7 && (method << 8 | flags) % 31 == 0 && (flags & 0x20) == 0;
}

namespace {

/// Where the deflate stream of the gzip member at `at` starts; nothing when the header is cut or of another kind.
std::optional<std::size_t> skip_gzip_header(ByteView packed, std::size_t at) {
  constexpr unsigned kHeaderCrc = 2, kExtra = 4, kName = 8, kComment = 16;
  if (packed.size() - at < 10 || !is_gzip(packed.from(at))) return std::nullopt;
  const unsigned flags = std::to_integer<unsigned>(packed[at + 3]);
  at += 10;
  if (flags & kExtra) {
    if (packed.size() - at < 2) return std::nullopt;
    const std::size_t n = load_le<std::uint16_t>(packed.data() + at);
    at += 2;
    if (packed.size() - at < n) return std::nullopt;
    at += n;
  }
  for (const unsigned text : {kName, kComment}) {
    if (!(flags & text)) continue;
    const std::size_t end = packed.text().find('\0', at);
    if (end == std::string_view::npos) return std::nullopt;
    at = end + 1;
  }
  if (flags & kHeaderCrc) {
    if (packed.size() - at < 2) return std::nullopt;
    at += 2;
  }
  return at;
}

std::uint32_t adler32(std::span<const std::byte> bytes) {
  std::uint32_t a = 1, b = 0;
  for (std::size_t i = 0; i < bytes.size();) {
    for (const std::size_t end = std::min(bytes.size(), i + 5552); i < end; ++i) b += a += std::to_integer<std::uint32_t>(bytes[i]);
    a %= 65521;
    b %= 65521;
  }
  return b << 16 | a;
}

Error wrong_sum(std::string_view kind, std::uint32_t claimed, std::uint32_t found, std::uint64_t offset) {
  return Error(Code::inflate_failed, concat("the ", kind, " stream's check sum is ", hex(claimed), ", its bytes give ", hex(found)))
      .at(offset);
}

}  // namespace

Inflated inflate_gzip(ByteView packed, std::uint64_t max_size) {
  Inflated out;
  std::size_t at = 0;
  while (!out.broken && packed.size() - at >= 3 && is_gzip(packed.from(at))) {
    const auto data = skip_gzip_header(packed, at);
    if (!data) {
      out.broken = Error(Code::truncated, "the gzip header is cut").at(packed.offset(at));
      break;
    }
    const std::size_t before = out.bytes.size();
    Inflater inflater(packed.from(*data), max_size, out.bytes);
    inflater.run();
    at = *data + inflater.consumed();
    out.broken = std::move(inflater.error());
    if (out.broken) break;
    if (packed.size() - at < 8) {
      out.broken = Error(Code::truncated, "the gzip stream lacks its check sum").at(packed.offset(at));
      at = packed.size();
      break;
    }
    const std::uint32_t claimed = load_le<std::uint32_t>(packed.data() + at), found = crc32(std::span(out.bytes).subspan(before));
    if (claimed != found) out.broken = wrong_sum("gzip", claimed, found, packed.offset(at));
    at += 8;
  }
  out.consumed = at;
  return out;
}

Inflated inflate_zlib(ByteView packed, std::uint64_t max_size) {
  if (!is_zlib(packed)) {
    Inflated out;
    out.broken = Error(Code::inflate_failed, "no zlib header").at(packed.offset());
    return out;
  }
  Inflated out = inflate_stream(packed.from(2), max_size);
  out.consumed += 2;
  if (out.broken) return out;
  const std::size_t at = static_cast<std::size_t>(out.consumed);
  if (packed.size() - at < 4) {
    out.broken = Error(Code::truncated, "the zlib stream lacks its check sum").at(packed.offset(at));
    out.consumed = packed.size();
    return out;
  }
  const std::uint32_t claimed = load_be<std::uint32_t>(packed.data() + at), found = adler32(out.bytes);
  if (claimed != found) out.broken = wrong_sum("zlib", claimed, found, packed.offset(at));
  out.consumed += 4;
  return out;
}

}  // namespace assay
