// SPDX-License-Identifier: Apache-2.0
#include "bytes/cursor.hpp"

#include <gtest/gtest.h>

namespace assay {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

TEST(Cursor, ReadsFrontToBack) {
  using namespace std::string_view_literals;
  Cursor cursor(ByteView(bytes_of("\x01\x02\x03\x00\x00\x00\x00\x00\x00\x01line\nrest"sv), 100));
  EXPECT_EQ(cursor.u8("a"), 1);
  EXPECT_EQ(cursor.u16_le("b"), 0x0302);
  cursor.skip(3, "padding");
  EXPECT_EQ(cursor.u32_be("c"), 1u);
  EXPECT_EQ(cursor.offset(), 110u);
  EXPECT_EQ(cursor.line("d"), "line");
  EXPECT_EQ(cursor.take(4, "e").text(), "rest");
  EXPECT_TRUE(cursor.ok());
  EXPECT_EQ(cursor.left(), 0u);
}

TEST(Cursor, TheFirstFailureSticks) {
  Cursor cursor(ByteView(bytes_of("abc"), 1000));
  EXPECT_EQ(cursor.u8("tag"), 'a');
  EXPECT_EQ(cursor.u32_le("tensor count"), 0u);
  EXPECT_EQ(cursor.u8("version"), 0) << "nothing is read after a failure, though two bytes are left";
  ASSERT_FALSE(cursor.ok());
  const Error error = cursor.take_error();
  EXPECT_EQ(error.code(), Code::truncated);
  EXPECT_EQ(error.what(), "tensor count needs 4 bytes, 2 are left");
  EXPECT_EQ(error.where().offset, 1001u);
}

TEST(Cursor, ACountMustFitWhatIsLeft) {
  using namespace std::string_view_literals;
  const auto bytes = bytes_of("\x02\0\0\0\0\0\0\0abcdefgh"sv);
  EXPECT_EQ(Cursor(ByteView(bytes, 0)).count_u64_le(4, "things"), 2u);
  Cursor cursor(ByteView(bytes, 0));
  EXPECT_EQ(cursor.count_u64_le(5, "things"), 0u);
  EXPECT_EQ(cursor.take_error().what(), "things 2 exceeds the 8 bytes left");
}

TEST(Cursor, ALineNeedsItsEnd) {
  Cursor cursor(ByteView(bytes_of("no end"), 0));
  EXPECT_EQ(cursor.line("module name"), "");
  EXPECT_FALSE(cursor.ok());
}

}  // namespace
}  // namespace assay
