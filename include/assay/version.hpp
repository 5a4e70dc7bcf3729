// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace assay {
/// "0.1.0"
const char* version();
}  // namespace assay
