// SPDX-License-Identifier: Apache-2.0
// Members: their bytes, their storages, and local headers that disagree with the directory.
#include <gtest/gtest.h>

#include "containers/inflate.hpp"
#include "containers/zip.hpp"
#include "zip_builder.hpp"

namespace assay::zip {
namespace {

using namespace assay::testing;

struct Archive {
  Bytes bytes;
  std::shared_ptr<MemorySource> source;
  Directory directory;

  explicit Archive(Bytes archive)
      : bytes(std::move(archive)), source(MemorySource::borrow(bytes)), directory(read_directory(*source, {}).value()) {}
  Result<ByteBlock> read(std::size_t i, std::uint64_t max_size = 1 << 20) const {
    return read_member(*source, directory.members.at(i), max_size, {});
  }
};

Bytes copy(const ByteBlock& block) { return Bytes(block.view().span().begin(), block.view().span().end()); }

TEST(ZipMember, StoredMembersAreReadInPlace) {
  ZipBuilder zip;
  const Archive archive(zip.add("a", noise(10)).add("b", noise(500, 2)).build());
  const auto block = archive.read(1, 1);  // the bound is for what inflates
  ASSERT_TRUE(block);
  EXPECT_FALSE(block->owns());
  EXPECT_EQ(block->view().offset(), zip.data_offsets[1]);
  EXPECT_EQ(copy(*block), noise(500, 2));
  const auto storage = storage_of(*archive.source, archive.directory.members[1], {});
  ASSERT_TRUE(storage);
  EXPECT_EQ(storage->offset, zip.data_offsets[1]);
  EXPECT_EQ(storage->nbytes, 500u);
  EXPECT_EQ(storage->producer, nullptr);
}

TEST(ZipMember, DeflatedMembersAreInflated) {
  ZipBuilder zip;
  zip.add({.name = "zeros", .data = deflate_zeros(40), .size = 1 + 40 * 258, .method = 8, .descriptor = true});
  zip.add({.name = "noise", .data = deflate_stored(noise(70000)), .size = 70000, .method = 8});
  zip.add({.name = "empty", .data = deflate_stored({}), .size = 0, .method = 8});
  const Archive archive(zip.build());
  EXPECT_EQ(copy(archive.read(0).value()), Bytes(1 + 40 * 258));
  EXPECT_EQ(copy(archive.read(1).value()), noise(70000));
  EXPECT_EQ(copy(archive.read(2).value()), Bytes());
  const auto storage = storage_of(*archive.source, archive.directory.members[0], {});
  ASSERT_TRUE(storage);
  EXPECT_EQ(storage->nbytes, 1u + 40 * 258);
  EXPECT_EQ(storage->offset, zip.data_offsets[0]);
  ASSERT_NE(storage->producer, nullptr);
  EXPECT_EQ(copy(storage->producer->load(*archive.source).value()), Bytes(1 + 40 * 258));
}

TEST(ZipMember, BombsAreRefusedUnopened) {
  ZipBuilder zip;
  zip.add({.name = "large", .data = deflate_zeros(400), .size = 1 + 400 * 258, .method = 8});
  zip.add({.name = "ratio", .data = deflate_zeros(4), .size = 1 << 20, .method = 8});
  const Archive archive(zip.build());
  EXPECT_EQ(archive.read(0, 400 * 258).error().code(), Code::limit_exceeded);
  EXPECT_TRUE(archive.read(0, 1 + 400 * 258));
  EXPECT_EQ(archive.read(1, 1 << 30).error().code(), Code::limit_exceeded);
  EXPECT_EQ(storage_of(*archive.source, archive.directory.members[0], {.inflate_bytes = 100}).error().code(), Code::limit_exceeded);
  EXPECT_EQ(storage_of(*archive.source, archive.directory.members[0], {.inflate_ratio = 10}).error().code(), Code::limit_exceeded);
}

TEST(ZipMember, WhatIsParsedMayNotGrowAHundredfold) {
  const auto most = [](std::uint16_t method, std::uint64_t packed) {
    Member member;
    member.method = method;
    member.packed_size = packed;
    return most_parsed(member, {});
  };
  EXPECT_EQ(most(8, 0), 4u << 20) << "little is harmless";
  EXPECT_EQ(most(8, 100'000), 10'000'000u);
  EXPECT_EQ(most(8, ~std::uint64_t{0}), Limits{}.inflate_pickle_bytes);
  EXPECT_EQ(most(0, 1), Limits{}.pickle_bytes);
}

TEST(ZipMember, DeflateStreamsMustBeWhatTheyClaim) {
  const Bytes good = deflate_stored(noise(90));
  Bytes longer = good, shorter = good, damaged = good;
  longer.push_back({});
  shorter.pop_back();
  damaged[0] = std::byte{7};  // block type 11
  ZipBuilder zip;
  zip.add({.name = "claims less", .data = good, .size = 89, .method = 8});
  zip.add({.name = "claims more", .data = good, .size = 91, .method = 8});
  zip.add({.name = "more behind", .data = longer, .size = 90, .method = 8});
  zip.add({.name = "cut", .data = shorter, .size = 90, .method = 8});
  zip.add({.name = "damaged", .data = damaged, .size = 90, .method = 8});
  zip.add({.name = "good", .data = good, .size = 90, .method = 8});
  const Archive archive(zip.build());
  for (std::size_t i = 0; i < 5; ++i) {
    const auto block = archive.read(i);
    ASSERT_FALSE(block) << i;
    EXPECT_EQ(block.error().code(), Code::inflate_failed);
    EXPECT_EQ(block.error().where().member, archive.directory.members[i].name);
  }
  EXPECT_TRUE(archive.read(5));
}

TEST(ZipMember, EncryptedMembersAreRefusedOthersRead) {
  for (const std::uint16_t flag : {0x1, 0x40, 0x2000}) {
    ZipBuilder zip;
    const Archive archive(zip.add({.name = "secret", .data = noise(30), .flags = flag}).add("plain", noise(40)).build());
    EXPECT_TRUE(archive.directory.members[0].encrypted());
    EXPECT_EQ(archive.read(0).error().code(), Code::encrypted_member);
    EXPECT_EQ(storage_of(*archive.source, archive.directory.members[0], {}).error().code(), Code::encrypted_member);
    EXPECT_EQ(data_offset(*archive.source, archive.directory.members[0]).error().code(), Code::encrypted_member);
    EXPECT_TRUE(archive.read(1));
    Member bare = archive.directory.members[0];
    bare.flags = 0;  // a flag can lie
    EXPECT_EQ(copy(read_member(*archive.source, bare, 100, {}).value()), noise(30));
  }
}

TEST(ZipMember, MethodsNotKnownAreNamed) {
  const std::pair<std::uint16_t, std::string_view> methods[] = {
      {9, "deflate64"}, {12, "bzip2"}, {14, "lzma"}, {93, "zstd"}, {1234, "method 1234"}};
  for (const auto& [method, name] : methods) {
    const Archive archive(ZipBuilder().add({.name = "a", .data = noise(9), .method = method}).add("b", noise(9)).build());
    const auto block = archive.read(0);
    ASSERT_FALSE(block);
    EXPECT_EQ(block.error().code(), Code::unsupported_compression);
    EXPECT_NE(block.error().what().find(name), std::string::npos) << block.error().what();
    EXPECT_EQ(storage_of(*archive.source, archive.directory.members[0], {}).error().code(), Code::unsupported_compression);
    EXPECT_TRUE(archive.read(1));
  }
}

TEST(ZipMember, StoredSizesMustAgree) {
  const Archive archive(ZipBuilder().add({.name = "a", .data = noise(9), .size = 5}).add("b", noise(9)).build());
  EXPECT_EQ(archive.read(0).error().code(), Code::bad_zip);
  EXPECT_EQ(storage_of(*archive.source, archive.directory.members[0], {}).error().code(), Code::bad_zip);
  EXPECT_TRUE(archive.read(1));
}

TEST(ZipMember, DataMustLieInTheFile) {
  ZipBuilder zip;
  Bytes bytes = zip.add("a", noise(9)).build();
  put_number(bytes, zip.entry_offsets[0] + 20, 5000, 4);
  put_number(bytes, zip.entry_offsets[0] + 24, 5000, 4);
  const Archive archive(std::move(bytes));
  EXPECT_TRUE(archive.directory.findings.has(Code::bad_zip));
  const auto offset = data_offset(*archive.source, archive.directory.members[0]);
  ASSERT_FALSE(offset);
  EXPECT_EQ(offset.error().code(), Code::truncated);
}

TEST(ZipMember, NamesAreNeverPrintedRaw) {
  ZipBuilder zip;
  Bytes bytes = zip.add({.name = "a\x1b[31m\xff", .data = noise(9), .size = 5}).build();
  const auto block = Archive(std::move(bytes)).read(0);
  ASSERT_FALSE(block);
  EXPECT_EQ(block.error().what().find('\x1b'), std::string::npos);
}

TEST(ZipLocal, HeadersThatAgreeAreQuiet) {
  ZipBuilder zip;
  zip.add("plain", noise(9)).add(torch_member("torch", noise(70))).add(torch_member("empty", {}));
  zip.add({.name = "deflated", .data = deflate_zeros(3), .size = 775, .method = 8, .descriptor = true});
  zip.add({.name = "no crc", .data = noise(5), .crc = 0});
  const Archive archive(zip.build_torch());
  EXPECT_TRUE(compare_local_headers(*archive.source, archive.directory)->empty());
}

TEST(ZipLocal, HeadersThatDisagreeAreTold) {
  ZipBuilder zip;
  zip.add({.name = "a/data.pkl", .data = noise(9), .local_name = "a/datap.kl"});
  zip.add({.name = "method", .data = noise(9), .local_method = std::uint16_t{8}});
  zip.add({.name = "flags", .data = noise(9), .local_flags = std::uint16_t{1}});
  zip.add({.name = "size", .data = noise(9), .local_size = 7});
  zip.add("gone", noise(9)).add("same", noise(9));
  Bytes bytes = zip.build();
  put_number(bytes, zip.header_offsets[4], 0, 4);
  const Archive archive(std::move(bytes));
  const auto findings = compare_local_headers(*archive.source, archive.directory);
  ASSERT_TRUE(findings);
  const std::pair<Code, std::string_view> expected[] = {{Code::name_mismatch, "a/data.pkl"},
                                                        {Code::ambiguous_archive, "method"},
                                                        {Code::ambiguous_archive, "flags"},
                                                        {Code::ambiguous_archive, "size"},
                                                        {Code::bad_zip, "gone"}};
  ASSERT_EQ(findings->list().size(), std::size(expected));
  for (std::size_t i = 0; i < std::size(expected); ++i) {
    EXPECT_EQ(findings->list()[i].code, expected[i].first) << findings->list()[i].message;
    EXPECT_EQ(findings->list()[i].where.member, expected[i].second);
  }
  EXPECT_TRUE(archive.read(0));  // the directory decides
}

TEST(ZipLocal, MissingBytesAreAskedFor) {
  const Bytes bytes = ZipBuilder().add("a", noise(100000)).build();
  RangeSource source(bytes.size());
  const std::size_t from = bytes.size() - 80000;
  source.add(from, Bytes(bytes.begin() + static_cast<std::ptrdiff_t>(from), bytes.end()));
  const auto directory = read_directory(source, {});
  ASSERT_TRUE(directory);
  EXPECT_EQ(compare_local_headers(source, *directory).error().code(), Code::need_range);
  EXPECT_EQ(data_offset(source, directory->members[0]).error().code(), Code::need_range);
  EXPECT_EQ(storage_of(source, directory->members[0], {}).error().code(), Code::need_range);
}

TEST(Crc32, KnownValuesAndContinuation) {
  const Bytes check = bytes_of("123456789");
  EXPECT_EQ(crc32(check), 0xcbf43926u);
  EXPECT_EQ(crc32({}), 0u);
  EXPECT_EQ(crc32({}, 77u), 77u);
  const std::span<const std::byte> all(check);
  EXPECT_EQ(crc32(all.subspan(4), crc32(all.first(4))), 0xcbf43926u);
  EXPECT_EQ(crc32(noise(1000)), slow_crc32(noise(1000)));
}

}  // namespace
}  // namespace assay::zip
