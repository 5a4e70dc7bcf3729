// SPDX-License-Identifier: Apache-2.0
// What torch.load(weights_only=True) says to a pickle (torch 2.13): its machine knows fewer opcodes and names, and asks before it calls.
#pragma once

#include <optional>
#include <string>

#include "assay/pickle.hpp"

namespace assay::scan {

/// The first thing it would refuse, in its words; nothing when it would load the stream. `stream` is what the graph was parsed from.
std::optional<std::string> weights_only_refusal(const pickle::Graph& graph, ByteView stream);

}  // namespace assay::scan
