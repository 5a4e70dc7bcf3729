// SPDX-License-Identifier: Apache-2.0
// Names of files within a set. They come from indexes and pickles that anybody may have written.
#pragma once

#include <string>
#include <string_view>

#include "assay/result.hpp"

namespace assay {

/// The name as a plain relative path: "." and empty components dropped. Fails with `path-escapes` for a name that could mean
/// something outside the set on any system: absolute, with "..", with a backslash, a drive letter or a NUL, or no name at all.
Result<std::string> name_within_set(std::string_view name);

}  // namespace assay
