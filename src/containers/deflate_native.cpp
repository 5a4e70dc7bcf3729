// SPDX-License-Identifier: Apache-2.0
#include "containers/deflate.hpp"

#include <libdeflate.h>

#include <memory>

namespace assay {

std::vector<std::byte> zlib_packed(std::span<const std::byte> bytes) {
  constexpr int kLevel = 6;
  const std::unique_ptr<libdeflate_compressor, decltype(&libdeflate_free_compressor)> packer(libdeflate_alloc_compressor(kLevel),
                                                                                             libdeflate_free_compressor);
  std::vector<std::byte> packed(libdeflate_zlib_compress_bound(packer.get(), bytes.size()));
  packed.resize(libdeflate_zlib_compress(packer.get(), bytes.data(), bytes.size(), packed.data(), packed.size()));
  return packed;
}

}  // namespace assay
