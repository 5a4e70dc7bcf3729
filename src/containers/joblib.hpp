// SPDX-License-Identifier: Apache-2.0
// joblib's arrays: behind the BUILD of a NumpyArrayWrapper stand the array's bytes, or a pickle where its elements are objects.
//
//   [padding n u8, n bytes: only where the wrapper has numpy_array_alignment_bytes] elements
#pragma once

#include <optional>
#include <vector>

#include "assay/pickle.hpp"

namespace assay::joblib {

class ArrayReader final : public pickle::RawReader {
 public:
  explicit ArrayReader(const Limits& limits) : limits_(limits) {}
  pickle::Inlay raw_bytes(const pickle::Graph& graph, pickle::Node object, ByteView rest) override;
  /// The pickles of object arrays. They refer to the stream's bytes.
  std::vector<pickle::Graph> take_nested() { return std::move(nested_); }
  /// Where the first array's bytes begin. A plain pickle.load takes them for opcodes.
  std::optional<std::uint64_t> first_array() const { return first_array_; }

 private:
  const Limits& limits_;
  std::vector<pickle::Graph> nested_;
  std::optional<std::uint64_t> first_array_;
};

struct DtypeSize {
  std::uint64_t bytes = 0;
  bool objects = false;
};
/// The item size of a pickled numpy.dtype; nothing when the value is none, or odd.
std::optional<DtypeSize> dtype_size(const pickle::Graph& graph, pickle::Node node);

}  // namespace assay::joblib
