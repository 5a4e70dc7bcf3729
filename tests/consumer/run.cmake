# SPDX-License-Identifier: Apache-2.0
# Installs the build into a fresh prefix, builds the consumers against nothing but that prefix, runs them.
# Given: BUILD (the build folder), SOURCE (this folder), CC, CXX, GENERATOR, LIBDIR.
set(work ${BUILD}/consumer)
file(REMOVE_RECURSE ${work})
file(MAKE_DIRECTORY ${work})
function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE status OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(NOT status EQUAL 0)
    string(REPLACE ";" " " line "${ARGV}")
    message(FATAL_ERROR "${line}: ${status}\n${out}")
  endif()
  set(output "${out}" PARENT_SCOPE)
endfunction()

# Moved after installing: a package must not hold the path it was built for.
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${work}/first)
file(RENAME ${work}/first ${work}/prefix)

run(${work}/prefix/bin/assay --version)

# {"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}, padded to 56 bytes, then 1.5f.
set(header "{\"w\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}  ")
string(LENGTH "${header}" length)
if(NOT length EQUAL 56)
  message(FATAL_ERROR "the header is ${length} bytes")
endif()
execute_process(COMMAND printf "8\\0\\0\\0\\0\\0\\0\\0%s\\0\\0\\300\\077" "${header}" OUTPUT_FILE ${work}/tiny.safetensors)

run(${CMAKE_COMMAND} -S ${SOURCE} -B ${work}/build -G ${GENERATOR} -DCMAKE_PREFIX_PATH=${work}/prefix -DCMAKE_CXX_COMPILER=${CXX})
run(${CMAKE_COMMAND} --build ${work}/build)
set(ENV{LD_LIBRARY_PATH} ${work}/prefix/${LIBDIR})
run(${work}/build/consumer ${work}/tiny.safetensors)
if(NOT output STREQUAL "w F32 1.5\n")
  message(FATAL_ERROR "the C++ consumer says: ${output}")
endif()

set(ENV{PKG_CONFIG_PATH} ${work}/prefix/${LIBDIR}/pkgconfig)
run(pkg-config --cflags --libs assay)
separate_arguments(flags UNIX_COMMAND "${output}")
run(${CC} -std=c11 -Wall -Wextra -pedantic -Werror ${SOURCE}/consumer.c -o ${work}/c_consumer ${flags})
run(${work}/c_consumer ${work}/tiny.safetensors)
if(NOT output STREQUAL "w F32 1.5\n")
  message(FATAL_ERROR "the C consumer says: ${output}")
endif()

# What else a package holds.
foreach(file share/man/man1/assay.1 share/bash-completion/completions/assay share/zsh/site-functions/_assay share/fish/vendor_completions.d/assay.fish bin/assay
        share/doc/assay/LICENSE include/assay/assay.h include/assay/assay_pickle.h include/assay/dtypes.def)
  if(NOT EXISTS ${work}/prefix/${file})
    message(FATAL_ERROR "${file} was not installed")
  endif()
  file(SIZE ${work}/prefix/${file} size)
  if(size EQUAL 0)
    message(FATAL_ERROR "${file} is empty")
  endif()
endforeach()
