// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string_view>
#include <variant>

#include "assay/finding.hpp"

namespace assay {

/// The value of a finding's fact; null where it has none of this name, or one of another type. Lives in the finding.
template <class T>
const T* fact_of(const Finding& finding, std::string_view key) {
  const auto found = std::ranges::find(finding.facts, key, &Fact::key);
  return found == finding.facts.end() ? nullptr : std::get_if<T>(&found->value);
}

}  // namespace assay
