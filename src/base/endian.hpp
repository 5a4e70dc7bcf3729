// SPDX-License-Identifier: Apache-2.0
// Loads of numbers from unaligned bytes. The byte order is in the name.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstring>

namespace assay {

static_assert(std::endian::native == std::endian::little, "assay runs on little-endian machines; it reads files of both orders");

template <class T>
  requires std::integral<T> || std::floating_point<T>
T load_le(const std::byte* p) {
  T value;
  std::memcpy(&value, p, sizeof value);
  return value;
}

template <class T>
  requires std::integral<T> || std::floating_point<T>
T load_be(const std::byte* p) {
  std::byte swapped[sizeof(T)];
  for (std::size_t i = 0; i < sizeof(T); ++i) swapped[i] = p[sizeof(T) - 1 - i];
  return load_le<T>(swapped);
}

template <class T>
  requires std::integral<T> || std::floating_point<T>
void store_le(std::byte* p, T value) {
  std::memcpy(p, &value, sizeof value);
}

}  // namespace assay
