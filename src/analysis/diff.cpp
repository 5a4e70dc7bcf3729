// SPDX-License-Identifier: Apache-2.0
#include "analysis/diff.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "analysis/kernels/kernels.hpp"
#include "analysis/pair_sums.hpp"
#include "analysis/sampling.hpp"
#include "assay/values.hpp"
#include "base/endian.hpp"
#include "base/half.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "values/decode.hpp"

namespace assay::analysis {
namespace {

using values::Decoder;

constexpr std::size_t kChunk = 65536;                           // elements read at a time
constexpr std::size_t kBlock = 4096;                            // reals measured at a time: they stay in the cache
constexpr std::uint64_t kSmallMatrix = std::uint64_t{1} << 24;  // elements up to which a rank is estimated unasked

/// A tensor without the dimensions that both sides merely repeat. Owns the dimensions of `tensor`.
struct Folded {
  std::vector<std::uint64_t> shape, stride;
  Tensor tensor;
};

/// Leaves out the dimensions of stride 0 on both sides; gives how often each element stands there.
std::uint64_t fold_repeats(Folded& a, Folded& b) {
  const std::size_t rank = a.tensor.shape.size();
  if (a.tensor.stride.size() != rank || b.tensor.stride.size() != rank || std::ranges::find(a.tensor.shape, 0u) != a.tensor.shape.end())
    return 1;
  std::uint64_t weight = 1;
  for (std::size_t d = 0; d < rank; ++d) {
    if (a.tensor.stride[d] == 0 && b.tensor.stride[d] == 0) {
      weight *= a.tensor.shape[d];  // a factor of numel, which is not 0
      continue;
    }
    a.shape.push_back(a.tensor.shape[d]);
    a.stride.push_back(a.tensor.stride[d]);
    b.shape.push_back(b.tensor.shape[d]);
    b.stride.push_back(b.tensor.stride[d]);
  }
  for (Folded* side : {&a, &b}) {
    side->tensor.shape = side->shape;
    side->tensor.stride = side->stride;
    side->tensor.numel /= weight;
  }
  return weight;
}

/// One tensor, read from front to back.
class Side {
 public:
  explicit Side(TensorReader reader) : reader_(std::move(reader)), decoder_(&values::decoder(reader_.tensor().dtype)) {}

  const Tensor& tensor() const { return reader_.tensor(); }
  const Decoder& decoder() const { return *decoder_; }
  std::size_t raw_size() const { return reader_.raw_size(); }

  /// The codes of elements [first, first + n); valid until the next call, and where they are `in_place` until a range is waited for.
  Result<std::span<const std::byte>> codes(std::uint64_t first, std::size_t n, bool in_place) {
    const std::size_t size = raw_size();
    if (const auto plain = in_place ? reader_.plain_view() : std::nullopt)
      return plain->span().subspan(static_cast<std::size_t>(first) * size, n * size);
    scratch_.resize(n * size);
    ASSAY_CHECK(reader_.read_raw(first, n, scratch_));
    return std::span<const std::byte>(scratch_);
  }

  /// Elements [first, first + n), whose codes are `codes`, as reals, two for each where `complex`; quantised ones as the numbers
  /// they stand for.
  Result<void> decode(std::uint64_t first, const std::byte* codes, std::size_t n, bool complex, double* out) const {
    if (tensor().quantizer != kNone) {
      ASSAY_CHECK(reader_.read_f64(first, std::span(out, n)));
      if (complex) spread(n, out);
      return {};
    }
    decoder_->to_f64(codes, n * decoder_->reals, out);
    if (tensor().neg)
      for (std::size_t i = 0; i < n * decoder_->reals; ++i) out[i] = -out[i];
    if (decoder_->reals == 2) {
      if (tensor().conj)
        for (std::size_t i = 1; i < 2 * n; i += 2) out[i] = -out[i];
    } else if (complex) {
      spread(n, out);
    }
    return {};
  }

 private:
  /// `n` reals to complex numbers, in place.
  static void spread(std::size_t n, double* out) {
    for (std::size_t i = n; i-- > 0;) {
      out[2 * i] = out[i];
      out[2 * i + 1] = 0;
    }
  }

  TensorReader reader_;
  const Decoder* decoder_;
  std::vector<std::byte> scratch_;
};

bool is_float(DType dtype) {
  const DTypeKind kind = dtype_info(dtype).kind;
  return kind == DTypeKind::real || kind == DTypeKind::complex;
}

bool is_wide_integer(DType dtype) { return dtype == DType::i64 || dtype == DType::u64; }

std::uint64_t load_code(const std::byte* p, unsigned size) {
  switch (size) {
    case 1: return load_le<std::uint8_t>(p);
    case 2: return load_le<std::uint16_t>(p);
    case 4: return load_le<std::uint32_t>(p);
    default: return load_le<std::uint64_t>(p);
  }
}

/// Steps from one float to another of its dtype.
std::uint64_t ulps_between(std::uint64_t a, std::uint64_t b, unsigned bits, bool has_sign) {
  const std::uint64_t sign = std::uint64_t{has_sign} << (bits - 1);
  const auto ordered = [&](std::uint64_t code) {
    const auto magnitude = static_cast<std::int64_t>(code & (sign - 1));
    return (code & sign) != 0 ? -magnitude : static_cast<std::int64_t>(has_sign ? magnitude : static_cast<std::int64_t>(code));
  };
  const std::int64_t x = ordered(a), y = ordered(b);
  return x > y ? static_cast<std::uint64_t>(x) - static_cast<std::uint64_t>(y)
               : static_cast<std::uint64_t>(y) - static_cast<std::uint64_t>(x);
}

float rounded_to_bf16(double value) { return bf16_to_f32(f32_to_bf16(static_cast<float>(value))); }
float rounded_to_f16(double value) { return f16_to_f32(f32_to_f16(static_cast<float>(value))); }
float rounded_to_f32(double value) { return static_cast<float>(value); }
using Rounding = float (*)(double);

/// What rounds a float of another dtype to this one; null for none.
Rounding rounding_to(DType dtype, DType from) {
  if (dtype == from || dtype_info(from).kind != DTypeKind::real || dtype_bits(from) < 16) return nullptr;
  return dtype == DType::bf16 ? rounded_to_bf16 : dtype == DType::f16 ? rounded_to_f16 : dtype == DType::f32 ? rounded_to_f32 : nullptr;
}

class Comparer {
 public:
  /// `same_quantizers`: equal codes are equal numbers.
  Comparer(Side a, Side b, bool same_quantizers, const DiffOptions& options)
      : a_(std::move(a)), b_(std::move(b)), options_(options), same_dtype_(a_.tensor().dtype == b_.tensor().dtype),
        same_meaning_(same_quantizers && a_.tensor().neg == b_.tensor().neg && a_.tensor().conj == b_.tensor().conj),
        complex_(a_.decoder().reals == 2 || b_.decoder().reals == 2),
        exact_(same_dtype_ && same_meaning_ && is_wide_integer(a_.tensor().dtype)),
        ulps_(same_dtype_ && same_meaning_ && is_float(a_.tensor().dtype)) {
    const DType x = a_.tensor().dtype, y = b_.tensor().dtype;
    rounding_ = rounding_to(y, x);
    if (rounding_ == nullptr || dtype_bits(x) < dtype_bits(y)) rounding_ = rounding_to(x, y), rounds_a_ = true;
    if (a_.tensor().quantizer != kNone || b_.tensor().quantizer != kNone) rounding_ = nullptr;
    for (auto* values : {&values_a_, &values_b_, &delta_}) values->resize(kBlock);
    constexpr DType kByKernel[kernels::kPairReals] = {DType::bf16, DType::f16, DType::f32};
    if (ulps_ && options.absolute == 0 && options.relative == 0)
      for (std::size_t i = 0; i < kernels::kPairReals; ++i)
        if (a_.tensor().dtype == kByKernel[i] && a_.tensor().quantizer == kNone && b_.tensor().quantizer == kNone) pairs_ = i;
  }

  Work<void> run(const std::vector<Stretch>& stretches, Difference& found) {
    if (same_dtype_ && same_meaning_) {
      bool same = true;
      for (std::size_t i = 0; i < stretches.size() && same; ++i) {
        ASSAY_AWAIT(same, equal_codes(stretches[i], found));
      }
      found.same_bytes = same;
    }
    found.compared = true;
    if (found.same_bytes || !found.whole) co_return {};
    for (const Stretch& stretch : stretches) ASSAY_AWAIT_CHECK(measure(stretch, found));
    if (sums_.count() > 0) {
      found.max_abs = sums_.max_abs();
      found.mean_abs = sums_.mean_abs();
      found.rel_l2 = sums_.rel_l2();
      found.cosine = sums_.cosine();
      found.a_l2 = sums_.a_l2();
      found.b_l2 = sums_.b_l2();
      found.delta_l2 = sums_.delta_l2();
      if (found.nan_changed + found.inf_changed == 0) found.factor = sums_.factor();
    }
    if (ulps_) found.max_ulps = max_ulps_;
    found.rounded = rounding_ != nullptr && found.whole && found.changed_elements > 0;
    co_return {};
  }

 private:
  bool stopped(Difference& found) const {
    if (options_.stop != nullptr && options_.stop()) found.whole = false;
    return !found.whole;
  }

  struct Codes {
    std::span<const std::byte> a, b;
  };
  /// Of both sides, or of none.
  Result<Codes> codes(std::uint64_t first, std::size_t n) {
    // Decoding quantised elements may wait for their scales: copies of both stay.
    const bool in_place = a_.tensor().quantizer == kNone && b_.tensor().quantizer == kNone;
    ASSAY_TRY(const auto a, a_.codes(first, n, in_place));
    ASSAY_TRY(const auto b, b_.codes(first, n, in_place));
    return Codes{a, b};
  }

  Work<bool> equal_codes(const Stretch& stretch, Difference& found) {
    for (std::uint64_t done = 0; done < stretch.count; done += kChunk) {
      if (stopped(found)) co_return false;
      const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(kChunk, stretch.count - done));
      ASSAY_READ_INTO(const Codes both, codes(stretch.first + done, n));
      if (!kernels_->same(both.a.data(), both.b.data(), both.a.size())) co_return false;
    }
    co_return true;
  }

  Work<void> measure(const Stretch& stretch, Difference& found) {
    const std::size_t block = complex_ ? kBlock / 2 : kBlock;
    const std::uint64_t end = stretch.first + stretch.count;
    for (std::uint64_t first = stretch.first; first < end; first += kChunk) {
      if (stopped(found)) co_return {};
      const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(kChunk, end - first));
      ASSAY_READ_INTO(const Codes both, codes(first, n));
      for (std::size_t done = 0; done < n;) {
        const std::byte *x = both.a.data() + done * a_.raw_size(), *y = both.b.data() + done * b_.raw_size();
        const std::size_t many = std::min(kernels::Table::kMostCodes, n - done), few = std::min(block, n - done);
        const bool at_once = add_pairs(x, y, many, found);
        if (!at_once) {
          ASSAY_READ(measure_block(first + done, x, y, few, found));
        }
        done += at_once ? many : few;
      }
    }
    co_return {};
  }

  /// By a kernel; false, and nothing done, where it is not for these values.
  bool add_pairs(const std::byte* a, const std::byte* b, std::size_t n, Difference& found) {
    if (!pairs_) return false;
    kernels::Pairs pairs;
    {
      const kernels::Subnormals flushed(kernels::Subnormals::Mode::flushed);
      pairs = kernels_->pairs[*pairs_](a, b, n);
    }
    for (const std::uint64_t code : {pairs.max_a, pairs.max_b}) {
      double most;
      a_.decoder().to_f64(std::as_bytes(std::span(&code, 1)).data(), 1, &most);
      // Squares must neither overflow nor vanish, and nothing may be infinite or NaN.
      if (most != 0 && !(most >= 0x1p-40 && most <= 0x1p50)) return false;
    }
    if (pairs.changed > 0 && !(pairs.max_abs >= 0x1p-40)) return false;
    sums_.add(n, pairs);
    found.changed_elements += pairs.changed;
    max_ulps_ = std::max(max_ulps_, pairs.max_steps);
    return true;
  }

  Result<void> measure_block(std::uint64_t first, const std::byte* a, const std::byte* b, std::size_t elements, Difference& found) {
    const std::size_t n = complex_ ? 2 * elements : elements;
    ASSAY_CHECK(a_.decode(first, a, elements, complex_, values_a_.data()));
    ASSAY_CHECK(b_.decode(first, b, elements, complex_, values_b_.data()));
    double check = 0;
    for (std::size_t i = 0; i < n; ++i) {
      delta_[i] = values_a_[i] - values_b_[i];
      check += delta_[i] * 0;
    }
    if (exact_) exact_deltas(a, b, n);
    if (rounding_ != nullptr && !only_rounded(n)) rounding_ = nullptr;
    // A NaN: some value or difference is not finite.
    const bool finite = check == 0;
    if (ulps_ && std::memcmp(a, b, elements * a_.raw_size()) != 0) count_ulps(a, b, n);
    if (complex_) count_changed_pairs(n, found);
    else found.changed_elements += finite ? count_changed(n) : count_changed_slowly(n);
    const std::size_t kept = finite ? n : drop_special(n, found);
    sums_.add(std::span(values_a_).first(kept), std::span(values_b_).first(kept), std::span(delta_).first(kept));
    return {};
  }

  bool only_rounded(std::size_t n) const {
    const auto& from = rounds_a_ ? values_b_ : values_a_;
    const auto& to = rounds_a_ ? values_a_ : values_b_;
    for (std::size_t i = 0; i < n; ++i)
      if (static_cast<double>(rounding_(from[i])) != to[i] && !(std::isnan(from[i]) && std::isnan(to[i]))) return false;
    return true;
  }

  void exact_deltas(const std::byte* a, const std::byte* b, std::size_t n) {
    const bool is_signed = a_.tensor().dtype == DType::i64;
    for (std::size_t i = 0; i < n; ++i) {
      const auto x = load_le<std::uint64_t>(a + 8 * i), y = load_le<std::uint64_t>(b + 8 * i);
      const bool less = is_signed ? static_cast<std::int64_t>(x) < static_cast<std::int64_t>(y) : x < y;
      delta_[i] = less ? -static_cast<double>(y - x) : static_cast<double>(x - y);
    }
  }

  bool changed(std::size_t i) const {
    if (values_a_[i] == values_b_[i] && delta_[i] == 0) return false;
    if (std::isnan(values_a_[i]) || std::isnan(values_b_[i])) return std::isnan(values_a_[i]) != std::isnan(values_b_[i]);
    if (std::isinf(values_a_[i]) || std::isinf(values_b_[i])) return values_a_[i] != values_b_[i];
    return beyond(i);
  }
  bool beyond(std::size_t i) const { return std::abs(delta_[i]) > options_.absolute + options_.relative * std::abs(values_a_[i]); }

  std::uint64_t count_changed(std::size_t n) const {
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < n; ++i) count += beyond(i) ? 1 : 0;
    return count;
  }
  std::uint64_t count_changed_slowly(std::size_t n) const {
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < n; ++i) count += changed(i) ? 1 : 0;
    return count;
  }
  void count_changed_pairs(std::size_t n, Difference& found) const {
    for (std::size_t i = 0; i < n; i += 2) found.changed_elements += changed(i) || changed(i + 1) ? 1 : 0;
  }

  void count_ulps(const std::byte* a, const std::byte* b, std::size_t n) {
    const unsigned size = a_.decoder().swap_unit(), dtype_size = dtype_bits(a_.tensor().dtype);
    const unsigned bits = dtype_size < 8 ? dtype_size : 8 * size;
    const bool has_sign = a_.tensor().dtype != DType::f8_e8m0;
    for (std::size_t i = 0; i < n; ++i) {
      if (!std::isfinite(values_a_[i]) || !std::isfinite(values_b_[i])) continue;
      max_ulps_ = std::max(max_ulps_, ulps_between(load_code(a + i * size, size), load_code(b + i * size, size), bits, has_sign));
    }
  }

  /// Keeps the positions where both values are finite, and counts the others.
  std::size_t drop_special(std::size_t n, Difference& found) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const double a = values_a_[i], b = values_b_[i];
      if (std::isfinite(a) && std::isfinite(b)) {
        values_a_[kept] = a;
        values_b_[kept] = b;
        delta_[kept++] = delta_[i];
      } else if (std::isnan(a) || std::isnan(b)) {
        found.nan_changed += std::isnan(a) != std::isnan(b) ? 1 : 0;
      } else {
        found.inf_changed += a != b ? 1 : 0;
      }
    }
    return kept;
  }

  Side a_, b_;
  const DiffOptions& options_;
  bool same_dtype_, same_meaning_, complex_, exact_, ulps_;
  std::vector<double> values_a_, values_b_, delta_;
  PairSums sums_;
  std::uint64_t max_ulps_ = 0;
  Rounding rounding_ = nullptr;  // which so far explains all differences
  bool rounds_a_ = false;        // A is the rounded side
  const kernels::Table* kernels_ = &kernels::best();
  std::optional<std::size_t> pairs_;  // the kernel for pairs of this dtype, where nothing but its sums is asked for
};

/// Two short tensors hold the same numbers; false also where they cannot be read, which reading the values will say. Only `need-range`
/// fails.
Result<bool> same_numbers(const Checkpoint& a, const Tensor& x, const Checkpoint& b, const Tensor& y, const Limits& limits) {
  if (x.numel != y.numel) return false;
  const auto reader_a = TensorReader::open(a, x, limits), reader_b = TensorReader::open(b, y, limits);
  if (!reader_a || !reader_b) return false;
  std::vector<double> block_a(kBlock), block_b(kBlock);
  for (std::uint64_t first = 0; first < x.numel; first += kBlock) {
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(kBlock, x.numel - first));
    auto read = reader_a->read_f64(first, std::span(block_a).first(n));
    if (read) read = reader_b->read_f64(first, std::span(block_b).first(n));
    if (!read && read.error().code() == Code::need_range) return fail(std::move(read).error());
    if (!read) return false;
    if (!std::equal(block_a.begin(), block_a.begin() + static_cast<std::ptrdiff_t>(n), block_b.begin())) return false;
  }
  return true;
}

/// Whether equal codes of two tensors of one shape stand for equal numbers.
Result<bool> same_quantizers(const Checkpoint& a, const Tensor& x, const Checkpoint& b, const Tensor& y, const Limits& limits) {
  if (x.quantizer == kNone || y.quantizer == kNone) return x.quantizer == y.quantizer;
  const Quantizer &p = a.quantizers[x.quantizer], &q = b.quantizers[y.quantizer];
  if (p.scheme != q.scheme) return false;
  if (!p.per_channel()) return p.scale == q.scale && p.zero_point == q.zero_point;
  if (p.axis != q.axis) return false;
  ASSAY_TRY(const bool same_scales, same_numbers(a, p.scales, b, q.scales, limits));
  return same_scales ? same_numbers(a, p.zero_points, b, q.zero_points, limits) : false;
}

/// The same elements of the same file, told from headers alone.
bool same_place(const Checkpoint& a, const Tensor& x, const Checkpoint& b, const Tensor& y, const DiffOptions& options) {
  if (x.dtype != y.dtype || x.neg != y.neg || x.conj != y.conj || x.storage_offset != y.storage_offset) return false;
  if (x.storage >= a.storages.size() || y.storage >= b.storages.size()) return false;
  const Storage &s = a.storages[x.storage], &t = b.storages[y.storage];
  if (s.offset != t.offset || s.nbytes != t.nbytes || s.big_endian != t.big_endian || (s.producer == nullptr) != (t.producer == nullptr))
    return false;
  const bool same_source =
      s.file < a.files.size() && t.file < b.files.size() && a.files[s.file].source && a.files[s.file].source == b.files[t.file].source;
  const bool told_same = s.file < options.same_file.size() && options.same_file[s.file] == t.file;
  if (!same_source && !told_same) return false;
  for (std::size_t d = 0; d < x.shape.size(); ++d)
    if (x.stride_of(d) != y.stride_of(d)) return false;
  return true;
}

std::uint64_t code_bytes(const Tensor& tensor) { return std::max<std::size_t>(values::decoder(tensor.dtype).raw_size, 1); }

/// Empty where all is compared.
std::vector<Stretch> stretches_of(const Tensor& a, const Tensor& b, const DiffOptions& options) {
  if (!options.sample) return {};
  return sampled(kTensorSampling, a.numel, std::max(code_bytes(a), code_bytes(b)));
}

bool wants_rank(const DiffOptions& options, const Difference& found, const Tensor& a) {
  if (found.sampled || found.shape_differs || a.shape.size() != 2 || found.changed_elements == 0 || !found.whole) return false;
  return options.rank == DiffOptions::Rank::all_matrices || (options.rank == DiffOptions::Rank::small_matrices && a.numel <= kSmallMatrix);
}

}  // namespace

Result<Difference> compare_tensors(const Checkpoint& a, const Tensor& tensor_a, const Checkpoint& b, const Tensor& tensor_b,
                                   const DiffOptions& options) {
  return compare_work(a, tensor_a, b, tensor_b, options).go_on();
}

bool Difference::keeps_nothing() const {
  constexpr double kLeast = 256;
  const auto n = static_cast<double>(measured);
  // Of unrelated numbers the cosine is spread by 1 / sqrt(n).
  return cosine && n >= kLeast && std::abs(*cosine) < std::min(0.1, 4 / std::sqrt(n));
}

std::uint64_t bytes_to_compare(const Tensor& a, const Tensor& b, const DiffOptions& options) {
  const auto stretches = stretches_of(a, b, options);
  const std::uint64_t all = a.nbytes() + b.nbytes();
  if (stretches.empty()) return all;
  return elements_of(stretches) * (code_bytes(a) + code_bytes(b));
}

Work<Difference> compare_work(const Checkpoint& a, const Tensor& tensor_a, const Checkpoint& b, const Tensor& tensor_b,
                              const DiffOptions& options) {
  Difference found;
  found.numel = tensor_a.numel;
  found.dtype_differs =
      tensor_a.dtype != tensor_b.dtype || (tensor_a.dtype == DType::unknown && tensor_a.source_dtype != tensor_b.source_dtype);
  found.shape_differs = !std::ranges::equal(tensor_a.shape, tensor_b.shape);
  if (!options.values) co_return found;
  for (const Tensor* tensor : {&tensor_a, &tensor_b})
    if (!tensor->readable)
      co_return fail(Error(Code::unsupported, "its bytes cannot be right; the findings say why").of_tensor(tensor->name));
  if (found.shape_differs && !(options.reshape && tensor_a.numel == tensor_b.numel)) co_return found;
  ASSAY_READ_INTO(const bool same_meaning, same_quantizers(a, tensor_a, b, tensor_b, options.limits));
  found.measured = found.numel;
  if (!found.shape_differs && same_meaning && same_place(a, tensor_a, b, tensor_b, options)) {
    found.compared = found.same_bytes = true;
    co_return found;
  }
  if (tensor_a.numel == 0 && tensor_a.dtype != DType::unknown) {
    found.compared = true;
    found.same_bytes = !found.dtype_differs;
    co_return found;
  }
  Folded folded_a{{}, {}, tensor_a}, folded_b{{}, {}, tensor_b};
  // A quantizer counts along dimensions as they are.
  const bool folds = !found.shape_differs && tensor_a.quantizer == kNone && tensor_b.quantizer == kNone;
  const std::uint64_t weight = !folds ? 1 : fold_repeats(folded_a, folded_b);
  ASSAY_TAKE(TensorReader reader_a, TensorReader::open(a, folded_a.tensor, options.limits));
  ASSAY_TAKE(TensorReader reader_b, TensorReader::open(b, folded_b.tensor, options.limits));
  std::vector<Stretch> stretches = stretches_of(folded_a.tensor, folded_b.tensor, options);
  found.sampled = !stretches.empty();
  if (found.sampled) found.measured = elements_of(stretches) * weight;
  else stretches = {{0, folded_a.tensor.numel}};
  Comparer comparer(Side(std::move(reader_a)), Side(std::move(reader_b)),
                    same_meaning && (!found.shape_differs || tensor_a.quantizer == kNone), options);
  ASSAY_AWAIT_CHECK(comparer.run(stretches, found));
  for (std::uint64_t* count : {&found.changed_elements, &found.nan_changed, &found.inf_changed}) *count *= weight;
  for (double* norm : {&found.a_l2, &found.b_l2, &found.delta_l2}) *norm *= std::sqrt(static_cast<double>(weight));
  if (found.sampled && found.measured > 0)
    for (double* norm : {&found.a_l2, &found.b_l2, &found.delta_l2})
      *norm *= std::sqrt(static_cast<double>(found.numel) / static_cast<double>(found.measured));
  if (wants_rank(options, found, tensor_a)) {
    ASSAY_AWAIT(found.rank, delta_rank(a, tensor_a, b, tensor_b, options.limits));
  }
  co_return found;
}

}  // namespace assay::analysis
