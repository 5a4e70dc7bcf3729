// SPDX-License-Identifier: Apache-2.0
// libFuzzer's way into one target; ASSAY_FUZZ_TARGET is its name.
#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "fuzz.hpp"

namespace {

void (*find_target())(assay::fuzz::Bytes) {
  const auto targets = assay::fuzz::targets();
  const auto found = std::ranges::find(targets, ASSAY_FUZZ_TARGET, &assay::fuzz::Target::name);
  if (found == targets.end()) std::abort();
  return found->run;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto run = find_target();
  run(std::as_bytes(std::span(data, size)));
  return 0;
}
