// SPDX-License-Identifier: Apache-2.0
// NumPy's own files: .npy with one array, or several saved to one file; .npz, a zip of them.
#pragma once

#include "formats/format.hpp"

namespace assay::formats {

Probe probe_npy(const ProbeInput& input);
/// The array is named "array", those behind it "array.1", …. Arrays of Python objects are pickles: what they hold is listed below that
/// name.
Result<Checkpoint> open_npy(const OpenInput& input);

Probe probe_npz(const ProbeInput& input);
/// Arrays are named as their members without ".npy". Fails with `zip-without-checkpoint` where no member is an array.
Result<Checkpoint> open_npz(const OpenInput& input);

}  // namespace assay::formats
