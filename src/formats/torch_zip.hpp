// SPDX-License-Identifier: Apache-2.0
// PyTorch's zip checkpoints: torch.save since 1.6, and the pickled part of TorchScript archives.
#pragma once

#include "formats/format.hpp"

namespace assay::formats {

Probe probe_torch_zip(const ProbeInput& input);
/// `format` becomes "torch-script" where the archive holds constants.pkl, torch's own mark of one. Fails with `zip-without-checkpoint` for
/// other archives, `malformed-pickle` where nothing of data.pkl can be listed, and as reading the directory and data.pkl does.
Result<Checkpoint> open_torch_zip(const OpenInput& input);

}  // namespace assay::formats
