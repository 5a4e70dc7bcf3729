// SPDX-License-Identifier: Apache-2.0
#include <libdeflate.h>

#include <limits>
#include <memory>
#include <new>

#include "base/text.hpp"
#include "containers/inflate.hpp"

namespace assay {

namespace {
struct Free {
  void operator()(libdeflate_decompressor* decompressor) const { libdeflate_free_decompressor(decompressor); }
};
}  // namespace

Result<ByteBlock> inflate(ByteView packed, std::uint64_t size) {
  if (size > std::numeric_limits<std::size_t>::max() / 2) return fail(Code::out_of_memory, concat("no room to inflate ", size, " bytes"));
  const std::size_t n = static_cast<std::size_t>(size);
  const std::unique_ptr<libdeflate_decompressor, Free> decompressor(libdeflate_alloc_decompressor());
  std::unique_ptr<std::byte[]> out(new (std::nothrow) std::byte[n]);
  if (!decompressor || !out) return fail(Error(Code::out_of_memory, concat("no room to inflate ", size, " bytes")).at(packed.offset()));
  std::size_t consumed = 0, made = 0;
  const auto result = libdeflate_deflate_decompress_ex(decompressor.get(), packed.data(), packed.size(), out.get(), n, &consumed, &made);
  if (result == LIBDEFLATE_INSUFFICIENT_SPACE)
    return fail(Error(Code::inflate_failed, concat("the deflate stream holds more than the ", size, " bytes claimed")).at(packed.offset()));
  if (result != LIBDEFLATE_SUCCESS)
    return fail(
        Error(Code::inflate_failed, concat("the deflate stream of ", packed.size(), " bytes is damaged or cut")).at(packed.offset()));
  if (made != n)
    return fail(Error(Code::inflate_failed, concat("the deflate stream holds ", made, " bytes, ", size, " are claimed"))
                    .at(packed.offset())
                    .expected_found(size, made));
  if (consumed != packed.size())
    return fail(Error(Code::inflate_failed, concat("the deflate stream ends after ", consumed, " of its ", packed.size(), " bytes"))
                    .at(packed.offset(consumed))
                    .expected_found(packed.size(), consumed));
  return ByteBlock(std::move(out), n, packed.offset());
}

std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t before) {
  return bytes.empty() ? before : libdeflate_crc32(before, bytes.data(), bytes.size());  // a null buffer would mean "start over" there
}

}  // namespace assay
