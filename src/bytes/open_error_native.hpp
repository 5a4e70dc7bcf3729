// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "assay/result.hpp"

namespace assay {

/// An `errno` as lower-case text: "permission denied".
std::string system_text(int error);
/// Why `path` could not be opened or looked at: `no-such-file`, `dangling-link` (with the target that is absent) or `io-error`.
Error open_error(const std::string& path, int error);

}  // namespace assay
