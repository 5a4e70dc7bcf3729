// SPDX-License-Identifier: Apache-2.0
// The scanner for headers spelled exactly as the reference spells them:
//
//   {"__metadata__":{"key":"value",…},"name":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},…}   and blanks to fill up
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <span>
#include <utility>

#include "base/plain_text.hpp"
#include "base/same_text.hpp"
#include "formats/safetensors_header.hpp"

namespace assay::formats::safetensors {

namespace {

constexpr std::size_t kMaxRank = 16;       // more is left to the exact reader
constexpr std::size_t kMaxDigits = 19;     // always fits in 64 bits
constexpr std::size_t kWord = 8;           // digits read at once
constexpr std::size_t kFirstEntries = 64;  // measured before room is made for the rest

class Scanner {
 public:
  Scanner(ByteView header, Arena& arena, const Limits& limits, Layout& layout)
      : begin_(header.text().data()), p_(begin_), end_(begin_ + header.size()), base_(header.offset()), arena_(arena), layout_(layout),
        max_rank_(std::min<std::size_t>(kMaxRank, limits.rank)) {}

  bool run() {
    if (!literal("{")) return false;
    if (!literal("}")) {
      do {
        if (!member()) return false;
        if (layout_.size() == kFirstEntries) make_room();
      } while (literal(","));
      if (!literal("}")) return false;
    }
    while (p_ != end_ && (*p_ == ' ' || *p_ == '\n' || *p_ == '\r' || *p_ == '\t')) ++p_;
    return p_ == end_;
  }

 private:
  template <std::size_t n>
  bool literal(const char (&text)[n]) {
    if (static_cast<std::size_t>(end_ - p_) < n - 1 || std::memcmp(p_, text, n - 1) != 0) return false;
    p_ += n - 1;
    return true;
  }

  /// The rest of a string whose opening quote is behind us: printable ASCII without escapes.
  bool plain_text(std::string_view& text) {
    const char* stop = plain_text_end(p_, end_, '"');
    if (stop == end_ || *stop != '"') return false;
    text = {p_, static_cast<std::size_t>(stop - p_)};
    p_ = stop + 1;
    return true;
  }

  bool number(std::uint64_t& value) {
    const char* from = p_;
    value = 0;
    if (static_cast<std::size_t>(end_ - p_) >= kWord) {
      const std::size_t digits = leading_digits(load_le<std::uint64_t>(reinterpret_cast<const std::byte*>(p_)), value);
      p_ += digits;
      if (digits < kWord) return digits != 0 && (*from != '0' || digits == 1);
    }
    for (; p_ != end_ && *p_ >= '0' && *p_ <= '9'; ++p_) {
      if (static_cast<std::size_t>(p_ - from) == kMaxDigits) return false;
      value = value * 10 + static_cast<unsigned char>(*p_ - '0');
    }
    return p_ != from && (*from != '0' || p_ - from == 1);
  }

  /// How many of the eight characters, from the first, are digits, and the number they make.
  static std::size_t leading_digits(std::uint64_t characters, std::uint64_t& value) {
    std::uint64_t word = characters ^ 0x3030303030303030u;  // digits become 0 … 9
    // The high bit of every byte above 9; exact for the lowest such byte.
    const std::uint64_t others = ((word + 0x7676767676767676u) | word) & 0x8080808080808080u;
    const std::size_t digits = static_cast<std::size_t>(std::countr_zero(others)) / 8;
    if (digits == 0) return 0;
    word <<= 8 * (kWord - digits);  // zeros in front
    word = word * 10 + (word >> 8);
    constexpr std::uint64_t kPairs = 0x000000ff000000ffu;
    value = ((word & kPairs) * (100 + (std::uint64_t{1000000} << 32)) + (word >> 16 & kPairs) * (1 + (std::uint64_t{10000} << 32))) >> 32;
    return digits;
  }

  bool member() {
    Claim claim;
    if (!literal("\"") || !plain_text(claim.name) || !literal(":")) return false;
    if (claim.name == "__metadata__") return metadata();
    claim.at = base_ + static_cast<std::uint64_t>(p_ - begin_);
    if (!kind(claim) || !number(claim.begin) || !literal(",") || !number(claim.end) || !literal("]}")) return false;
    layout_.add(claim, last_dtype_);
    return true;
  }

  /// Dtype and shape, to where the numbers of data_offsets begin. Neighbours are often spelled alike up to there.
  bool kind(Claim& claim) {
    const char* from = p_;
    if (!last_kind_.empty() && begins_with({p_, static_cast<std::size_t>(end_ - p_)}, last_kind_)) {
      p_ += last_kind_.size();
      claim.dtype = last_dtype_name_;
      claim.shape = last_shape_;
      return true;
    }
    std::array<std::uint64_t, kMaxRank> shape;
    std::size_t rank = 0;
    if (!literal("{\"dtype\":\"") || !plain_text(claim.dtype) || !literal(",\"shape\":[")) return false;
    if (!literal("]")) {
      do {
        if (rank == max_rank_ || !number(shape[rank++])) return false;
      } while (literal(","));
      if (!literal("]")) return false;
    }
    if (!literal(",\"data_offsets\":[")) return false;
    if (!std::ranges::equal(last_shape_, std::span(shape.data(), rank))) last_shape_ = arena_.numbers({shape.data(), rank});
    claim.shape = last_shape_;
    if (claim.dtype != last_dtype_name_) {
      const auto dtype = dtype_of(claim.dtype);
      last_dtype_ = dtype.value_or(DType::unknown);
      last_dtype_name_ = claim.dtype;
    }
    last_kind_ = {from, static_cast<std::size_t>(p_ - from)};
    return true;
  }

  bool metadata() {
    if (std::exchange(seen_metadata_, true) || !literal("{")) return false;
    if (literal("}")) return true;
    do {
      MetadataEntry entry{.kind = MetadataEntry::Kind::text};
      if (!literal("\"") || !plain_text(entry.key) || !literal(":\"") || !plain_text(entry.text)) return false;
      layout_.add_metadata(entry);
    } while (literal(","));
    return literal("}");
  }

  /// By the first entries' length, how many there will be: vectors that grow copy everything several times. In coarse steps, so that
  /// the shards of a set ask for the same and each finds what the one before gave back.
  void make_room() {
    constexpr std::size_t kStep = 512;
    const std::size_t entry = static_cast<std::size_t>(p_ - begin_) / kFirstEntries;
    layout_.reserve((static_cast<std::size_t>(end_ - begin_) / entry / kStep + 1) * kStep);
  }

  const char* begin_;
  const char* p_;
  const char* end_;
  std::uint64_t base_;
  Arena& arena_;
  Layout& layout_;
  std::size_t max_rank_;
  bool seen_metadata_ = false;
  std::string_view last_kind_;  // as the entry before spells it
  std::span<const std::uint64_t> last_shape_;
  std::string_view last_dtype_name_;
  DType last_dtype_ = DType::unknown;
};

}  // namespace

bool scan_header(ByteView header, Arena& arena, const Limits& limits, Layout& layout) {
  return Scanner(header, arena, limits, layout).run();
}

}  // namespace assay::formats::safetensors
