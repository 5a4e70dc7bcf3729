// SPDX-License-Identifier: Apache-2.0
// Sorting, once for all types: the standard library's sorts are several kilobytes for each type and each order, an eighth of the module
// that a page loads. This one is as fast where comparing is what costs, and half as fast for plain numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <ranges>
#include <span>
#include <utility>
#include <vector>

namespace assay {

namespace detail {
/// Whether item `a` must come before item `b`, by their places.
using PlaceLess = bool (*)(const void* context, std::size_t a, std::size_t b);
/// Which item belongs in each place; equal ones stay in their order. Empty where all are in place.
std::vector<std::size_t> sorted_places(std::size_t n, PlaceLess less, const void* context);

/// Moves items[order[i]] to items[i].
template <class T>
void move_to_places(T* items, std::vector<std::size_t>& order) {
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (order[i] == i) continue;
    T first = std::move(items[i]);
    std::size_t to = i;
    for (std::size_t from = order[to]; from != i; from = order[to]) {
      items[to] = std::move(items[from]);
      order[to] = to;
      to = from;
    }
    items[to] = std::move(first);
    order[to] = to;
  }
}
}  // namespace detail

/// Stable, as std::ranges::stable_sort. Memory: two numbers an item. Cost: n log n comparisons; n where all are in order already.
template <std::ranges::contiguous_range Range, class Less = std::ranges::less, class Projection = std::identity>
void sort_stable(Range&& range, Less less = {}, Projection projection = {}) {
  auto* const items = std::to_address(std::ranges::begin(range));
  struct Context {
    decltype(items) of;
    Less& less;
    Projection& projection;
  };
  const Context context{items, less, projection};
  const auto before = [](const void* given, std::size_t a, std::size_t b) -> bool {
    const Context& in = *static_cast<const Context*>(given);
    return std::invoke(in.less, std::invoke(in.projection, in.of[a]), std::invoke(in.projection, in.of[b]));
  };
  auto order = detail::sorted_places(static_cast<std::size_t>(std::ranges::size(range)), before, &context);
  detail::move_to_places(items, order);
}

/// Ascending, a byte at a time: where there is nothing to compare but numbers. `scratch` keeps its memory from call to call. Cost: two
/// passes for each byte in which the numbers differ.
void sort_numbers(std::span<std::uint64_t> numbers, std::vector<std::uint64_t>& scratch);

}  // namespace assay
