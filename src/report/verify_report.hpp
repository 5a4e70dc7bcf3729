// SPDX-License-Identifier: Apache-2.0
// How the checks of a file look.
#pragma once

#include <span>

#include "analysis/verify/verify.hpp"
#include "report/json_writer.hpp"
#include "report/style.hpp"
#include "report/writer.hpp"

namespace assay::report {

/// checks[{name, verdict, detail, wrong[]?}]
void write_check_keys(JsonWriter& json, std::span<const analysis::Check> checks);
/// A line for each check; below a failed one what is wrong.
void write_check_screen(Writer& out, const Style& style, std::span<const analysis::Check> checks);

}  // namespace assay::report
