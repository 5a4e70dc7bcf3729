// SPDX-License-Identifier: Apache-2.0
// Texts made from the table of commands.
#pragma once

#include <string_view>

#include "cli/commands.hpp"
#include "report/style.hpp"
#include "report/writer.hpp"

namespace assay::cli {

void write_program_help(report::Writer& out, const report::Style& style);
/// Examples first, then usage, arguments and flags.
void write_command_help(report::Writer& out, const report::Style& style, const Command& command);
void write_version(report::Writer& out, bool json, bool verbose);

/// "assay tensors FILE [NAME...] [flags]"
std::string usage_line(const Command& command);

/// man, complete-bash, complete-zsh, complete-fish or markdown.
void generate(report::Writer& out, std::string_view what);

}  // namespace assay::cli
