// SPDX-License-Identifier: Apache-2.0
// What stands in a zip archive and is not in its directory. Readers that go from local header to local header find it, and so does one that
// looks for another directory than the one that counts here.
#include <algorithm>

#include "analysis/scan/scanner.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "bytes/window.hpp"

namespace assay::scan {

namespace {

constexpr std::size_t kMostUnlisted = 1000;
constexpr std::uint64_t kChunk = std::uint64_t{64} << 20;
constexpr std::uint64_t kMostWalked = std::uint64_t{2} << 30;

bool holds(std::string_view text, std::string_view signature) { return text.find(signature) != std::string_view::npos; }

/// True when the bytes hold a record that leads a reader to members.
bool leads_elsewhere(std::string_view text) {
  return holds(text, std::string_view("PK\1\2", 4)) || holds(text, std::string_view("PK\5\6", 4)) ||
         holds(text, std::string_view("PK\6\6", 4));
}

}  // namespace

/// The members among these bytes, by their local headers.
Result<void> Scanner::scan_gap_members(const Piece& piece, Row row, const zip::Directory& directory, zip::Gap gap, const ZipKind& kind,
                                       std::unordered_set<std::uint64_t>& seen) {
  if (gap.end - gap.begin > kMostWalked) {
    mark(row, Status::incomplete);
    find(row, piece, Code::limit_exceeded,
         concat("members are looked for among the first ", kMostWalked, " of ", gap.end - gap.begin, " bytes"), gap.begin);
  }
  for (std::uint64_t at = gap.begin, end = std::min(gap.end, gap.begin + kMostWalked); at < end && seen.size() < kMostUnlisted;
       at += kChunk) {
    // A header that is cut by a chunk's end is seen whole in the next.
    constexpr std::uint64_t kOverlap = 1 << 17;
    const zip::Gap part{at == gap.begin ? at : at - kOverlap, std::min(end, at + kChunk)};
    ASSAY_TRY(const zip::Directory unlisted, zip::find_unlisted(piece.source, directory, part, kMostUnlisted));
    for (const zip::Member& member : unlisted.members) {
      if (!seen.insert(member.header_offset).second) continue;
      mark(row, Status::malformed);
      Finding finding(Code::ambiguous_archive,
                      concat("member ", quote(member.name), " stands at ", member.header_offset, ", but the directory does not list it"),
                      {.member = join(piece.name, member.name)});
      if (piece.base) finding.where.offset = *piece.base + member.header_offset;
      report_.findings.add(std::move(finding));
      zip::Member plain = member;
      plain.flags = 0;
      ASSAY_CHECK(scan_member_bytes(piece, row, plain, false, kind, member.method));
    }
  }
  if (seen.size() < kMostUnlisted) return {};
  mark(row, Status::incomplete);
  find(row, piece, Code::limit_exceeded, concat("more than ", kMostUnlisted, " members are not listed"), gap.begin);
  return {};
}

Result<void> Scanner::scan_unlisted(const Piece& piece, Row row, const zip::Directory& directory, const ZipKind& kind) {
  ASSAY_TRY(const std::vector<zip::Gap> gaps, zip::find_gaps(piece.source, directory));
  std::unordered_set<std::uint64_t> seen;  // headers of members that are not listed
  // Another directory may lead into the data of members.
  bool elsewhere = std::ranges::any_of(directory.findings.list(),
                                       [](const Finding& f) { return f.code == Code::ambiguous_archive || f.code == Code::bad_zip; });
  for (const zip::Gap& gap : gaps) {
    const WindowSource window(piece.source, gap.begin, gap.end - gap.begin);
    ASSAY_TRY(const bool blank, is_blank(window, 0));
    if (blank) continue;
    mark(row, Status::malformed);
    find(row, piece, Code::unparsed_bytes,
         concat(counted(gap.end - gap.begin, "byte", "bytes"), " of the archive, which its directory does not account for"), gap.begin,
         gap.end - gap.begin);
    ASSAY_TRY(const ByteBlock front, window.view(0, std::min(window.size(), kChunk)));
    if (leads_elsewhere(front.view().text())) {
      elsewhere = true;
      find(row, piece, Code::ambiguous_archive, "a second directory stands among the members", gap.begin);
    }
    const std::size_t before = seen.size();
    ASSAY_CHECK(scan_gap_members(piece, row, directory, gap, kind, seen));
    if (seen.size() != before || gap.end - gap.begin > kChunk) {
      ASSAY_TRY(const bool all, search_range(piece, row, gap.begin, gap.end, false));
      if (!all) mark(row, Status::incomplete);
    } else {
      ASSAY_CHECK(scan_rest(piece, row, gap.begin, gap.end, "between the members"));
    }
  }
  if (elsewhere) ASSAY_CHECK(scan_gap_members(piece, row, directory, {directory.prefix, directory.end_offset}, kind, seen));
  // Comments and extra fields are read by nobody, but they can hold anything.
  const std::uint64_t end = std::min(directory.end_offset, piece.source.size()), begin = std::min(directory.directory_offset, end);
  ASSAY_TRY(const bool all, search_range(piece, row, begin, end, false));
  if (!all) mark(row, Status::incomplete);
  return {};
}

}  // namespace assay::scan
