// SPDX-License-Identifier: Apache-2.0
// WebAssembly has no libdeflate: the portable inflater and a table-driven CRC stand in, with the same answers.
#include <array>
#include <cstring>
#include <new>

#include "base/text.hpp"
#include "containers/inflate.hpp"
#include "containers/inflate_stream.hpp"

namespace assay {

namespace {
constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = value & 1 ? 0xedb88320u ^ (value >> 1) : value >> 1;
    table[i] = value;
  }
  return table;
}
constexpr auto kTable = make_table();
}  // namespace

Result<ByteBlock> inflate(ByteView packed, std::uint64_t size) {
  const auto failed = [&](std::string what) { return Error(Code::inflate_failed, std::move(what)).at(packed.offset()); };
  const Inflated inflated = inflate_stream(packed, size);
  if (inflated.broken && inflated.broken->code() == Code::limit_exceeded)
    return fail(failed(concat("the deflate stream holds more than the ", size, " bytes claimed")));
  if (inflated.broken) return fail(failed(concat("the deflate stream of ", packed.size(), " bytes is damaged or cut")));
  const std::size_t made = inflated.bytes.size();
  if (made != size)
    return fail(failed(concat("the deflate stream holds ", made, " bytes, ", size, " are claimed")).expected_found(size, made));
  if (inflated.consumed != packed.size())
    return fail(
        Error(Code::inflate_failed, concat("the deflate stream ends after ", inflated.consumed, " of its ", packed.size(), " bytes"))
            .at(packed.offset(static_cast<std::size_t>(inflated.consumed)))
            .expected_found(packed.size(), inflated.consumed));
  std::unique_ptr<std::byte[]> out(new (std::nothrow) std::byte[made]);
  if (!out) return fail(Error(Code::out_of_memory, concat("no room to inflate ", size, " bytes")).at(packed.offset()));
  if (made != 0) std::memcpy(out.get(), inflated.bytes.data(), made);
  return ByteBlock(std::move(out), made, packed.offset());
}

std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t before) {
  std::uint32_t crc = ~before;
  for (const std::byte byte : bytes) crc = kTable[(crc ^ std::to_integer<std::uint32_t>(byte)) & 0xff] ^ (crc >> 8);
  return ~crc;
}

}  // namespace assay
