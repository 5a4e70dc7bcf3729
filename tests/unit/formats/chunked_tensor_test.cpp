// SPDX-License-Identifier: Apache-2.0
// Tensors in boxes, compared with a plain array that is cut and put together again.
#include "formats/chunked_tensor.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

namespace assay::formats {
namespace {

using Numbers = std::vector<std::uint64_t>;

std::uint64_t product(const Numbers& sizes) {
  std::uint64_t n = 1;
  for (const std::uint64_t size : sizes) n *= size;
  return n;
}

/// Calls fn(index) for every element of a box, row-major.
template <class Fn>
void for_each_index(const Numbers& sizes, Fn&& fn) {
  Numbers index(sizes.size(), 0);
  for (std::uint64_t i = 0; i < product(sizes); ++i) {
    fn(index);
    for (std::size_t d = sizes.size(); d-- > 0 && ++index[d] == sizes[d];) index[d] = 0;
  }
}

std::uint64_t position(const Numbers& index, const Numbers& shape) {
  std::uint64_t at = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) at = at * shape[d] + index[d];
  return at;
}

/// The elements of a box of a tensor whose element i is i; behind some bytes of something else, column-major where asked.
Chunk cut(const Numbers& shape, Numbers offsets, Numbers sizes, bool turned) {
  const std::uint64_t before = 5;
  std::vector<std::byte> bytes(static_cast<std::size_t>(before + 4 * product(sizes)), std::byte{0xee});
  Numbers stride;
  if (turned) {
    std::uint64_t step = 1;
    for (const std::uint64_t size : sizes) stride.push_back(step), step *= std::max<std::uint64_t>(size, 1);
  }
  std::uint64_t i = 0;
  for_each_index(sizes, [&](const Numbers& index) {
    Numbers whole = index;
    std::uint64_t at = i++;
    if (turned) at = 0;
    for (std::size_t d = 0; d < index.size(); ++d) {
      whole[d] += offsets[d];
      if (turned) at += index[d] * stride[d];
    }
    const auto value = static_cast<std::uint32_t>(position(whole, shape));
    std::memcpy(bytes.data() + before + 4 * at, &value, 4);
  });
  const auto source = std::make_shared<MemorySource>(std::move(bytes));
  return {std::move(offsets), std::move(sizes), chunk_at({source, before, std::move(stride)}), "x"};
}

/// A random grid of cuts, its boxes in random order.
std::vector<Chunk> random_grid(const Numbers& shape, std::mt19937& random) {
  std::vector<Numbers> cuts;
  for (const std::uint64_t size : shape) {
    Numbers at{0, size};
    for (int i = 0; i < 2; ++i) at.push_back(random() % (size + 1));
    std::ranges::sort(at);
    at.erase(std::ranges::unique(at).begin(), at.end());
    cuts.push_back(at);
  }
  Numbers cells;
  for (const Numbers& at : cuts) cells.push_back(at.size() - 1);
  std::vector<Chunk> chunks;
  for_each_index(cells, [&](const Numbers& cell) {
    Numbers offsets, sizes;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      offsets.push_back(cuts[d][cell[d]]);
      sizes.push_back(cuts[d][cell[d] + 1] - cuts[d][cell[d]]);
    }
    chunks.push_back(cut(shape, offsets, sizes, random() % 3 == 0));
  });
  std::ranges::shuffle(chunks, random);
  return chunks;
}

TEST(ChunkedTensor, AnyGridReadsAsTheWhole) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    Numbers shape;
    for (std::size_t d = random() % 5; d > 0; --d) shape.push_back(1 + random() % 6);
    auto chunks = random_grid(shape, random);
    const Coverage found = coverage(shape, chunks);
    EXPECT_TRUE(found.known && found.missing == 0 && found.overlapping == 0);
    const auto joined = join_chunks(shape, 4, std::move(chunks));
    const ByteSource* const source = joined->parts();
    ASSERT_NE(source, nullptr);
    ASSERT_EQ(source->size(), 4 * product(shape));
    for (int part = 0; part < 20; ++part) {  // any stretch of bytes, also from within an element
      const std::uint64_t begin = random() % (source->size() + 1), n = random() % (source->size() - begin + 1);
      std::vector<std::byte> bytes(static_cast<std::size_t>(n));
      ASSERT_TRUE(source->read(begin, bytes));
      const auto mapped = source->mapped(begin, n);
      for (std::uint64_t i = 0; i < n; ++i) {
        const auto value = static_cast<std::uint32_t>((begin + i) / 4);
        std::byte expected[4];
        std::memcpy(expected, &value, 4);
        ASSERT_EQ(bytes[i], expected[(begin + i) % 4]) << "round " << round << " byte " << begin + i;
        ASSERT_TRUE(!mapped || (*mapped)[i] == bytes[i]);
      }
    }
    std::byte beyond[1];
    EXPECT_FALSE(source->read(source->size(), beyond));
  }
}

TEST(ChunkedTensor, CoverageCountsWhatIsMissingAndWhatIsTwice) {
  std::mt19937 random(11);
  for (int round = 0; round < 300; ++round) {
    Numbers shape;
    for (std::size_t d = 1 + random() % 3; d > 0; --d) shape.push_back(1 + random() % 6);
    std::vector<Chunk> chunks;
    std::vector<int> times(static_cast<std::size_t>(product(shape)), 0);
    for (std::size_t n = random() % 5; n > 0; --n) {
      Numbers offsets, sizes;
      for (const std::uint64_t size : shape) {
        offsets.push_back(random() % size);
        sizes.push_back(random() % (size - offsets.back() + 1));
      }
      for_each_index(sizes, [&](Numbers index) {
        for (std::size_t d = 0; d < index.size(); ++d) index[d] += offsets[d];
        ++times[static_cast<std::size_t>(position(index, shape))];
      });
      chunks.push_back({offsets, sizes, nullptr, {}});
    }
    const Coverage found = coverage(shape, chunks);
    EXPECT_TRUE(found.known);
    EXPECT_EQ(found.missing, static_cast<std::uint64_t>(std::ranges::count(times, 0)));
    EXPECT_EQ(found.overlapping, static_cast<std::uint64_t>(std::ranges::count_if(times, [](int n) { return n > 1; })));
  }
}

TEST(ChunkedTensor, WhereChunksOverlapTheFirstCounts) {
  std::mt19937 random(3);
  const Numbers shape{4, 4};
  const auto filled = [](Numbers offsets, Numbers sizes, int value) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(product(sizes)), static_cast<std::byte>(value));
    return Chunk{offsets, sizes, chunk_at({std::make_shared<MemorySource>(std::move(bytes)), 0, {}}), "x"};
  };
  const auto joined = join_chunks(shape, 1, {filled({1, 1}, {2, 2}, 1), filled({0, 0}, {4, 3}, 2), filled({0, 0}, {4, 4}, 3)}, true);
  std::vector<std::byte> bytes(16);
  ASSERT_TRUE(joined->parts()->read(0, bytes));
  std::string text;
  for (const std::byte b : bytes) text += static_cast<char>('0' + std::to_integer<int>(b));
  EXPECT_EQ(text, "2223211321132223");
}

TEST(ChunkedTensor, TooManyCellsAreNotCounted) {
  std::vector<Chunk> chunks;
  for (std::uint64_t i = 0; i < 2000; ++i) chunks.push_back({{i, i}, {1, 1}, nullptr, {}});
  EXPECT_FALSE(coverage(Numbers{2000, 2000}, chunks).known);
}

}  // namespace
}  // namespace assay::formats
