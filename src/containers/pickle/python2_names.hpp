// SPDX-License-Identifier: Apache-2.0
// The names Python 2 wrote for what Python 3 calls otherwise: CPython's fix_imports.
#pragma once

#include "assay/pickle.hpp"

namespace assay::pickle {

/// The name Python 3 looks up for a name written below protocol 3; most names are themselves.
GlobalName python3_name(GlobalName written);

}  // namespace assay::pickle
