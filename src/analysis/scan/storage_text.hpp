// SPDX-License-Identifier: Apache-2.0
// Protocol 0 has only texts for persistent ids, so that torch's tuple becomes what Python prints of it:
//   ('storage', <class 'torch.FloatStorage'>, '0', 'cpu', 24)          and a last ", None" or ", ('1', 0, 4)" before torch 1.6
// Internal to this folder.
#pragma once

#include <optional>
#include <string_view>

namespace assay::scan {

/// Texts refer into the id.
struct StorageText {
  std::string_view class_name;  ///< "FloatStorage"
  std::string_view key;
};

/// Nothing unless the whole text is of this form and the class is a storage of torch. Loaders other than torch's own take such a text for
/// what it says at most; torch itself refuses it.
std::optional<StorageText> read_storage_text(std::string_view id);

/// A longer text is no key: torch's are numbers, and a zip's names are short. Many ids may share a text, and each would look at all of it.
inline constexpr std::size_t kMostStorageKey = 4096;

}  // namespace assay::scan
