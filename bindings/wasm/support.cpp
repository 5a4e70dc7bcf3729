// SPDX-License-Identifier: Apache-2.0
// What the C library of wasm32-wasi leaves undefined: the stack protector's words, which compiler-rt's 128-bit arithmetic refers to.
#include <cstdint>

extern "C" {
std::uintptr_t __stack_chk_guard = 0x5bd1e995;              // NOLINT: the name is the ABI's
[[noreturn]] void __stack_chk_fail() { __builtin_trap(); }  // NOLINT
}
