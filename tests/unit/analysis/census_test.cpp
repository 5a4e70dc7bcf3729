// SPDX-License-Identifier: Apache-2.0
#include "analysis/census.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace assay::analysis {
namespace {

std::map<unsigned, std::uint64_t> as_map(const Census& census) {
  std::map<unsigned, std::uint64_t> counts;
  unsigned last = 0;
  for (const auto& [code, count] : census.entries()) {
    EXPECT_TRUE(counts.empty() || code > last);
    last = code;
    counts[code] = count;
  }
  return counts;
}

TEST(Census, CountsWhateverWayItCounts) {
  std::mt19937 random(8);
  for (const std::size_t size : {1u, 2u}) {
    for (const std::size_t n : {0u, 1u, 7u, 2000u, 2049u, 30001u}) {
      std::vector<std::byte> codes;
      std::map<unsigned, std::uint64_t> expected;
      for (std::size_t i = 0; i < n; ++i) {
        // Runs of one value, then noise.
        const unsigned code = (i / 500 % 2 == 0 ? 7u : random()) & (size == 1 ? 0xffu : 0xffffu);
        ++expected[code];
        codes.push_back(static_cast<std::byte>(code & 0xff));
        if (size == 2) codes.push_back(static_cast<std::byte>(code >> 8));
      }
      // Expecting too few, and as many as come; in one piece, and in uneven ones.
      for (const std::uint64_t promised : {std::uint64_t{1}, std::uint64_t{n}}) {
        Census whole(size, promised), pieces(size, promised);
        whole.add(codes);
        for (std::size_t at = 0; at < codes.size(); at += 1002)
          pieces.add(std::span(codes).subspan(at, std::min<std::size_t>(1002, codes.size() - at)));
        EXPECT_EQ(as_map(whole), expected) << size << ' ' << n;
        EXPECT_EQ(as_map(pieces), expected) << size << ' ' << n;
      }
    }
  }
}

TEST(Census, OneCodeMayOccurAllTheTime) {
  std::mt19937_64 random(10);
  for (const std::size_t size : {1u, 2u, 4u, 8u}) {
    for (const unsigned percent : {5u, 50u, 97u, 100u}) {
      SCOPED_TRACE(testing::Message() << size << " bytes, " << percent << " % the same");
      const std::size_t n = 200003;
      std::vector<std::byte> codes;
      std::map<unsigned, std::uint64_t> expected;
      for (std::size_t i = 0; i < n; ++i) {
        const std::uint64_t code = random() % 100 < percent ? 0x3f80'3f80'3f80'3f80 : random();
        for (std::size_t byte = 0; byte < size; ++byte) codes.push_back(static_cast<std::byte>(code >> (8 * byte) & 0xff));
        ++expected[static_cast<unsigned>(size == 1 ? code & 0xff : code >> (8 * (size - 2)) & 0xffff)];
      }
      Census census(size, n);
      census.add(codes);
      EXPECT_EQ(as_map(census), expected);
    }
  }
}

TEST(Census, OfWiderCodesTheUpperBitsAndPiecesAddUp) {
  std::mt19937_64 random(9);
  for (const std::size_t size : {1u, 2u, 4u, 8u}) {
    for (const std::size_t n : {3u, 1000u, 300001u}) {
      SCOPED_TRACE(testing::Message() << size << " bytes, " << n << " codes");
      std::vector<std::byte> codes;
      std::map<unsigned, std::uint64_t> expected;
      for (std::size_t i = 0; i < n; ++i) {
        const std::uint64_t code = random() >> (i % 3);
        for (std::size_t byte = 0; byte < size; ++byte) codes.push_back(static_cast<std::byte>(code >> (8 * byte) & 0xff));
        ++expected[static_cast<unsigned>(size == 1 ? code & 0xff : code >> (8 * (size - 2)) & 0xffff)];
      }
      Census whole(size, n), merged(size, n), other(size, n), few(size, 1);
      whole.add(codes);
      EXPECT_EQ(as_map(whole), expected);
      // Odd pieces, also of pairs of bytes.
      const std::size_t cut = n / 3 * size;
      merged.add(std::span(codes).first(cut));
      other.add(std::span(codes).subspan(cut, size));
      other.add(std::span(codes).subspan(cut + size));
      merged.merge(other);
      EXPECT_EQ(as_map(merged), expected);
      few.merge(merged);
      EXPECT_EQ(as_map(few), expected);
    }
  }
}

}  // namespace
}  // namespace assay::analysis
