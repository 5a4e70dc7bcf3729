// SPDX-License-Identifier: Apache-2.0
// Paths in archives that matter to whoever unpacks them. Nothing is unpacked here.
#pragma once

#include <string_view>

namespace assay::scan {

/// True for the name of a member that would be written outside of the folder it is unpacked to, or where only some tools would.
bool escapes_folder(std::string_view name);

/// True when a link at `name`, a path in an archive, would lead out of the archive's folder to `target`.
bool leads_out(std::string_view name, std::string_view target);

}  // namespace assay::scan
