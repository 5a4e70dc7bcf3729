// SPDX-License-Identifier: Apache-2.0
// How a mixture of experts looks: the keys of `moe`, and its screen.
#pragma once

#include "analysis/moe.hpp"
#include "assay/checkpoint.hpp"
#include "report/json_writer.hpp"
#include "report/style.hpp"

namespace assay::report {

/// The own keys of `moe`; "plan" where one is given.
void write_moe_keys(JsonWriter& json, const Checkpoint& checkpoint, const analysis::Moe& moe, const analysis::MoePlan* plan);
/// One layer as an object, with a line for each expert.
void write_moe_layer(JsonWriter& json, const Checkpoint& checkpoint, const analysis::MoeLayer& layer);

/// A line for the whole, a line for each layer, the plan where one is given, and how to go on.
void write_moe_screen(Writer& out, const Style& style, std::string_view title, const Checkpoint& checkpoint, const analysis::Moe& moe,
                      const analysis::MoePlan* plan);

}  // namespace assay::report
