# SPDX-License-Identifier: Apache-2.0
# WebAssembly from Debian's packages: clang-19 lld-19 libc++-19-dev-wasm32 libclang-rt-19-dev-wasm32 wasi-libc. Debian builds that
# libc++ without threads, file system and exceptions, and so is the core.
set(CMAKE_SYSTEM_NAME Generic)  # CMake 3.25 knows no WASI platform
set(CMAKE_SYSTEM_PROCESSOR wasm32)
set(CMAKE_C_COMPILER clang-19)
set(CMAKE_CXX_COMPILER clang++-19)
set(CMAKE_C_COMPILER_TARGET wasm32-wasi)
set(CMAKE_CXX_COMPILER_TARGET wasm32-wasi)
# Only CMake's own trials make archives; binutils' will do for those.
find_program(CMAKE_AR NAMES llvm-ar-19 llvm-ar ar)
find_program(CMAKE_RANLIB NAMES llvm-ranlib-19 llvm-ranlib ranlib)
# Linking a program needs flags of its own (bindings/wasm), so CMake only tries to compile.
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
# Small first: what parses is fast enough so; the layers that work through values ask for more (src/CMakeLists.txt).
set(CMAKE_CXX_FLAGS_RELEASE "-Oz -DNDEBUG -flto" CACHE STRING "")
