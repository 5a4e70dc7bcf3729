// SPDX-License-Identifier: Apache-2.0
// How a byte map looks: keys of a document, lines of NDJSON, a picture to scale.
#pragma once

#include <span>

#include "model/byte_map.hpp"
#include "report/json_writer.hpp"
#include "report/style.hpp"
#include "report/writer.hpp"

namespace assay::report {

/// files[{name, size, described, unowned, bytes{kind: n}, parts[{offset, length, kind, name?, tensors?}], overlaps[{offset, length, a, b}],
/// overlap_count}]
void write_map_keys(JsonWriter& json, std::span<const model::ByteMap> maps);
/// The keys of one part. With `file`, of a set, its name too.
void write_part(JsonWriter& json, const model::Part& part, std::string_view file);

/// Offsets, sizes, where in the file a part lies, what it is; long rows of parts of one kind as one line unless `all`.
void write_map_screen(Writer& out, const Style& style, const model::ByteMap& map, bool all);

}  // namespace assay::report
