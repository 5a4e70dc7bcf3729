// SPDX-License-Identifier: Apache-2.0
// What is told apart by its frame, deepest frame first: safetensors, GGUF, zip, tar, packed files, arrays. Whatever it is, its first byte
// may begin a pickle as well, which is then told.
#include <algorithm>

#include "analysis/scan/paths.hpp"
#include "analysis/scan/scanner.hpp"
#include "analysis/scan/sniff.hpp"
#include "base/arith.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "bytes/window.hpp"
#include "containers/inflate_stream.hpp"
#include "containers/npy.hpp"
#include "containers/tar.hpp"
#include "containers/unpack.hpp"

namespace assay::scan {

namespace {

constexpr std::uint64_t kTail = 65535 + 22 + 20 + 56;

/// True when the file ends as a zip archive does, whatever it starts with.
Result<bool> ends_as_zip(const ByteSource& source, const Limits& limits) {
  const std::uint64_t n = std::min(source.size(), kTail);
  ASSAY_TRY(const ByteBlock tail, source.fetch(source.size() - n, n));
  if (tail.view().text().find(std::string_view("PK\5\6", 4)) == std::string_view::npos) return false;
  auto directory = zip::read_directory(source, limits);
  if (!directory) {
    if (must_propagate(directory.error())) return std::unexpected(std::move(directory).error());
    return false;
  }
  return !directory->salvaged && !directory->members.empty();
}

}  // namespace

bool Scanner::may_be_framed(ByteView head) {
  return head.text().starts_with("PK") || !recognise_packed(head).empty() || npy::is_npy(head) || tar::is_header(head) ||
         !recognise_closed(head).kind.empty() || looks_like_safetensors(head, ~std::uint64_t{0}) || head.text().starts_with("GGUF");
}

Result<bool> Scanner::scan_framed(const Piece& piece, Row row, ByteView head) {
  const std::uint64_t size = piece.source.size();
  const auto starts = [text = head.text()](std::string_view magic) { return text.starts_with(magic); };
  if (looks_like_safetensors(head, size)) return scan_safetensors(piece, row);
  if (starts("GGUF")) {
    report_.members[row].kind = "gguf";
    auto checked = check_gguf(piece.source, limits_);
    if (!checked && must_propagate(checked.error())) return std::unexpected(std::move(checked).error());
    if (!checked) take_error(row, piece, checked.error());
    else tell_template(piece, row, checked->reaching, checked->template_at);
    ASSAY_CHECK(scan_zip_within(piece, row));
    // Without tensors there are no data; what follows belongs to nobody.
    if (checked && checked->tensors == 0 && checked->header_end < size)
      ASSAY_CHECK(scan_rest(piece, row, checked->header_end, size, "behind the header"));
    if (checked && checked->data_end && *checked->data_end < size)
      ASSAY_CHECK(scan_rest(piece, row, *checked->data_end, size, "behind the last tensor"));
  } else if (looks_like_msgpack(head)) {
    ASSAY_TRY(const bool msgpack, scan_msgpack(piece, row));
    if (!msgpack) return false;
  } else if (starts(std::string_view("PK\3\4", 4)) || starts(std::string_view("PK\5\6", 4)) || starts(std::string_view("PK\7\10PK", 6)) ||
             starts(std::string_view("PK\1\2", 4))) {
    ASSAY_CHECK(scan_zips(piece, row));
  } else if (tar::is_header(head)) {
    ASSAY_CHECK(scan_tar(piece, row));
  } else if (const Known closed = recognise_closed(head); !closed.kind.empty()) {
    report_.members[row].kind = closed.kind;
    mark(row, Status::incomplete);
    find(row, piece, closed.code, std::string(closed.words), 0);
    ASSAY_CHECK(scan_zip_within(piece, row));
  } else if (npy::is_npy(head)) {
    ASSAY_CHECK(scan_npy(piece, row));
  } else if (const std::string_view packing = recognise_packed(head); !packing.empty() && packing != "zlib") {
    ASSAY_CHECK(scan_packed(piece, row, packing));
  } else {
    // No frame at the front. Archives are found by their end as well.
    ASSAY_TRY(const bool zip_behind, ends_as_zip(piece.source, limits_));
    if (zip_behind) {
      ASSAY_CHECK(scan_zips(piece, row));
    } else if (packing == "zlib") {
      ASSAY_TRY(const bool pickled, scan_as_pickle(piece, row));
      if (!pickled) ASSAY_CHECK(scan_packed(piece, row, packing));
      return true;
    } else {
      return false;
    }
  }
  ASSAY_CHECK(scan_second_reading(piece, row));
  return true;
}

/// False where the bytes are no msgpack and nobody says that they are.
Result<bool> Scanner::scan_msgpack(const Piece& piece, Row row) {
  auto read = read_msgpack(piece.source);
  if (!read && must_propagate(read.error())) return std::unexpected(std::move(read).error());
  const std::string_view name = piece.name.empty() ? file_name_ : std::string_view(piece.name);
  if (!read && !lowered(name).ends_with(".msgpack")) return false;
  report_.members[row].kind = "msgpack";
  if (!read) {
    take_error(row, piece, read.error());
    ASSAY_CHECK(search(piece, row, 0));
    return true;
  }
  if (const auto& extension = read->unknown_extension) {
    mark(row, Status::incomplete);
    find(row, piece, Code::unsupported, concat("a value of extension ", extension->first, ", which each program takes as it likes"),
         extension->second);
  }
  for (const auto& [begin, end] : read->bytes) {
    ASSAY_TRY(const bool all, search_range(piece, row, begin, end, false));
    if (all) continue;
    mark(row, Status::incomplete);
    find(row, piece, Code::limit_exceeded, "not all plain bytes were searched for pickles", begin);
  }
  if (read->end < piece.source.size()) {
    find(row, piece, Code::trailing_bytes,
         concat(counted(piece.source.size() - read->end, "byte follows", "bytes follow"), " the msgpack value"), read->end,
         piece.source.size() - read->end);
    mark(row, Status::malformed);
    ASSAY_CHECK(scan_rest(piece, row, read->end, piece.source.size(), "behind the msgpack value"));
  }
  ASSAY_CHECK(scan_zip_within(piece, row));
  return true;
}

/// A zip archive that ends where some other format's file does: readers that look for the end find it.
Result<void> Scanner::scan_zip_within(const Piece& piece, Row row) {
  ASSAY_TRY(const bool zip_behind, ends_as_zip(piece.source, limits_));
  if (!zip_behind) return {};
  find(row, piece, Code::ambiguous_archive, "read from its end the file is a zip archive too", piece.source.size());
  const std::string_view kind = report_.members[row].kind;
  ASSAY_CHECK(scan_zip(piece, row));
  report_.members[row].kind = kind;
  return {};
}

/// Torch hands files of that name, whatever they hold, to the safetensors library.
void Scanner::answer_for_safetensors(const Piece& piece, const Result<std::uint64_t>& end) {
  if (!piece.name.empty() || !file_name_.ends_with(".safetensors")) return;
  std::string why;
  if (!end) why = end.error().what();
  else if (*end < piece.source.size())
    why = concat(counted(piece.source.size() - *end, "byte follows", "bytes follow"), " the last tensor");
  if (why.empty())
    report_.weights_only = {WeightsOnly::Answer::accepts, "torch.load hands files named .safetensors to the safetensors library"};
  else report_.weights_only = {WeightsOnly::Answer::refuses, concat("the safetensors library, which reads files of that name: ", why)};
}

Result<bool> Scanner::scan_safetensors(const Piece& piece, Row row) {
  auto end = check_safetensors(piece.source, limits_);
  if (!end && must_propagate(end.error())) return std::unexpected(std::move(end).error());
  report_.members[row].kind = "safetensors";
  if (!end) {
    // No frame after all: a pickle's first bytes may look like one.
    ASSAY_TRY(const bool pickled, scan_as_pickle(piece, row));
    take_error(row, piece, end.error());
    if (!pickled) ASSAY_CHECK(search(piece, row, 0));
    answer_for_safetensors(piece, end);
    return true;
  }
  if (*end < piece.source.size()) {
    find(row, piece, Code::trailing_bytes, concat(counted(piece.source.size() - *end, "byte follows", "bytes follow"), " the last tensor"),
         *end, piece.source.size() - *end);
    mark(row, Status::malformed);
    ASSAY_CHECK(scan_rest(piece, row, *end, piece.source.size(), "behind the last tensor"));
  }
  ASSAY_CHECK(scan_zip_within(piece, row));
  ASSAY_CHECK(scan_second_reading(piece, row));
  answer_for_safetensors(piece, end);
  return true;
}

/// A member that would be unpacked elsewhere, or a link that leads elsewhere.
void Scanner::note_tar_path(const Piece& piece, Row row, const tar::Member& member) {
  const std::string fault = path_fault(member);
  if (fault.empty()) return;
  mark(row, Status::malformed);
  Finding finding(Code::path_escapes, concat("member ", quote(member.name), ' ', fault), {.member = join(piece.name, member.name)});
  if (piece.base) finding.where.offset = *piece.base + member.header_offset;
  report_.findings.add(std::move(finding));
}

Result<void> Scanner::scan_tar(const Piece& piece, Row row) {
  report_.members[row].kind = "tar";
  auto read = tar::read_archive(piece.source, limits_);
  if (!read) {
    if (must_propagate(read.error())) return std::unexpected(std::move(read).error());
    take_error(row, piece, read.error());
    return search(piece, row, 0);
  }
  for (const Finding& finding : read->findings.list()) {
    mark(row, finding.code == Code::unsupported ? Status::incomplete : Status::malformed);
    take_zip_finding(piece, row, finding);
  }
  const auto has = [&](std::string_view name) {
    return std::ranges::any_of(read->members, [name](const tar::Member& m) { return m.name == name; });
  };
  const bool torch = has("pickle") && has("storages");
  if (piece.name.empty() && torch)
    report_.weights_only = {WeightsOnly::Answer::refuses, "Cannot use ``weights_only=True`` with files saved in the legacy .tar format."};
  for (const tar::Member& member : read->members) {
    note_tar_path(piece, row, member);
    if (member.size == 0 && member.real_size == 0) continue;
    const WindowSource window(piece.source, member.offset, member.size);
    Piece inner{.source = window, .name = join(piece.name, member.name), .base = {}, .depth = piece.depth + 1, .torch_tar = torch};
    if (piece.base) inner.base = *piece.base + member.offset;
    if (torch && (member.name == "storages" || member.name == "tensors")) {
      const Row inner_row = add_row(inner, "pickle");
      ASSAY_CHECK(scan_streams(inner, inner_row, 0, member.name == "storages" ? Layout::tar_storages : Layout::tar_tensors));
      raise(row, report_.members[inner_row].verdict);
      mark(row, report_.members[inner_row].status);
      continue;
    }
    if (member.sparse) {
      const tar::SparseSource whole(piece.source, member);
      ASSAY_CHECK(scan_inner(row, inner.over(whole), false, 0));
      std::uint64_t stored = 0;
      for (const tar::Part& part : member.parts) stored += part.size;
      if (stored < member.size)
        ASSAY_CHECK(scan_rest(piece, row, member.offset + stored, member.offset + member.size, "behind a sparse file"));
      continue;
    }
    ASSAY_CHECK(scan_inner(row, inner, false, 0));
  }
  // Names, records and paddings can hold anything.
  std::uint64_t at = 0;
  for (const tar::Member& member : read->members) {
    ASSAY_CHECK(search_range(piece, row, at, member.offset, false));
    at = member.offset + member.size;
  }
  ASSAY_CHECK(search_range(piece, row, at, read->end_offset, false));
  if (read->end_offset < piece.source.size()) return scan_rest(piece, row, read->end_offset, piece.source.size(), "behind the archive");
  return {};
}

namespace {

Inflated unpack_kind(std::string_view kind, ByteView packed, std::uint64_t most) {
  if (kind == "gzip") return inflate_gzip(packed, most);
  if (kind == "zlib") return inflate_zlib(packed, most);
  return unpack(kind == "xz" ? Packing::xz : kind == "lzma" ? Packing::lzma : Packing::bzip2, packed, most);
}

}  // namespace

Result<void> Scanner::scan_packed(const Piece& piece, Row row, std::string_view kind) {
  report_.members[row].kind = kind;
  const std::uint64_t size = piece.source.size();
  const std::uint64_t most = may_unpack(size);
  // What unpacks to no more than the limit is no longer than this by far.
  ASSAY_TRY(const ByteBlock packed, piece.source.view(0, std::min(size, most + (std::uint64_t{1} << 20))));
  Inflated unpacked = unpack_kind(kind, packed.view(), most);
  unpacked_ += unpacked.bytes.size();
  if (unpacked.broken) take_error(row, piece, *unpacked.broken);
  if (unpacked.broken && unpacked.bytes.empty()) return search(piece, row, 0);
  const MemorySource source(std::move(unpacked.bytes));
  const Piece inner{.source = source, .name = join(piece.name, "unpacked"), .base = {}, .depth = piece.depth + 1};
  ASSAY_CHECK(scan_inner(row, inner, false, 0));
  if (unpacked.broken || unpacked.consumed >= size) return {};
  // Readers step over zeros between packed streams.
  const std::span<const std::byte> rest =
      packed.view().span().subspan(static_cast<std::size_t>(std::min<std::uint64_t>(unpacked.consumed, packed.view().size())));
  const auto zeros = static_cast<std::uint64_t>(std::ranges::find_if(rest, [](std::byte b) { return b != std::byte{0}; }) - rest.begin());
  return scan_rest(piece, row, unpacked.consumed + zeros, size, "behind the packed data");
}

Result<void> Scanner::scan_npy(const Piece& piece, Row row) {
  report_.members[row].kind = "npy";
  auto header = npy::read_header(piece.source, limits_);
  if (!header) {
    if (must_propagate(header.error())) return std::unexpected(std::move(header).error());
    take_error(row, piece, header.error());
    return search(piece, row, 0);
  }
  if (header->has_objects) return scan_streams(piece, row, header->data_offset, Layout::plain);
  const auto bytes = npy::data_size(*header);
  if (!bytes) {
    take_error(row, piece, bytes.error());
    return search(piece, row, header->data_offset);
  }
  const std::uint64_t left = piece.source.size() - header->data_offset;
  if (*bytes > left) {
    take_error(row, piece,
               Error(Code::truncated, concat("the array needs ", *bytes, " bytes, ", left, " are there")).at(header->data_offset));
    return {};
  }
  if (*bytes < left) return scan_rest(piece, row, header->data_offset + *bytes, piece.source.size(), "behind the array");
  return {};
}

Result<void> Scanner::scan_rest(const Piece& piece, Row row, std::uint64_t position, std::uint64_t end, std::string_view what) {
  const WindowSource window(piece.source, position, end - position);
  Piece rest{.source = window, .name = join(piece.name, concat("bytes at ", position, ' ', what)), .base = {}, .depth = piece.depth + 1};
  rest.rest = what;
  if (piece.base) rest.base = *piece.base + position;
  ASSAY_TRY(const bool blank, is_blank(window, 0));
  if (blank) return {};
  return scan_inner(row, rest, false, 0);
}

}  // namespace assay::scan
