// SPDX-License-Identifier: Apache-2.0
// Writing a file so that nobody ever sees half of it.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "assay/result.hpp"

namespace assay::cli {

/// Writes to a new file beside `path` and renames it. Fails with `usage` when the path is there and `replace` is false, with
/// `io-error` otherwise; then nothing is left behind.
Result<void> write_file(const std::string& path, std::span<const std::byte> bytes, bool replace);

}  // namespace assay::cli
