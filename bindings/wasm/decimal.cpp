// SPDX-License-Identifier: Apache-2.0
// Exact decimal digits of a double, in place of libc++'s: it takes them from 100 KB of tables, a fifth of the module as it is downloaded.
// These are what its to_chars calls for a given number of digits and for whole numbers beyond 2^53. Slower, and rarely called.
#include <bit>
#include <charconv>
#include <cstdint>
#include <cstring>

namespace {

/// An unsigned number of up to 2304 bits: a double's numerator or denominator with 17 digits more.
class Big {
 public:
  explicit Big(std::uint64_t value) {
    words_[0] = static_cast<std::uint32_t>(value);
    words_[1] = static_cast<std::uint32_t>(value >> 32);
    size_ = 2;
    trim();
  }
  void multiply(std::uint32_t factor) {
    std::uint64_t carry = 0;
    for (int i = 0; i < size_; ++i) {
      carry += std::uint64_t{words_[i]} * factor;
      words_[i] = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
    if (carry != 0) push(static_cast<std::uint32_t>(carry));
  }
  void multiply_by_power(std::uint32_t base, int exponent) {
    for (; exponent > 0; --exponent) multiply(base);
  }
  void shift_left(int bits) {
    for (; bits >= 16; bits -= 16) multiply(1u << 16);
    multiply(1u << bits);
  }
  /// *this / divisor, which is a single digit 0 to 9 or larger by little; the remainder stays.
  std::uint32_t take_quotient(const Big& divisor) {
    std::uint32_t quotient = 0;
    for (; compare(divisor) >= 0; ++quotient) subtract(divisor);
    return quotient;
  }
  int compare(const Big& other) const {
    if (size_ != other.size_) return size_ < other.size_ ? -1 : 1;
    for (int i = size_; i-- > 0;)
      if (words_[i] != other.words_[i]) return words_[i] < other.words_[i] ? -1 : 1;
    return 0;
  }

 private:
  static constexpr int kWords = 72;

  void push(std::uint32_t word) {
    if (size_ == kWords) __builtin_trap();
    words_[size_++] = word;
  }
  void subtract(const Big& other) {
    std::int64_t borrow = 0;
    for (int i = 0; i < size_; ++i) {
      borrow += std::int64_t{words_[i]} - (i < other.size_ ? other.words_[i] : 0);
      words_[i] = static_cast<std::uint32_t>(borrow);
      borrow >>= 32;
    }
    trim();
  }
  void trim() {
    while (size_ > 0 && words_[size_ - 1] == 0) --size_;
  }

  std::uint32_t words_[kWords] = {};
  int size_ = 0;
};

/// A double as a fraction, and the power of ten of its first digit.
struct Fraction {
  Big above, below;
  int exponent10;
};

/// Precondition: finite, above 0.
Fraction fraction_of(double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const int biased = static_cast<int>(bits >> 52 & 0x7ff);
  const std::uint64_t mantissa = (bits & 0xfffffffffffffu) | (biased != 0 ? std::uint64_t{1} << 52 : 0);
  const int exponent2 = (biased != 0 ? biased : 1) - 1075;
  // log10(2) = 0.30103; the guess is the exponent or one below it.
  const int width = 64 - std::countl_zero(mantissa);
  int exponent10 = ((exponent2 + width - 1) * 30103 - 99999) / 100000;
  Fraction fraction{Big(mantissa), Big(1), exponent10};
  (exponent2 > 0 ? fraction.above : fraction.below).shift_left(exponent2 > 0 ? exponent2 : -exponent2);
  (exponent10 > 0 ? fraction.below : fraction.above).multiply_by_power(10, exponent10 > 0 ? exponent10 : -exponent10);
  for (Big ten = fraction.below;; ten = fraction.below) {
    ten.multiply(10);
    if (fraction.above.compare(ten) < 0) break;
    fraction.below = ten;
    ++fraction.exponent10;
  }
  return fraction;
}

/// `n` digits into `out`, rounded to nearest, ties to even; true where they became one more (1 and zeros).
bool digits_of(Fraction& fraction, int n, char* out) {
  for (int i = 0; i < n; ++i) {
    out[i] = static_cast<char>('0' + fraction.above.take_quotient(fraction.below));
    fraction.above.multiply(10);
  }
  // The remainder stands times ten: half is five.
  Big half = fraction.below;
  half.multiply(5);
  const int rest = fraction.above.compare(half);
  const bool odd = n > 0 && (out[n - 1] - '0') % 2 != 0;
  if (rest < 0 || (rest == 0 && !odd)) return false;
  for (int i = n; i-- > 0;) {
    if (out[i] != '9') {
      ++out[i];
      return false;
    }
    out[i] = '0';
  }
  return true;
}

}  // namespace

// NOLINTBEGIN: names and signatures are libc++'s
namespace std {
inline namespace __2 {

// libc++ keeps these two in the same object file, for floats: `n` digits, and nine.
void __append_n_digits(uint32_t n, uint32_t digits, char* out) {
  for (; n > 0; digits /= 10) out[--n] = static_cast<char>('0' + digits % 10);
}
void __append_nine_digits(uint32_t digits, char* out) { __append_n_digits(9, digits, out); }

static char* append_exponent(char* out, int exponent) {
  *out++ = exponent < 0 ? '-' : '+';
  const int magnitude = exponent < 0 ? -exponent : exponent;
  if (magnitude >= 100) *out++ = static_cast<char>('0' + magnitude / 100);
  *out++ = static_cast<char>('0' + magnitude / 10 % 10);
  *out++ = static_cast<char>('0' + magnitude % 10);
  return out;
}

/// `d` is finite and not negative; `precision` digits after the point.
to_chars_result __d2fixed_buffered_n(char* first, char* last, double d, uint32_t precision) {
  const auto decimals = static_cast<int>(precision);
  if (d == 0) {
    const ptrdiff_t length = decimals > 0 ? decimals + 2 : 1;
    if (last - first < length) return {last, errc::value_too_large};
    memset(first, '0', static_cast<size_t>(length));
    if (decimals > 0) first[1] = '.';
    return {first + length, errc()};
  }
  Fraction fraction = fraction_of(d);
  const int whole = fraction.exponent10 >= 0 ? fraction.exponent10 + 1 : 1;
  if (last - first < whole + decimals + 2) return {last, errc::value_too_large};
  // Digits as if there were no point; those before the first significant one are zeros.
  const int zeros = fraction.exponent10 >= 0 ? 0 : -fraction.exponent10;
  const int total = whole + decimals;
  char* out = first;
  bool carried = false;
  if (zeros > total) {
    memset(out, '0', static_cast<size_t>(total));
  } else {
    memset(out, '0', static_cast<size_t>(zeros));
    carried = digits_of(fraction, total - zeros, out + zeros);
    if (carried && zeros > 0) {
      out[zeros - 1] = '1';
      carried = false;
    }
  }
  int before = whole;
  if (carried) {
    memmove(out + 1, out, static_cast<size_t>(total));
    out[0] = '1';
    ++before;
  }
  if (decimals == 0) return {out + before, errc()};
  memmove(out + before + 1, out + before, static_cast<size_t>(decimals));
  out[before] = '.';
  return {out + before + 1 + decimals, errc()};
}

/// `precision` digits after the first one, then e+XX.
to_chars_result __d2exp_buffered_n(char* first, char* last, double d, uint32_t precision) {
  const auto decimals = static_cast<int>(precision);
  if (last - first < decimals + 8) return {last, errc::value_too_large};
  int exponent = 0;
  if (d == 0) {
    memset(first, '0', static_cast<size_t>(decimals + 1));
  } else {
    Fraction fraction = fraction_of(d);
    exponent = fraction.exponent10;
    if (digits_of(fraction, decimals + 1, first)) {
      first[0] = '1';
      ++exponent;
    }
  }
  char* out = first + 1;
  if (decimals > 0) {
    memmove(out + 1, out, static_cast<size_t>(decimals));
    *out = '.';
    out += 1 + decimals;
  }
  *out++ = 'e';
  return {append_exponent(out, exponent), errc()};
}

}  // namespace __2
}  // namespace std
// NOLINTEND
