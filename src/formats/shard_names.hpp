// SPDX-License-Identifier: Apache-2.0
// What file names tell: parts of a set, indexes, weights, side files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace assay::formats {

/// A name such as "model-00001-of-00005.safetensors".
struct NumberedName {
  std::string_view stem;    ///< "model-"
  std::string_view number;  ///< "00001"
  std::string_view total;   ///< "00005"
  std::string_view suffix;  ///< ".safetensors"
  std::uint32_t part = 0, parts = 0;

  bool same_set(const NumberedName& other) const { return stem == other.stem && parts == other.parts && suffix == other.suffix; }
  /// The name of another part of the set.
  std::string name_of(std::uint32_t other_part) const;
};

/// One of [._-], five or six digits, "-of-", five or six digits, a dot. Parts outside 1 … parts are no parts.
std::optional<NumberedName> numbered_name(std::string_view name);

/// "model.safetensors.index.json", also with a variant: "model.safetensors.index.fp16.json".
bool is_index_name(std::string_view name);
/// macOS side files: "._model.safetensors".
inline bool is_apple_double_name(std::string_view name) { return name.starts_with("._"); }
/// By extension: 0 safetensors, 1 torch, 2 other weights; nothing for other files.
std::optional<int> weights_rank(std::string_view name);
/// Among weights: 0 the usual names of a model, 1 others, 2 a second copy (consolidated), kSideFile training state and the like.
inline constexpr int kSideFile = 3;
int role_rank(std::string_view name);
/// True for a path that could leave its folder: absolute, with a drive letter, or with "..".
bool leaves_folder(std::string_view path);

}  // namespace assay::formats
