// SPDX-License-Identifier: Apache-2.0
#include "bytes/names.hpp"

#include "base/text.hpp"

namespace assay {

namespace {

/// Why a name is refused; "" when it is not. The components are looked at elsewhere.
std::string_view refusal(std::string_view name) {
  if (name.empty()) return "is empty";
  if (name.find('\0') != std::string_view::npos) return "holds a NUL";
  if (name.find('\\') != std::string_view::npos) return "holds a backslash";
  if (name.front() == '/') return "is an absolute path";
  if (name.size() >= 2 && name[1] == ':' && lower(name[0]) >= 'a' && lower(name[0]) <= 'z') return "starts with a drive letter";
  return {};
}

Error escapes(std::string_view name, std::string_view why) {
  return Error(Code::path_escapes, concat("the file name ", quote(name), ' ', why));
}

}  // namespace

Result<std::string> name_within_set(std::string_view name) {
  if (const std::string_view why = refusal(name); !why.empty()) return fail(escapes(name, why));
  std::string plain;
  for (std::string_view rest = name; !rest.empty();) {
    const std::string_view component = rest.substr(0, rest.find('/'));
    rest.remove_prefix(std::min(component.size() + 1, rest.size()));
    if (component == "..") return fail(escapes(name, "leaves its folder"));
    if (component.empty() || component == ".") continue;
    if (!plain.empty()) plain += '/';
    plain += component;
  }
  if (plain.empty()) return fail(escapes(name, "names no file"));
  return plain;
}

}  // namespace assay
