# SPDX-License-Identifier: Apache-2.0
# Builds core.wasm with the preset "wasm" and checks its exports. Given: SOURCE. Says SKIP and why where the packages are absent.
set(needed
  "clang-19=/usr/bin/clang++-19" "lld-19=/usr/bin/wasm-ld-19" "wasi-libc=/usr/lib/wasm32-wasi/libc.a"
  "libc++-19-dev-wasm32=/usr/lib/wasm32-wasi/libc++.a" "libc++abi-19-dev-wasm32=/usr/lib/wasm32-wasi/libc++abi.a"
  "libclang-rt-19-dev-wasm32=/usr/lib/llvm-19/lib/clang/19/lib/wasi/libclang_rt.builtins-wasm32.a" "rapidjson-dev=/usr/include/rapidjson/reader.h")
foreach(pair IN LISTS needed)
  string(REPLACE "=" ";" pair "${pair}")
  list(GET pair 0 package)
  list(GET pair 1 file)
  if(NOT EXISTS ${file})
    message(NOTICE "SKIP: ${package} is not installed")
    return()
  endif()
endforeach()

function(run)
  execute_process(COMMAND ${ARGV} WORKING_DIRECTORY ${SOURCE} RESULT_VARIABLE status OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(NOT status EQUAL 0)
    string(REPLACE ";" " " line "${ARGV}")
    message(FATAL_ERROR "${line}: ${status}\n${out}")
  endif()
endfunction()
run(${CMAKE_COMMAND} --preset wasm)
run(${CMAKE_COMMAND} --build --preset wasm)

set(module ${SOURCE}/build/wasm/bindings/wasm/core.wasm)
file(READ ${module} magic LIMIT 8 HEX)
if(NOT magic STREQUAL "0061736d01000000")
  message(FATAL_ERROR "core.wasm starts with ${magic}")
endif()
# Export names stand in the module as plain text.
foreach(name assay_files_open assay_files_add_range assay_tensor_count assay_reader_read_f32 assay_stats_step malloc free)
  file(STRINGS ${module} found REGEX ${name} LIMIT_COUNT 1)
  if(NOT found)
    message(FATAL_ERROR "core.wasm does not export ${name}")
  endif()
endforeach()

# And it works, where there is something to run it.
find_program(node NAMES node nodejs)
if(node)
  run(${node} ${SOURCE}/tests/wasm_smoke.mjs ${module})
endif()
file(SIZE ${module} size)
message(STATUS "core.wasm: ${size} bytes")
