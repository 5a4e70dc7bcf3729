// SPDX-License-Identifier: Apache-2.0
// Looking for pickles in bytes that nothing explains. What is found is told; what is not found proves nothing, so the scan stays
// incomplete.
#include <algorithm>
#include <cstring>

#include "analysis/scan/judge.hpp"
#include "analysis/scan/scanner.hpp"
#include "base/text.hpp"
#include "base/try.hpp"

namespace assay::scan {

namespace {

constexpr std::uint64_t kMostSearched = std::uint64_t{64} << 20;
constexpr std::size_t kMostTries = 20000;
constexpr std::size_t kLongestLine = 256;
constexpr std::size_t kFirstLook = 1 << 12, kSecondLook = 1 << 22;
constexpr std::size_t kBefore = 64;  // how far before an import its stream may start

bool starts_name(std::byte b) {
  const char c = lower(static_cast<char>(b));
  return (c >= 'a' && c <= 'z') || c == '_';
}
bool in_name(std::byte b) { return starts_name(b) || (b >= std::byte{'0'} && b <= std::byte{'9'}) || b == std::byte{'.'}; }

/// Length of a name at `at` that ends with a newline; 0 for none.
std::size_t name_line(ByteView bytes, std::size_t at) {
  if (at >= bytes.size() || !starts_name(bytes[at])) return 0;
  const std::size_t end = std::min(bytes.size(), at + kLongestLine);
  for (std::size_t i = at; i < end; ++i) {
    if (bytes[i] == std::byte{'\n'}) return i - at;
    if (!in_name(bytes[i])) return 0;
  }
  return 0;
}

/// True where a pickle may begin: PROTO, or the spelled-out import of protocol 0, or a short text as names are written from protocol 4 on.
bool may_begin(ByteView bytes, std::size_t at) {
  const std::byte b = bytes[at];
  if (b == std::byte{0x80}) return at + 2 < bytes.size() && bytes[at + 1] <= std::byte{5};
  if (b == std::byte{'c'} || b == std::byte{'i'}) {
    const std::size_t module = name_line(bytes, at + 1);
    return module != 0 && name_line(bytes, at + module + 2) != 0;
  }
  if (b == std::byte{0x8c} && at + 2 < bytes.size()) {
    const auto n = std::to_integer<std::size_t>(bytes[at + 1]);
    if (n == 0 || n > bytes.size() - at - 2) return false;
    return std::ranges::all_of(bytes.slice(at + 2, n).span(), in_name);
  }
  return false;
}

}  // namespace

bool acts(const pickle::Graph& graph, std::uint64_t from) {
  bool imports = false;
  for (const pickle::Event& event : graph.events()) {
    if (event.offset < from) continue;
    if (imports && (event.kind == pickle::EventKind::call || event.kind == pickle::EventKind::build)) return true;
    if (event.kind != pickle::EventKind::import_) continue;
    // A loader ends at a module that cannot be.
    const pickle::GlobalName name = graph.mapped_global(event.node);
    if (cannot_be_module(name.module)) return false;
    if (judge_danger(name.module, name.name).verdict == Verdict::dangerous) return true;
    imports = true;
  }
  return imports && graph.reached_stop();
}

Result<void> Scanner::search(const Piece& piece, Row row, std::uint64_t begin) {
  const std::uint64_t n = std::min(piece.source.size() - begin, kMostSearched - std::min(kMostSearched, searched_));
  if (n == 0) return {};
  searched_ += n;
  ASSAY_TRY(const ByteBlock block, piece.source.view(begin, n));
  const ByteView bytes = block.view();
  std::size_t tries = 0;
  for (std::size_t at = 0; at < bytes.size() && tries < kMostTries; ++at) {
    if (!may_begin(bytes, at)) continue;
    // INST needs the mark before it; other streams may begin a little earlier than their first import too.
    const std::size_t earliest = bytes[at] == std::byte{'i'} ? at - std::min(at, kBefore) : at;
    for (std::size_t from = at + 1; from-- > earliest;) {
      if (from != at && bytes[from] != std::byte{'('}) continue;
      ++tries;
      ByteView rest = bytes.slice(from, std::min(kFirstLook, bytes.size() - from));
      Stream stream;
      stream.graph = pickle::parse(rest, limits_);
      if (stream.graph.broken() && stream.graph.broken()->code() == Code::truncated && !stream.graph.events().empty()) {
        rest = bytes.slice(from, std::min(kSecondLook, bytes.size() - from));
        stream.graph = pickle::parse(rest, limits_);
      }
      if (!acts(stream.graph)) continue;
      stream.bytes = ByteBlock(rest);
      find(row, piece, Code::extra_pickle, "a pickle stands among bytes that nothing explains", rest.offset());
      ASSAY_CHECK(judge(piece, row, stream, 0));
      at = std::max(at, static_cast<std::size_t>(stream.graph.end_offset() - bytes.offset()) - 1);
      break;
    }
  }
  return {};
}

}  // namespace assay::scan
