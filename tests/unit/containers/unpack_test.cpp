// SPDX-License-Identifier: Apache-2.0
// Streams that Python's lzma and bz2 modules wrote, as hexadecimal text.
#include "containers/unpack.hpp"

#include <gtest/gtest.h>

#include <string>

#include "unit/containers/zip_builder.hpp"

namespace assay {
namespace {

using testing::Bytes;

Bytes from_hex(std::string_view text) {
  Bytes bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2)
    bytes.push_back(static_cast<std::byte>(std::stoi(std::string(text.substr(i, 2)), nullptr, 16)));
  return bytes;
}

/// "line 0\n" to "line 299\n".
std::string lines() {
  std::string text;
  for (int i = 0; i < 300; ++i) text += "line " + std::to_string(i) + "\n";
  return text;
}

constexpr std::string_view kXz =
    "fd377a585a000004e6d6b4460200210116000000742fe5a3e00a1d00f65d00361a4a1f08a025c1de94ba90cc3b2b1f353af25fd59e7e73b2deeaf7c22d0427315b"
    "ca0c47fc95d21d5b7ca448f8da9ab6863d2e725fca810fa304994fb44c4af3ecb419175825640a74dd1faa8465dc03eac2fb04969f50f73f40339198ce7b4ca1c7"
    "d81288a49c746858b166cccaaa7b7d0f648137fce71b00cb8c6817f8f240461167482575a4748da56375f9f3ea7cfa6dcc27e86885c2c93b424324e42208beef61"
    "c5394ffc4e4f57f89a82f60079dfeb6ec75e70bbbb1524912d5438022e23617f70dc90c20469ed6cdd61ccfb129045ee19f915b60edb939e8b244f25e7613e236d"
    "610c59f617c8bc9bfbec4e98e69bea6fc7000000f71deedd37fd1704000192029e140000cead8bafb1c467fb020000000004595a";
constexpr std::string_view kLzma =
    "5d00008000ffffffffffffffff00361a4a1f08a025c1de94ba90cc3b2b1f353af25fd59e7e73b2deeaf7c22d0427315bca0c47fc95d21d5b7ca448f8da9ab6863d"
    "2e725fca810fa304994fb44c4af3ecb419175825640a74dd1faa8465dc03eac2fb04969f50f73f40339198ce7b4ca1c7d81288a49c746858b166cccaaa7b7d0f64"
    "8137fce71b00cb8c6817f8f240461167482575a4748da56375f9f3ea7cfa6dcc27e86885c2c93b424324e42208beef61c5394ffc4e4f57f89a82f60079dfeb6ec7"
    "5e70bbbb1524912d5438022e23617f70dc90c20469ed6cdd61ccfb129045ee19f915b60edb939e8b244f25e7613e236d610c59f617c8bc9bfbec4e98e69cca5a02"
    "ffffe9b00000";
constexpr std::string_view kLzmaInZip =
    "090405005d0000800000361a4a1f08a025c1de94ba90cc3b2b1f353af25fd59e7e73b2deeaf7c22d0427315bca0c47fc95d21d5b7ca448f8da9ab6863d2e725fca"
    "810fa304994fb44c4af3ecb419175825640a74dd1faa8465dc03eac2fb04969f50f73f40339198ce7b4ca1c7d81288a49c746858b166cccaaa7b7d0f648137fce7"
    "1b00cb8c6817f8f240461167482575a4748da56375f9f3ea7cfa6dcc27e86885c2c93b424324e42208beef61c5394ffc4e4f57f89a82f60079dfeb6ec75e70bbbb"
    "1524912d5438022e23617f70dc90c20469ed6cdd61ccfb129045ee19f915b60edb939e8b244f25e7613e236d610c59f617c8bc9bfbec4e98e69cca5a02ffffe9b0"
    "0000";
constexpr std::string_view kBzip2 =
    "425a6839314159265359e307b2bf0003e35900001040007fe002254002b03800029800268553f4c993fd55400a60009a0d1ea927bd53f2aa993d3d4c6a2b979d79"
    "f5d40061b016240e050281c0902c6c061001d6800c69b01d40061b016240e050281c0902c6c061001d6800b1207028140e0481636030800eb4007e2598b12fcb55"
    "b6db7fd3d9b24924ef7bdef7befbbbbbbbbbbbbbbbbbbb04492492db55b6db7bdef7bded90588d356234d588d356234d588d356234d588d356234d588d3562bce6"
    "db6db67b1492492b6db6e7b356234d5880cc406620331019880cc4066203310198af394b6db63936492475b6db93d00000000000002f396f2db6cec909248dd6db"
    "72300000000000002f396df2db67c924e49236eb6dc9d00000000000002f396dbf2db3c9249e491b6eb6e4f800000000000005e72db6f6d9c92493e48db6eb7278"
    "00000000000005e72db6d76124924ec6db6eb93800000000000007376f9e5b6dae4249249def7bdef5ba000000000001ba7d4b31625f52cc5897fd2cc5897d4b31"
    "625fc2ee48a70a121c60f657e0";

struct Stream {
  Packing packing;
  std::string_view hex;
};
constexpr Stream kStreams[] = {{Packing::xz, kXz}, {Packing::lzma, kLzma}, {Packing::lzma_in_zip, kLzmaInZip}, {Packing::bzip2, kBzip2}};

std::string text_of(const Inflated& out) { return {reinterpret_cast<const char*>(out.bytes.data()), out.bytes.size()}; }

TEST(Unpack, GivesWhatWasPacked) {
  for (const auto& [packing, hex] : kStreams) {
    const Bytes packed = from_hex(hex);
    const Inflated out = unpack(packing, ByteView(packed, 0), 1 << 20);
    EXPECT_EQ(text_of(out), lines()) << hex.substr(0, 12);
    EXPECT_EQ(out.consumed, packed.size());
    EXPECT_FALSE(out.broken) << out.broken->what();
  }
}

TEST(Unpack, StreamsFollowEachOther) {
  for (const auto& [packing, hex] : {kStreams[0], kStreams[3]}) {
    Bytes packed = from_hex(hex);
    testing::append(packed, from_hex(hex));
    EXPECT_EQ(text_of(unpack(packing, ByteView(packed, 0), 1 << 20)), lines() + lines());
  }
}

TEST(Unpack, StopsAtTheBound) {
  for (const auto& [packing, hex] : kStreams) {
    const Bytes packed = from_hex(hex);
    const Inflated out = unpack(packing, ByteView(packed, 7), 100);
    EXPECT_EQ(text_of(out), lines().substr(0, 100));
    ASSERT_TRUE(out.broken);
    EXPECT_EQ(out.broken->code(), Code::limit_exceeded);
  }
}

TEST(Unpack, ACutStreamGivesAFrontPart) {
  for (const auto& [packing, hex] : kStreams) {
    const Bytes packed = from_hex(hex);
    for (std::size_t n = 0; n < packed.size(); ++n) {
      const Inflated out = unpack(packing, ByteView(std::span(packed).first(n), 0), 1 << 20);
      EXPECT_TRUE(lines().starts_with(text_of(out))) << n;
      EXPECT_TRUE(out.broken) << n;
    }
  }
}

TEST(Unpack, AFlippedByteIsNotSilent) {
  for (const auto& [packing, hex] : {kStreams[0], kStreams[3]}) {  // these two have check sums
    Bytes packed = from_hex(hex);
    for (std::size_t i = 0; i < packed.size(); ++i) {
      packed[i] ^= std::byte{0x10};
      const Inflated out = unpack(packing, ByteView(packed, 0), 1 << 20);
      EXPECT_TRUE(out.broken || out.consumed < packed.size() || text_of(out) == lines()) << i;
      packed[i] ^= std::byte{0x10};
    }
  }
}

}  // namespace
}  // namespace assay
