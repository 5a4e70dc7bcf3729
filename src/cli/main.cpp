// SPDX-License-Identifier: Apache-2.0
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "cli/process.hpp"
#include "cli/run.hpp"

int main(int count, char** values) {
  namespace cli = assay::cli;
  cli::prepare_process();
  try {
    return cli::run_program(std::vector<std::string>(values + (count > 0), values + count));
  } catch (const std::bad_alloc&) {
    cli::write_stderr("error: not enough memory [out-of-memory]\n");
  } catch (const std::exception& exception) {
    cli::write_stderr(assay::concat("error: ", exception.what(), " [internal]\nhint: please report this\n"));
  }
  return cli::kFailed;
}
