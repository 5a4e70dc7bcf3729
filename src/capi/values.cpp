// SPDX-License-Identifier: Apache-2.0
#include <complex>

#include "base/arith.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "capi/handle.hpp"

using namespace assay;
using namespace assay::capi;

struct assay_reader {
  std::shared_ptr<const State> state;
  TensorReader reader;
};

namespace {

Result<TensorReader> reader_of(const assay_checkpoint* checkpoint, std::size_t tensor) {
  if (checkpoint == nullptr) return fail(Code::usage, "a NULL argument");
  const Checkpoint& opened = checkpoint->state->checkpoint;
  if (tensor >= opened.tensors.size()) {
    return fail(Code::no_such_tensor, concat("tensor ", tensor, " of ", opened.tensors.size()));
  }
  return TensorReader::open(opened, opened.tensors[tensor]);
}

/// How each C number type is read; the one list of them.
Result<void> read(const TensorReader& reader, std::uint64_t first, std::size_t n, double* out) { return reader.read_f64(first, {out, n}); }
Result<void> read(const TensorReader& reader, std::uint64_t first, std::size_t n, float* out) { return reader.read_f32(first, {out, n}); }
Result<void> read(const TensorReader& reader, std::uint64_t first, std::size_t n, std::int64_t* out) {
  return reader.read_i64(first, {out, n});
}
Result<void> read(const TensorReader& reader, std::uint64_t first, std::size_t n, std::uint64_t* out) {
  return reader.read_u64(first, {out, n});
}
Result<void> read(const TensorReader& reader, std::uint64_t first, std::size_t n, std::complex<double>* out) {
  return reader.read_complex(first, {out, n});
}
Result<void> read(const TensorReader& reader, std::uint64_t first, std::size_t n, std::byte* out) {
  const auto bytes = checked_mul(n, reader.raw_size());
  if (!bytes || *bytes > PTRDIFF_MAX) return fail(Code::usage, concat(n, " elements of ", reader.raw_size(), " bytes do not fit memory"));
  return reader.read_raw(first, n, {out, static_cast<std::size_t>(*bytes)});
}

template <class T>
Result<void> checked_read(const TensorReader& reader, std::uint64_t first, std::size_t n, T* out) {
  if (out == nullptr && n != 0) return fail(Code::usage, "a NULL argument");
  if (!within(first, n, reader.tensor().numel)) {
    return fail(Error(Code::usage, concat("elements ", first, " to ", first, " + ", n, " of ", reader.tensor().numel))
                    .of_tensor(reader.tensor().name));
  }
  return n == 0 ? Result<void>() : read(reader, first, n, out);
}

template <class T>
assay_status read_tensor(const assay_checkpoint* checkpoint, std::size_t tensor, std::uint64_t first, std::size_t n, T* out,
                         assay_error** error) {
  return guarded(error, [&]() -> Result<void> {
    ASSAY_TRY(const TensorReader reader, reader_of(checkpoint, tensor));
    return checked_read(reader, first, n, out);
  });
}

template <class T>
assay_status read_reader(const assay_reader* reader, std::uint64_t first, std::size_t n, T* out, assay_error** error) {
  return guarded(error, [&]() -> Result<void> {
    if (reader == nullptr) return fail(Code::usage, "a NULL argument");
    return checked_read(reader->reader, first, n, out);
  });
}

}  // namespace

extern "C" {

const void* assay_tensor_data(const assay_checkpoint* checkpoint, size_t tensor, uint64_t* nbytes) {
  if (nbytes != nullptr) *nbytes = 0;
  const size_t storage = assay_tensor_storage(checkpoint, tensor);
  // Compressed storages are not in place anywhere; opening a reader would only unpack them.
  if (storage == ASSAY_NO_INDEX || storage >= assay_storage_count(checkpoint) || checkpoint->state->checkpoint.storages[storage].producer)
    return nullptr;
  const void* data = nullptr;
  const assay_status status = guarded(nullptr, [&]() -> Result<void> {
    ASSAY_TRY(const TensorReader reader, reader_of(checkpoint, tensor));
    const auto view = reader.plain_view();
    if (view && !view->empty()) {
      data = view->data();
      if (nbytes != nullptr) *nbytes = view->size();
    }
    return {};
  });
  return status == ASSAY_OK ? data : nullptr;
}

assay_status assay_tensor_read_f64(const assay_checkpoint* c, size_t tensor, uint64_t first, size_t n, double* out, assay_error** error) {
  return read_tensor(c, tensor, first, n, out, error);
}
assay_status assay_tensor_read_f32(const assay_checkpoint* c, size_t tensor, uint64_t first, size_t n, float* out, assay_error** error) {
  return read_tensor(c, tensor, first, n, out, error);
}
assay_status assay_tensor_read_i64(const assay_checkpoint* c, size_t tensor, uint64_t first, size_t n, int64_t* out, assay_error** error) {
  return read_tensor(c, tensor, first, n, out, error);
}
assay_status assay_tensor_read_u64(const assay_checkpoint* c, size_t tensor, uint64_t first, size_t n, uint64_t* out, assay_error** error) {
  return read_tensor(c, tensor, first, n, out, error);
}

assay_status assay_reader_open(const assay_checkpoint* checkpoint, size_t tensor, assay_reader** out, assay_error** error) {
  return guarded(error, [&]() -> Result<void> {
    if (out == nullptr) return fail(Code::usage, "a NULL argument");
    *out = nullptr;
    ASSAY_TRY(TensorReader reader, reader_of(checkpoint, tensor));
    *out = new assay_reader{checkpoint->state, std::move(reader)};
    return {};
  });
}
void assay_reader_close(assay_reader* reader) { delete reader; }

assay_status assay_reader_read_f64(const assay_reader* reader, uint64_t first, size_t n, double* out, assay_error** error) {
  return read_reader(reader, first, n, out, error);
}
assay_status assay_reader_read_f32(const assay_reader* reader, uint64_t first, size_t n, float* out, assay_error** error) {
  return read_reader(reader, first, n, out, error);
}
assay_status assay_reader_read_i64(const assay_reader* reader, uint64_t first, size_t n, int64_t* out, assay_error** error) {
  return read_reader(reader, first, n, out, error);
}
assay_status assay_reader_read_u64(const assay_reader* reader, uint64_t first, size_t n, uint64_t* out, assay_error** error) {
  return read_reader(reader, first, n, out, error);
}
assay_status assay_reader_read_complex(const assay_reader* reader, uint64_t first, size_t n, double* out, assay_error** error) {
  // std::complex<double> is laid out as two doubles by the language.
  return read_reader(reader, first, n, reinterpret_cast<std::complex<double>*>(out), error);
}
assay_status assay_reader_read_raw(const assay_reader* reader, uint64_t first, size_t n, void* out, assay_error** error) {
  return read_reader(reader, first, n, static_cast<std::byte*>(out), error);
}
size_t assay_reader_raw_size(const assay_reader* reader) { return reader != nullptr ? reader->reader.raw_size() : 0; }

}  // extern "C"
