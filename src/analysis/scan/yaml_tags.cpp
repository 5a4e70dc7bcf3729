// SPDX-License-Identifier: Apache-2.0
//
//   !!python/object/apply:os.system ['true']      !<tag:yaml.org,2002:python/name:os.system>      %TAG !p! tag:yaml.org,2002:python/
#include "analysis/scan/yaml_tags.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace assay::scan {

namespace {

/// A tag's text with its %xx put in.
std::string decoded(std::string_view tag) {
  const auto digit = [](char c) { return c >= '0' && c <= '9' ? c - '0' : lower(c) >= 'a' && lower(c) <= 'f' ? lower(c) - 'a' + 10 : -1; };
  std::string out;
  for (std::size_t i = 0; i < tag.size(); ++i) {
    if (tag[i] == '%' && i + 2 < tag.size() && digit(tag[i + 1]) >= 0 && digit(tag[i + 2]) >= 0) {
      out += static_cast<char>(digit(tag[i + 1]) * 16 + digit(tag[i + 2]));
      i += 2;
    } else {
      out += tag[i];
    }
  }
  return out;
}

std::optional<PythonTag> read_tag(std::string_view token) {
  constexpr std::string_view kKinds[] = {"object/apply:", "object/new:", "object:", "name:", "module:"};
  const std::string tag = decoded(token);
  const std::size_t python = tag.find("python/");
  if (python == std::string::npos) return std::nullopt;
  const std::string_view rest = std::string_view(tag).substr(python + 7);
  for (const std::string_view kind : kKinds)
    if (rest.starts_with(kind))
      return PythonTag{std::string(kind.substr(0, kind.size() - 1)), std::string(rest.substr(kind.size(), rest.find('>') - kind.size()))};
  return std::nullopt;
}

}  // namespace

std::optional<PythonTag> find_python_tag(std::string_view yaml, std::size_t from) {
  constexpr std::string_view kEnds = " \t\r\n,[]{}";
  for (std::size_t at = from; (at = yaml.find_first_of("!%", at)) != std::string_view::npos;) {
    constexpr std::string_view kBefore = " \t\r\n,[{";
    if (at != 0 && kBefore.find(yaml[at - 1]) == std::string_view::npos) {
      ++at;
      continue;
    }
    const bool directive = yaml.substr(at).starts_with("%TAG") && (at == 0 || yaml[at - 1] == '\n');
    // A tag in angle brackets holds a comma.
    const std::string_view ends = directive ? "\r\n" : yaml.substr(at).starts_with("!<") ? " \t\r\n>" : kEnds;
    const std::size_t end = std::min(yaml.find_first_of(ends, at), yaml.size());
    const std::string_view token = yaml.substr(at, end - at);
    std::optional<PythonTag> tag;
    if (directive && decoded(token).find("yaml.org,2002:") != std::string::npos) tag = PythonTag{"prefix", std::string(token)};
    else if (token[0] == '!') tag = read_tag(token);
    if (tag) {
      tag->at = at;
      tag->end = end;
      return tag;
    }
    at = std::max(end, at + 1);
  }
  return std::nullopt;
}

}  // namespace assay::scan
