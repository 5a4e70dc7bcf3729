// SPDX-License-Identifier: Apache-2.0
// What a .distcp file holds for one chunk, looked at when it is first read.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "assay/checkpoint.hpp"
#include "formats/chunked_tensor.hpp"

namespace assay::formats::torch {

/// One data file. Safe from several threads.
class DcpFile {
 public:
  DcpFile(std::shared_ptr<ByteSource> source, std::string name, const Limits& limits)
      : source_(std::move(source)), name_(std::move(name)), limits_(limits) {}
  ~DcpFile();
  DcpFile(const DcpFile&) = delete;
  DcpFile& operator=(const DcpFile&) = delete;

  const std::shared_ptr<ByteSource>& source() const { return source_; }
  const std::string& name() const { return name_; }
  const Limits& limits() const { return limits_; }
  /// The file as one of safetensors; null when it is none. Parsed once.
  Result<const Checkpoint*> as_safetensors() const;

 private:
  std::shared_ptr<ByteSource> source_;
  std::string name_;
  Limits limits_;
  mutable std::atomic<const Checkpoint*> safetensors_ = nullptr;
};

struct DcpItem {
  std::string_view name;                 ///< of the tensor; must live as long
  std::uint64_t offset = 0, length = 0;  ///< in the file, as the metadata says
  DType dtype = DType::unknown;          ///< what it must be
  std::vector<std::uint64_t> sizes;      ///< of the chunk
};

/// torch counts pairs of 4-bit values, in the last dimension; the sizes in values. Of other dtypes those that are given; nothing where they
/// do not fit 64 bits.
std::optional<std::vector<std::uint64_t>> sizes_in_values(DType dtype, std::vector<std::uint64_t> sizes);

/// Finding fails with `size-mismatch` where the item is of another dtype or shape, `malformed-tensor` where it is no single tensor,
/// `unsupported` for another byte order, and as reading it does.
std::shared_ptr<const ChunkFinder> make_dcp_chunk(std::shared_ptr<const DcpFile> file, DcpItem item);

}  // namespace assay::formats::torch
