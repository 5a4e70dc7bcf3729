// SPDX-License-Identifier: Apache-2.0
// What the pickle tests share: parsing a literal, and a stream as one line of text.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "assay/pickle.hpp"

namespace assay::pickle {

/// Parsed as if it stood at offset 100 of a file. The bytes must outlive the graph.
inline Graph parse_text(std::string_view stream, const Limits& limits = {}) {
  return parse(ByteView(std::as_bytes(std::span(stream)), 100), limits);
}

/// The code and message of the broken rule with its place in the stream; "" when none is.
inline std::string broken_text(const Graph& graph) {
  if (!graph.broken()) return {};
  return std::string(code_name(graph.broken()->code())) + '@' + std::to_string(graph.broken()->where().offset.value_or(0) - 100) + ' ' +
         graph.broken()->what();
}

/// Kinds of the events in order with what they are about, separated by "; ".
inline std::string events_text(const Graph& graph) {
  constexpr std::string_view kNames[] = {"import ", "call ", "build ", "persistent ", "extension ", "mutate "};
  std::string text;
  for (const Event& event : graph.events()) {
    if (!text.empty()) text += "; ";
    text += std::to_string(event.offset - 100) + ' ';
    text += kNames[static_cast<std::size_t>(event.kind)];
    text += describe(graph, event.node);
  }
  return text;
}

}  // namespace assay::pickle
