// SPDX-License-Identifier: Apache-2.0
// zlib: 78 01, stored blocks (final u8, length u16, its complement u16, bytes), Adler-32 big-endian.
#include "containers/deflate.hpp"

#include <algorithm>
#include <cstdint>

namespace assay {

std::vector<std::byte> zlib_packed(std::span<const std::byte> bytes) {
  constexpr std::size_t kMostStored = 65535;
  constexpr std::uint32_t kAdler = 65521;
  std::vector<std::byte> packed = {std::byte{0x78}, std::byte{0x01}};
  std::uint32_t a = 1, b = 0;
  const auto put = [&](std::size_t value) { packed.push_back(static_cast<std::byte>(value & 0xff)); };
  std::size_t at = 0;
  do {
    const std::size_t n = std::min(kMostStored, bytes.size() - at);
    put(at + n == bytes.size());
    put(n), put(n >> 8), put(~n), put(~n >> 8);
    for (const std::byte byte : bytes.subspan(at, n)) {
      packed.push_back(byte);
      a = (a + static_cast<std::uint32_t>(byte)) % kAdler;
      b = (b + a) % kAdler;
    }
    at += n;
  } while (at < bytes.size());
  put(b >> 8), put(b), put(a >> 8), put(a);
  return packed;
}

}  // namespace assay
