// SPDX-License-Identifier: Apache-2.0
// A Tensor is a name, a type and a place; a Storage is where bytes are. Neither holds data.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "assay/dtype.hpp"
#include "assay/source.hpp"

namespace assay {

inline constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

/// Bytes that are not a plain range of a file, such as an inflated zip member. Safe from several threads.
class Producer {
 public:
  virtual ~Producer() = default;
  /// All `Storage::nbytes` bytes. Cost: decoding the whole storage, in memory, bounded by Limits.
  virtual Result<ByteBlock> load(const ByteSource& file) const = 0;
  /// The same bytes as a source of `Storage::nbytes`, where they can be read in parts without making all of them; null otherwise.
  virtual const ByteSource* parts() const { return nullptr; }
};

/// One run of bytes that tensors look into. Shared by all tensors on it, so that ties and overlaps stay visible.
struct Storage {
  std::uint64_t offset = 0;  ///< absolute in its file; of the encoded bytes where there is a producer
  std::uint64_t nbytes = 0;  ///< decoded bytes
  std::uint32_t file = 0;    ///< index into Checkpoint::files
  bool big_endian = false;
  bool inferred = false;                     ///< of a zip archive: `offset` follows from where the members lie, its own header was not read
  std::string_view key;                      ///< its name in the file ("archive/data/0"); "" where it has none. Lives in the Checkpoint
  std::shared_ptr<const Producer> producer;  ///< null for a plain range
};

/// A view of a storage: element i,j,… stands at storage_offset + i*stride[0] + j*stride[1] + … elements.
/// Texts and dimensions live in the Checkpoint that lists the tensor.
struct Tensor {
  std::string_view name;
  std::string_view source_dtype;          ///< as the file spells it: "torch.float32", "F32", "Q4_X"
  std::span<const std::uint64_t> shape;   ///< empty for a scalar
  std::span<const std::uint64_t> stride;  ///< in elements, as long as shape; empty means row-major without gaps
  std::uint64_t storage_offset = 0;       ///< in elements
  std::uint64_t numel = 0;                ///< product of shape; 1 for a scalar
  std::uint32_t storage = kNone;          ///< index into Checkpoint::storages; kNone when it has no bytes (a meta tensor)
  std::uint32_t quantizer = kNone;        ///< index into Checkpoint::quantizers; kNone where stored numbers are the values
  DType dtype = DType::unknown;
  bool readable = true;    ///< false when its bytes cannot be right; a finding that names it says why
  bool conj = false;       ///< stored values are to be conjugated
  bool neg = false;        ///< stored values are to be negated
  bool parameter = false;  ///< wrapped as a Parameter where the format says so

  /// ceil(numel * bits / 8): the size of the elements packed without gaps. 0 for an unknown dtype.
  std::uint64_t nbytes() const;
  /// Row-major without gaps; true for scalars and empty tensors.
  bool contiguous() const;
  /// Stride of a dimension in elements, computed where `stride` is empty.
  std::uint64_t stride_of(std::size_t dimension) const;
};

/// How the stored integers q of a quantised tensor stand for numbers: (q - zero point) * scale, an F32 value, rounded
/// as torch's dequantize() rounds.
struct Quantizer {
  enum class Scheme : std::uint8_t { per_tensor_affine, per_channel_affine, per_channel_affine_float_qparams };
  Scheme scheme = Scheme::per_tensor_affine;
  double scale = 1;             ///< of the whole tensor
  std::int64_t zero_point = 0;  ///< of the whole tensor
  std::uint32_t axis = 0;       ///< per channel: the dimension that scales and zero_points count along
  Tensor scales, zero_points;   ///< per channel: 1-D tensors of the same Checkpoint, shape[axis] numbers each

  bool per_channel() const { return scheme != Scheme::per_tensor_affine; }
};
/// torch's name: "per_tensor_affine".
std::string_view quantizer_scheme_name(Quantizer::Scheme scheme);

}  // namespace assay
