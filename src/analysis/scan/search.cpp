// SPDX-License-Identifier: Apache-2.0
// Looking for pickles in bytes that nothing explains. What is found is told; what is not found proves nothing, so the scan stays
// incomplete.
#include <algorithm>
#include <cstring>

#include "analysis/scan/judge.hpp"
#include "analysis/scan/scanner.hpp"
#include "base/endian.hpp"
#include "base/text.hpp"
#include "base/try.hpp"

namespace assay::scan {

namespace {

constexpr std::uint64_t kMostSearched = std::uint64_t{64} << 20;
constexpr std::uint64_t kMostData = std::uint64_t{1} << 30;
constexpr std::uint64_t kChunk = std::uint64_t{16} << 20;
// What all tries of a scan may cost, beside some times the file's size: bytes, and what a try and an event in it are worth.
constexpr std::uint64_t kMostTried = std::uint64_t{64} << 20, kTriedTimes = 4;
constexpr std::uint64_t kTryCost = 128, kEventCost = 64;
constexpr std::size_t kLongestLine = 256;
constexpr std::size_t kLookahead = 1024;
constexpr std::uint64_t kFirstLook = 1 << 12, kSecondLook = 1 << 18;
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

bool is_name(ByteView bytes, std::size_t at, std::size_t n) {
  constexpr std::size_t kLongestName = 255;
  return n != 0 && n <= kLongestName && at <= bytes.size() && n <= bytes.size() - at &&
         std::ranges::all_of(bytes.slice(at, n).span(), in_name);
}

/// True where a pickle may begin: PROTO, or the spelled-out import of protocol 0, or a text that can be a module's name.
bool may_begin(ByteView bytes, std::size_t at) {
  const std::byte b = bytes[at];
  if (b == std::byte{0x80}) return at + 2 < bytes.size() && bytes[at + 1] <= std::byte{5};
  if (b == std::byte{'c'} || b == std::byte{'i'}) {
    const std::size_t module = name_line(bytes, at + 1);
    return module != 0 && name_line(bytes, at + module + 2) != 0;
  }
  if (b == std::byte{0x8c} || b == std::byte{'U'})
    return at + 2 < bytes.size() && is_name(bytes, at + 2, std::to_integer<std::size_t>(bytes[at + 1]));
  if (b == std::byte{'X'} || b == std::byte{'T'})
    return at + 5 < bytes.size() && is_name(bytes, at + 5, load_le<std::uint32_t>(bytes.data() + at + 1));
  if (b == std::byte{0x8d})
    return at + 9 < bytes.size() && is_name(bytes, at + 9, static_cast<std::size_t>(load_le<std::uint64_t>(bytes.data() + at + 1)));
  if (b == std::byte{'S'} && at + 2 < bytes.size()) return bytes[at + 1] == std::byte{'\''} || bytes[at + 1] == std::byte{'"'};
  return b == std::byte{'V'} && name_line(bytes, at + 1) != 0;
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
    const bool plain = name.name.find('.') == std::string_view::npos;
    if (plain && judge_danger(name.module, name.name).verdict == Verdict::dangerous) return true;
    imports = true;
  }
  return imports && graph.reached_stop();
}

namespace {

/// In text a name that happens to be known is not enough: it must be called, or the stream end as one that calls something.
bool acts_in_text(const pickle::Graph& graph) {
  bool imports = false, calls = false;
  for (const pickle::Event& event : graph.events()) {
    if (event.kind == pickle::EventKind::import_) {
      if (cannot_be_module(graph.mapped_global(event.node).module)) break;
      imports = true;
    }
    if (event.kind != pickle::EventKind::call) continue;
    const pickle::GlobalName name = graph.mapped_global(graph.callable(event.node));
    if (judge_danger(name.module, name.name).verdict == Verdict::dangerous) return true;
    calls = true;
  }
  return imports && calls && graph.reached_stop();
}

}  // namespace

/// Looks at [begin, end) of the piece; false when there were more places to try than are tried.
Result<bool> Scanner::search_range(const Piece& piece, Row row, std::uint64_t begin, std::uint64_t end, bool text) {
  const std::uint64_t most = kMostTried + kTriedTimes * std::min(file_size_, std::uint64_t{1} << 50);
  for (std::uint64_t at = begin; at < end;) {
    const std::uint64_t n = std::min(kChunk, end - at);
    const bool last = n == end - at;
    ASSAY_TRY(const ByteBlock block, piece.source.view(at, n));
    const ByteView bytes = block.view();
    work_ += n;
    // What may begin is seen whole, with a line before and two behind it.
    const std::size_t reach = last ? bytes.size() : bytes.size() - kLookahead;
    std::uint64_t next = at + reach - (last ? 0 : kBefore);
    for (std::size_t i = 0; i < reach; ++i) {
      if (!may_begin(bytes, i)) continue;
      // INST needs the mark before it; other streams may begin a little earlier than their first import too.
      const std::size_t earliest = bytes[i] == std::byte{'i'} ? i - std::min(i, kBefore) : i;
      for (std::size_t from = i + 1; from-- > earliest;) {
        if (from != i && bytes[from] != std::byte{'('}) continue;
        if (tried_ > most) return false;
        ASSAY_TRY(const std::uint64_t stream_end, try_stream(piece, row, at + from, text));
        if (stream_end == 0) continue;
        if (stream_end > at + i + 1) i = static_cast<std::size_t>(std::min<std::uint64_t>(stream_end - at, reach)) - 1;
        next = std::max(next, std::min(stream_end, end));
        break;
      }
    }
    at = last ? end : next;
  }
  return true;
}

/// Where the stream ends that begins at `begin` and does something; 0 when none does. Its doings are told.
Result<std::uint64_t> Scanner::try_stream(const Piece& piece, Row row, std::uint64_t begin, bool text) {
  const std::uint64_t left = piece.source.size() - begin;
  Stream stream;
  for (const std::uint64_t look : {kFirstLook, kSecondLook}) {
    ASSAY_TRY(stream.bytes, piece.source.view(begin, std::min(look, left)));
    stream.graph = pickle::parse(stream.bytes.view(), limits_);
    tried_ += kTryCost + kEventCost * stream.graph.events().size() + stream.graph.end_offset() - stream.graph.begin_offset();
    if (!stream.graph.ends_early() || stream.graph.events().empty()) break;
  }
  if (!(text ? acts_in_text(stream.graph) : acts(stream.graph))) return std::uint64_t{0};
  if (piece.base && judged_streams_.contains(*piece.base + begin)) return std::max(stream.graph.end_offset(), begin + 1);
  find(row, piece, Code::extra_pickle, "a pickle stands among bytes that nothing explains", begin);
  ASSAY_CHECK(judge(piece, row, stream, 0));
  return std::max(stream.graph.end_offset(), begin + 1);
}

Result<void> Scanner::search(const Piece& piece, Row row, std::uint64_t begin) {
  const std::uint64_t n = std::min(piece.source.size() - begin, kMostSearched - std::min(kMostSearched, searched_));
  searched_ += n;
  ASSAY_TRY(const bool all, search_range(piece, row, begin, begin + n, false));
  static_cast<void>(all);  // these bytes leave the scan incomplete in any case
  return {};
}

Result<void> Scanner::search_all(const Piece& piece, Row row, bool text) {
  const std::uint64_t size = piece.source.size(), n = std::min(size, kMostData - std::min(kMostData, searched_data_));
  searched_data_ += n;
  ASSAY_TRY(const bool all, search_range(piece, row, 0, n, text));
  if (all && n == size) return {};
  mark(row, Status::incomplete);
  find(row, piece, Code::limit_exceeded, concat("not all of ", size, " bytes were searched for pickles"), n);
  return {};
}

}  // namespace assay::scan
