// SPDX-License-Identifier: Apache-2.0
#include "report/value_text.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <vector>

#include "base/try.hpp"
#include "report/json_writer.hpp"

namespace assay::report {
namespace {

constexpr std::uint64_t kBlock = 4096;  // elements

struct Job {
  Writer& out;
  const TensorReader& reader;
  ValueStyle style;
  std::string_view separator;
  bool first_block;
};

template <class T>
void write_real(const Job& job, T value) {
  const bool quoted = job.style == ValueStyle::json && !std::isfinite(value);
  if (quoted) job.out.put('"');
  write_number(job.out, value);
  if (quoted) job.out.put('"');
}

template <class Real>
void write_complex(const Job& job, std::complex<double> value) {
  const auto re = static_cast<Real>(value.real());
  const auto im = static_cast<Real>(value.imag());
  if (job.style == ValueStyle::json) job.out.put('[');
  write_real(job, re);
  if (job.style == ValueStyle::json) job.out.put(", ");
  else if (!std::signbit(im)) job.out.put('+');
  write_real(job, im);
  job.out.put(job.style == ValueStyle::json ? ']' : 'j');
}

template <class T, class Read, class Write>
Result<void> write_block(const Job& job, std::uint64_t n, Read read, Write write) {
  std::vector<T> block(n);
  ASSAY_CHECK(read(std::span<T>(block)));
  for (std::size_t i = 0; i < block.size(); ++i) {
    if (i > 0 || !job.first_block) job.out.put(job.separator);
    write(block[i]);
  }
  return {};
}

std::uint64_t load_raw(std::span<const std::byte> code) {
  std::uint64_t value = 0;
  for (std::size_t i = code.size(); i-- > 0;) value = value << 8 | static_cast<std::uint64_t>(code[i]);
  return value;
}

Result<void> write_raw_block(const Job& job, std::uint64_t first, std::uint64_t n) {
  const std::size_t size = job.reader.raw_size();
  std::vector<std::byte> block(static_cast<std::size_t>(n) * size);
  ASSAY_CHECK(job.reader.read_raw(first, n, block));
  for (std::size_t i = 0; i < n; ++i) {
    if (i > 0 || !job.first_block) job.out.put(job.separator);
    job.out.number(load_raw(std::span(block).subspan(i * size, size)));
  }
  return {};
}

Result<void> write_some(const Job& job, std::uint64_t first, std::uint64_t n) {
  const DType dtype = job.reader.tensor().dtype;
  const TensorReader& reader = job.reader;
  if (reader.tensor().quantizer != kNone)
    return write_block<float>(job, n, [&](auto out) { return reader.read_f32(first, out); }, [&](float value) { write_real(job, value); });
  switch (dtype_info(dtype).kind) {
    case DTypeKind::boolean:
      return write_block<std::uint64_t>(
          job, n, [&](auto out) { return reader.read_u64(first, out); },
          [&](std::uint64_t value) { job.out.put(value != 0 ? "true" : "false"); });
    case DTypeKind::unsigned_integer:
      return write_block<std::uint64_t>(
          job, n, [&](auto out) { return reader.read_u64(first, out); }, [&](std::uint64_t value) { job.out.number(value); });
    case DTypeKind::signed_integer:
      return write_block<std::int64_t>(
          job, n, [&](auto out) { return reader.read_i64(first, out); }, [&](std::int64_t value) { job.out.number(value); });
    case DTypeKind::real:
      if (dtype == DType::f64)
        return write_block<double>(
            job, n, [&](auto out) { return reader.read_f64(first, out); }, [&](double value) { write_real(job, value); });
      return write_block<float>(
          job, n, [&](auto out) { return reader.read_f32(first, out); }, [&](float value) { write_real(job, value); });
    case DTypeKind::complex:
      return write_block<std::complex<double>>(
          job, n, [&](auto out) { return reader.read_complex(first, out); },
          [&](std::complex<double> value) { dtype == DType::c128 ? write_complex<double>(job, value) : write_complex<float>(job, value); });
    case DTypeKind::bits: return write_raw_block(job, first, n);
    case DTypeKind::unknown: break;
  }
  return fail(Code::unknown_dtype, "values of an unknown dtype");
}

}  // namespace

Result<std::uint64_t> write_values(Writer& out, const TensorReader& reader, ValueRange range, ValueStyle style, std::string_view separator,
                                   bool (*stop)()) {
  for (std::uint64_t done = 0; done < range.n;) {
    if (stop != nullptr && stop()) return done;
    const std::uint64_t n = std::min(kBlock, range.n - done);
    ASSAY_CHECK(write_some({out, reader, style, separator, done == 0}, range.first + done, n));
    done += n;
  }
  return range.n;
}

}  // namespace assay::report
