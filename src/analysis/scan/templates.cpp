// SPDX-License-Identifier: Apache-2.0
#include "analysis/scan/templates.hpp"

#include <algorithm>

#include "analysis/scan/names.hpp"
#include "base/text.hpp"

namespace assay::scan {

namespace {

bool in_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

/// The same in one expression or statement.
std::string_view reaching_word_in(std::string_view code) {
  for (std::size_t at = 0; at < code.size();) {
    if (!in_word(code[at])) {
      // An underscore spelled as an escape is there to be overlooked.
      for (const std::string_view escape : {std::string_view("\\x5f"), std::string_view("\\u005f"), std::string_view("\\137")})
        if (lowered(code.substr(at, escape.size())) == escape) return code.substr(at, escape.size());
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < code.size() && in_word(code[end])) ++end;
    const std::string_view word = code.substr(at, end - at);
    if (word.starts_with("__") && reaches_interpreter(word)) return word;
    if (word == "attr" && code.substr(0, at).find_last_not_of(" \t\r\n") != std::string_view::npos &&
        code[code.substr(0, at).find_last_not_of(" \t\r\n")] == '|')
      return word;  // the filter that takes an attribute by a computed name
    at = end;
  }
  return {};
}

}  // namespace

std::string_view reaching_word(std::string_view text) {
  for (std::size_t at = 0; (at = text.find('{', at)) != std::string_view::npos;) {
    const std::string_view rest = text.substr(at);
    const std::string_view close = rest.starts_with("{{") ? "}}" : rest.starts_with("{%") ? "%}" : "";
    if (close.empty()) {
      ++at;
      continue;
    }
    const std::size_t end = std::min(rest.find(close, 2), rest.size());
    if (const std::string_view word = reaching_word_in(rest.substr(2, end - 2)); !word.empty()) return word;
    at += end;
  }
  return {};
}

bool is_named_as_template(std::string_view name) {
  const std::string last = lowered(name.substr(name.rfind('/') + 1));
  return last.ends_with(".jinja") || last.ends_with(".jinja2") || last.ends_with(".j2") || last.starts_with("chat_template");
}

}  // namespace assay::scan
