// SPDX-License-Identifier: Apache-2.0
// The JSON that every face gives: the envelope's parts and the commands' own keys. Keys are stable: added, never renamed.
#pragma once

#include <string_view>

#include "analysis/stats.hpp"
#include "analysis/summary.hpp"
#include "analysis/tree.hpp"
#include "assay/checkpoint.hpp"
#include "assay/finding.hpp"
#include "report/json_writer.hpp"

namespace assay::report {

/// Opens the document's object: "schema", "assay", and "path" where one is given.
void begin_document(JsonWriter& json, std::string_view command, std::string_view path);
/// "complete", "findings", and "error" where there is one, then closes the document.
void end_document(JsonWriter& json, bool complete, const Findings& findings, const Error* error);

/// The value of a finding or an error: code, message, where, facts.
void write_finding(JsonWriter& json, const Finding& finding);
void write_error(JsonWriter& json, const Error& error);

/// The own keys of `info`.
void write_info_keys(JsonWriter& json, const Checkpoint& checkpoint, const analysis::Summary& summary);
/// One tensor as an object: the keys of `tensors`.
void write_tensor(JsonWriter& json, const Checkpoint& checkpoint, const Tensor& tensor);
/// The outline as nested objects below `max_depth` levels: name, times, tensors, parameters, bytes, …, children[].
void write_outline(JsonWriter& json, const Checkpoint& checkpoint, const analysis::Outline& outline, std::size_t max_depth);
/// One tensor's statistics as an object; null where `stats` is.
void write_stats(JsonWriter& json, const Tensor& tensor, const analysis::Stats* stats);

}  // namespace assay::report
