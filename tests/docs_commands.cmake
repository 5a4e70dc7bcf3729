# SPDX-License-Identifier: Apache-2.0
# docs/commands.md must be what the program generates. Given: PROGRAM, DOCS.
execute_process(COMMAND ${PROGRAM} --generate markdown OUTPUT_VARIABLE generated COMMAND_ERROR_IS_FATAL ANY)
file(READ ${DOCS}/commands.md written)
if(NOT generated STREQUAL written)
  message(FATAL_ERROR "docs/commands.md is not what the table of commands says; run: make docs")
endif()
