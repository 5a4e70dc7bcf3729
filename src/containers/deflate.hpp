// SPDX-License-Identifier: Apache-2.0
// Packing bytes as a zlib stream: libdeflate where there is an operating system, stored blocks elsewhere.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace assay {

/// A whole zlib stream (RFC 1950) that inflates to `bytes`.
std::vector<std::byte> zlib_packed(std::span<const std::byte> bytes);

}  // namespace assay
