// SPDX-License-Identifier: Apache-2.0
// The imports of an opened checkpoint's pickles, held against the scan's list of names. Nothing is read for it: no scan.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "assay/checkpoint.hpp"

namespace assay::scan {

/// A warning where the pickles of an opened checkpoint import names that are known as dangerous, or more foreign names than were noted:
/// all imports of its main pickle, and of other files what opening found. `path_of` gives a file of it as the user would type it ("" stands
/// for what he named). No warning is no clean scan: what stands where no loader begins is not looked at. Cost: that of the main pickle's
/// log.
std::optional<Finding> warn_of_imports(const Checkpoint& checkpoint, const std::function<std::string(std::string_view)>& path_of);

}  // namespace assay::scan
