// SPDX-License-Identifier: Apache-2.0
// What the module needs besides the C API: the words of the stack protector, and the two callbacks of assay.h as imports of the module.
#include <__verbose_abort>
#include <cstddef>
#include <cstdint>

#include "assay/assay.h"

// libc++ lets a program say what becomes of a failed precondition: with this one no printf is linked.
void std::__libcpp_verbose_abort(const char*, ...) { __builtin_trap(); }  // NOLINT

extern "C" {

// What libc++abi says before it aborts, to a standard error that there is none of.
[[noreturn]] void abort_message(const char*, ...) { __builtin_trap(); }  // NOLINT

// The C library of wasm32-wasi leaves these undefined; compiler-rt's 128-bit arithmetic refers to them.
std::uintptr_t __stack_chk_guard = 0x5bd1e995;              // NOLINT: the name is the ABI's
[[noreturn]] void __stack_chk_fail() { __builtin_trap(); }  // NOLINT

/// Fills `out` with the `n` bytes at `offset` of the file that the host knows as `context`; 0 when it did.
[[clang::import_module("assay"), clang::import_name("read")]] int assay_import_read(void* context, std::uint64_t offset, void* out,
                                                                                    std::size_t n);
/// Tells the host how much is done; 0 ends the work.
[[clang::import_module("assay"), clang::import_name("watch")]] int assay_import_watch(void* context, std::uint64_t done, std::uint64_t of);

namespace {
int host_read(void* context, std::uint64_t offset, void* out, std::size_t n) { return assay_import_read(context, offset, out, n); }
int host_watch(void* context, std::uint64_t done, std::uint64_t of) { return assay_import_watch(context, done, of); }
}  // namespace

/// The imports as C functions, for assay_files_add_reader and for those that take a watch.
[[clang::export_name("assay_host_read")]] assay_read_fn assay_host_read() { return host_read; }
[[clang::export_name("assay_host_watch")]] assay_watch_fn assay_host_watch() { return host_watch; }
}
