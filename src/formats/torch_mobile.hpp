// SPDX-License-Identifier: Apache-2.0
// Mobile modules as FlatBuffers: _save_for_lite_interpreter(…, _use_flatbuffer=True), since torch 1.12.
#pragma once

#include "formats/format.hpp"

namespace assay::formats {

Probe probe_torch_mobile(const ProbeInput& input);
/// Lists the module's tensors by their attribute names. Reads all but the storages.
Result<Checkpoint> open_torch_mobile(const OpenInput& input);

}  // namespace assay::formats
