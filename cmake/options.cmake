# SPDX-License-Identifier: Apache-2.0
# Every switch of the build, and the flags that follow from it.

option(ASSAY_CLI "Build the assay program" ON)
option(ASSAY_TESTS "Build the tests" OFF)
option(ASSAY_BENCH "Build the benchmarks" OFF)
option(ASSAY_FUZZ "Build the fuzz targets (clang)" OFF)
option(ASSAY_STATIC "Link the program statically: it starts in under a millisecond" OFF)
option(ASSAY_NO_EXCEPTIONS "Build the core (below the command line) without exceptions and RTTI" OFF)
option(ASSAY_WERROR "Warnings are errors" OFF)
set(ASSAY_SANITIZE "" CACHE STRING "Sanitizers: address,undefined or thread")
option(ASSAY_COVERAGE "Count executed lines" OFF)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

find_program(ASSAY_CCACHE ccache)
if(ASSAY_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${ASSAY_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${ASSAY_CCACHE})
endif()

add_compile_options(-Wall -Wextra)
if(ASSAY_WERROR)
  add_compile_options(-Werror)
endif()
# Library assertions stay on in release: a wrong access stops instead of reading garbage.
add_compile_definitions($<$<COMPILE_LANGUAGE:CXX>:_GLIBCXX_ASSERTIONS>)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64" AND NOT CMAKE_SYSTEM_NAME STREQUAL "Generic")
  add_compile_options(-march=x86-64-v2)
endif()
if(ASSAY_SANITIZE)
  add_compile_options(-fsanitize=${ASSAY_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${ASSAY_SANITIZE})
endif()
if(ASSAY_COVERAGE)
  add_compile_options(--coverage)
  add_link_options(--coverage)
endif()

# WebAssembly (wasm32-wasi) has no files to map, no libdeflate, no threads and no exceptions.
if(CMAKE_SYSTEM_NAME STREQUAL "Generic")
  set(ASSAY_WASM ON)
else()
  set(ASSAY_WASM OFF)
endif()
