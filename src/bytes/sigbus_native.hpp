// SPDX-License-Identifier: Apache-2.0
// Reading a mapped file that another program cuts short raises SIGBUS, which ends the process without a word. A program (not
// the library: signal handlers belong to whoever owns the process) may install a guard that lets the read see zeros instead.
// The mapping is then marked as lost, its source's check_unchanged() fails, and the program can say `file-changed`.
//
// What is mapped is known to the handler through a fixed table of atomics, because a handler can reach nothing but static
// memory and can wait for no lock. That table, the handler it replaced and the page size are the only state of the process
// that the library keeps; without the guard nothing reads them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace assay {

/// Answers SIGBUS on the library's mappings from now on, in all threads; other SIGBUS go to the handler there was before. False
/// when the system refuses. Calling it again does nothing.
bool install_sigbus_guard();
/// True once a read of any mapping met bytes that were gone.
bool sigbus_seen();

/// A row of the table: one live mapping.
struct LiveMapping {
  std::atomic<std::uintptr_t> begin{0};  ///< 0: the row is free
  std::atomic<std::uintptr_t> end{0};
  std::atomic<bool> lost{false};  ///< the guard put zeros in place of some of it
};

/// Enters a mapping in the table; nullptr when the table is full. Safe from several threads.
LiveMapping* enter_mapping(const void* begin, std::size_t size);
/// Takes it out again. Call it before the memory is unmapped.
void leave_mapping(LiveMapping* mapping);

}  // namespace assay
