// SPDX-License-Identifier: Apache-2.0
// Reading elements against a reference that knows nothing but the formulas: one element at a time, bit by bit.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

#include "assay/values.hpp"
#include "base/arena.hpp"
#include "fuzz.hpp"
#include "values/decode.hpp"

namespace assay::fuzz {

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr int kDtypes = static_cast<int>(DType::bits16);  // the last of those read by the reference

struct FloatKind {
  DType dtype;
  int exponent, mantissa, bias;
  enum { finite, top_code_is_nan, ieee, minus_zero_is_nan } special;
};
constexpr FloatKind kFloats[] = {{DType::f4, 2, 1, 1, FloatKind::finite},
                                 {DType::f6_e2m3, 2, 3, 1, FloatKind::finite},
                                 {DType::f6_e3m2, 3, 2, 3, FloatKind::finite},
                                 {DType::f8_e4m3, 4, 3, 7, FloatKind::top_code_is_nan},
                                 {DType::f8_e5m2, 5, 2, 15, FloatKind::ieee},
                                 {DType::f8_e4m3fnuz, 4, 3, 8, FloatKind::minus_zero_is_nan},
                                 {DType::f8_e5m2fnuz, 5, 2, 16, FloatKind::minus_zero_is_nan},
                                 {DType::f16, 5, 10, 15, FloatKind::ieee},
                                 {DType::bf16, 8, 7, 127, FloatKind::ieee},
                                 {DType::f32, 8, 23, 127, FloatKind::ieee},
                                 {DType::f64, 11, 52, 1023, FloatKind::ieee},
                                 {DType::c32, 5, 10, 15, FloatKind::ieee},
                                 {DType::bc32, 8, 7, 127, FloatKind::ieee},
                                 {DType::c64, 8, 23, 127, FloatKind::ieee},
                                 {DType::c128, 11, 52, 1023, FloatKind::ieee}};

double float_of(const FloatKind& kind, std::uint64_t code) {
  const std::uint64_t mantissa = code & ((std::uint64_t{1} << kind.mantissa) - 1);
  const int all_ones = (1 << kind.exponent) - 1, exponent = static_cast<int>(code >> kind.mantissa) & all_ones;
  const bool minus = code >> (kind.exponent + kind.mantissa) & 1;
  if (kind.special == FloatKind::minus_zero_is_nan && minus && exponent == 0 && mantissa == 0) return kNan;
  if (kind.special == FloatKind::top_code_is_nan && exponent == all_ones && mantissa == (std::uint64_t{1} << kind.mantissa) - 1)
    return kNan;
  if (kind.special == FloatKind::ieee && exponent == all_ones) {
    if (mantissa != 0) return kNan;
    return minus ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
  }
  const std::uint64_t whole = exponent == 0 ? mantissa : mantissa | std::uint64_t{1} << kind.mantissa;
  const double magnitude = std::ldexp(static_cast<double>(whole), std::max(exponent, 1) - kind.bias - kind.mantissa);
  return minus ? -magnitude : magnitude;
}

/// The real part of the element whose code is the low bits of `code`.
double value_of(DType dtype, std::uint64_t code) {
  const unsigned bits = dtype_bits(dtype), real_bits = dtype_info(dtype).kind == DTypeKind::complex ? bits / 2 : bits;
  if (real_bits < 64) code &= (std::uint64_t{1} << real_bits) - 1;
  if (dtype == DType::f8_e8m0) return code == 0xff ? kNan : std::ldexp(1.0, static_cast<int>(code) - 127);
  for (const FloatKind& kind : kFloats)
    if (kind.dtype == dtype) return float_of(kind, code);
  if (dtype == DType::bool_) return code != 0;
  const bool minus = dtype_info(dtype).kind == DTypeKind::signed_integer && code >> (bits - 1) & 1;
  if (!minus) return static_cast<double>(code);
  const std::uint64_t extended = bits < 64 ? code | ~((std::uint64_t{1} << bits) - 1) : code;
  return static_cast<double>(static_cast<std::int64_t>(extended));
}

bool same(double a, double b) { return std::isnan(a) ? std::isnan(b) : std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b); }

/// Up to 64 bits from bit `at` of a little-endian string of bits.
std::uint64_t bits_at(Bytes bytes, std::uint64_t at, unsigned n) {
  std::uint64_t code = 0;
  for (unsigned i = 0; i < n && i < 64; ++i) {
    const std::uint64_t bit = at + i;
    code |= static_cast<std::uint64_t>(std::to_integer<unsigned>(bytes[static_cast<std::size_t>(bit / 8)]) >> bit % 8 & 1) << i;
  }
  return code;
}

/// Numbers for a case from the front of the input; 0 when it is used up.
class Dice {
 public:
  explicit Dice(Bytes input) : input_(input) {}
  unsigned next() {
    if (input_.empty()) return 0;
    const auto value = std::to_integer<unsigned>(input_.front());
    input_ = input_.subspan(1);
    return value;
  }
  Bytes rest() const { return input_; }

 private:
  Bytes input_;
};

DType dtype_from(unsigned number) { return static_cast<DType>(1 + number % static_cast<unsigned>(kDtypes)); }

}  // namespace

void values_decode(Bytes input) {
  Dice dice(input);
  const DType dtype = dtype_from(dice.next());
  const values::Decoder& row = values::decoder(dtype);
  if (row.raw_size == 0) return;
  std::vector<std::byte> codes(dice.rest().begin(), dice.rest().end());
  const unsigned unit = row.swap_unit(), bits = std::min(dtype_bits(dtype), unit * 8);
  if (bits < 8)
    for (std::byte& code : codes) code &= static_cast<std::byte>((1u << bits) - 1);
  const std::size_t n = codes.size() / unit;
  std::vector<double> wide(n);
  std::vector<float> narrow(n);
  row.to_f64(codes.data(), n, wide.data());
  row.to_f32(codes.data(), n, narrow.data());
  const bool integer64 = unit == 8 && row.to_i64 != nullptr;  // its nearest float is not that of its nearest double
  for (std::size_t i = 0; i < n; ++i) {
    const double expected = value_of(dtype, bits_at(codes, std::uint64_t{i} * unit * 8, unit * 8));
    require(same(wide[i], expected), "an element decodes as its formula says");
    if (!integer64)
      require(same(static_cast<double>(narrow[i]), static_cast<double>(static_cast<float>(expected))),
              "a float is the double rounded once");
  }
}

/// A tensor of any strides over a storage: either it fits and every element is the right one, or it is refused.
void values_strides(Bytes input) {
  Dice dice(input);
  Checkpoint checkpoint;
  Tensor tensor;
  tensor.dtype = dtype_from(dice.next());
  if (values::decoder(tensor.dtype).raw_size == 0) return;
  const unsigned bits = dtype_bits(tensor.dtype), rank = dice.next() % 4, form = dice.next();
  std::vector<std::uint64_t> shape, stride;
  tensor.numel = 1;
  for (unsigned d = 0; d < rank; ++d) {
    shape.push_back(dice.next() % 12);
    stride.push_back(dice.next() % 24);
    tensor.numel *= shape.back();
  }
  tensor.shape = checkpoint.arena().numbers(shape);
  if (form & 1) tensor.stride = checkpoint.arena().numbers(stride);
  tensor.neg = form & 2;
  tensor.storage_offset = dice.next() % 16;
  tensor.storage = 0;
  Storage storage;
  storage.big_endian = (form & 4) != 0 && bits > 8;
  storage.nbytes = dice.rest().size();
  checkpoint.storages.push_back(storage);
  checkpoint.files.push_back({"x", storage.nbytes, MemorySource::borrow(dice.rest())});

  const auto place = [&](std::uint64_t element) {
    std::uint64_t at = tensor.storage_offset;
    for (std::size_t d = rank; d-- > 0;) {
      at += element % shape[d] * tensor.stride_of(d);
      element /= shape[d];
    }
    return at;
  };
  std::uint64_t last = 0;
  for (std::uint64_t i = 0; i < tensor.numel; ++i) last = std::max(last, place(i) + 1);
  const bool fits = last * bits <= storage.nbytes * 8;
  const auto reader = TensorReader::open(checkpoint, tensor);
  std::vector<double> values(static_cast<std::size_t>(tensor.numel));
  if (!fits) return require(!reader || !reader->read_f64(0, values), "what lies outside the storage is not read");
  require(reader && reader->read_f64(0, values), "a tensor that fits its storage is read");
  for (std::uint64_t i = 0; i < tensor.numel; ++i) {
    std::vector<std::byte> element;
    std::uint64_t code = 0;
    if (bits < 8) {
      code = bits_at(dice.rest(), place(i) * bits, bits);
    } else {
      const Bytes bytes = dice.rest().subspan(static_cast<std::size_t>(place(i) * bits / 8), bits / 8);
      element.assign(bytes.begin(), bytes.end());
      if (storage.big_endian) values::swap_units(element, values::decoder(tensor.dtype).swap_unit());
      code = bits_at(element, 0, bits);
    }
    const double value = value_of(tensor.dtype, code), expected = tensor.neg ? -value : value;
    require(same(values[static_cast<std::size_t>(i)], expected), "an element read through strides is the right one");
  }
}

}  // namespace assay::fuzz
