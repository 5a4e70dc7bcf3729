// SPDX-License-Identifier: Apache-2.0
// Documents as work that waits for what is not at hand: what assay_report and assay_job have in common.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/work.hpp"
#include "capi/handle.hpp"

namespace assay::capi {

/// A document of documents.cpp; null for a command that has none.
struct Document;
const Document* find_document(std::string_view command);
/// The document as text. `watch` must live as long.
Work<std::string> document_work(const Document& document, std::shared_ptr<const State> state, std::string filter, bool sample,
                                Watch& watch);
/// Bytes of values that making it reads at most, as far as headers tell.
Result<std::uint64_t> document_bytes(const Document& document, const State& state, bool sample);

Work<std::string> diff_work(std::shared_ptr<const State> a, std::shared_ptr<const State> b, bool values, bool sample, Watch& watch);
std::uint64_t diff_bytes(const State& a, const State& b, bool values, bool sample);

}  // namespace assay::capi
