// SPDX-License-Identifier: Apache-2.0
// The zip archives that torch writes: torch.save since 1.6, TorchScript, torch.package, torch.export.
#pragma once

#include "formats/format.hpp"

namespace assay::formats {

Probe probe_torch_zip(const ProbeInput& input);
Probe probe_torch_script(const ProbeInput& input);
Probe probe_torch_package(const ProbeInput& input);
Probe probe_torch_export(const ProbeInput& input);
/// Opens all four: the archive's directory, of which a probe may have seen only a part, decides which it is. Fails with
/// `zip-without-checkpoint` for other archives, `malformed-pickle` where nothing can be listed, and as reading the directory and the
/// pickles does.
Result<Checkpoint> open_torch_zip(const OpenInput& input);

/// A torch.save file within another file: data.pkl is listed with `prefix` before its names.
Result<Checkpoint> open_nested_torch_zip(std::shared_ptr<ByteSource> source, std::string_view name, const Limits& limits,
                                         std::string_view prefix);

}  // namespace assay::formats
