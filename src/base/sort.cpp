// SPDX-License-Identifier: Apache-2.0
#include "base/sort.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace assay::detail {
namespace {

constexpr std::size_t kRun = 8;  // sorted by insertion

void insert_all(std::size_t* order, std::size_t n, PlaceLess less, const void* context) {
  for (std::size_t i = 1; i < n; ++i) {
    const std::size_t item = order[i];
    std::size_t to = i;
    for (; to > 0 && less(context, item, order[to - 1]); --to) order[to] = order[to - 1];
    order[to] = item;
  }
}

void merge(const std::size_t* left, const std::size_t* middle, const std::size_t* end, std::size_t* out, PlaceLess less,
           const void* context) {
  const std::size_t* right = middle;
  // Often all of one side comes before the other.
  if (right == end || !less(context, *right, right[-1])) {
    std::copy(left, end, out);
    return;
  }
  while (left != middle && right != end) *out++ = less(context, *right, *left) ? *right++ : *left++;
  std::copy(right, end, std::copy(left, middle, out));
}

}  // namespace

std::vector<std::size_t> sorted_places(std::size_t n, PlaceLess less, const void* context) {
  std::size_t in_order = 1;
  while (in_order < n && !less(context, in_order, in_order - 1)) ++in_order;
  if (in_order >= n) return {};

  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t at = 0; at < n; at += kRun) insert_all(order.data() + at, std::min(kRun, n - at), less, context);
  if (n <= kRun) return order;
  std::vector<std::size_t> other(n);
  for (std::size_t width = kRun; width < n; width *= 2) {
    for (std::size_t at = 0; at < n; at += 2 * width) {
      const std::size_t* from = order.data() + at;
      merge(from, from + std::min(width, n - at), from + std::min(2 * width, n - at), other.data() + at, less, context);
    }
    order.swap(other);
  }
  return order;
}

}  // namespace assay::detail

namespace assay {

void sort_numbers(std::span<std::uint64_t> numbers, std::vector<std::uint64_t>& scratch) {
  std::uint64_t differ = 0;
  for (const std::uint64_t number : numbers) differ |= number ^ numbers.front();
  if (scratch.size() < numbers.size()) scratch.resize(numbers.size());
  std::span<std::uint64_t> from = numbers, to = std::span(scratch).first(numbers.size());
  for (unsigned shift = 0; shift < 64; shift += 8) {
    if ((differ >> shift & 0xff) == 0) continue;
    std::size_t places[256] = {};
    for (const std::uint64_t number : from) ++places[number >> shift & 0xff];
    std::size_t before = 0;
    for (std::size_t& place : places) before += std::exchange(place, before);
    for (const std::uint64_t number : from) to[places[number >> shift & 0xff]++] = number;
    std::swap(from, to);
  }
  if (from.data() != numbers.data()) std::ranges::copy(from, numbers.begin());
}

}  // namespace assay
