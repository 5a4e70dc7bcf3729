// SPDX-License-Identifier: Apache-2.0
// Claims and what becomes of them. What formats claim is tested with the formats.
#include "model/byte_map.hpp"

#include <gtest/gtest.h>

#include <string>

#include "base/text.hpp"

namespace assay::model {
namespace {

/// A checkpoint of one file, tensors of bytes at given places.
class Mapped {
 public:
  explicit Mapped(std::string content) {
    std::vector<std::byte> bytes;
    for (const char c : content) bytes.push_back(static_cast<std::byte>(c));
    const std::uint64_t size = bytes.size();
    checkpoint.files.push_back({"f", size, std::make_shared<MemorySource>(std::move(bytes))});
  }
  std::uint32_t storage(std::uint64_t offset, std::uint64_t nbytes) {
    Storage storage;
    storage.offset = offset;
    storage.nbytes = nbytes;
    checkpoint.storages.push_back(storage);
    return static_cast<std::uint32_t>(checkpoint.storages.size() - 1);
  }
  void tensor(std::string_view name, std::uint32_t storage, std::uint64_t first, std::vector<std::uint64_t> shape,
              std::vector<std::uint64_t> stride = {}, DType dtype = DType::u8) {
    Tensor tensor;
    tensor.name = name;
    tensor.dtype = dtype;
    tensor.storage = storage;
    tensor.storage_offset = first;
    tensor.shape = checkpoint.arena().numbers(shape);
    tensor.stride = checkpoint.arena().numbers(stride);
    tensor.numel = 1;
    for (const std::uint64_t size : shape) tensor.numel *= size;
    checkpoint.tensors.push_back(tensor);
  }
  void whole(std::string_view name, std::uint64_t offset, std::uint64_t nbytes) { tensor(name, storage(offset, nbytes), 0, {nbytes}); }

  Checkpoint checkpoint;
};

/// "0+4 header h, 4+2 tensor a ×2"; every byte once.
std::string told(const ByteMap& map) {
  std::string out;
  std::uint64_t at = 0;
  for (const Part& part : map.parts) {
    EXPECT_EQ(part.offset, at);
    EXPECT_GT(part.length, 0u);
    at = part.end();
    out += concat(out.empty() ? "" : ", ", part.offset, '+', part.length, ' ', part_kind_name(part.kind), part.name.empty() ? "" : " ",
                  part.name);
    if (part.tensors > 1) out += concat(" x", part.tensors);
  }
  EXPECT_EQ(at, map.size);
  return out;
}

ByteMap map_of(ByteMapBuilder& builder) {
  auto map = builder.finish(true);
  EXPECT_TRUE(map);
  return std::move(map).value();
}

TEST(ByteMap, HolesArePaddingWhereTheyAreZerosAndNobodysElsewhere) {
  Mapped file(std::string("xxHHHH\0\0aaaay.bb", 16) + "zz");
  file.whole("a", 8, 4);
  file.whole("b", 14, 2);
  ByteMapBuilder builder(file.checkpoint, 0);
  builder.add(PartKind::header, 2, 4, "head");
  const ByteMap map = map_of(builder);
  EXPECT_EQ(told(map), "0+2 leading, 2+4 header head, 6+2 padding, 8+4 tensor a, 12+2 gap, 14+2 tensor b, 16+2 trailing");
  EXPECT_EQ(map.unowned(), 6u);
  EXPECT_EQ(map.overlap_count, 0u);
  EXPECT_EQ(map.at(9)->name, "a");
  EXPECT_EQ(map.at(0)->kind, PartKind::leading);
  EXPECT_EQ(map.at(17)->kind, PartKind::trailing);
  EXPECT_EQ(map.at(18), nullptr);
}

TEST(ByteMap, LongZerosBetweenPartsAreNoPadding) {
  Mapped file(std::string(5000, '\0') + "a");
  file.whole("a", 5000, 1);
  ByteMapBuilder builder(file.checkpoint, 0);
  builder.add(PartKind::header, 0, 1);
  EXPECT_EQ(told(map_of(builder)), "0+1 header, 1+4999 gap, 5000+1 tensor a");
}

TEST(ByteMap, TensorsShareAStorageAndLeaveSomeOfIt) {
  Mapped file("HHssssssssssssssss");
  const std::uint32_t storage = file.storage(2, 16);
  file.tensor("row", storage, 4, {4});
  file.tensor("column", storage, 1, {4}, {4});           // elements 1, 5, 9, 13: bytes 1 to 13
  file.tensor("wide", storage, 1, {1}, {}, DType::f32);  // bytes 4 to 7
  file.tensor("none", storage, 9, {0, 3});
  ByteMapBuilder builder(file.checkpoint, 0);
  builder.add(PartKind::header, 0, 2);
  const ByteMap map = map_of(builder);
  EXPECT_EQ(told(map), "0+2 header, 2+1 unused row, 3+3 tensor column, 6+4 tensor row x3, 10+6 tensor column, 16+2 unused row");
  EXPECT_EQ(map.overlap_count, 0u);
}

TEST(ByteMap, TwoStoragesOnOneByteOverlap) {
  Mapped file("HHaaaabbbb");
  file.whole("a", 2, 5);
  file.whole("b", 6, 4);
  ByteMapBuilder builder(file.checkpoint, 0);
  builder.add(PartKind::header, 0, 2, "head");
  const ByteMap map = map_of(builder);
  EXPECT_EQ(told(map), "0+2 header head, 2+4 tensor a, 6+1 tensor a x2, 7+3 tensor b");
  ASSERT_EQ(map.overlaps.size(), 1u);
  EXPECT_EQ(map.overlaps[0].offset, 6u);
  EXPECT_EQ(map.overlaps[0].length, 1u);
  EXPECT_EQ(map.overlaps[0].a, "a");
  EXPECT_EQ(map.overlaps[0].b, "b");
}

TEST(ByteMap, AStorageMayLieInAMemberAndNotInAHeader) {
  Mapped file("HHHHmmmmmm");
  file.whole("good", 5, 3);
  file.whole("bad", 2, 2);
  ByteMapBuilder builder(file.checkpoint, 0);
  builder.add(PartKind::header, 0, 4, "head");
  builder.add(PartKind::member, 4, 6, "data");
  const ByteMap map = map_of(builder);
  EXPECT_EQ(told(map), "0+2 header head, 2+2 tensor bad, 4+1 member data, 5+3 tensor good, 8+2 member data");
  ASSERT_EQ(map.overlaps.size(), 1u);
  EXPECT_EQ(map.overlaps[0].a, "head");
  EXPECT_EQ(map.overlaps[0].b, "bad");
}

TEST(ByteMap, WhatPassesTheEndOfTheFileIsCutOff) {
  Mapped file("HHaa");
  file.whole("a", 2, 100);
  file.whole("b", 102, 100);
  ByteMapBuilder builder(file.checkpoint, 0);
  builder.add(PartKind::header, 0, 2);
  builder.add(PartKind::directory, ~std::uint64_t{0}, 5);
  EXPECT_EQ(told(map_of(builder)), "0+2 header, 2+2 tensor a");
}

TEST(ByteMap, ManyOverlapsAreCountedAndNotAllKept) {
  Mapped file(std::string(4000, 'x'));
  std::vector<std::string> names;
  for (int i = 0; i < 3000; ++i) file.checkpoint.storages.reserve(3000), file.whole("t", 0, 4000);
  ByteMapBuilder builder(file.checkpoint, 0);
  const ByteMap map = map_of(builder);
  EXPECT_EQ(told(map), "0+4000 tensor t x3000");
  EXPECT_EQ(map.overlap_count, 2999u);
  EXPECT_EQ(map.overlaps.size(), ByteMap::kMostOverlaps);
}

TEST(ByteMap, AnEmptyFileHasNoParts) {
  Mapped file("");
  ByteMapBuilder builder(file.checkpoint, 0);
  EXPECT_EQ(told(map_of(builder)), "");
}

}  // namespace
}  // namespace assay::model
