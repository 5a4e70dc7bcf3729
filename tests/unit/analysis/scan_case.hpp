// SPDX-License-Identifier: Apache-2.0
// A file's bytes and what a scan must say of it. Header-only.
#pragma once

#include <gtest/gtest.h>

#include "unit/analysis/scan_helpers.hpp"

namespace assay::testing {

using scan::Verdict, scan::Status;

inline constexpr auto kClean = Verdict::clean, kUnknown = Verdict::unknown;
inline constexpr auto kDanger = Verdict::dangerous;
inline constexpr auto kComplete = Status::complete, kMalformed = Status::malformed, kIncomplete = Status::incomplete;

struct Case {
  const char* name;
  std::string bytes;
  Verdict verdict;
  Status status;
};
inline void PrintTo(const Case& row, std::ostream* out) { *out << row.name; }

inline void expect_answer(const Case& row) {
  const scan::Report report = scan_text(row.bytes);
  const std::string said = report.findings.empty() ? "" : report.findings.list().back().message;
  EXPECT_EQ(scan::verdict_name(report.verdict), scan::verdict_name(row.verdict)) << said;
  EXPECT_EQ(scan::status_name(report.status), scan::status_name(row.status)) << said;
}

/// What Python's lzma and bz2 modules gave, as hexadecimal text.
inline std::string hex_text(std::string_view hex) {
  std::string out;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) out += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  return out;
}

}  // namespace assay::testing
