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
  const auto archive =
      read(TarBuilder().gnu_name(name).file("cut", "1").pax("path", name + "y").file("cut", "22").file("plain", "333").end());
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

/// The file behind a sparse member, byte by byte.
std::string whole_of(const Bytes& bytes, std::size_t member = 0) {
  const MemorySource source(bytes);
  const auto archive = read_archive(source, {});
  if (!archive || archive->members.size() <= member || !archive->members[member].sparse) return "no sparse member";
  const SparseSource whole(source, archive->members[member]);
  const auto block = whole.view(0, whole.size());
  if (!block) return std::string(block.error().what());
  EXPECT_FALSE(whole.view(1, whole.size()));
  return std::string(block->view().text());
}

TEST(Tar, SparseFilesOfAllForms) {
  const std::string expected = std::string(3, '\0') + "abc" + std::string(4, '\0') + "de" + std::string(2, '\0');
  EXPECT_EQ(whole_of(TarBuilder().pax("GNU.sparse.map", "3,3,10,2,14,0").pax("GNU.sparse.size", "14").file("f", "abcde").end()), expected);

  TarBuilder numbers;
  const std::string records =
      "22 GNU.sparse.size=14\n23 GNU.sparse.offset=3\n25 GNU.sparse.numbytes=3\n24 GNU.sparse.offset=10\n25 GNU.sparse.numbytes=2\n";
  EXPECT_EQ(whole_of(numbers.add("PaxHeaders/x", 'x', records, "").file("f", "abcde").end()), expected);

  const std::string lines = "2\n3\n3\n10\n2\n";
  const std::string data = lines + std::string(512 - lines.size(), '\0') + "abcde";
  EXPECT_EQ(whole_of(TarBuilder()
                         .add("PaxHeaders/x", 'x', "22 GNU.sparse.major=1\n22 GNU.sparse.minor=0\n26 GNU.sparse.realsize=14\n", "")
                         .file("f", data)
                         .end()),
            expected);
}

/// The old form, with its second part in a block of its own; what follows is found behind it.
TEST(Tar, SparseFilesOfTheOldForm) {
  TarBuilder builder;
  builder.add("f", 'S', "abcde", "");
  testing::put_text(builder.bytes, 386, "00000000003");
  testing::put_text(builder.bytes, 398, "00000000003");
  testing::put_text(builder.bytes, 482, "\1");
  testing::put_text(builder.bytes, 483, "00000000016");
  builder.fix_checksum(0);
  Bytes block(512);
  testing::put_text(block, 0, "00000000012");
  testing::put_text(block, 12, "00000000002");
  builder.bytes.insert(builder.bytes.begin() + 512, block.begin(), block.end());
  builder.file("g", "after");
  const Bytes bytes = builder.end();
  EXPECT_EQ(whole_of(bytes), std::string(3, '\0') + "abc" + std::string(4, '\0') + "de" + std::string(2, '\0'));
  const auto archive = read(bytes);
  ASSERT_TRUE(archive);
  ASSERT_EQ(archive->members.size(), 2u);
  EXPECT_EQ(archive->members[1].name, "g");
  EXPECT_TRUE(archive->findings.empty());
}

TEST(Tar, SparsePartsThatCannotBeAreNotBelieved) {
  for (const char* map : {"3,3,2,2", "0,5,20,1", "0,6", "0,18446744073709551615", "x"}) {
    const auto archive = read(TarBuilder().pax("GNU.sparse.map", map).pax("GNU.sparse.size", "14").file("f", "abcde").end());
    ASSERT_TRUE(archive);
    EXPECT_FALSE(archive->findings.empty()) << map;
    EXPECT_TRUE(archive->members.empty() || !archive->members[0].sparse) << map;
  }
}

}  // namespace
}  // namespace assay::tar
