// SPDX-License-Identifier: Apache-2.0
#include "containers/tar.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "unit/containers/tar_builder.hpp"

namespace assay::tar {
namespace {

using testing::Bytes;
using testing::bytes_of;
using testing::TarBuilder;

Result<Archive> read(Bytes bytes) { return read_archive(MemorySource(std::move(bytes)), {}); }

TEST(Tar, ListsMembersInOrder) {
  const auto archive = read(TarBuilder().file("a/b.pkl", "hello").folder("dir").file("c", "").link("l", "c").end());
  ASSERT_TRUE(archive);
  ASSERT_EQ(archive->members.size(), 4u);
  EXPECT_EQ(archive->members[0].name, "a/b.pkl");
  EXPECT_EQ(archive->members[0].offset, 512u);
  EXPECT_EQ(archive->members[0].size, 5u);
  EXPECT_TRUE(archive->members[0].regular());
  EXPECT_FALSE(archive->members[1].regular());
  EXPECT_EQ(archive->members[2].offset, 512u * 4);
  EXPECT_FALSE(archive->members[3].regular());
  EXPECT_TRUE(archive->findings.empty());
  EXPECT_EQ(archive->end_offset, 512u * 7);
}

TEST(Tar, LongNamesOfBothKinds) {
  const std::string name(300, 'x');
  const auto archive = read(TarBuilder().gnu_name(name).file("cut", "1").pax("path", name + "y").file("cut", "22").file("plain", "333").end());
  ASSERT_TRUE(archive);
  ASSERT_EQ(archive->members.size(), 3u);
  EXPECT_EQ(archive->members[0].name, name);
  EXPECT_EQ(archive->members[1].name, name + "y");
  EXPECT_EQ(archive->members[2].name, "plain");
}

TEST(Tar, PaxSizeCounts) {
  TarBuilder builder;
  builder.pax("size", "5").file("a", "hello");
  testing::put_text(builder.bytes, 512 * 2 + 124, "00000000000");
  builder.fix_checksum(512 * 2);
  const auto archive = read(builder.file("b", "x").end());
  ASSERT_TRUE(archive);
  ASSERT_EQ(archive->members.size(), 2u);
  EXPECT_EQ(archive->members[0].size, 5u);
  EXPECT_EQ(archive->members[1].name, "b");
}

TEST(Tar, CutAndDamagedArchivesKeepWhatIsWhole) {
  Bytes cut = TarBuilder().file("a", "hello").file("b", std::string(2000, 'z')).bytes;
  cut.resize(512 * 4);
  const auto archive = read(std::move(cut));
  ASSERT_TRUE(archive);
  ASSERT_EQ(archive->members.size(), 2u);
  EXPECT_EQ(archive->members[1].size, 512u);
  EXPECT_TRUE(archive->findings.has(Code::truncated));

  TarBuilder damaged;
  damaged.file("a", "hello").file("b", "x");
  damaged.bytes[512 * 2 + 3] ^= std::byte{1};
  const auto rest = read(damaged.end());
  ASSERT_TRUE(rest);
  EXPECT_EQ(rest->members.size(), 1u);
  EXPECT_TRUE(rest->findings.has(Code::bad_header));
  EXPECT_EQ(rest->end_offset, 512u * 2);
}

TEST(Tar, SizesThatCannotBeAreNotBelieved) {
  TarBuilder builder;
  builder.file("a", "hello");
  for (int i = 0; i < 12; ++i) builder.bytes[124 + i] = std::byte{0xff};
  builder.fix_checksum(0);
  EXPECT_FALSE(read(builder.bytes));
  builder.bytes[124] = std::byte{0x80};  // 2^88 - 1
  builder.fix_checksum(0);
  EXPECT_FALSE(read(builder.bytes));
}

TEST(Tar, WhatIsNoTar) {
  EXPECT_EQ(read(bytes_of(std::string(2048, 'a'))).error().code(), Code::bad_header);
  EXPECT_FALSE(is_header(ByteView(Bytes(512), 0)));
  const auto empty = read({});
  EXPECT_TRUE(!empty || empty->members.empty());
}

}  // namespace
}  // namespace assay::tar
