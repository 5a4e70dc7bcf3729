// SPDX-License-Identifier: Apache-2.0
// What torch.save wrote before 0.1.10: a tar of four members.
#pragma once

#include "formats/format.hpp"

namespace assay::formats {

Probe probe_torch_tar(const ProbeInput& input);
/// Members that are absent or cut leave the tensors that need them unreadable. Fails where the object's pickle cannot be listed.
Result<Checkpoint> open_torch_tar(const OpenInput& input);

}  // namespace assay::formats
