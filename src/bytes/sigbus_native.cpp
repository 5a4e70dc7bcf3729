// SPDX-License-Identifier: Apache-2.0
#include "bytes/sigbus_native.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

namespace assay {

namespace {

static_assert(std::atomic<std::uintptr_t>::is_always_lock_free && std::atomic<bool>::is_always_lock_free,
              "a signal handler takes no locks");

constexpr std::size_t kMostMappings = 4096;

constinit LiveMapping live_mappings[kMostMappings];
constinit std::atomic<bool> guard_installed{false};
constinit std::atomic<bool> any_lost{false};
// Written once, before the handler can run.
constinit struct sigaction earlier_action{};
constinit std::uintptr_t page_size = 0;

LiveMapping* mapping_at(std::uintptr_t address) {
  for (LiveMapping& mapping : live_mappings)
    if (address >= mapping.begin.load(std::memory_order_acquire) && address < mapping.end.load(std::memory_order_acquire)) return &mapping;
  return nullptr;
}

/// Puts zeros from the faulting page to the end of its mapping: a file that lost one page lost all that follow, and a mapping
/// for each page would soon be more than the kernel allows.
bool replace_with_zeros(std::uintptr_t address, LiveMapping& mapping) {
  const std::uintptr_t page = address & ~(page_size - 1);
  const std::uintptr_t end = mapping.end.load(std::memory_order_acquire);
  if (end <= page) return false;
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
  return ::mmap(reinterpret_cast<void*>(page), end - page, PROT_READ, flags, -1, 0) != MAP_FAILED;
}

void on_sigbus(int, siginfo_t* info, void*) {
  const int saved_errno = errno;
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  // si_code <= 0: somebody sent the signal, and the address means nothing.
  LiveMapping* mapping = info->si_code > 0 ? mapping_at(address) : nullptr;
  if (mapping && replace_with_zeros(address, *mapping)) {
    mapping->lost.store(true, std::memory_order_release);
    any_lost.store(true, std::memory_order_release);
  } else {
    // Not ours: the instruction runs again and faults into the earlier handler. A signal that was sent is sent on.
    ::sigaction(SIGBUS, &earlier_action, nullptr);
    if (info->si_code <= 0) ::raise(SIGBUS);
  }
  errno = saved_errno;
}

}  // namespace

bool install_sigbus_guard() {
  if (guard_installed.exchange(true)) return true;
  page_size = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  struct sigaction action = {};
  action.sa_sigaction = on_sigbus;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  ::sigemptyset(&action.sa_mask);
  if (::sigaction(SIGBUS, nullptr, &earlier_action) == 0 && ::sigaction(SIGBUS, &action, nullptr) == 0) return true;
  guard_installed.store(false);
  return false;
}

bool sigbus_seen() { return any_lost.load(std::memory_order_acquire); }

LiveMapping* enter_mapping(const void* begin, std::size_t size) {
  const auto address = reinterpret_cast<std::uintptr_t>(begin);
  for (LiveMapping& mapping : live_mappings) {
    std::uintptr_t free = 0;
    // Until `end` is set the row covers nothing.
    if (mapping.begin.load(std::memory_order_relaxed) != 0 || !mapping.begin.compare_exchange_strong(free, address)) continue;
    mapping.lost.store(false, std::memory_order_relaxed);
    mapping.end.store(address + size, std::memory_order_release);
    return &mapping;
  }
  return nullptr;
}

void leave_mapping(LiveMapping* mapping) {
  mapping->end.store(0, std::memory_order_release);
  mapping->begin.store(0, std::memory_order_release);
}

}  // namespace assay
