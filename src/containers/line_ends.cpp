// SPDX-License-Identifier: Apache-2.0
#include "containers/line_ends.hpp"

#include <algorithm>

#include "base/arith.hpp"
#include "base/endian.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "containers/zip_layout.hpp"

namespace assay {

namespace {

constexpr std::uint64_t kEnd = std::uint64_t{64} << 10;

bool is_binary(std::string_view text) { return text.find('\0') != std::string_view::npos; }

/// Each of the line feeds in the first and last bytes has a carriage return before it.
std::optional<std::string> added_returns(ByteView head, ByteView tail) {
  constexpr std::uint64_t kEnough = 4;
  std::uint64_t feeds = 0;
  bool binary = false;
  const ByteView front =
      head.slice(0, static_cast<std::size_t>(std::min<std::uint64_t>(head.size(), tail.offset())));  // what the tail has not
  for (const ByteView part : {front, tail}) {
    const std::string_view text = part.text();
    binary = binary || is_binary(text);
    for (std::size_t at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at + 1)) {
      // What stands before the first byte of the tail is not seen.
      if (at == 0) continue;
      if (text[at - 1] != '\r') return std::nullopt;
      ++feeds;
    }
  }
  if (!binary || feeds < kEnough) return std::nullopt;
  return concat("the file was taken for text: each of the ", feeds,
                " line feeds at its ends has a carriage return before it that does not belong there");
}

/// The first bytes are UTF-8 as those of no binary file are, with many of the character that stands for what was none.
std::optional<std::string> replaced_bytes(ByteView head) {
  constexpr std::string_view kReplacement = "\xef\xbf\xbd";
  constexpr std::uint64_t kEnough = 8;
  constexpr std::size_t kLongest = 3;  // of a character that the end of the head cuts
  const std::string_view text = head.text();
  if (!is_binary(text) || std::min(first_invalid_utf8(text), text.size()) + kLongest < text.size()) return std::nullopt;
  std::uint64_t replaced = 0;
  for (std::size_t at = text.find(kReplacement); at != std::string_view::npos; at = text.find(kReplacement, at + 1)) ++replaced;
  if (replaced < kEnough) return std::nullopt;
  return concat("the file was taken for text: in its first ", head.size(), " bytes ", replaced,
                " stand as U+FFFD, for what they were is lost");
}

/// How many bytes are missing between an archive's first byte and its directory, whose end record stands at the file's very end; 0 when
/// it is not so.
Result<std::uint64_t> missing_before_directory(const ByteSource& source, ByteView tail) {
  using namespace zip;
  if (tail.size() < kEndRecordSize) return std::uint64_t{0};
  const std::byte* const record = tail.data() + tail.size() - kEndRecordSize;
  if (load_le<std::uint32_t>(record) != kEndRecord) return std::uint64_t{0};
  std::uint64_t first = source.size() - kEndRecordSize;
  std::uint64_t size = load_le<std::uint32_t>(record + 12), offset = load_le<std::uint32_t>(record + 16);
  constexpr std::size_t kWide = kZip64EndSize + kZip64LocatorSize;
  if (tail.size() >= kWide + kEndRecordSize && load_le<std::uint32_t>(record - kWide) == kZip64End &&
      load_le<std::uint32_t>(record - kZip64LocatorSize) == kZip64Locator) {
    first -= kWide;
    size = load_le<std::uint64_t>(record - kWide + 40), offset = load_le<std::uint64_t>(record - kWide + 48);
  }
  if (size > first || size < kEntrySize || offset <= first - size) return std::uint64_t{0};
  ASSAY_TRY(const ByteBlock entry, source.fetch(first - size, 4));
  return load_le<std::uint32_t>(entry.view().data()) == kEntry ? offset - (first - size) : 0;
}

/// A zip archive that lacks bytes in its middle and in which no line feed has a carriage return before it.
Result<std::optional<std::string>> removed_returns(const ByteSource& source, ByteView tail) {
  constexpr std::uint64_t kMost = std::uint64_t{256} << 20, kChunk = std::uint64_t{1} << 20;
  ASSAY_TRY(const std::uint64_t missing, missing_before_directory(source, tail));
  if (missing == 0 || source.size() > kMost) return std::nullopt;
  std::uint64_t returns = 0, feeds = 0;
  for (std::uint64_t at = 0; at + 1 < source.size(); at += kChunk) {
    ASSAY_TRY(const ByteBlock block, source.view(at, std::min(kChunk + 1, source.size() - at)));  // with the next chunk's first byte
    const std::string_view text = block.view().text();
    if (at == 0 && !text.starts_with("PK\3\4")) return std::nullopt;
    if (text.find("\r\n") != std::string_view::npos) return std::nullopt;
    returns += static_cast<std::uint64_t>(std::ranges::count(text.substr(0, kChunk), '\r'));
    feeds += static_cast<std::uint64_t>(std::ranges::count(text.substr(0, kChunk), '\n'));
  }
  if (returns == 0 || feeds < missing) return std::nullopt;
  return concat("the file was taken for text: ", counted(missing, "byte is", "bytes are"),
                " missing before the archive's directory, and none of ", feeds, " line feeds has a carriage return before it");
}

/// A stream of torch.save before 1.6: in each stands the text "little_endian", behind its length, which is the code of a carriage return.
std::optional<std::string> changed_length(std::string_view head) {
  using std::string_view_literals::operator""sv;
  constexpr std::size_t kFront = 512;
  const std::string_view front = head.substr(0, kFront);
  const auto has = [&](std::string_view text) { return front.find(text) != std::string_view::npos; };
  if (has("X\0\0\0little_endian"sv) || has("\x8clittle_endian"sv))
    return "the file was taken for text: its carriage returns are gone, first that which is the length of 'little_endian'";
  if (has("X\n\0\0\0little_endian"sv) || has("\x8c\nlittle_endian"sv))
    return "the file was taken for text: line feeds stand for its carriage returns, first for that which is the length of 'little_endian'";
  return std::nullopt;
}

/// Of such a stream, one in whose numbers line feeds often stand before carriage returns and never behind them.
Result<std::optional<std::string>> removed_from_stream(const ByteSource& source, ByteView head, Look look) {
  using std::string_view_literals::operator""sv;
  constexpr std::string_view kMagic = "\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19"sv;
  constexpr std::uint64_t kMost = std::uint64_t{16} << 20, kEnough = 12;
  if (head.text().substr(0, 32).find(kMagic) == std::string_view::npos) return std::nullopt;
  if (auto words = changed_length(head.text())) return words;
  if (look == Look::at_ends) return std::nullopt;
  ASSAY_TRY(const ByteBlock block, source.fetch(0, std::min(source.size(), kMost)));
  const std::string_view text = block.view().text();
  std::uint64_t turned = 0;
  for (std::size_t at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at + 1)) {
    if (at > 0 && text[at - 1] == '\r') return std::nullopt;
    if (at + 1 < text.size() && text[at + 1] == '\r') ++turned;
  }
  if (turned < kEnough) return std::nullopt;
  return concat("the file was taken for text: ", turned, " times a line feed stands before a carriage return, and never behind one");
}

}  // namespace

Result<std::optional<std::string>> taken_for_text(const ByteSource& source, Look look) {
  const std::uint64_t n = std::min(source.size(), kEnd);
  ASSAY_TRY(const ByteBlock head, source.fetch(0, n));
  ASSAY_TRY(const ByteBlock tail, source.fetch(source.size() - n, n));
  if (auto words = added_returns(head.view(), tail.view())) return words;
  if (auto words = replaced_bytes(head.view())) return words;
  ASSAY_TRY(auto stream, removed_from_stream(source, head.view(), look));
  if (stream) return stream;
  return removed_returns(source, tail.view());
}

}  // namespace assay
