// SPDX-License-Identifier: Apache-2.0
// What torch.save wrote before 1.6: pickles and storages in one stream (torch/legacy_stream.hpp).
#pragma once

#include "formats/format.hpp"

namespace assay::formats {

Probe probe_torch_legacy(const ProbeInput& input);
/// A file that ends too early lists all that its pickle names. Fails where not even the pickle's first values are there.
Result<Checkpoint> open_torch_legacy(const OpenInput& input);

}  // namespace assay::formats
