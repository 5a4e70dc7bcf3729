// SPDX-License-Identifier: Apache-2.0
// Zero bytes in a row, as downloads leave them.
#pragma once

#include <cstdint>

#include "assay/source.hpp"
#include "base/work.hpp"

namespace assay::analysis {

/// Where the zeros begin that end at `end`, not before `from`; `end` where another byte stands there. `source` must live as long. Cost:
/// reads up to the first byte that is none.
Work<std::uint64_t> zeros_begin(const ByteSource& source, std::uint64_t from, std::uint64_t end);

/// Where the zeros end that begin at `begin`, not behind `to`. The same otherwise.
Work<std::uint64_t> zeros_end(const ByteSource& source, std::uint64_t begin, std::uint64_t to);

}  // namespace assay::analysis
