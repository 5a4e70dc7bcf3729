// SPDX-License-Identifier: Apache-2.0
// Errors and findings as lines of text: file:0x1f40: error: tensor count 12 exceeds the 8 bytes left [bad-header]
#pragma once

#include <string>
#include <string_view>

#include "assay/finding.hpp"
#include "report/style.hpp"
#include "report/writer.hpp"

namespace assay {
class Checkpoint;
namespace analysis {
struct Cut;
}
}  // namespace assay

namespace assay::report {

/// The colour of a severity's word.
Tone severity_tone(Severity severity);

/// How the user named the files: turns a file's name in its set into a path that the user can open.
struct Naming {
  std::string label;    ///< FileSet::label
  std::string primary;  ///< FileSet::primary
  std::string path_of(std::string_view file) const;
};

void write_error_line(Writer& out, const Style& style, const Naming& naming, const Error& error);
void write_finding_line(Writer& out, const Style& style, const Naming& naming, const Finding& finding);
/// Those at least as severe as `least`, the worst first, at most `most` lines, then how many were left out.
void write_finding_lines(Writer& out, const Style& style, const Naming& naming, const Findings& findings, Severity least, std::size_t most);

/// How to get what is missing behind a cut: a command of a shell.
std::string resume_command(const Naming& naming, const analysis::Cut& cut);
/// The same for all files of a checkpoint that are cut, in words; "" where none is.
std::string advice_on_cuts(const Naming& naming, const Checkpoint& checkpoint);

}  // namespace assay::report
