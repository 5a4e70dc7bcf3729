// SPDX-License-Identifier: Apache-2.0
// Directories as torch and others write them, and what may stand around them.
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "containers/zip.hpp"
#include "zip_helpers.hpp"

namespace assay::zip {
namespace {

TEST(Zip, ReadsATorchArchive) {
  ZipBuilder zip = torch_archive();
  const Bytes bytes = zip.build_torch();
  const auto directory = read(bytes);
  ASSERT_TRUE(directory) << directory.error().what();
  EXPECT_TRUE(directory->findings.empty()) << texts(directory->findings);
  ASSERT_EQ(directory->members.size(), 5u);
  EXPECT_EQ(directory->prefix, 0u);
  EXPECT_EQ(directory->directory_offset, zip.directory_offset);
  EXPECT_EQ(directory->end_offset, bytes.size());
  EXPECT_FALSE(directory->salvaged);
  EXPECT_FALSE(directory->cut);
  const Member& data = directory->members[2];
  EXPECT_EQ(data.name, "archive/data/0");
  EXPECT_EQ(data.size, 400u);
  EXPECT_EQ(data.packed_size, 400u);
  EXPECT_EQ(data.header_offset, zip.header_offsets[2]);
  EXPECT_EQ(data.entry_offset, zip.entry_offsets[2]);
  EXPECT_EQ(data.crc, slow_crc32(noise(400, 2)));
  EXPECT_EQ(data_offset(*MemorySource::borrow(bytes), data).value(), zip.data_offsets[2]);
  EXPECT_EQ(zip.data_offsets[2] % 64, 0u);
  EXPECT_EQ(content(bytes, data), noise(400, 2));
  EXPECT_EQ(content(bytes, directory->members[3]), Bytes{});
}

TEST(Zip, NamesOutliveTheMoveOfTheDirectory) {
  auto directory = read(torch_archive().build_torch());  // the archive's bytes are gone after this line
  ASSERT_TRUE(directory);
  const Directory moved = std::move(*directory);
  EXPECT_EQ(moved.members[0].name, "archive/data.pkl");
  EXPECT_EQ(moved.find("archive/data.pkl"), &moved.members[0]);
}

TEST(Zip, ReadsAnEmptyArchive) {
  const auto directory = read(ZipBuilder().build());
  ASSERT_TRUE(directory);
  EXPECT_TRUE(directory->members.empty());
  EXPECT_TRUE(directory->findings.empty()) << texts(directory->findings);
  EXPECT_EQ(directory->find(""), nullptr);
}

TEST(Zip, RefusesWhatIsNoArchive) {
  for (const Bytes& bytes : {Bytes{}, bytes_of("P"), noise(21), noise(100), noise(70000)}) {
    const auto directory = read(bytes);
    ASSERT_FALSE(directory);
    EXPECT_EQ(directory.error().code(), Code::bad_zip);
  }
}

TEST(Zip, SaysWhereTheFirstHeaderIsCut) {
  const Bytes whole = ZipBuilder().add("archive/data.pkl", bytes_of("text")).build();
  for (const std::size_t n : {4u, 5u, 29u, 30u, 45u}) {
    const auto directory = read(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n)));
    ASSERT_FALSE(directory) << n;
    EXPECT_EQ(directory.error().code(), Code::truncated) << n;
    EXPECT_EQ(directory.error().where().offset, n);
  }
}

TEST(ZipEnd, FindsTheRecordBeforeACommentOfAnyLength) {
  for (const std::size_t n : {1u, 100u, 65535u}) {
    ZipBuilder zip;
    const Bytes bytes = zip.add("a", noise(10)).build({.zip64_end = true, .comment = std::string(n, 'c')});
    const auto directory = read(bytes);
    ASSERT_TRUE(directory) << n;
    EXPECT_EQ(directory->members.size(), 1u);
    EXPECT_EQ(directory->end_offset, bytes.size());
    EXPECT_TRUE(directory->findings.empty()) << texts(directory->findings);
  }
}

TEST(ZipEnd, LooksPastAFalseSignatureInTheComment) {
  ZipBuilder zip;
  const auto directory = read(zip.add("a", noise(10)).build({.comment = "about PK\5\6 and what follows it for long enough"}));
  ASSERT_TRUE(directory);
  EXPECT_EQ(directory->members.size(), 1u);
  EXPECT_TRUE(directory->findings.empty()) << texts(directory->findings);
}

TEST(ZipEnd, TellsTrailingBytesNearAndFar) {
  ZipBuilder zip = torch_archive();
  const Bytes bytes = zip.build_torch();
  for (const std::size_t n : {1u, 70u, 65536u, 900000u}) {
    const auto directory = read(joined(bytes, Bytes(n)));
    ASSERT_TRUE(directory) << n;
    EXPECT_EQ(directory->members.size(), 5u);
    EXPECT_EQ(directory->end_offset, bytes.size());
    ASSERT_EQ(directory->findings.list().size(), 1u) << texts(directory->findings);
    EXPECT_EQ(directory->findings.list()[0].code, Code::trailing_bytes);
    EXPECT_EQ(directory->findings.list()[0].where.length, n);
    EXPECT_EQ(directory->findings.list()[0].where.offset, bytes.size());
  }
  // More than a MiB back the record is not looked for: the members are found by their headers.
  const auto directory = read(joined(bytes, Bytes(2 << 20)));
  ASSERT_TRUE(directory);
  EXPECT_TRUE(directory->salvaged);
  EXPECT_EQ(directory->members.size(), 5u);
}

TEST(ZipEnd, TellsACutComment) {
  Bytes bytes = ZipBuilder().add("a", noise(10)).build({.comment = "comment"});
  bytes.pop_back();
  const auto directory = read(bytes);
  ASSERT_TRUE(directory);
  EXPECT_EQ(directory->members.size(), 1u);
  EXPECT_TRUE(directory->findings.has(Code::truncated));
}

TEST(ZipEnd, TellsTwoConsistentRecords) {
  const Bytes inner = ZipBuilder().add("inner", noise(10)).build();
  const std::string comment(reinterpret_cast<const char*>(inner.data()), inner.size());
  const auto directory = read(ZipBuilder().add("outer", noise(20)).build({.comment = comment}));
  ASSERT_TRUE(directory);
  ASSERT_EQ(directory->members.size(), 1u);
  EXPECT_EQ(directory->members[0].name, "inner");  // the last record, as torch and Python find it
  EXPECT_TRUE(directory->findings.has(Code::ambiguous_archive));
}

TEST(ZipEnd, AnEmptyRecordAppendedDoesNotHideTheMembers) {
  const auto directory = read(joined(torch_archive().build_torch(), ZipBuilder().build()));
  ASSERT_TRUE(directory);
  EXPECT_EQ(directory->members.size(), 5u);
  EXPECT_TRUE(directory->findings.has(Code::ambiguous_archive));
}

TEST(ZipEnd, ArchivesInsideMembersAreNotAmbiguous) {
  ZipBuilder zip;
  zip.add("a.pt", torch_archive().build_torch()).add("b.pt", torch_archive().build_torch());
  const auto directory = read(zip.build());
  ASSERT_TRUE(directory);
  EXPECT_EQ(directory->members.size(), 2u);
  EXPECT_TRUE(directory->findings.empty()) << texts(directory->findings);
}

TEST(ZipEnd, AnArchiveInsideACutOneIsNotTakenForIt) {
  ZipBuilder zip;
  const Bytes bytes = zip.add("first", noise(300)).add("inner.pt", torch_archive().build_torch()).build({.directory = false});
  const auto directory = read(joined(bytes, noise(40, 7)));
  ASSERT_TRUE(directory);
  EXPECT_TRUE(directory->salvaged);
  ASSERT_EQ(directory->members.size(), 2u);
  EXPECT_EQ(directory->members[1].name, "inner.pt");
}

TEST(ZipEnd, CountsThatDisagreeAreTold) {
  for (const std::uint64_t claimed : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{3}, std::uint64_t{1} << 63}) {
    ZipBuilder zip;
    const auto directory = read(zip.add("a", noise(10)).add("b", noise(10)).build({.zip64_end = true, .entries = claimed}));
    ASSERT_TRUE(directory) << claimed;
    EXPECT_EQ(directory->members.size(), 2u);
    EXPECT_TRUE(directory->findings.has(Code::bad_zip));
  }
}

TEST(ZipEnd, Zip64NumbersThatDisagreeAreTold) {
  ZipBuilder zip;
  Bytes bytes = zip.add("a", noise(10)).build({.zip64_end = true});
  put_number(bytes, zip.end_record + 16, 3, 4);  // the classic directory offset
  const auto directory = read(bytes);
  ASSERT_TRUE(directory);
  EXPECT_EQ(directory->members.size(), 1u);
  EXPECT_EQ(count(directory->findings, Code::ambiguous_archive), 1) << texts(directory->findings);
}

TEST(ZipEnd, Zip64RecordsOfSplitArchivesAreTold) {
  ZipBuilder zip;
  const Bytes whole = zip.add("a", noise(10)).build({.zip64_end = true});
  const std::size_t record = zip.end_record - 76, locator = zip.end_record - 20;
  struct Field {
    std::size_t at;
    int bytes;
    std::string_view told;
  };
  const Field fields[] = {{record + 16, 4, "split archive"},        {record + 20, 4, "split archive"},
                          {record + 24, 8, "entries on this disk"}, {locator + 4, 4, "split archive"},
                          {locator + 16, 4, "split archive"},       {locator + 8, 8, "the ZIP64 locator points at"}};
  for (const Field& field : fields) {
    Bytes bytes = whole;
    put_number(bytes, field.at, 3, field.bytes);
    const auto directory = read(bytes);
    ASSERT_TRUE(directory) << field.at;
    EXPECT_EQ(directory->members.size(), 1u);
    ASSERT_EQ(count(directory->findings, Code::bad_zip), 1) << field.at << texts(directory->findings);
    EXPECT_NE(texts(directory->findings).find(field.told), std::string::npos) << texts(directory->findings);
  }
  // In front of an archive whose offsets do not know it, bytes move what the locator points at too.
  Bytes moved = noise(100);
  append(moved, whole);
  const auto directory = read(moved);
  ASSERT_TRUE(directory);
  EXPECT_EQ(directory->prefix, 100u);
  EXPECT_FALSE(directory->findings.has(Code::bad_zip)) << texts(directory->findings);
}

TEST(ZipEnd, ALocatorThatPointsNowhereIsToldAndPassed) {
  ZipBuilder zip;
  Bytes bytes = zip.add("a", noise(10)).build({.zip64_end = true});
  put_number(bytes, zip.end_record - 76, 0, 4);  // the ZIP64 record's signature
  const auto directory = read(bytes);
  ASSERT_TRUE(directory);
  EXPECT_EQ(directory->members.size(), 1u);
  EXPECT_TRUE(directory->findings.has(Code::bad_zip));
}

TEST(ZipEnd, ADirectoryNotWhereItIsSaidToBeIsFoundOrSalvaged) {
  for (const std::uint64_t offset : {std::uint64_t{5}, ~std::uint64_t{0}, std::uint64_t{1} << 40}) {
    ZipBuilder zip = torch_archive();
    const auto directory = read(zip.build({.zip64_end = true, .directory_offset = offset}));
    ASSERT_TRUE(directory);
    EXPECT_TRUE(directory->findings.has(Code::bad_zip)) << texts(directory->findings);
    EXPECT_EQ(directory->salvaged, offset != 5) << offset;  // found where it ends, or not at all
    EXPECT_EQ(directory->members.size(), 5u) << offset;
    EXPECT_EQ(directory->prefix, 0u);
  }
}

TEST(ZipEnd, ADirectorySizeTooLargeIsTold) {
  ZipBuilder zip = torch_archive();
  const auto directory = read(zip.build({.zip64_end = true, .directory_size = std::uint64_t{1} << 50}));
  ASSERT_TRUE(directory);
  EXPECT_FALSE(directory->salvaged);
  EXPECT_EQ(directory->members.size(), 5u);
  EXPECT_TRUE(directory->findings.has(Code::bad_zip));
}

TEST(ZipPrefix, ForeignBytesShiftTheArchive) {
  ZipBuilder zip = torch_archive();
  const Bytes bytes = joined(bytes_of("#!/bin/sh\n"), zip.build_torch());
  const auto directory = read(bytes);
  ASSERT_TRUE(directory);
  EXPECT_EQ(directory->prefix, 10u);
  EXPECT_EQ(directory->directory_offset, zip.directory_offset + 10);
  EXPECT_EQ(directory->members[2].header_offset, zip.header_offsets[2] + 10);
  EXPECT_EQ(content(bytes, directory->members[2]), noise(400, 2));
  ASSERT_EQ(directory->findings.list().size(), 1u) << texts(directory->findings);
  EXPECT_EQ(directory->findings.list()[0].code, Code::leading_bytes);
  EXPECT_EQ(directory->findings.list()[0].where.length, 10u);
}

TEST(ZipPrefix, BytesThatTheOffsetsKnowAreToldToo) {
  ZipBuilder zip;
  Bytes bytes = joined(Bytes(64), zip.add("a", noise(10)).build());
  put_number(bytes, 64 + zip.end_record + 16, 64 + zip.directory_offset, 4);
  put_number(bytes, 64 + zip.entry_offsets[0] + 42, 64, 4);
  const auto directory = read(bytes);
  ASSERT_TRUE(directory);
  EXPECT_EQ(directory->prefix, 64u);
  EXPECT_EQ(content(bytes, directory->members[0]), noise(10));
  EXPECT_TRUE(directory->findings.has(Code::leading_bytes));
}

TEST(ZipPrefix, OfTwoArchivesTheLastIsListed) {
  ZipBuilder first = torch_archive(), second;
  const Bytes a = first.build_torch(), b = second.add("second/data.pkl", noise(9)).build_torch();
  const Bytes bytes = joined(a, b);
  const auto directory = read(bytes);
  ASSERT_TRUE(directory);
  ASSERT_EQ(directory->members.size(), 1u);
  EXPECT_EQ(directory->prefix, a.size());
  EXPECT_EQ(content(bytes, directory->members[0]), noise(9));
  EXPECT_TRUE(directory->findings.has(Code::leading_bytes));
  EXPECT_TRUE(directory->findings.has(Code::ambiguous_archive));
}

TEST(ZipPrefix, ADownloadThatStartedOverIsListedFromItsSecondBeginning) {
  const Bytes whole = torch_archive().build_torch();
  for (const std::size_t cut : {std::size_t{40}, whole.size() / 2, whole.size() - 10}) {
    const Bytes bytes = joined(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(cut)), whole);
    const auto directory = read(bytes);
    ASSERT_TRUE(directory);
    EXPECT_FALSE(directory->salvaged);
    EXPECT_EQ(directory->prefix, cut);
    EXPECT_EQ(directory->members.size(), 5u);
    EXPECT_EQ(content(bytes, directory->members[2]), noise(400, 2));
    ASSERT_TRUE(directory->findings.has(Code::leading_bytes));
    EXPECT_NE(texts(directory->findings).find(concat("tail -c +", cut + 1, " ")), std::string::npos) << texts(directory->findings);
  }
}

TEST(ZipPrefix, AnArchiveFarInFrontIsToldToo) {
  const Bytes a = torch_archive().build_torch(), b = ZipBuilder().add("large", Bytes(100000)).build_torch();
  const auto directory = read(joined(a, b));
  ASSERT_TRUE(directory);
  EXPECT_EQ(directory->members.at(0).name, "large");
  EXPECT_EQ(count(directory->findings, Code::ambiguous_archive), 1) << texts(directory->findings);
}

TEST(ZipPrefix, OfTwoArchivesOfOneShapeTheLastIsListedToo) {
  const Bytes a = ZipBuilder().add(torch_member("archive/data.pkl", noise(9, 1))).build_torch();
  const Bytes b = ZipBuilder().add(torch_member("archive/data.pkl", noise(9, 2))).build_torch();
  const Bytes bytes = joined(a, b);
  const auto directory = read(bytes);
  ASSERT_TRUE(directory);
  EXPECT_EQ(content(bytes, directory->members.at(0)), noise(9, 2));
  EXPECT_TRUE(directory->findings.has(Code::ambiguous_archive));
}

TEST(ZipRanges, MissingBytesAreAskedForOneByOneUntilAllIsRead) {
  ZipBuilder zip;
  const Bytes bytes = zip.add("a", noise(200000)).add("b", noise(10)).build_torch();
  RangeSource source(bytes.size());
  int asked = 0;
  const auto supply = [&](const Error& error) {
    ASSERT_EQ(error.code(), Code::need_range) << error.what();
    const std::uint64_t offset = error.where().offset.value(), n = error.where().length.value();
    ASSERT_LE(offset + n, bytes.size());
    source.add(offset, Bytes(bytes.begin() + static_cast<std::ptrdiff_t>(offset), bytes.begin() + static_cast<std::ptrdiff_t>(offset + n)));
    ++asked;
  };
  auto directory = read_directory(source, {});
  while (!directory && asked < 50) supply(directory.error()), directory = read_directory(source, {});
  ASSERT_TRUE(directory);
  EXPECT_EQ(directory->members.size(), 2u);
  EXPECT_LE(asked, 2);
  EXPECT_LT(source.held(), 70000u);
  asked = 0;
  auto member = read_member(source, directory->members[1], 100, {});
  while (!member && asked < 50) supply(member.error()), member = read_member(source, directory->members[1], 100, {});
  ASSERT_TRUE(member);
  EXPECT_EQ(member->view().size(), 10u);
}

TEST(ZipHostile, EveryCutEndsInAnAnswer) {
  ZipBuilder zip = torch_archive();
  zip.add({.name = "archive/deflated", .data = deflate_stored(noise(90)), .size = 90, .method = 8});
  const Bytes bytes = zip.build_torch();
  std::size_t whole_before = 0;
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    const Bytes cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(n));
    const auto directory = read(cut);
    if (!directory) {
      EXPECT_EQ(directory.error().code(), n < 4 ? Code::bad_zip : Code::truncated) << n;
      EXPECT_LE(n, zip.data_offsets[0]) << directory.error().what();
      continue;
    }
    EXPECT_TRUE(directory->salvaged) << n;
    EXPECT_EQ(count(directory->findings, Code::truncated), 1) << n << texts(directory->findings);
    EXPECT_GE(directory->members.size(), whole_before) << n;
    whole_before = directory->members.size();
    for (const Member& member : directory->members) EXPECT_TRUE(read_member(*MemorySource::borrow(cut), member, 1 << 20, {})) << n;
  }
  EXPECT_EQ(whole_before, 6u);
}

TEST(ZipHostile, EveryFlippedByteEndsInAnAnswer) {
  ZipBuilder zip = torch_archive();
  zip.add({.name = "archive/deflated", .data = deflate_stored(noise(90)), .size = 90, .method = 8});
  const Bytes whole = zip.build({.zip64_end = true, .comment = "comment"});
  for (std::size_t i = 0; i < whole.size(); ++i)
    for (const int flip : {0x01, 0x80, 0xff}) {
      Bytes bytes = whole;
      bytes[i] ^= static_cast<std::byte>(flip);
      const auto source = MemorySource::borrow(bytes);
      const auto directory = read_directory(*source, {});
      ASSERT_TRUE(directory) << i << directory.error().what();
      EXPECT_GE(directory->members.size(), 1u) << i;
      for (const Member& member : directory->members) {
        (void)read_member(*source, member, 1 << 20, {});
        (void)storage_of(*source, member, {});
      }
      EXPECT_TRUE(compare_local_headers(*source, *directory));
    }
}

}  // namespace
}  // namespace assay::zip
