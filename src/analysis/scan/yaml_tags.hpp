// SPDX-License-Identifier: Apache-2.0
// YAML tags that name Python objects: an unsafe loader (yaml.unsafe_load) imports and calls what they say. Internal to this folder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace assay::scan {

struct PythonTag {
  std::string kind;  ///< "object/apply", "object/new", "object", "name", "module"; "prefix" for a directive that shortens such tags
  std::string name;  ///< "os.system"
  std::uint64_t at = 0, end = 0;
};

/// The first such tag at or behind `from`; nothing when there is none. Cost: linear.
std::optional<PythonTag> find_python_tag(std::string_view yaml, std::size_t from);

}  // namespace assay::scan
