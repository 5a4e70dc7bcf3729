// SPDX-License-Identifier: Apache-2.0
#include "base/arith.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "base/arena.hpp"
#include "base/endian.hpp"

namespace assay {
namespace {

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

TEST(Arith, OverflowIsSaid) {
  EXPECT_EQ(checked_add(kMost - 1, 1), kMost);
  EXPECT_EQ(checked_add(kMost, 1), std::nullopt);
  EXPECT_EQ(checked_mul(kMost / 3, 3), kMost);
  EXPECT_EQ(checked_mul(std::uint64_t{1} << 32, std::uint64_t{1} << 32), std::nullopt);
  EXPECT_EQ(bits_to_bytes(0), 0u);
  EXPECT_EQ(bits_to_bytes(9), 2u);
  EXPECT_EQ(bits_to_bytes(kMost), (std::uint64_t{1} << 61));
}

TEST(Arith, WithinNeverWrapsAround) {
  EXPECT_TRUE(within(0, 0, 0));
  EXPECT_TRUE(within(10, 0, 10));
  EXPECT_TRUE(within(4, 6, 10));
  EXPECT_FALSE(within(4, 7, 10));
  EXPECT_FALSE(within(11, 0, 10));
  EXPECT_FALSE(within(8, kMost - 4, 10));
  EXPECT_FALSE(within(kMost, kMost, 10));
}

TEST(Endian, LoadsFromAnyAddress) {
  const std::byte bytes[] = {std::byte{0xff}, std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
  EXPECT_EQ(load_le<std::uint32_t>(bytes + 1), 0x04030201u);
  EXPECT_EQ(load_be<std::uint32_t>(bytes + 1), 0x01020304u);
  EXPECT_EQ(load_le<std::int16_t>(bytes), 0x01ff);
  EXPECT_EQ(load_be<std::int16_t>(bytes), static_cast<std::int16_t>(0xff01));
}

TEST(Arena, PiecesStayWhereTheyAre) {
  Arena arena;
  std::vector<std::string_view> texts;
  for (int i = 0; i < 5000; ++i) texts.push_back(arena.text(std::to_string(i)));
  for (int i = 0; i < 5000; ++i) ASSERT_EQ(texts[i], std::to_string(i));
  const std::uint64_t shape[] = {2, 3, 5};
  EXPECT_EQ(arena.numbers(shape)[2], 5u);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(arena.allocate(1)) % 8, 0u);
  EXPECT_TRUE(arena.text("").empty());
}

}  // namespace
}  // namespace assay
