// SPDX-License-Identifier: Apache-2.0
#include "analysis/scan/storage_text.hpp"

#include <algorithm>

#include "analysis/scan/raw_storages.hpp"

namespace assay::scan {

namespace {

bool take(std::string_view& rest, std::string_view text) {
  if (!rest.starts_with(text)) return false;
  rest.remove_prefix(text.size());
  return true;
}

template <class Allowed>
std::string_view take_while(std::string_view& rest, Allowed allowed) {
  const auto end = std::ranges::find_if_not(rest, allowed);
  const std::string_view taken = rest.substr(0, static_cast<std::size_t>(end - rest.begin()));
  rest.remove_prefix(taken.size());
  return taken;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_key(char c) { return is_word(c) || c == '.' || c == ':' || c == '-' || c == '/'; }

bool take_view(std::string_view& rest) {
  return take(rest, "('") && !take_while(rest, is_key).empty() && take(rest, "', ") && !take_while(rest, is_digit).empty() &&
         take(rest, ", ") && !take_while(rest, is_digit).empty() && take(rest, ")");
}

}  // namespace

std::optional<StorageText> read_storage_text(std::string_view id) {
  StorageText found;
  if (id.size() > 2 * kMostStorageKey) return std::nullopt;
  if (!take(id, "('storage', <class 'torch.")) return std::nullopt;
  if (!take(id, "storage.")) take(id, "cuda.");
  found.class_name = take_while(id, is_word);
  if (!storage_element_size(found.class_name) || !take(id, "'>, '")) return std::nullopt;
  found.key = take_while(id, is_key);
  if (found.key.empty() || !take(id, "', '") || take_while(id, is_key).empty() || !take(id, "', ") || take_while(id, is_digit).empty())
    return std::nullopt;
  if (take(id, ", ") && !take(id, "None") && !take_view(id)) return std::nullopt;
  return id == ")" ? std::optional(found) : std::nullopt;
}

}  // namespace assay::scan
