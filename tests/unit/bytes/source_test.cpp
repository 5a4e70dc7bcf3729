// SPDX-License-Identifier: Apache-2.0
#include "assay/source.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <numeric>

#include "bytes/names.hpp"

namespace assay {
namespace {

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

/// Bytes whose value is their offset, modulo 251 so that whole pages differ.
std::vector<std::byte> counting(std::uint64_t from, std::size_t n) {
  std::vector<std::byte> bytes(n);
  for (std::size_t i = 0; i < n; ++i) bytes[i] = static_cast<std::byte>((from + i) % 251);
  return bytes;
}

bool counts_from(const ByteView& view, std::uint64_t from) {
  const auto expected = counting(from, view.size());
  return view.offset() == from && std::equal(expected.begin(), expected.end(), view.data());
}

TEST(ByteView, SlicesKeepTheirOffset) {
  const auto bytes = counting(0, 20);
  const ByteView view(bytes, 100);
  EXPECT_EQ(view.slice(5, 3).from(1).offset(), 106u);
  EXPECT_EQ(view.slice(5, 3).from(1)[0], bytes[6]);
  EXPECT_EQ(view.slice(20, 0).size(), 0u);
  EXPECT_EQ(view.offset(7), 107u);
  EXPECT_DEATH((void)view.slice(5, 16), "");
  EXPECT_DEATH((void)view.slice(5, std::numeric_limits<std::size_t>::max()), "");
}

TEST(MemorySource, ReadsAndLendsItsBytes) {
  const MemorySource source(counting(0, 100));
  EXPECT_TRUE(counts_from(source.fetch(10, 20)->view(), 10));
  EXPECT_TRUE(source.fetch(10, 20)->owns());
  EXPECT_FALSE(source.view(10, 20)->owns());
  EXPECT_TRUE(counts_from(source.view(10, 20)->view(), 10));
  EXPECT_EQ(source.fetch(100, 0)->view().size(), 0u);
}

TEST(MemorySource, PastTheEndIsTruncated) {
  const auto bytes = counting(0, 100);
  const auto source = MemorySource::borrow(bytes);
  for (const auto& [offset, n] : {std::pair{std::uint64_t{90}, std::uint64_t{11}}, {101, 0}, {kMost, kMost}, {5, kMost}}) {
    EXPECT_FALSE(source->mapped(offset, n).has_value());
    const auto block = source->view(offset, n);
    ASSERT_FALSE(block.has_value());
    EXPECT_EQ(block.error().code(), Code::truncated);
    EXPECT_EQ(block.error().where().offset, offset);
  }
  EXPECT_EQ(std::get<std::uint64_t>(source->fetch(90, 11).error().facts()[1].value), 10u) << "bytes left";
}

void expect_missing(const RangeSource& source, std::uint64_t offset, std::uint64_t n, std::uint64_t from, std::uint64_t length) {
  const auto block = source.view(offset, n);
  ASSERT_FALSE(block.has_value());
  EXPECT_EQ(block.error().code(), Code::need_range);
  EXPECT_EQ(block.error().where().offset, from);
  EXPECT_EQ(block.error().where().length, length);
}

TEST(RangeSource, NamesExactlyWhatIsMissing) {
  RangeSource source(1000);
  expect_missing(source, 10, 50, 10, 50);
  source.add(0, counting(0, 30));
  expect_missing(source, 10, 50, 30, 30);
  source.add(50, counting(50, 20));
  expect_missing(source, 10, 50, 30, 20);
  expect_missing(source, 10, 90, 30, 70);
  expect_missing(source, 40, 20, 40, 10);
  source.add(30, counting(30, 20));
  EXPECT_TRUE(counts_from(source.fetch(10, 50)->view(), 10));
  EXPECT_FALSE(source.mapped(10, 50)) << "not in one piece";
  EXPECT_TRUE(counts_from(*source.mapped(30, 20), 30));
  EXPECT_EQ(source.held(), 70u);
}

TEST(RangeSource, AClaimedLengthCostsNothing) {
  const RangeSource source(kMost);
  expect_missing(source, 8, kMost - 8, 8, kMost - 8);
  EXPECT_EQ(source.fetch(9, kMost - 8).error().code(), Code::truncated);
}

TEST(RangeSource, NothingIsAlwaysAtHand) {
  const RangeSource source(10);
  EXPECT_TRUE(source.fetch(3, 0).has_value());
  EXPECT_TRUE(source.fetch(10, 0).has_value());
  EXPECT_EQ(source.fetch(11, 0).error().code(), Code::truncated);
}

TEST(RangeSource, DropsWhatLiesPastTheEnd) {
  RangeSource source(10);
  source.add(8, counting(8, 5));
  source.add(10, counting(10, 5));
  source.add(kMost, counting(0, 5));
  EXPECT_EQ(source.held(), 2u);
}

TEST(RangeSource, WhatIsHeldNeitherMovesNorChanges) {
  RangeSource source(40);
  source.add(10, std::vector<std::byte>(10, std::byte{1}));
  const ByteView before = *source.mapped(12, 4);
  source.add(5, std::vector<std::byte>(30, std::byte{2}));
  for (std::size_t i = 0; i < 40; i += 2) source.add(i, std::vector<std::byte>(1, std::byte{3}));
  EXPECT_EQ(before.data(), source.mapped(12, 4)->data());
  const auto block = source.fetch(4, 31);
  for (std::size_t i = 0; i < 31; ++i) EXPECT_EQ(block->view()[i], std::byte(i == 0 ? 3 : i >= 6 && i < 16 ? 1 : 2)) << i;
}

// Every pair of ranges after every other pair: the source must hold exactly the bytes that were added.
TEST(RangeSource, AnyOrderOfRangesMerges) {
  constexpr std::size_t kSize = 7;
  std::vector<std::pair<std::size_t, std::size_t>> ranges;
  for (std::size_t from = 0; from < kSize; ++from)
    for (std::size_t n = 1; n <= kSize - from; ++n) ranges.emplace_back(from, n);
  for (const auto& a : ranges)
    for (const auto& b : ranges)
      for (const auto& c : ranges) {
        RangeSource source(kSize);
        bool have[kSize] = {};
        for (const auto& [from, n] : {a, b, c}) {
          source.add(from, counting(from, n));
          std::fill_n(have + from, n, true);
        }
        ASSERT_EQ(source.held(), static_cast<std::uint64_t>(std::accumulate(have, have + kSize, 0)));
        for (const auto& [from, n] : ranges) {
          const bool all = std::accumulate(have + from, have + from + n, std::size_t{0}) == n;
          const auto block = source.fetch(from, n);
          ASSERT_EQ(block.has_value(), all);
          ASSERT_TRUE(all ? counts_from(block->view(), from) : !have[*block.error().where().offset]);
        }
      }
}

TEST(Names, PlainOnesPassAndAreTidied) {
  EXPECT_EQ(name_within_set("model-00001-of-00002.safetensors"), "model-00001-of-00002.safetensors");
  EXPECT_EQ(name_within_set("./a//b/./c.pt"), "a/b/c.pt");
  EXPECT_EQ(name_within_set("..a/b..c/..."), "..a/b..c/...");
  EXPECT_EQ(name_within_set("重み.pt"), "重み.pt");
}

TEST(Names, ThoseThatLeaveTheSetAreRefused) {
  using namespace std::string_view_literals;
  for (const std::string_view name : {"/etc/passwd"sv, "../x"sv, "a/../../x"sv, "a/.."sv, ".."sv, "a\\b"sv, "..\\x"sv, "\\\\host\\x"sv,
                                      "C:x"sv, "c:/x"sv, "a\0b"sv, ""sv, "."sv, "./"sv}) {
    const auto plain = name_within_set(name);
    ASSERT_FALSE(plain.has_value()) << name;
    EXPECT_EQ(plain.error().code(), Code::path_escapes) << name;
  }
}

TEST(SourceSet, OpensAndListsByName) {
  SourceSet set("dropped", "");
  set.add("z.pt", MemorySource::borrow({}));
  set.add("a.pt", std::make_shared<MemorySource>(counting(0, 3)));
  set.add("sub/b.pt", MemorySource::borrow({}));
  set.add("sub/c.pt", MemorySource::borrow({}));
  set.add("a.pt", std::make_shared<MemorySource>(counting(0, 4)));
  const auto entries = set.list();
  ASSERT_EQ(entries->size(), 3u);
  EXPECT_EQ((*entries)[0].name, "a.pt");
  EXPECT_EQ((*entries)[0].size, 4u) << "the later one counts";
  EXPECT_EQ((*entries)[1].name, "sub");
  EXPECT_TRUE((*entries)[1].folder);
  EXPECT_EQ((*entries)[2].name, "z.pt");
  EXPECT_EQ((*set.open("./sub//b.pt"))->size(), 0u);
  EXPECT_EQ(set.open("b.pt").error().code(), Code::no_such_file);
  EXPECT_EQ(set.open("../a.pt").error().code(), Code::path_escapes);
}

}  // namespace
}  // namespace assay
