// SPDX-License-Identifier: Apache-2.0
// From the command line to a row of the table and its values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "assay/result.hpp"
#include "cli/commands.hpp"
#include "cli/run.hpp"

namespace assay::cli {

enum class Action : std::uint8_t { run, help, program_help, version, generate };

struct Parsed {
  const Command* command = nullptr;  ///< never null: info where none was named
  Options options;
  Action action = Action::run;
  std::optional<Error> error;  ///< usage; the options that were understood are there, so that --json still answers as JSON
};

Parsed parse(const std::vector<std::string>& arguments);

}  // namespace assay::cli
