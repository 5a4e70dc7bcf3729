// SPDX-License-Identifier: Apache-2.0
#include "assay/values.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/arith.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "values/decode.hpp"
#include "values/dequantise.hpp"
#include "values/layout.hpp"
#include "values/storage_bytes.hpp"

namespace assay {

namespace {

using values::Decoder;
using values::Dequantiser;
using values::Layout;
using values::StorageBytes;

constexpr std::size_t kBlockBytes = std::size_t{256} << 10;
/// Stretches at least this long are worth a read of their own.
constexpr std::uint64_t kLongRun = 4096;

template <std::size_t kWidth>
void copy_strided(const std::byte* from, std::uint64_t step, std::uint64_t n, std::byte* out) {
  for (std::uint64_t i = 0; i < n; ++i) std::memcpy(out + i * kWidth, from + i * step, kWidth);
}

/// `n` elements of `width` bytes, each `step` bytes after the one before.
void copy_elements(const std::byte* from, std::uint64_t step, std::uint64_t n, std::size_t width, std::byte* out) {
  if (step == width) {
    std::memcpy(out, from, static_cast<std::size_t>(n * width));
    return;
  }
  switch (width) {
    case 1: return copy_strided<1>(from, step, n, out);
    case 2: return copy_strided<2>(from, step, n, out);
    case 4: return copy_strided<4>(from, step, n, out);
    case 8: return copy_strided<8>(from, step, n, out);
    default: return copy_strided<16>(from, step, n, out);
  }
}

}  // namespace

struct TensorReader::State {
  const Tensor* tensor;
  const Decoder* decoder;
  Layout layout;
  StorageBytes bytes;
  unsigned bits;
  bool big_endian;
  std::vector<std::byte> raw;  // scratch of a block of codes, made when first needed
  std::vector<double> reals;   // scratch of a block of decoded parts of complex elements, or of stored integers
  std::optional<Dequantiser> dequantiser;

  Error named(Error&& error) const { return std::move(error).of_tensor(tensor->name); }
  bool swapped() const { return big_endian && decoder->swap_unit() > 1; }
  std::size_t raw_size() const { return decoder->raw_size; }

  Result<void> check_range(std::uint64_t first, std::uint64_t n) const;
  const std::byte* whole_in_place(std::uint64_t first, std::uint64_t n) const;
  /// Whether elements stand side by side for so long that each run is worth a look of its own.
  bool long_runs() const {
    return bits % 8 == 0 && !swapped() && (layout.contiguous() || (layout.run() > 1 && layout.run() * raw_size() >= kLongRun));
  }
  const std::byte* in_place(std::uint64_t first, std::uint64_t n, std::uint64_t& low) const;
  Result<void> gather(std::uint64_t first, std::uint64_t n, std::byte* out);
  void gather_from(const std::byte* low_byte, std::uint64_t low, std::uint64_t first, std::uint64_t n, std::byte* out) const;
  Result<void> gather_runs(std::uint64_t first, std::uint64_t n, std::byte* out) const;
  Result<void> gather_paged(std::uint64_t first, std::uint64_t n, std::byte* out);
  template <class Fn>
  Result<void> for_each_codes(std::uint64_t first, std::uint64_t n, Fn&& fn);
  template <class T>
  Result<void> read_real(std::uint64_t first, std::span<T> out);
  template <class T>
  Result<void> read_integer(std::uint64_t first, std::span<T> out);
  double* decode_parts(const std::byte* codes, std::size_t n);
  template <class T>
  void dequantise(const std::byte* codes, std::uint64_t first, std::size_t n, T* out);
};

Result<void> TensorReader::State::check_range(std::uint64_t first, std::uint64_t n) const {
  if (within(first, n, layout.numel)) return {};
  return fail(
      named(Error(Code::usage, concat("elements from ", first, ", ", n, " of them, are not all among the ", layout.numel, " there are"))));
}

/// Elements as they stand, where the codes of the file are the codes to give; null where they must be copied.
const std::byte* TensorReader::State::whole_in_place(std::uint64_t first, std::uint64_t n) const {
  if (!layout.contiguous() || bits % 8 != 0 || swapped() || n == 0) return nullptr;
  return bytes.in_place((layout.base + first) * raw_size(), n * raw_size());
}

/// All that these elements span, from byte `low` of the storage on; null where it is not at hand.
const std::byte* TensorReader::State::in_place(std::uint64_t first, std::uint64_t n, std::uint64_t& low) const {
  const auto [from, to] = layout.extent(first, n);
  low = from * bits / 8;
  return bytes.in_place(low, bits_to_bytes((to + 1) * bits) - low);
}

/// From bytes at hand: `low_byte` is byte `low` of the storage.
void TensorReader::State::gather_from(const std::byte* low_byte, std::uint64_t low, std::uint64_t first, std::uint64_t n,
                                      std::byte* out) const {
  const std::size_t width = raw_size();
  layout.for_each_run(first, n, [&](std::uint64_t element, std::uint64_t count, std::uint64_t stride) {
    if (bits % 8 != 0) values::unpack(low_byte, element * bits - low * 8, stride * bits, bits, static_cast<std::size_t>(count), out);
    else copy_elements(low_byte + (element * width - low), stride * width, count, width, out);
    out += count * width;
  });
}

/// Long stretches straight from the file, one read each.
Result<void> TensorReader::State::gather_runs(std::uint64_t first, std::uint64_t n, std::byte* out) const {
  const std::size_t width = raw_size();
  Result<void> result;
  layout.for_each_run(first, n, [&](std::uint64_t element, std::uint64_t count, std::uint64_t) {
    if (result) result = bytes.read(element * width, std::span(out, static_cast<std::size_t>(count * width)));
    out += count * width;
  });
  return result;
}

/// Element by element through small pages: a walk across a storage that is too large to hold.
Result<void> TensorReader::State::gather_paged(std::uint64_t first, std::uint64_t n, std::byte* out) {
  bytes.use_pages(layout.dims.back().size);
  const std::size_t width = raw_size();
  Result<void> result;
  layout.for_each_run(first, n, [&](std::uint64_t element, std::uint64_t count, std::uint64_t stride) {
    for (std::uint64_t i = 0; i < count && result; ++i, out += width) {
      const std::uint64_t at = (element + i * stride) * bits;
      std::byte packed[16];
      const std::uint64_t end = bits_to_bytes(at + bits);
      result = bytes.read_paged(at / 8, std::span(packed, static_cast<std::size_t>(end - at / 8)));
      if (!result) return;
      if (bits % 8 != 0) values::unpack(packed, at % 8, 0, bits, 1, out);
      else std::memcpy(out, packed, width);
    }
  });
  return result;
}

/// Raw codes of elements [first, first + n), in range, by whichever way costs least.
Result<void> TensorReader::State::gather(std::uint64_t first, std::uint64_t n, std::byte* out) {
  if (n == 0) return {};
  const auto [from, to] = layout.extent(first, n);
  const std::uint64_t low = from * bits / 8;
  const std::uint64_t size = bits_to_bytes((to + 1) * bits) - low;
  const std::byte* at_hand = bytes.in_place(low, size);
  // Elements may be read side by side when the request stays in one stretch, or when every stretch is long.
  const bool long_runs =
      bits % 8 == 0 && (layout.contiguous() || (layout.run() > 1 && (to - from + 1 == n || layout.run() * raw_size() >= kLongRun)));
  if (!at_hand && long_runs) {
    ASSAY_CHECK(gather_runs(first, n, out));
  } else {
    if (!at_hand) {
      ASSAY_TRY(at_hand, bytes.load(low, size, kBlockBytes));
    }
    if (at_hand) gather_from(at_hand, low, first, n, out);
    else ASSAY_CHECK(gather_paged(first, n, out));
  }
  if (swapped()) values::swap_units(std::span(out, static_cast<std::size_t>(n * raw_size())), decoder->swap_unit());
  return {};
}

/// Calls fn(codes, count, done) for consecutive blocks of codes, in place where possible; `done` elements came before.
template <class Fn>
Result<void> TensorReader::State::for_each_codes(std::uint64_t first, std::uint64_t n, Fn&& fn) {
  ASSAY_CHECK(check_range(first, n));
  if (n == 0) return {};
  if (auto prepared = bytes.prepare(); !prepared) return fail(named(std::move(prepared).error()));
  const std::size_t block = kBlockBytes / raw_size();
  for (std::uint64_t done = 0; done < n;) {
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(block, n - done));
    const std::byte* codes = whole_in_place(first + done, count);
    if (!codes) {
      if (raw.size() < count * raw_size()) raw.resize(count * raw_size());
      if (auto gathered = gather(first + done, count, raw.data()); !gathered) return fail(named(std::move(gathered).error()));
      codes = raw.data();
    }
    ASSAY_CHECK(fn(codes, count, static_cast<std::size_t>(done)));
    done += count;
  }
  return {};
}

/// Both parts of `n` complex elements, conj and neg applied, as re, im, re, im, …
double* TensorReader::State::decode_parts(const std::byte* codes, std::size_t n) {
  if (reals.size() < 2 * n) reals.resize(2 * n);
  decoder->to_f64(codes, 2 * n, reals.data());
  for (std::size_t i = 0; i < n; ++i) {
    if (tensor->neg) reals[2 * i] = -reals[2 * i];
    if (tensor->neg != tensor->conj) reals[2 * i + 1] = -reals[2 * i + 1];
  }
  return reals.data();
}

template <class T>
void TensorReader::State::dequantise(const std::byte* codes, std::uint64_t first, std::size_t n, T* out) {
  if (reals.size() < n) reals.resize(n);
  decoder->to_f64(codes, n, reals.data());
  dequantiser->apply(first, std::span(reals).first(n), out);
}

template <class T>
Result<void> TensorReader::State::read_real(std::uint64_t first, std::span<T> out) {
  if (dequantiser) {
    if (auto prepared = dequantiser->prepare(); !prepared) return fail(named(std::move(prepared).error()));
  }
  return for_each_codes(first, out.size(), [&](const std::byte* codes, std::size_t n, std::size_t done) -> Result<void> {
    T* to = out.data() + done;
    if (dequantiser) {
      dequantise(codes, first + done, n, to);
      return {};
    }
    if (decoder->reals == 2) {
      const double* parts = decode_parts(codes, n);
      for (std::size_t i = 0; i < n; ++i) to[i] = static_cast<T>(parts[2 * i]);
      return {};
    }
    if constexpr (std::is_same_v<T, double>) decoder->to_f64(codes, n, to);
    else decoder->to_f32(codes, n, to);
    if (tensor->neg)
      for (std::size_t i = 0; i < n; ++i) to[i] = -to[i];
    return {};
  });
}

template <class T>
Result<void> TensorReader::State::read_integer(std::uint64_t first, std::span<T> out) {
  if (!decoder->to_i64) return fail(named(Error(Code::unsupported, concat(dtype_name(tensor->dtype), " values are not integers"))));
  const bool codes_unsigned = tensor->dtype == DType::u64;
  return for_each_codes(first, out.size(), [&](const std::byte* codes, std::size_t n, std::size_t done) -> Result<void> {
    T* to = out.data() + done;
    // Signed and unsigned numbers of one size share their storage by the rules of the language.
    auto* wide = reinterpret_cast<std::int64_t*>(to);
    decoder->to_i64(codes, n, wide);
    for (std::size_t i = 0; i < n; ++i) {
      if (tensor->neg) wide[i] = static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(wide[i]));
      if (wide[i] < 0 && codes_unsigned != std::is_unsigned_v<T>) {
        const std::string shown = codes_unsigned ? concat(static_cast<std::uint64_t>(wide[i])) : concat(wide[i]);
        const std::string_view asked = codes_unsigned ? "a signed" : "an unsigned";
        return fail(named(Error(Code::unsupported,
                                concat("element ", first + done + i, " is ", shown, ", which ", asked, " 64-bit number cannot hold"))));
      }
    }
    return {};
  });
}

TensorReader::TensorReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
TensorReader::TensorReader(TensorReader&&) noexcept = default;
TensorReader& TensorReader::operator=(TensorReader&&) noexcept = default;
TensorReader::~TensorReader() = default;

Result<TensorReader> TensorReader::open(const Checkpoint& checkpoint, const Tensor& tensor, const Limits& limits) {
  const auto refuse = [&](Code code, std::string what) { return fail(Error(code, std::move(what)).of_tensor(tensor.name)); };
  if (!tensor.readable) return refuse(Code::unsupported, "its bytes cannot be right; the findings say why");
  if (tensor.storage == kNone) return refuse(Code::missing_storage, "it has no bytes in the file");
  const Decoder& decoder = values::decoder(tensor.dtype);
  if (decoder.raw_size == 0)
    return refuse(Code::unknown_dtype, concat("values of dtype ", quote(tensor.source_dtype), " are not readable"));
  if (tensor.storage >= checkpoint.storages.size() || checkpoint.storages[tensor.storage].file >= checkpoint.files.size())
    return refuse(Code::internal, concat("storage ", tensor.storage, " is not listed"));
  const Storage& storage = checkpoint.storages[tensor.storage];
  const CheckpointFile& file = checkpoint.files[storage.file];
  if (!file.source) return refuse(Code::missing_shard, concat("its file ", quote(file.name), " is not at hand"));

  auto layout = values::make_layout(tensor, storage.nbytes, limits);
  if (!layout) return fail(std::move(layout).error().of_tensor(tensor.name));
  std::optional<Dequantiser> dequantiser;
  if (tensor.quantizer != kNone) {
    auto made = Dequantiser::make(checkpoint, tensor, limits);
    if (!made) return fail(std::move(made).error().of_tensor(tensor.name));
    dequantiser = *std::move(made);
  }
  const unsigned bits = dtype_bits(tensor.dtype);
  std::uint64_t low = 0, high = 0;
  if (layout->numel > 0) {
    const auto [first, last] = layout->extent();
    low = first * bits / 8;
    high = bits_to_bytes((last + 1) * bits);
  }
  return TensorReader(std::unique_ptr<State>(new State{&tensor,
                                                       &decoder,
                                                       *std::move(layout),
                                                       StorageBytes(storage, file.source, low, high),
                                                       bits,
                                                       storage.big_endian,
                                                       {},
                                                       {},
                                                       std::move(dequantiser)}));
}

const Tensor& TensorReader::tensor() const { return *state_->tensor; }
std::size_t TensorReader::raw_size() const { return state_->raw_size(); }

Result<void> TensorReader::read_raw(std::uint64_t first, std::uint64_t n, std::span<std::byte> out) const {
  State& state = *state_;
  ASSAY_CHECK(state.check_range(first, n));
  if (out.size() / state.raw_size() != n || out.size() % state.raw_size() != 0)
    return fail(state.named(Error(Code::usage, concat(n, " elements of ", state.raw_size(), " bytes do not fill ", out.size(), " bytes"))));
  if (n == 0) return {};
  if (auto prepared = state.bytes.prepare(); !prepared) return fail(state.named(std::move(prepared).error()));
  // Blocks keep the range that a strided walk needs at a time small; plain elements are better read all at once.
  const bool plain = state.layout.contiguous() && state.bits % 8 == 0;
  const std::uint64_t block = plain ? n : kBlockBytes / state.raw_size();
  for (std::uint64_t done = 0; done < n; done += block) {
    const std::uint64_t count = std::min(block, n - done);
    auto gathered = state.gather(first + done, count, out.data() + done * state.raw_size());
    if (!gathered) return fail(state.named(std::move(gathered).error()));
  }
  return {};
}

Result<void> TensorReader::for_each_raw(std::uint64_t first, std::uint64_t n, std::size_t block_bytes,
                                        const std::function<Result<void>(std::uint64_t, std::span<const std::byte>)>& fn) const {
  State& state = *state_;
  ASSAY_CHECK(state.check_range(first, n));
  if (n == 0) return {};
  if (auto prepared = state.bytes.prepare(); !prepared) return fail(state.named(std::move(prepared).error()));
  const std::size_t size = state.raw_size();
  const std::uint64_t block = std::max<std::size_t>(block_bytes / size, 1);
  std::uint64_t low = 0;
  const std::byte* low_byte = state.long_runs() ? state.in_place(first, n, low) : nullptr;
  std::unique_ptr<std::byte[]> copy;
  Result<void> result;
  const std::uint64_t begin = first;
  // Codes [first, first + count), whose bytes start at `at` where they are at hand. What fits one block is read before the first call.
  const auto one = [&](std::uint64_t count, const std::byte* at) -> Result<void> {
    const auto bytes = static_cast<std::size_t>(count * size);
    if (at) return fn(first, std::span(at, bytes));
    const bool first_time = !copy, all = block >= n;
    if (first_time) copy = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(std::min(block, n)) * size);
    if (all && first_time) ASSAY_CHECK(read_raw(first, n, std::span(copy.get(), static_cast<std::size_t>(n) * size)));
    if (!all) ASSAY_CHECK(read_raw(first, count, std::span(copy.get(), bytes)));
    return fn(first, std::span<const std::byte>(copy.get() + (all ? first - begin : 0) * size, bytes));
  };
  const auto run = [&](std::uint64_t element, std::uint64_t length) {
    for (std::uint64_t done = 0; done < length && result;) {
      const std::uint64_t count = std::min(block, length - done);
      result = one(count, low_byte ? low_byte + ((element + done) * size - low) : nullptr);
      done += count;
      first += count;
    }
  };
  if (state.long_runs())
    state.layout.for_each_run(first, n, [&](std::uint64_t element, std::uint64_t length, std::uint64_t) { run(element, length); });
  else run(0, n);
  return result;
}

Result<void> TensorReader::read_f64(std::uint64_t first, std::span<double> out) const { return state_->read_real(first, out); }
Result<void> TensorReader::read_f32(std::uint64_t first, std::span<float> out) const { return state_->read_real(first, out); }
Result<void> TensorReader::read_i64(std::uint64_t first, std::span<std::int64_t> out) const { return state_->read_integer(first, out); }
Result<void> TensorReader::read_u64(std::uint64_t first, std::span<std::uint64_t> out) const { return state_->read_integer(first, out); }

Result<void> TensorReader::read_complex(std::uint64_t first, std::span<std::complex<double>> out) const {
  State& state = *state_;
  if (state.dequantiser) {
    if (auto prepared = state.dequantiser->prepare(); !prepared) return fail(state.named(std::move(prepared).error()));
  }
  return state.for_each_codes(first, out.size(), [&](const std::byte* codes, std::size_t n, std::size_t done) -> Result<void> {
    if (state.decoder->reals == 2) {
      const double* parts = state.decode_parts(codes, n);
      for (std::size_t i = 0; i < n; ++i) out[done + i] = {parts[2 * i], parts[2 * i + 1]};
      return {};
    }
    if (state.dequantiser) {
      state.dequantise(codes, first + done, n, out.data() + done);
      return {};
    }
    if (state.reals.size() < n) state.reals.resize(n);
    state.decoder->to_f64(codes, n, state.reals.data());
    for (std::size_t i = 0; i < n; ++i) out[done + i] = state.tensor->neg ? -state.reals[i] : state.reals[i];
    return {};
  });
}

std::optional<ByteView> TensorReader::plain_view() const {
  State& state = *state_;
  if (!state.layout.contiguous() || state.bits % 8 != 0 || state.swapped() || state.tensor->conj || state.tensor->neg) return std::nullopt;
  if (state.layout.numel == 0) return ByteView();
  if (!state.bytes.prepare()) return std::nullopt;
  return state.bytes.mapped(state.layout.base * state.raw_size(), state.layout.numel * state.raw_size());
}

}  // namespace assay
