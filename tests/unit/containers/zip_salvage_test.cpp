// SPDX-License-Identifier: Apache-2.0
// Archives that lost their directory.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include "containers/zip.hpp"
#include "zip_helpers.hpp"

namespace assay::zip {
namespace {

/// Tensor bytes that hold signatures, a whole archive, and descriptors of other distances.
Bytes deceitful() {
  Bytes bytes = noise(50);
  append(bytes, ZipBuilder().add(torch_member("inner/data.pkl", noise(20))).add(torch_member("inner/data/0", noise(64))).build_torch());
  for (int i = 0; i < 40; ++i) append(bytes, bytes_of("PK\7\10PK\3\4PK\1\2PPKPPK\7"));
  append(bytes, noise(30));
  return bytes;
}

ZipBuilder half_written() {
  ZipBuilder zip;
  zip.add(torch_member("m/data.pkl", noise(300)))
      .add(torch_member("m/data/0", deceitful()))
      .add(torch_member("m/data/1", {}))
      .add(torch_member("m/data/2", noise(1000, 3)));
  return zip;
}

TEST(ZipSalvage, FindsWholeMembersBySearchingTheirDescriptors) {
  ZipBuilder zip = half_written();
  const Bytes bytes = zip.build({.directory = false});
  const auto directory = read(bytes);
  ASSERT_TRUE(directory) << directory.error().what();
  EXPECT_TRUE(directory->salvaged);
  EXPECT_FALSE(directory->cut);
  ASSERT_EQ(directory->members.size(), 4u);
  EXPECT_EQ(directory->end_offset, bytes.size());
  EXPECT_EQ(directory->directory_offset, bytes.size());
  EXPECT_EQ(content(bytes, directory->members[1]), deceitful());
  EXPECT_EQ(directory->members[1].crc, slow_crc32(deceitful()));
  EXPECT_TRUE(directory->members[1].salvaged);
  EXPECT_EQ(content(bytes, directory->members[3]), noise(1000, 3));
  EXPECT_EQ(directory->find("m/data/2"), &directory->members[3]);
  ASSERT_EQ(directory->findings.list().size(), 1u);
  const Finding& finding = directory->findings.list()[0];
  EXPECT_EQ(finding.code, Code::truncated);
  EXPECT_EQ(finding.facts.at(0).key, "members");
  EXPECT_EQ(std::get<std::uint64_t>(finding.facts.at(0).value), 4u);
}

TEST(ZipSalvage, TheMemberThatTheFileEndsInIsNamed) {
  ZipBuilder zip = half_written();
  Bytes bytes = zip.build({.directory = false});
  bytes.resize(zip.data_offsets[3] + 640);
  const auto directory = read(bytes);
  ASSERT_TRUE(directory);
  EXPECT_EQ(directory->members.size(), 3u);
  ASSERT_TRUE(directory->cut);
  EXPECT_EQ(directory->cut->name, "m/data/2");
  EXPECT_EQ(directory->cut->packed_size, 640u);
  EXPECT_EQ(directory->cut->header_offset, zip.header_offsets[3]);
  EXPECT_EQ(data_offset(*MemorySource::borrow(bytes), *directory->cut).value(), zip.data_offsets[3]);
  const Finding& finding = directory->findings.list().at(0);
  EXPECT_EQ(finding.where.member, "m/data/2");
  EXPECT_NE(finding.message.find("640 bytes of 'm/data/2'"), std::string::npos) << finding.message;
}

TEST(ZipSalvage, SizesInLocalHeadersAreUsed) {
  ZipBuilder zip;
  zip.add("a", noise(100)).add({.name = "b", .data = deflate_stored(noise(50)), .size = 50, .method = 8}).add("c", noise(200));
  Bytes bytes = zip.build({.directory = false});
  bytes.resize(bytes.size() - 10);
  const auto directory = read(bytes);
  ASSERT_TRUE(directory);
  ASSERT_EQ(directory->members.size(), 2u);
  EXPECT_EQ(content(bytes, directory->members[1]), noise(50));
  ASSERT_TRUE(directory->cut);
  EXPECT_EQ(directory->cut->size, 200u);
  EXPECT_EQ(directory->cut->packed_size, 190u);
}

TEST(ZipSalvage, EveryFormOfDescriptorIsKnown) {
  for (const bool signature : {true, false})
    for (const bool wide : {true, false})
      for (const std::uint16_t method : {0, 8}) {
        const Bytes data = method ? deflate_stored(noise(333)) : noise(333);
        const ZipMember member{.name = "a",
                               .data = data,
                               .size = 333,
                               .method = method,
                               .descriptor = true,
                               .descriptor_signature = signature,
                               .descriptor_wide = wide};
        ZipBuilder zip;
        zip.add(member).add(member).add(member);
        Bytes bytes = zip.build();
        bytes.resize(zip.directory_offset + 20);  // the directory is torn
        const auto directory = read(bytes);
        ASSERT_TRUE(directory);
        ASSERT_EQ(directory->members.size(), 3u) << signature << wide << method;
        EXPECT_EQ(content(bytes, directory->members[2]), noise(333));
        EXPECT_FALSE(directory->cut);
      }
}

TEST(ZipSalvage, DescriptorsAfterSizesInTheHeaderAreSkipped) {
  ZipBuilder zip;
  zip.add({.name = "a", .data = noise(40), .descriptor = true}).add("b", noise(50));
  Bytes bytes = zip.build({.directory = false});
  put_number(bytes, 18, 40, 4);
  put_number(bytes, 22, 40, 4);
  const auto directory = read(bytes);
  ASSERT_TRUE(directory);
  EXPECT_EQ(directory->members.size(), 2u);
}

TEST(ZipSalvage, MembersLongerThanOneLookAreFound) {
  // Descriptors at every place around the ends of the 4 MiB that are searched at once.
  for (const int shift : {-30, -16, -13, -4, -3, -2, -1, 0, 1, 2, 3, 20}) {
    Bytes data(static_cast<std::size_t>((4 << 20) + shift));
    std::fill(data.end() - 64, data.end(), std::byte{'P'});
    ZipBuilder zip;
    const Bytes bytes = zip.add({.name = "m/data/0", .data = data, .crc = 0, .descriptor = true})
                            .add(torch_member("m/data/1", noise(10)))
                            .build({.directory = false});
    for (const bool mapped : {true, false}) {
      std::shared_ptr<ByteSource> source = MemorySource::borrow(bytes);
      if (!mapped) {
        auto ranges = std::make_shared<RangeSource>(bytes.size());
        ranges->add(0, bytes);
        source = ranges;
      }
      const auto directory = read_directory(*source, {});
      ASSERT_TRUE(directory);
      ASSERT_EQ(directory->members.size(), 2u) << shift;
      EXPECT_EQ(directory->members[0].size, data.size());
    }
  }
}

TEST(ZipSalvage, BytesInFrontAreTold) {
  Bytes bytes = bytes_of("junk before the archive");
  append(bytes,
         ZipBuilder().add(torch_member("m/data.pkl", noise(300))).add(torch_member("m/data/0", noise(90))).build({.directory = false}));
  const auto directory = read(bytes);
  ASSERT_TRUE(directory);
  EXPECT_EQ(directory->prefix, 23u);
  EXPECT_EQ(directory->members.size(), 2u);
  EXPECT_TRUE(directory->findings.has(Code::leading_bytes));
}

TEST(ZipSalvage, WhatIsNoMemberEndsTheWalkAndIsTold) {
  Bytes bytes = ZipBuilder().add("a", noise(10)).build({.directory = false});
  append(bytes, noise(500, 9));
  const auto directory = read(bytes);
  ASSERT_TRUE(directory);
  EXPECT_EQ(directory->members.size(), 1u);
  EXPECT_TRUE(directory->findings.has(Code::bad_zip));
}

TEST(ZipSalvage, HostileSignaturesCostNoMoreThanOneLook) {
  // Sixteen million bytes of descriptor signatures, none of which is one.
  ZipBuilder fakes;
  Bytes body(16 << 20);
  for (std::size_t i = 0; i < body.size(); i += 4) put_number(body, i, 0x08074b50, 4);
  fakes.add({.name = "m/data/0", .data = body, .crc = 0, .descriptor = true});
  Bytes bytes = fakes.build({.directory = false});
  bytes.resize(bytes.size() - 1);
  const auto start = std::chrono::steady_clock::now();
  const auto directory = read(bytes);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  ASSERT_TRUE(directory);
  EXPECT_TRUE(directory->cut);
  EXPECT_LT(took.count(), 10.0);  // quadratic would be hours
}

TEST(ZipSalvage, MissingRangesPropagate) {
  const Bytes bytes = half_written().build({.directory = false});
  RangeSource source(bytes.size());
  int asked = 0;
  auto directory = read_directory(source, {});
  for (; !directory && asked < 100; ++asked) {
    ASSERT_EQ(directory.error().code(), Code::need_range);
    const auto offset = static_cast<std::ptrdiff_t>(*directory.error().where().offset),
               n = static_cast<std::ptrdiff_t>(*directory.error().where().length);
    source.add(static_cast<std::uint64_t>(offset), Bytes(bytes.begin() + offset, bytes.begin() + offset + n));
    directory = read_directory(source, {});
  }
  ASSERT_TRUE(directory);
  EXPECT_EQ(directory->members.size(), 4u);
}

}  // namespace
}  // namespace assay::zip
