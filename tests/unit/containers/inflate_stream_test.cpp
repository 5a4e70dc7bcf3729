// SPDX-License-Identifier: Apache-2.0
#include "containers/inflate_stream.hpp"

#include <gtest/gtest.h>

#include <string>

#include "containers/inflate.hpp"
#include "unit/containers/zip_builder.hpp"

namespace assay {
namespace {

using testing::append;
using testing::append_number;
using testing::Bytes;
using testing::bytes_of;

ByteView view(const Bytes& bytes) { return ByteView(bytes, 0); }

Bytes from_hex(std::string_view hex) {
  Bytes bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes.push_back(static_cast<std::byte>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  return bytes;
}

Bytes gzip(const Bytes& data) {
  Bytes out = bytes_of(std::string_view("\x1f\x8b\x08\0\0\0\0\0\0\xff", 10));
  append(out, testing::deflate_stored(data));
  append_number(out, testing::slow_crc32(data), 4);
  append_number(out, data.size(), 4);
  return out;
}

// zlib.compress(b"".join(b"%d squared is %d; " % (i, i * i) for i in range(60)), 9), which has dynamic codes.
constexpr std::string_view kSquares =
    "78da5d934b6e05210c04afc211f00f06cd6922258b2c93a7dc3ff4aca8b7c4b2eceaa6dddbebe7efe3f7ebb37dbf5abf9b9d6fbb9b9fefbc5b9cef75"
    "b744ffb85b9d05afbb8db310bb6362e49e719d85b197acb3706d0aeb58d3054a525717602df7240bf2ed6d46e4b5898cd0a2b6411dea02b85f9a05f4"
    "706d5cd42b0f419fa277d067aa8b565f7b9683be7c6f74d0d7dc5c0efa217a07fd78ba403f9f59a09fcf465a2fae00fd127d807e4963d0fb2e2b82e6"
    "77391674df646c14bf520a62b0a66f0a48b0d06fc6f5f6e7da0b1156ca463241433292111a4a5a52c7541c933a2e6536df52a4602763d4a5239923d3"
    "892483e45df3a0c3a36b2f7478f6cd579db9948e820e1f4f1f74f8d4bc0a06587b0b3a7c3d270c1df1e8289eb1496fcdb7f46b1e2f22e45ff124523e"
    "ff03b29a4e55";

TEST(InflateZlib, DynamicCodes) {
  std::string squares;
  for (int i = 0; i < 60; ++i) squares += std::to_string(i) + " squared is " + std::to_string(i * i) + "; ";
  Bytes packed = from_hex(kSquares);
  ASSERT_TRUE(is_zlib(view(packed)));
  const auto out = inflate_zlib(view(packed), 1 << 20);
  EXPECT_FALSE(out.broken) << out.broken->what();
  EXPECT_EQ(out.bytes, bytes_of(squares));
  EXPECT_EQ(out.consumed, packed.size());
  packed.back() ^= std::byte{1};
  EXPECT_TRUE(inflate_zlib(view(packed), 1 << 20).broken);
  for (std::size_t n = 0; n < packed.size(); ++n) EXPECT_TRUE(inflate_zlib(view(packed).slice(0, n), 1 << 20).broken) << n;
}

TEST(InflateStream, StoredBlocks) {
  const Bytes data = testing::noise(200000);
  const auto out = inflate_stream(view(testing::deflate_stored(data)), 1 << 20);
  EXPECT_FALSE(out.broken);
  EXPECT_EQ(out.bytes, data);
}

TEST(InflateStream, FixedCodes) {
  const Bytes packed = testing::deflate_zeros(1000);
  const auto out = inflate_stream(view(packed), 1 << 20);
  EXPECT_FALSE(out.broken);
  EXPECT_EQ(out.bytes, Bytes(258001));
  EXPECT_EQ(out.consumed, packed.size());
}

TEST(InflateStream, StopsAtTheLimitAndKeepsWhatCameOut) {
  const auto out = inflate_stream(view(testing::deflate_zeros(1000)), 5000);
  ASSERT_TRUE(out.broken);
  EXPECT_EQ(out.broken->code(), Code::limit_exceeded);
  EXPECT_LE(out.bytes.size(), 5000u);
  EXPECT_GT(out.bytes.size(), 4000u);
}

TEST(InflateStream, ACutStreamGivesItsFront) {
  Bytes packed = testing::deflate_stored(bytes_of(std::string(1000, 'x')));
  packed.resize(500);
  const auto out = inflate_stream(view(packed), 1 << 20);
  ASSERT_TRUE(out.broken);
  EXPECT_EQ(out.broken->code(), Code::truncated);
  EXPECT_EQ(out.bytes.size(), 495u);
}

TEST(InflateStream, NoBytesIsAStreamThatEndsEarly) {
  const auto out = inflate_stream({}, 100);
  ASSERT_TRUE(out.broken);
  EXPECT_EQ(out.broken->code(), Code::truncated);
}

// One dynamic block that says "AA"; its only distance code, never used, has one bit and then two.
TEST(InflateStream, ALoneCodeHasOneBitOrIsNoCode) {
  const Bytes one = from_hex("05c0010900000080a06dfe3fa504"), two = from_hex("05c0010900000080a06dfe3f6504");
  const auto whole = inflate_stream(view(one), 1 << 20);
  EXPECT_FALSE(whole.broken);
  EXPECT_EQ(whole.bytes, bytes_of("AA"));
  EXPECT_TRUE(inflate(view(one), 2));
  const auto broken = inflate_stream(view(two), 1 << 20);
  ASSERT_TRUE(broken.broken);
  EXPECT_EQ(broken.broken->code(), Code::inflate_failed);
  EXPECT_FALSE(inflate(view(two), 2));
}

TEST(InflateStream, EveryDamageEndsAndAgreesWithTheFastOne) {
  const Bytes whole = testing::deflate_zeros(3);
  for (std::size_t i = 0; i < whole.size() * 8; ++i) {
    Bytes packed = whole;
    packed[i / 8] ^= static_cast<std::byte>(1 << (i % 8));
    const auto out = inflate_stream(view(packed), 1 << 16);
    const auto fast = inflate(view(packed), out.bytes.size());
    if (!out.broken && out.consumed == packed.size()) {
      ASSERT_TRUE(fast) << i;
      EXPECT_EQ(testing::Bytes(fast->view().span().begin(), fast->view().span().end()), out.bytes) << i;
    } else {
      EXPECT_FALSE(fast) << i;
    }
  }
}

TEST(InflateGzip, MembersFollowEachOther) {
  Bytes packed = gzip(bytes_of("hello "));
  append(packed, gzip(bytes_of("world")));
  const std::size_t n = packed.size();
  append(packed, bytes_of("tail"));
  const auto out = inflate_gzip(view(packed), 100);
  EXPECT_FALSE(out.broken);
  EXPECT_EQ(out.bytes, bytes_of("hello world"));
  EXPECT_EQ(out.consumed, n);
}

TEST(InflateGzip, AWrongSumIsToldAndTheBytesKept) {
  Bytes packed = gzip(bytes_of("hello"));
  packed[packed.size() - 5] ^= std::byte{1};
  const auto out = inflate_gzip(view(packed), 100);
  ASSERT_TRUE(out.broken);
  EXPECT_EQ(out.broken->code(), Code::inflate_failed);
  EXPECT_EQ(out.bytes, bytes_of("hello"));
}

TEST(InflateGzip, HeaderFieldsAreSkipped) {
  Bytes packed = bytes_of(std::string_view("\x1f\x8b\x08\x1e\0\0\0\0\0\xff\x02\0abname\0comment\0\x11\x22", 29));
  append(packed, testing::deflate_stored(bytes_of("hi")));
  append_number(packed, testing::slow_crc32(bytes_of("hi")), 4);
  append_number(packed, 2, 4);
  const auto out = inflate_gzip(view(packed), 100);
  EXPECT_FALSE(out.broken) << out.broken->what();
  EXPECT_EQ(out.bytes, bytes_of("hi"));
  packed.resize(20);
  EXPECT_TRUE(inflate_gzip(view(packed), 100).broken);
}

}  // namespace
}  // namespace assay
