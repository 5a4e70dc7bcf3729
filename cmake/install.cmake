# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` lays down: the library with its headers, the CMake package, the pkg-config file, the program with its
# man page and completions, the licence.
include(CMakePackageConfigHelpers)

install(TARGETS assay EXPORT assayTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/assay DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp" PATTERN "*.def")
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

# find_package(assay) gives assay::assay.
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/assay)
install(EXPORT assayTargets NAMESPACE assay:: DESTINATION ${package_dir})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/assayConfig.cmake.in ${PROJECT_BINARY_DIR}/assayConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/assayConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/assayConfig.cmake ${PROJECT_BINARY_DIR}/assayConfigVersion.cmake DESTINATION ${package_dir})

# A static library hands what it needs to whoever links it, a C program included.
if(BUILD_SHARED_LIBS)
  set(ASSAY_PC_REQUIRES "")
  set(ASSAY_PC_LIBS "")
else()
  set(ASSAY_PC_REQUIRES "libdeflate liblzma")
  set(ASSAY_PC_LIBS "-lbz2 -lstdc++ -lm -pthread")
endif()
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
  set(ASSAY_PC_LIBDIR "${CMAKE_INSTALL_LIBDIR}")
else()
  set(ASSAY_PC_LIBDIR "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
endif()
if(IS_ABSOLUTE "${CMAKE_INSTALL_INCLUDEDIR}")
  set(ASSAY_PC_INCLUDEDIR "${CMAKE_INSTALL_INCLUDEDIR}")
else()
  set(ASSAY_PC_INCLUDEDIR "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
endif()
# The prefix is only known when installing (cmake --install --prefix), so the file says where it stands relative to itself.
file(RELATIVE_PATH ASSAY_PC_PREFIX "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_PREFIX}")
configure_file(${PROJECT_SOURCE_DIR}/cmake/assay.pc.in ${PROJECT_BINARY_DIR}/assay.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/assay.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

if(NOT ASSAY_CLI)
  return()
endif()
if(BUILD_SHARED_LIBS)  # the program finds the library beside it wherever the package is moved
  file(RELATIVE_PATH library_dir "${CMAKE_INSTALL_FULL_BINDIR}" "${CMAKE_INSTALL_FULL_LIBDIR}")
  set_target_properties(assay_program PROPERTIES INSTALL_RPATH "$ORIGIN/${library_dir}")
endif()
install(TARGETS assay_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})

# The command table is the one source of the man page and the completions: the built program writes them.
if(CMAKE_CROSSCOMPILING)
  return()
endif()
function(assay_generate what file destination)
  set(output ${PROJECT_BINARY_DIR}/generated/${file})
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/generated
    COMMAND assay_program --generate ${what} > ${output}
    DEPENDS assay_program VERBATIM)
  set_property(GLOBAL APPEND PROPERTY ASSAY_GENERATED ${output})
  install(FILES ${output} DESTINATION ${destination})
endfunction()
assay_generate(man assay.1 ${CMAKE_INSTALL_MANDIR}/man1)
assay_generate(complete-bash assay ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
assay_generate(complete-zsh _assay ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
assay_generate(complete-fish assay.fish ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
get_property(generated GLOBAL PROPERTY ASSAY_GENERATED)
add_custom_target(assay_generated ALL DEPENDS ${generated})
