// SPDX-License-Identifier: Apache-2.0
// WebAssembly has no libdeflate: hosts inflate with what they have. The CRC is small enough to carry.
#include <array>

#include "containers/inflate.hpp"

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

Result<ByteBlock> inflate(ByteView packed, std::uint64_t) {
  return fail(Error(Code::unsupported, "this build cannot inflate deflated members").at(packed.offset()));
}

std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t before) {
  std::uint32_t crc = ~before;
  for (const std::byte byte : bytes) crc = kTable[(crc ^ std::to_integer<std::uint32_t>(byte)) & 0xff] ^ (crc >> 8);
  return ~crc;
}

}  // namespace assay
