// SPDX-License-Identifier: Apache-2.0
// What downloads leave that went wrong, in words that all formats share.
#pragma once

#include <cstdint>
#include <string>

namespace assay {

/// Of a file that begins anew at `at`, behind a part of itself.
std::string words_of_restart(std::uint64_t at);

}  // namespace assay
