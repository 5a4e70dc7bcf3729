// SPDX-License-Identifier: Apache-2.0
// Reading a tensor's elements: through its strides, in logical (row-major) order, decoded exactly.
#pragma once

#include <complex>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "assay/checkpoint.hpp"

namespace assay {

/// Reads elements of one tensor. Holds the storage's bytes while it lives where they had to be inflated; otherwise reads in place
/// or in blocks. A strided tensor that is not mapped costs at most 64 MiB twice: what it spans where that fits, small pages of it
/// otherwise. A request outside the tensor is an error. The Checkpoint must outlive it. Not for use from two threads at once;
/// make one per thread.
class TensorReader {
 public:
  /// Fails for a tensor that is not readable, has no storage, or whose dtype has no numbers.
  static Result<TensorReader> open(const Checkpoint& checkpoint, const Tensor& tensor, const Limits& limits = {});
  TensorReader(TensorReader&&) noexcept;
  TensorReader& operator=(TensorReader&&) noexcept;
  ~TensorReader();

  const Tensor& tensor() const;
  /// Bytes of one element as `read_raw` gives it: bits / 8, and 1 for sub-byte kinds.
  std::size_t raw_size() const;

  /// Elements [first, first + n) in logical order as raw little-endian codes of raw_size() bytes each: sub-byte elements are
  /// unpacked to one byte, big-endian files swapped; conj and neg are not applied, and quantised tensors give their stored
  /// integers. `out` holds n * raw_size() bytes.
  Result<void> read_raw(std::uint64_t first, std::uint64_t n, std::span<std::byte> out) const;
  /// Decoded to double: exact for every dtype but I64 and U64 beyond 2^53; booleans are 0 and 1, a complex value its real part;
  /// conj and neg applied. Quantised tensors are dequantised: F32 values, as torch computes them.
  Result<void> read_f64(std::uint64_t first, std::span<double> out) const;
  /// Decoded to float, rounded to nearest where the dtype is wider.
  Result<void> read_f32(std::uint64_t first, std::span<float> out) const;
  /// Integer, boolean and bits dtypes only; a value that does not fit is an error that names it. Quantised tensors give their stored
  /// integers.
  Result<void> read_i64(std::uint64_t first, std::span<std::int64_t> out) const;
  Result<void> read_u64(std::uint64_t first, std::span<std::uint64_t> out) const;
  /// Real values come with an imaginary part of 0.
  Result<void> read_complex(std::uint64_t first, std::span<std::complex<double>> out) const;

  /// Calls fn(first, codes) for all of these elements as read_raw gives them, about `block_bytes` at a time, in place where they stand side
  /// by side; a block never goes beyond such a run of at least 4 KiB, so that blocks are the same wherever the bytes come from. The
  /// first error ends the walk.
  Result<void> for_each_raw(std::uint64_t first, std::uint64_t n, std::size_t block_bytes,
                            const std::function<Result<void>(std::uint64_t, std::span<const std::byte>)>& fn) const;

  /// All elements in place, without a copy: where the storage is mapped, plain, little endian, contiguous and of whole bytes.
  /// The bytes may be unaligned. Valid while the Checkpoint's source lives.
  std::optional<ByteView> plain_view() const;
  /// The same as typed numbers; also demands alignment and sizeof(T) == raw_size().
  template <class T>
  std::optional<std::span<const T>> typed_view() const {
    const auto view = plain_view();
    if (!view || sizeof(T) != raw_size() || reinterpret_cast<std::uintptr_t>(view->data()) % alignof(T) != 0) return std::nullopt;
    return std::span<const T>(reinterpret_cast<const T*>(view->data()), view->size() / sizeof(T));
  }

 private:
  struct State;
  explicit TensorReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace assay
