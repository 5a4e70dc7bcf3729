// SPDX-License-Identifier: Apache-2.0
// Large arrays on large pages. The tables of a header with 100,000 tensors are tens of megabytes that are written once: fetched 4 KiB at a
// time, their page faults cost more than reading the header does.
#include <cstdint>
#include <cstdlib>
#include <new>

#if defined(__linux__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#include <sys/mman.h>

namespace {

constexpr std::size_t kLargePage = std::size_t{2} << 20;

void* allocate(std::size_t size) noexcept {
  if (size < kLargePage || size > SIZE_MAX / 2) return std::malloc(size != 0 ? size : 1);
  const std::size_t rounded = (size + kLargePage - 1) & ~(kLargePage - 1);
  void* memory = std::aligned_alloc(kLargePage, rounded);
  // Less than half a large page at the end is left to small ones: it may never be touched.
  if (memory != nullptr) ::madvise(memory, (size + kLargePage / 2) & ~(kLargePage - 1), MADV_HUGEPAGE);
  return memory;
}

}  // namespace

void* operator new(std::size_t size) {
  if (void* memory = allocate(size)) return memory;
  throw std::bad_alloc();
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return allocate(size); }
void* operator new[](std::size_t size) { return operator new(size); }
void* operator new[](std::size_t size, const std::nothrow_t& tag) noexcept { return operator new(size, tag); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

#endif
