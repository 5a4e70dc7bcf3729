// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "formats/format.hpp"

namespace assay::formats {

Probe probe_safetensors(const ProbeInput& input);
/// One safetensors file. Cost: one read of the header and memory of about its size; no tensor data is read.
Result<Checkpoint> open_safetensors(const OpenInput& input);

}  // namespace assay::formats
