// SPDX-License-Identifier: Apache-2.0
// What each format says of its own bytes, for the byte map: headers, directories, members, pickles. Storages and tensors come from the
// checkpoint. Each takes a file that its format has opened, and fails only as reading does; what it cannot make sense of it leaves to
// nobody.
#pragma once

#include "formats/format.hpp"
#include "model/byte_map.hpp"

namespace assay::formats {

Result<void> map_safetensors(model::ByteMapBuilder& map, const Limits& limits);
/// Every zip: torch's archives and NumPy's.
Result<void> map_zip(model::ByteMapBuilder& map, const Limits& limits);
Result<void> map_torch_legacy(model::ByteMapBuilder& map, const Limits& limits);
Result<void> map_torch_tar(model::ByteMapBuilder& map, const Limits& limits);
Result<void> map_npy(model::ByteMapBuilder& map, const Limits& limits);
Result<void> map_torch_mobile(model::ByteMapBuilder& map, const Limits& limits);
Result<void> map_dcp(model::ByteMapBuilder& map, const Limits& limits);
Result<void> map_pickle(model::ByteMapBuilder& map, const Limits& limits);

}  // namespace assay::formats
