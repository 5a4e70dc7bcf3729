// SPDX-License-Identifier: Apache-2.0
// Paths in archives that matter to whoever unpacks them. Nothing is unpacked here.
#pragma once

#include <string>
#include <string_view>

#include "assay/source.hpp"
#include "containers/tar.hpp"
#include "containers/zip.hpp"

namespace assay::scan {

/// True for the name of a member that would be written outside of the folder it is unpacked to, or where only some tools would.
bool escapes_folder(std::string_view name);

/// True when a link at `name`, a path in an archive, would lead out of the archive's folder to `target`.
bool leads_out(std::string_view name, std::string_view target);

/// What of a member would leave the archive's folder: "has a name that leaves the archive's folder", "is a link to …"; "" for nothing.
/// Of a zip's links the target is read: fails only as reading does.
Result<std::string> path_fault(const ByteSource& source, const zip::Member& member);
std::string path_fault(const tar::Member& member);

}  // namespace assay::scan
