// SPDX-License-Identifier: Apache-2.0
// Entries of the directory: ZIP64 numbers, names, duplicates, overlaps, damage.
#include <gtest/gtest.h>

#include "containers/zip.hpp"
#include "zip_helpers.hpp"

namespace assay::zip {
namespace {

TEST(ZipEntry, Zip64FieldsAreFollowed) {
  ZipBuilder zip;
  const Bytes bytes = zip.add("front", noise(50)).add({.name = "wide", .data = noise(33, 5), .wide = true}).build({.zip64_end = true});
  const auto directory = read(bytes);
  ASSERT_TRUE(directory);
  EXPECT_TRUE(directory->findings.empty()) << texts(directory->findings);
  EXPECT_EQ(directory->members[1].size, 33u);
  EXPECT_EQ(content(bytes, directory->members[1]), noise(33, 5));
}

// A source that is zeros except for its ends: members beyond 4 GiB without the bytes.
class HoleSource final : public ByteSource {
 public:
  HoleSource(Bytes head, std::uint64_t hole, Bytes tail) : head_(std::move(head)), tail_(std::move(tail)), tail_at_(head_.size() + hole) {}
  std::uint64_t size() const override { return tail_at_ + tail_.size(); }
  Result<void> read(std::uint64_t offset, std::span<std::byte> out) const override {
    for (auto& byte : out) {
      byte = offset < head_.size() ? head_[offset] : offset >= tail_at_ ? tail_.at(offset - tail_at_) : std::byte{0};
      ++offset;
    }
    return {};
  }

 private:
  Bytes head_, tail_;
  std::uint64_t tail_at_;
};

TEST(ZipEntry, MembersBeyondFourGigabytes) {
  // As torch writes a 5 GiB record and a small one behind it: only what overflows stands in the ZIP64 fields.
  const std::uint64_t big = std::uint64_t{5} << 30;
  Bytes head;
  append(head, bytes_of(std::string("PK\3\4\0\0\0\10\0\0\0\0\0\0\0\0\0\0", 18)));
  append_number(head, ~0ull, 8);
  append_number(head, 3, 2), append_number(head, 0, 2);
  append(head, bytes_of("big"));
  Bytes tail;
  const std::uint64_t small_at = head.size() + big;
  append(tail, bytes_of(std::string("PK\3\4\0\0\0\10\0\0\0\0\0\0\0\0\0\0", 18)));
  append_number(tail, 2, 4), append_number(tail, 2, 4), append_number(tail, 5, 2), append_number(tail, 0, 2);
  append(tail, bytes_of("smallxy"));
  const std::uint64_t directory_at = head.size() + big + tail.size();
  const auto entry = [&](std::string_view name, std::uint64_t size, std::uint64_t offset) {
    Bytes extra;
    if (size > 0xffffffff) append_number(extra, size, 8), append_number(extra, size, 8);
    if (offset > 0xffffffff) append_number(extra, offset, 8);
    append(tail, bytes_of(std::string("PK\1\2\0\0\0\0\0\10\0\0\0\0\0\0\0\0\0\0", 20)));
    append_number(tail, std::min<std::uint64_t>(size, 0xffffffff), 4), append_number(tail, std::min<std::uint64_t>(size, 0xffffffff), 4);
    append_number(tail, name.size(), 2), append_number(tail, extra.size() + 4, 2), append_number(tail, 0, 8), append_number(tail, 0, 2);
    append_number(tail, std::min<std::uint64_t>(offset, 0xffffffff), 4);
    append(tail, bytes_of(name));
    append_number(tail, 1, 2), append_number(tail, extra.size(), 2), append(tail, extra);
  };
  entry("big", big, 0);
  entry("small", 2, small_at);
  const std::uint64_t end = head.size() + big + tail.size();
  append(tail, bytes_of("PK\6\6"));
  append_number(tail, 44, 8), append_number(tail, 0, 4), append_number(tail, 0, 8), append_number(tail, 2, 8), append_number(tail, 2, 8);
  append_number(tail, end - directory_at, 8), append_number(tail, directory_at, 8);
  append(tail, bytes_of("PK\6\7"));
  append_number(tail, 0, 4), append_number(tail, end, 8), append_number(tail, 1, 4);
  append(tail, bytes_of(std::string("PK\5\6\0\0\0\0\2\0\2\0", 12)));
  append_number(tail, end - directory_at, 4), append_number(tail, 0xffffffff, 4), append_number(tail, 0, 2);

  const HoleSource source(head, big, tail);
  const auto directory = read_directory(source, {});
  ASSERT_TRUE(directory) << directory.error().what();
  EXPECT_TRUE(directory->findings.empty()) << texts(directory->findings);
  ASSERT_EQ(directory->members.size(), 2u);
  EXPECT_EQ(directory->members[0].size, big);
  EXPECT_EQ(directory->members[1].header_offset, small_at);
  EXPECT_EQ(data_offset(source, directory->members[0]).value(), head.size());
  const auto small = read_member(source, directory->members[1], 100, {});
  ASSERT_TRUE(small);
  EXPECT_EQ(small->view().text(), "xy");
}

TEST(ZipEntry, Zip64FieldsMissingOrTwiceAreTold) {
  Bytes once;
  append_number(once, 1, 2), append_number(once, 8, 2), append_number(once, 10, 8);
  const Bytes other = bytes_of(std::string("\x99\0\2\0zz", 6));
  for (const Bytes& extra : {other, once, Bytes(3)}) {
    const auto directory = read(ZipBuilder().add({.name = "a", .data = noise(10), .wide = true, .entry_extra = extra}).build());
    ASSERT_TRUE(directory);
    EXPECT_TRUE(directory->findings.has(Code::bad_zip));
    EXPECT_NE(texts(directory->findings).find("lacks the ZIP64"), std::string::npos) << texts(directory->findings);
  }
  const auto directory = read(ZipBuilder().add({.name = "a", .data = noise(10), .entry_extra = joined(once, once)}).build());
  ASSERT_TRUE(directory);
  EXPECT_NE(texts(directory->findings).find("two ZIP64"), std::string::npos) << texts(directory->findings);
  EXPECT_EQ(directory->members[0].size, 10u);
}

TEST(ZipEntry, MembersThatCannotBeThereAreToldOthersRead) {
  ZipBuilder zip;
  Bytes bytes = zip.add("a", noise(10)).add("b", noise(20)).build();
  put_number(bytes, zip.entry_offsets[0] + 42, 0x7fffffff, 4);
  const auto directory = read(bytes);
  ASSERT_TRUE(directory);
  EXPECT_TRUE(directory->findings.has(Code::bad_zip));
  EXPECT_EQ(data_offset(*MemorySource::borrow(bytes), directory->members[0]).error().code(), Code::bad_zip);
  EXPECT_EQ(content(bytes, directory->members[1]), noise(20));
}

TEST(ZipEntry, NamesThatAreNotTheUtf8TheyClaimAreTold) {
  for (const bool marked : {true, false}) {
    const auto directory =
        read(ZipBuilder().add({.name = "a\xff", .data = noise(4), .flags = static_cast<std::uint16_t>(marked ? 0x0800 : 0)}).build());
    ASSERT_TRUE(directory);
    EXPECT_EQ(directory->findings.has(Code::odd_name), marked);
  }
}

TEST(ZipEntry, WhatTorchTakesOtherwiseIsTold) {
  constexpr std::size_t kFlags = 8, kDisk = 34, kAttributes = 38;
  const struct {
    std::size_t at;
    std::uint64_t value;
    std::string name;
    std::string_view said;  // "" for nothing
  } kCases[] = {{kAttributes, 0x10, "a", "is marked as a folder and has 10 bytes"},
                {kAttributes, 0x81a4'0000, "a", ""},  // a file of Unix
                {kAttributes, 0, "a/", "is marked as a folder and has 10 bytes"},
                {kDisk, 3, "a", "is said to be on disk 3 of a split archive"},
                {kDisk, 1, "a", ""}};  // torch takes it
  for (const auto& [at, value, name, said] : kCases) {
    ZipBuilder zip;
    Bytes bytes = zip.add(name, noise(10)).build();
    put_number(bytes, zip.entry_offsets[0] + at, value, at == kAttributes ? 4 : 2);
    const auto directory = read(bytes);
    ASSERT_TRUE(directory);
    EXPECT_EQ(directory->findings.empty(), said.empty()) << texts(directory->findings);
    EXPECT_NE(texts(directory->findings).find(said), std::string::npos) << texts(directory->findings);
  }
  ZipBuilder folder;
  EXPECT_TRUE(read(folder.add("a/", {}).build())->findings.empty());
  ZipBuilder patched;
  Bytes bytes = patched.add("a", noise(10)).build();
  put_number(bytes, patched.entry_offsets[0] + kFlags, 0x20, 2);
  EXPECT_EQ(read_member(*MemorySource::borrow(bytes), read(bytes)->members[0], 100, {}).error().code(), Code::unsupported_compression);
}

TEST(ZipEntry, ASizeOfTheDirectoryThatIsTooSmallIsTold) {
  for (const std::uint64_t less : {0u, 1u, 40u}) {
    ZipBuilder zip;
    zip.add("a", noise(10)).add("b", noise(20));
    const std::size_t size = zip.build().size() - zip.directory_offset - 22;
    const auto directory = read(zip.build({.directory_size = size - less}));
    ASSERT_TRUE(directory);
    EXPECT_EQ(directory->members.size(), 2u);
    EXPECT_EQ(directory->findings.has(Code::bad_zip), less != 0) << texts(directory->findings);
  }
}

TEST(ZipEntry, AZip64RecordThatClaimsTooLittleIsTold) {
  ZipBuilder zip;
  Bytes bytes = zip.add("a", noise(10)).build({.zip64_end = true});
  put_number(bytes, zip.end_record - 20 - 56 + 4, 43, 8);
  const auto directory = read(bytes);
  ASSERT_TRUE(directory);
  EXPECT_NE(texts(directory->findings).find("the ZIP64 end record claims 43 bytes"), std::string::npos) << texts(directory->findings);
}

TEST(ZipEntry, ADiskThatIsLeftToTheZip64RecordIsAWarning) {
  ZipBuilder zip;
  Bytes bytes = zip.add("a", noise(10)).build({.zip64_end = true});
  put_number(bytes, zip.end_record + 4, 0xffff, 2);
  const auto directory = read(bytes);
  ASSERT_TRUE(directory);
  ASSERT_EQ(directory->findings.list().size(), 1u) << texts(directory->findings);
  EXPECT_EQ(directory->findings.list()[0].severity, Severity::warning);
  EXPECT_EQ(directory->findings.list()[0].where.offset, zip.end_record);
}

TEST(ZipEntry, TooManyMembersAreRefused) {
  ZipBuilder zip;
  zip.add("a", {}).add("b", {}).add("c", {});
  EXPECT_EQ(read(zip.build(), {.zip_members = 2}).error().code(), Code::limit_exceeded);
  EXPECT_EQ(read(zip.build({.directory = false}), {.zip_members = 2}).error().code(), Code::limit_exceeded);
  EXPECT_EQ(read(zip.build(), {.header_bytes = 100}).error().code(), Code::limit_exceeded);
  EXPECT_TRUE(read(zip.build(), {.zip_members = 3}));
}

TEST(ZipFind, IgnoresCaseAndSlashes) {
  ZipBuilder zip;
  zip.add("A/DATA.PKL", noise(1)).add("a\\sub\\Some.Longer.Name-[0]", noise(2)).add("\xff\x80\xc3\xa9[@{`", noise(3));
  const auto directory = read(zip.build());
  ASSERT_TRUE(directory);
  EXPECT_EQ(directory->find("a/data.pkl"), &directory->members[0]);
  EXPECT_EQ(directory->find("A\\Data.Pkl"), &directory->members[0]);
  EXPECT_EQ(directory->find("A/SUB/some.longer.name-[0]"), &directory->members[1]);
  EXPECT_EQ(directory->find("\xff\x80\xc3\xa9[@{`"), &directory->members[2]);
  EXPECT_EQ(directory->find("\xdf\x80\xc3\xa9[@{`"), nullptr);  // only ASCII has case
  EXPECT_EQ(directory->find("\xff\x80\xc3\xa9{@[`"), nullptr);
  EXPECT_EQ(directory->find("a/data.pk"), nullptr);
  EXPECT_EQ(directory->find(""), nullptr);
  EXPECT_TRUE(directory->findings.empty()) << texts(directory->findings);
}

TEST(ZipFind, EveryAsciiCharacterFoldsAsItShould) {
  for (int c = 1; c < 256; ++c) {
    const std::string name = std::string("12345") + static_cast<char>(c) + "6789";
    const auto directory = read(ZipBuilder().add(name, {}).build());
    ASSERT_TRUE(directory);
    for (int d = 1; d < 256; ++d) {
      const auto plain = [](int x) { return x >= 'A' && x <= 'Z' ? x + 32 : x == '\\' ? '/' : x; };
      EXPECT_EQ(directory->find(std::string("12345") + static_cast<char>(d) + "6789") != nullptr, plain(c) == plain(d)) << c << ' ' << d;
    }
  }
}

TEST(ZipFind, TheFirstOfANameWinsAndTheRestAreTold) {
  ZipBuilder zip;
  zip.add("a/data.pkl", noise(1)).add("a/other", noise(2)).add("a/data.pkl", noise(3)).add("A/Data.PKL", noise(4));
  const auto directory = read(zip.build());
  ASSERT_TRUE(directory);
  EXPECT_EQ(directory->find("a/data.pkl"), &directory->members[0]);
  EXPECT_EQ(count(directory->findings, Code::ambiguous_archive), 2) << texts(directory->findings);
  EXPECT_NE(directory->findings.list()[0].message.find("'a/data.pkl'"), std::string::npos);
}

TEST(ZipFind, FindsEachOfMany) {
  ZipBuilder zip;
  for (int i = 0; i < 3000; ++i) zip.add("archive/data/" + std::to_string(i), {});
  const auto directory = read(zip.build({.zip64_end = true}));
  ASSERT_TRUE(directory);
  EXPECT_TRUE(directory->findings.empty()) << texts(directory->findings);
  for (std::size_t i = 0; i < 3000; ++i) ASSERT_EQ(directory->find("ARCHIVE/data/" + std::to_string(i)), &directory->members[i]);
  EXPECT_EQ(directory->find("archive/data/3000"), nullptr);
}

TEST(ZipOverlap, SharedHeadersAndRangesAreTold) {
  ZipBuilder zip;
  Bytes bytes = zip.add("a", noise(100)).add("b", noise(10)).add("c", noise(10)).build();
  EXPECT_FALSE(read(bytes)->findings.has(Code::overlapping_members));
  Bytes shared = bytes;
  put_number(shared, zip.entry_offsets[1] + 42, zip.header_offsets[0], 4);
  const auto directory = read(shared);
  ASSERT_TRUE(directory);
  EXPECT_EQ(count(directory->findings, Code::overlapping_members), 1) << texts(directory->findings);
  EXPECT_TRUE(directory->findings.any_at_least(Severity::damage));
  Bytes within = bytes;
  put_number(within, zip.entry_offsets[2] + 42, zip.header_offsets[0] + 40, 4);  // and no longer in file order
  EXPECT_EQ(count(read(within)->findings, Code::overlapping_members), 1);
}

TEST(ZipOverlap, AHostileDirectoryCostsNoText) {
  ZipBuilder zip;
  for (int i = 0; i < 5000; ++i) zip.add("x", {});
  Bytes bytes = zip.build({.zip64_end = true});
  for (const std::size_t entry : zip.entry_offsets) put_number(bytes, entry + 42, 0, 4);
  const auto directory = read(bytes);
  ASSERT_TRUE(directory);
  EXPECT_EQ(directory->findings.suppressed(Code::overlapping_members), 4999 - Findings::kPerCode);
  EXPECT_EQ(directory->findings.suppressed(Code::ambiguous_archive), 4999 - Findings::kPerCode);
}

TEST(ZipEntry, ADamagedEntryDoesNotHideTheRest) {
  ZipBuilder zip = torch_archive();
  const Bytes whole = zip.build_torch();
  for (const std::size_t field : {0u, 28u, 29u, 30u, 33u}) {  // the signature, and lengths
    Bytes bytes = whole;
    bytes[zip.entry_offsets[1] + field] ^= std::byte{0x81};
    const auto directory = read(bytes);
    ASSERT_TRUE(directory);
    EXPECT_TRUE(directory->findings.has(Code::bad_zip));
    EXPECT_FALSE(directory->salvaged);
    for (const char* name : {"archive/data.pkl", "archive/data/1", "archive/version"})
      EXPECT_NE(directory->find(name), nullptr) << field << name;
  }
}

}  // namespace
}  // namespace assay::zip
