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
/// members[{file, name, header_offset, offset, packed, size, method, crc_32, state, computed?, error?}] of zips. Where the pass did not
/// run, `state` is "unchecked" or "unknown".
void write_member_keys(JsonWriter& json, const Checkpoint& checkpoint, std::span<const analysis::MemberCheck> members, bool ran);
/// A line for each check; below a failed one what is wrong.
void write_check_screen(Writer& out, const Style& style, std::span<const analysis::Check> checks);

}  // namespace assay::report
