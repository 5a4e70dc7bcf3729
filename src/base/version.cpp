// SPDX-License-Identifier: Apache-2.0
#include "assay/version.hpp"

namespace assay {
const char* version() { return ASSAY_VERSION; }
}  // namespace assay
