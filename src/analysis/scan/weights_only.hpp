// SPDX-License-Identifier: Apache-2.0
// What torch.load(weights_only=True) says to a pickle (torch 2.13): its machine knows fewer opcodes and names, and asks before it calls.
#pragma once

#include <optional>
#include <string>

#include "assay/pickle.hpp"
#include "containers/zip.hpp"

namespace assay::scan {

/// Parts of a storage's persistent id: in an archive, and with a view's place in the form before torch 1.6.
inline constexpr std::size_t kZipIdParts = 5, kLegacyIdParts = 6;

/// The first thing it would refuse, in its words; nothing when it would load the stream. `stream` is what the graph was parsed from.
std::optional<std::string> weights_only_refusal(const pickle::Graph& graph, ByteView stream, std::size_t id_parts);

/// Why it would refuse the archive before it looks at data.pkl; nothing when it would not. `folder` is the archive's own, "archive/".
Result<std::optional<std::string>> weights_only_refuses_archive(const ByteSource& source, const zip::Directory& directory,
                                                                std::string_view folder, const Limits& limits);

}  // namespace assay::scan
