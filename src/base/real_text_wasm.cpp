// SPDX-License-Identifier: Apache-2.0
// Decimal digits by exact arithmetic on large numbers, without tables: slower than std::to_chars, and a fifth of its size.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <type_traits>

#include "base/real_text.hpp"

namespace assay {
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
  void multiply_by_ten_to(int exponent) {
    for (; exponent >= 9; exponent -= 9) multiply(1000000000);
    for (; exponent > 0; --exponent) multiply(10);
  }
  void shift_left(int bits) {
    for (; bits >= 16; bits -= 16) multiply(1u << 16);
    multiply(1u << bits);
  }
  /// *this / divisor, which is a single digit 0 to 9 or larger by little; the remainder stays.
  int take_quotient(const Big& divisor) {
    int quotient = 0;
    for (; compare(divisor) >= 0; ++quotient) subtract(divisor);
    return quotient;
  }
  int compare(const Big& other) const {
    if (size_ != other.size_) return size_ < other.size_ ? -1 : 1;
    for (int i = size_; i-- > 0;)
      if (words_[i] != other.words_[i]) return words_[i] < other.words_[i] ? -1 : 1;
    return 0;
  }
  void add(const Big& other) {
    std::uint64_t carry = 0;
    for (int i = 0; i < std::max(size_, other.size_); ++i) {
      carry += std::uint64_t{i < size_ ? words_[i] : 0} + (i < other.size_ ? other.words_[i] : 0);
      words_[i] = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
    size_ = std::max(size_, other.size_);
    if (carry != 0) push(static_cast<std::uint32_t>(carry));
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

/// mantissa * 2^exponent2, above 0.
struct Binary {
  std::uint64_t mantissa;
  int exponent2;
  bool lowest;  ///< of its power of two, so that the number below is half as far away as the one above
};

template <class T, class Bits, int kMantissa>
Binary binary_of(T value) {
  const auto bits = std::bit_cast<Bits>(value);
  constexpr Bits kOne = Bits{1} << kMantissa;
  constexpr int kBias = std::is_same_v<T, double> ? 1075 : 150;
  const int biased = static_cast<int>(bits >> kMantissa) & (sizeof(T) == 8 ? 0x7ff : 0xff);
  const Bits fraction = bits & (kOne - 1);
  return {biased != 0 ? fraction | kOne : fraction, (biased != 0 ? biased : 1) - kBias, fraction == 0 && biased > 1};
}
Binary binary_of(double value) { return binary_of<double, std::uint64_t, 52>(value); }
Binary binary_of(float value) { return binary_of<float, std::uint32_t, 23>(value); }

/// The number as above / below, and a guess of the power of ten of its first digit: that one, or one too low.
struct Fraction {
  Big above, below;
  int exponent10;
};
Fraction fraction_of(const Binary& number) {
  const int width = 64 - std::countl_zero(number.mantissa);
  // log10(2) = 0.30103
  const int exponent10 = ((number.exponent2 + width - 1) * 30103 - 99999) / 100000;
  Fraction fraction{Big(number.mantissa), Big(1), exponent10};
  (number.exponent2 > 0 ? fraction.above : fraction.below).shift_left(std::abs(number.exponent2));
  (exponent10 > 0 ? fraction.below : fraction.above).multiply_by_ten_to(std::abs(exponent10));
  return fraction;
}

/// Digits d.ddd times ten to the exponent.
struct Digits {
  char text[20];
  int count = 0;
  int exponent10 = 0;
};

/// The fewest that lie nearer to the number than to its neighbours, and of these the nearest.
Digits shortest_of(const Binary& number) {
  auto [above, below, exponent10] = fraction_of(number);
  // Half the distance to the next number, in the same unit.
  Big half(1);
  if (number.exponent2 > 0) half.shift_left(number.exponent2);
  if (exponent10 < 0) half.multiply_by_ten_to(-exponent10);
  Big half_below = half;
  const std::uint32_t unit = number.lowest ? 4 : 2;
  above.multiply(unit);
  below.multiply(unit);
  if (number.lowest) half.multiply(2);
  const bool even = number.mantissa % 2 == 0;
  // Whether what is left, with half the distance added, reaches `limit`: an even mantissa owns its bounds.
  const auto reaches = [&](const Big& limit) {
    Big sum = above;
    sum.add(half);
    const int order = sum.compare(limit);
    return even ? order >= 0 : order > 0;
  };
  for (Big ten = below;; ten = below) {
    ten.multiply(10);
    if (!reaches(ten)) break;
    below = ten;
    ++exponent10;
  }
  Digits digits;
  digits.exponent10 = exponent10;
  for (;;) {
    int digit = above.take_quotient(below);
    const int order = above.compare(half_below);
    const bool low = even ? order <= 0 : order < 0, high = reaches(below);
    if (low || high) {
      Big twice = above;
      twice.multiply(2);
      const int middle = twice.compare(below);
      if (high && (!low || middle > 0 || (middle == 0 && digit % 2 != 0))) ++digit;
      digits.text[digits.count++] = static_cast<char>('0' + digit);
      return digits;
    }
    digits.text[digits.count++] = static_cast<char>('0' + digit);
    above.multiply(10);
    half.multiply(10);
    half_below.multiply(10);
  }
}

/// `n` digits of a fraction whose exponent is right, rounded to nearest, ties to even; true where they became one more (1 and zeros).
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

Fraction exact_fraction_of(double value) {
  Fraction fraction = fraction_of(binary_of(value));
  for (Big ten = fraction.below;; ten = fraction.below) {
    ten.multiply(10);
    if (fraction.above.compare(ten) < 0) return fraction;
    fraction.below = ten;
    ++fraction.exponent10;
  }
}

char* write_scientific(char* out, const char* digits, int count, int exponent10) {
  *out++ = digits[0];
  if (count > 1) {
    *out++ = '.';
    out = std::copy(digits + 1, digits + count, out);
  }
  *out++ = 'e';
  *out++ = exponent10 < 0 ? '-' : '+';
  const int size = std::abs(exponent10);
  if (size >= 100) *out++ = static_cast<char>('0' + size / 100);
  *out++ = static_cast<char>('0' + size / 10 % 10);
  *out++ = static_cast<char>('0' + size % 10);
  return out;
}

char* write_plain(char* out, const char* digits, int count, int exponent10) {
  if (exponent10 < 0) {
    out = std::copy_n("0.", 2, out);
    out = std::fill_n(out, -1 - exponent10, '0');
    return std::copy_n(digits, count, out);
  }
  const int whole = std::min(count, exponent10 + 1);
  out = std::copy_n(digits, whole, out);
  out = std::fill_n(out, exponent10 + 1 - whole, '0');
  if (whole == count) return out;
  *out++ = '.';
  return std::copy(digits + whole, digits + count, out);
}

template <class T>
char* shortest(char* out, T value, RealForm form) {
  if (std::signbit(value)) *out++ = '-', value = -value;
  if (value == 0) {
    *out++ = '0';
    return form == RealForm::scientific ? std::copy_n("e+00", 4, out) : out;
  }
  const Digits digits = shortest_of(binary_of(value));
  const int zeros = digits.exponent10 + 1 - digits.count;  // behind the digits, or digits behind the point
  // Which is shorter: the exponent's four characters and the point, or the zeros.
  const bool fits = digits.count == 1 ? zeros >= -3 && zeros <= 4 : zeros >= -(digits.count + 3) && zeros <= 5;
  if (form == RealForm::scientific || (form == RealForm::general && !fits))
    return write_scientific(out, digits.text, digits.count, digits.exponent10);
  // A whole number is written out exactly.
  if (zeros > 0) return write_fixed(out, static_cast<double>(value), 0);
  return write_plain(out, digits.text, digits.count, digits.exponent10);
}

}  // namespace

char* write_shortest(char* out, double value, RealForm form) { return shortest(out, value, form); }
char* write_shortest(char* out, float value, RealForm form) { return shortest(out, value, form); }

char* write_fixed(char* out, double value, int decimals) {
  if (std::signbit(value)) *out++ = '-', value = -value;
  if (value == 0) {
    *out++ = '0';
    if (decimals == 0) return out;
    *out++ = '.';
    return std::fill_n(out, decimals, '0');
  }
  Fraction fraction = exact_fraction_of(value);
  const int whole = std::max(fraction.exponent10 + 1, 1);
  // Digits as if there were no point; those before the first significant one are zeros, and one more is for what rounding carries.
  const int zeros = std::max(-fraction.exponent10, 0), total = whole + decimals;
  char* const digits = std::fill_n(out, 1 + std::min(zeros, total), '0');
  if (zeros <= total && digits_of(fraction, total - zeros, digits)) {
    // 1 and zeros, of which one has no place yet.
    digits[-1] = '1';
  }
  const bool carried = zeros == 0 && out[0] == '1';
  if (!carried) std::memmove(out, out + 1, static_cast<std::size_t>(total));
  char* const point = out + whole + carried;
  if (decimals == 0) return point;
  std::memmove(point + 1, point, static_cast<std::size_t>(decimals));
  *point = '.';
  return point + 1 + decimals;
}

char* write_significant(char* out, double value, int digits) {
  if (std::signbit(value)) *out++ = '-', value = -value;
  if (value == 0) {
    *out = '0';
    return out + 1;
  }
  char text[kRealText];
  digits = std::clamp(digits, 1, kRealText);
  Fraction fraction = exact_fraction_of(value);
  int exponent10 = fraction.exponent10;
  if (digits_of(fraction, digits, text)) {
    text[0] = '1';
    ++exponent10;
  }
  int count = digits;
  while (count > 1 && text[count - 1] == '0') --count;
  return exponent10 < -4 || exponent10 >= digits ? write_scientific(out, text, count, exponent10)
                                                 : write_plain(out, text, count, exponent10);
}

}  // namespace assay
