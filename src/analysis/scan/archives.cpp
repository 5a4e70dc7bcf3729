// SPDX-License-Identifier: Apache-2.0
// Zip archives: every member whatever its name, by the directory, by the local header where that says otherwise, and by neither where
// both are lost. Nothing is unpacked to disk.
#include <algorithm>

#include "analysis/scan/paths.hpp"
#include "analysis/scan/scanner.hpp"
#include "analysis/scan/sniff.hpp"
#include "analysis/scan/weights_only.hpp"
#include "base/arith.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "bytes/window.hpp"
#include "containers/inflate.hpp"
#include "containers/inflate_stream.hpp"
#include "containers/npy.hpp"
#include "containers/unpack.hpp"
#include "containers/zip_layout.hpp"

namespace assay::scan {

namespace {

constexpr std::uint64_t kUnpackedLook = std::uint64_t{1} << 20;
constexpr std::uint64_t kMostUnpackedData = std::uint64_t{24} << 20;  // of a member that does not begin as anything that runs
constexpr std::uint64_t kStorageLook = 512;

/// Findings about the archive after which readers may disagree on what it holds.
bool breaks_rules(Code code) {
  return code == Code::bad_zip || code == Code::ambiguous_archive || code == Code::name_mismatch || code == Code::overlapping_members ||
         code == Code::truncated || code == Code::limit_exceeded;
}

/// "archive/": the first entry's first folder, which torch takes for the archive's; "" where it has none.
std::string_view torch_folder(const zip::Directory& directory) {
  if (directory.members.empty()) return {};
  const std::string_view first = directory.members[0].name;
  return first.substr(0, first.find('/') + 1);
}

/// The member torch.load reads.
std::string torch_root(const zip::Directory& directory) {
  const std::string_view folder = torch_folder(directory);
  const zip::Member* data = folder.empty() ? nullptr : directory.find(concat(folder, "data.pkl"));
  return data != nullptr ? std::string(data->name) : std::string();
}

/// Methods that are unpacked here: stored, deflated, and what else Python's zipfile has had for long.
bool is_unpacked(std::uint16_t method) { return method == 0 || method == 8 || method == 12 || method == 14 || method == 95; }

Inflated unpack_method(std::uint16_t method, ByteView packed, std::uint64_t most) {
  switch (method) {
    case 12: return unpack(Packing::bzip2, packed, most);
    case 14: return unpack(Packing::lzma_in_zip, packed, most);
    case 95: return unpack(Packing::xz, packed, most);
    default: return inflate_stream(packed, most);
  }
}

/// True when the front is that of an array without objects which fills a file of `size` bytes: only numbers follow.
bool is_plain_array(std::span<const std::byte> front, std::uint64_t size, const Limits& limits) {
  const ByteView bytes(front, 0);
  if (!npy::is_npy(bytes)) return false;
  const auto header = npy::parse_header(bytes, limits);
  if (!header || header->has_objects) return false;
  const auto data = npy::data_size(*header);
  return data && checked_add(header->data_offset, *data) == size;
}

}  // namespace

ZipKind kind_of(const zip::Directory& directory) {
  ZipKind kind;
  bool code = false, constants = false;
  for (const zip::Member& member : directory.members) {
    code |= member.name.find("/code/") != std::string_view::npos;
    constants |= member.name.ends_with("/constants.pkl");
    kind.torch_package |= member.name.ends_with("/.data/extern_modules");
  }
  kind.torch_script = code && constants;
  const std::string_view folder = torch_folder(directory);
  if (folder.empty()) return kind;
  if (directory.find(concat(folder, "data.pkl")) != nullptr) kind.raw_below[0] = concat(folder, "data/");
  if (directory.find(concat(folder, "archive_format")) != nullptr) {  // torch.export
    kind.raw_below[0] = concat(folder, "data/constants/");
    kind.raw_below[1] = concat(folder, "data/weights/");
  }
  if (directory.find(concat(folder, "model.json")) != nullptr) kind.raw_below[1] = concat(folder, "tensors/");  // TorchScript 1.0 to 1.3
  return kind;
}

bool ZipKind::is_raw(std::string_view name) const {
  if (torch_package && name.find("/.data/") != std::string_view::npos && name.ends_with(".storage")) return true;
  for (const std::string& folder : raw_below) {
    if (folder.empty() || !name.starts_with(folder)) continue;
    const std::string_view rest = name.substr(folder.size());
    if (!rest.empty() && (!folder.ends_with("/data/") || rest.find_first_not_of("0123456789") == std::string_view::npos)) return true;
  }
  return false;
}

Result<void> Scanner::scan_zips(const Piece& piece, Row row) {
  ASSAY_TRY(const std::vector<std::uint64_t> begins, zip::find_chain(piece.source, limits_));
  if (begins.size() < 2) return scan_zip(piece, row);
  report_.members[row].kind = "zips";
  if (piece.name.empty()) weights_target_ = "/";
  // Distributed checkpoints are such files; others hold what readers of the last archive never see.
  if (!piece.name.empty() || !file_name_.ends_with(".distcp"))
    find(row, piece, Code::ambiguous_archive,
         concat(begins.size(), " archives stand one behind the other; what reads from the end finds the last, at ", begins.back()),
         begins.back());
  for (std::size_t i = 0; i < begins.size(); ++i) {
    const WindowSource window(piece.source, begins[i], (i + 1 < begins.size() ? begins[i + 1] : piece.source.size()) - begins[i]);
    Piece inner{.source = window, .name = join(piece.name, concat("bytes at ", begins[i])), .base = {}, .depth = piece.depth};
    if (piece.base) inner.base = *piece.base + begins[i];
    const Row inner_row = add_row(inner, "zip");
    ASSAY_CHECK(scan_zip(inner, inner_row));
    raise(row, report_.members[inner_row].verdict);
    mark(row, report_.members[inner_row].status);
  }
  return {};
}

Result<void> Scanner::scan_zip(const Piece& piece, Row row) {
  report_.members[row].kind = "zip";
  auto read = zip::read_directory(piece.source, limits_);
  if (!read) {
    if (must_propagate(read.error())) return std::unexpected(std::move(read).error());
    take_error(row, piece, read.error());
    return search(piece, row, 0);
  }
  const zip::Directory directory = *std::move(read);
  ASSAY_TRY(const Findings local, zip::compare_local_headers(piece.source, directory));
  for (const Findings* findings : {&directory.findings, &local}) {
    for (const Finding& finding : findings->list()) take_zip_finding(piece, row, finding);
    for (const auto& [code, count] : findings->counts())
      if (breaks_rules(code)) mark(row, Status::malformed);
  }
  const ZipKind kind = kind_of(directory);
  if (piece.name.empty()) {
    report_.torch_member = weights_target_ = torch_root(directory);
    ASSAY_TRY(auto refusal, weights_only_refuses_archive(piece.source, directory, torch_folder(directory), limits_));
    if (refusal && !weights_target_.empty()) {
      report_.weights_only = {WeightsOnly::Answer::refuses, *std::move(refusal)};
      weights_target_.clear();
    }
    if (weights_target_.empty()) weights_target_ = "/";
  }
  if (directory.prefix != 0) {
    ASSAY_CHECK(scan_rest(piece, row, 0, directory.prefix, "before the archive"));
  }
  ASSAY_CHECK(scan_members(piece, row, directory, kind, local));
  if (piece.name.empty()) find_wrong_storages(directory);
  if (directory.cut) {
    ASSAY_CHECK(scan_cut(piece, row, *directory.cut, kind));
  }
  ASSAY_CHECK(scan_unlisted(piece, row, directory, kind));
  if (directory.end_offset < piece.source.size())
    return scan_rest(piece, row, directory.end_offset, piece.source.size(), "behind the archive");
  return {};
}

/// Torch looks each storage up when its tensor is made, and wants it to be as long as the pickle says.
void Scanner::find_wrong_storages(const zip::Directory& directory) {
  WeightsOnly& answer = report_.weights_only;
  if (answer.answer != WeightsOnly::Answer::accepts) return;
  const std::string folder = lowered(torch_folder(directory));
  std::string first;  // of those that are wrong, the one to tell
  for (const auto& [known, bytes] : storage_keys_) {
    const std::string_view at = known;
    if (!at.starts_with(folder) || at.size() <= folder.size() || at[folder.size()] != '\n' || (!first.empty() && known >= first)) continue;
    const std::string_view key = at.substr(folder.size() + 1);
    const zip::Member* member = directory.find(concat(folder, "data/", key));
    if (member != nullptr && member->size == bytes.value_or(member->size)) continue;
    first = known;
    answer = {WeightsOnly::Answer::refuses, member == nullptr ? concat("failed locating file data/", escape(key, 60), ": file not found")
                                                              : concat("record size (", member->size, " bytes) of data/", escape(key, 60),
                                                                       " does not match expected size (", *bytes, " bytes)")};
  }
}

Result<void> Scanner::scan_members(const Piece& piece, Row row, const zip::Directory& directory, const ZipKind& kind,
                                   const Findings& local) {
  std::unordered_set<std::string_view> odd;  // members that some reader would read otherwise
  for (const Finding& finding : local.list()) odd.insert(finding.where.member);
  // Pickles first: they tell which members are storages.
  std::vector<const zip::Member*> later;
  for (const zip::Member& member : directory.members) {
    const std::size_t slash = member.name.rfind('/');
    const std::string_view last = slash == std::string_view::npos ? member.name : member.name.substr(slash + 1);
    const bool number = !last.empty() && last.find_first_not_of("0123456789") == std::string_view::npos;
    if (member.size > kSniffed || number || last.ends_with(".storage")) later.push_back(&member);
    else ASSAY_CHECK(scan_member(piece, row, member, false, kind, odd.contains(member.name)));
  }
  std::stable_partition(later.begin(), later.end(), [](const zip::Member* m) { return lowered(m->name).ends_with(".pkl"); });
  for (const zip::Member* member : later) {
    const bool storage = is_storage(join(piece.name, member->name)) && !lowered(member->name).ends_with(".pkl");
    ASSAY_CHECK(scan_member(piece, row, *member, storage, kind, odd.contains(member->name)));
  }
  return {};
}

void Scanner::take_zip_finding(const Piece& piece, Row row, Finding finding) {
  static_cast<void>(row);
  if (!piece.name.empty()) finding.where.member = join(piece.name, finding.where.member);
  if (finding.where.offset) {
    if (piece.base) finding.where.offset = *piece.base + *finding.where.offset;
    else finding.where.offset.reset();
  }
  report_.findings.add(std::move(finding));
}

/// The member in which a file without a directory ends: what is there of it.
Result<void> Scanner::scan_cut(const Piece& piece, Row row, const zip::Member& member, const ZipKind& kind) {
  mark(row, Status::malformed);
  zip::Member rest = member;
  rest.flags &= static_cast<std::uint16_t>(~(zip::kEncryption | zip::kPatch));
  if (rest.method == 0) rest.size = rest.packed_size;
  const bool storage = is_storage(join(piece.name, member.name));
  return scan_member_bytes(piece, row, rest, storage, kind, rest.method);
}

Result<void> Scanner::scan_member(const Piece& archive, Row row, const zip::Member& member, bool storage, const ZipKind& kind, bool odd) {
  const auto complain = [&](Status status, Code code, const std::string& words) {
    mark(row, status);
    Finding finding(code, concat("member ", quote(member.name), ' ', words), {.member = join(archive.name, member.name)});
    if (archive.base) finding.where.offset = *archive.base + member.header_offset;
    report_.findings.add(std::move(finding));
  };
  ASSAY_TRY(const std::string fault, path_fault(archive.source, member));
  if (!fault.empty()) complain(Status::malformed, Code::path_escapes, fault);
  if (member.name.find('\0') != std::string_view::npos) complain(Status::malformed, Code::odd_name, "has a NUL in its name");
  if (member.encrypted() || (member.flags & zip::kPatch) != 0)
    complain(Status::incomplete, Code::encrypted_member,
             (member.flags & zip::kPatch) != 0 && !member.encrypted() ? "claims to be a patch"
                                                                      : "claims to be encrypted; its bytes are read as they are");
  const bool known = is_unpacked(member.method);
  if (!known)
    complain(Status::incomplete, Code::unsupported_compression,
             concat("is packed with method ", member.method, ", which is not unpacked here"));
  zip::Member plain = member;
  plain.flags &= static_cast<std::uint16_t>(~(zip::kEncryption | zip::kPatch));
  ASSAY_CHECK(scan_member_bytes(archive, row, plain, storage, kind, member.method));
  if (!odd && known) return {};
  // Some readers would take the bytes otherwise.
  return scan_member_bytes(archive, row, plain, false, kind, known && member.method != 0 ? 0 : 8);
}

Result<void> Scanner::scan_member_bytes(const Piece& archive, Row row, const zip::Member& member, bool storage, const ZipKind& kind,
                                        std::uint16_t method) {
  if (!is_unpacked(method)) method = 0;
  zip::Member located = member;
  located.packed_size = 0;  // where the data is; how much of it is there is seen below
  auto begin = zip::data_offset(archive.source, located);
  if (!begin) {
    if (must_propagate(begin.error())) return std::unexpected(std::move(begin).error());
    take_error(row, archive, begin.error());
    return {};
  }
  const bool as_claimed = method == member.method;
  const std::uint64_t left = archive.source.size() - *begin;
  if (member.packed_size > left) {
    mark(row, Status::malformed);
    if (as_claimed)
      find(row, archive, Code::truncated,
           concat("member ", quote(member.name), " needs ", member.packed_size, " bytes, ", left, " are left"), *begin);
  }
  const bool internal = member.name.find("/.data/") != std::string_view::npos;  // TorchScript of a package, which is not run as Python
  const Piece piece{.source = archive.source,
                    .name = join(archive.name, member.name),
                    .base = {},
                    .depth = archive.depth + 1,
                    .torch_script = kind.torch_script,
                    .raw = kind.is_raw(member.name),
                    .runs_source = kind.torch_package && !internal};
  if (method == 0) {
    if (as_claimed && member.packed_size != member.size) {
      mark(row, Status::malformed);
      find(row, archive, Code::bad_zip,
           concat("member ", quote(member.name), " is stored, but has ", member.packed_size, " bytes where ", member.size, " are claimed"),
           *begin);
    }
    const WindowSource window(archive.source, *begin, std::min(left, std::max(member.packed_size, member.size)));
    const std::optional<std::uint64_t> base = archive.base ? std::optional(*archive.base + *begin) : std::nullopt;
    const bool whole = window.size() >= member.size;
    return scan_inner(row, piece.over(window, base), storage, as_claimed && whole ? member.crc : 0);
  }
  ASSAY_TRY(const ByteBlock packed, archive.source.view(*begin, std::min(left, member.packed_size)));
  return scan_unpacked(archive, row, member, packed.view(), piece, storage, method);
}

Result<void> Scanner::scan_unpacked(const Piece& archive, Row row, const zip::Member& member, ByteView packed, const Piece& piece,
                                    bool storage, std::uint16_t method) {
  const bool as_claimed = method == member.method;
  // A look first: bombs are mostly zeros, and zeros are no pickle.
  const std::uint64_t most = may_unpack(packed.size());
  Inflated unpacked = unpack_method(method, packed, std::min(most, storage ? kStorageLook : kUnpackedLook));
  const auto is_cut = [&] { return unpacked.broken && unpacked.broken->code() == Code::limit_exceeded; };
  bool only_front = false;
  if (is_cut()) {
    only_front = storage || is_plain_array(unpacked.bytes, member.size, limits_);
    if (!only_front) unpacked = unpack_method(method, packed, worth_unpacking(unpacked.bytes) ? most : std::min(most, kMostUnpackedData));
  }
  // Without a mark for its end, lzma ends where the size says.
  if (method == 14 && unpacked.broken && unpacked.broken->code() == Code::truncated && unpacked.bytes.size() == member.size)
    unpacked.broken.reset();
  unpacked_ += unpacked.bytes.size();
  if (!as_claimed && unpacked.broken && unpacked.bytes.empty()) return {};  // a guess that was wrong
  if (unpacked.broken && !(only_front && is_cut()) && as_claimed) {
    Error error = std::move(*unpacked.broken);
    take_error(
        row, archive,
        Error(error.code(), concat("member ", quote(member.name), ": ", error.what())).at(member.header_offset).in_member(member.name));
  }
  if (as_claimed && !unpacked.broken && (unpacked.bytes.size() != member.size || unpacked.consumed != packed.size())) {
    mark(row, Status::malformed);
    find(row, archive, Code::inflate_failed,
         concat("member ", quote(member.name), " unpacks to ", unpacked.bytes.size(), " bytes, ", member.size, " are claimed"),
         member.header_offset);
  }
  const MemorySource source(std::move(unpacked.bytes));
  const Piece inner = piece.over(source);
  if (only_front && !storage) {
    report_.members[add_row(inner, "npy")].size = member.size;
    return {};
  }
  // Of what was not unpacked to its end nothing can be said against its check sum.
  return scan_inner(row, inner, storage, as_claimed && !only_front && !unpacked.broken ? member.crc : 0);
}

/// True when a front part looks like something that may run: a pickle, or a container of some.
bool Scanner::worth_unpacking(std::span<const std::byte> front) const {
  const ByteView bytes(front, 0);
  const pickle::Graph graph = pickle::parse(bytes, limits_);
  if (graph.reached_stop() || !graph.events().empty() || (bytes.size() > 1 && bytes[0] == std::byte{0x80} && bytes[1] < std::byte{16}))
    return true;
  if (graph.broken() && graph.broken()->code() == Code::truncated) return true;
  return may_be_framed(bytes);
}

Result<void> Scanner::scan_inner(Row row, const Piece& piece, bool storage, std::uint32_t crc) {
  const Row inner = report_.members.size();
  if (storage) {
    ASSAY_CHECK(scan_storage(piece));
  } else if (piece.depth > kDeepest) {
    add_row(piece, "unopened");
    mark(inner, Status::incomplete);
    find(inner, piece, Code::limit_exceeded, concat("more than ", kDeepest, " archives within each other"));
  } else {
    ASSAY_CHECK(scan(piece));
  }
  if (report_.members.size() == inner) return {};
  const std::string_view kind = report_.members[inner].kind;
  if (crc != 0 && (kind == "pickle" || kind == "torch-legacy") && piece.source.size() <= limits_.inflate_pickle_bytes) {
    ASSAY_TRY(const ByteBlock bytes, piece.source.view(0, piece.source.size()));
    if (const std::uint32_t found = crc32(bytes.view().span()); found != crc) {
      Finding finding(Code::crc_mismatch, concat("member ", quote(piece.name), " has the CRC ", hex(found), ", ", hex(crc), " is claimed"),
                      {.member = piece.name});
      finding.severity = Severity::warning;
      report_.findings.add(std::move(finding));
    }
  }
  raise(row, report_.members[inner].verdict);
  mark(row, report_.members[inner].status);
  return {};
}

/// Bytes of a tensor: no loader unpickles them. Only what from its first byte on surely is a pickle is told.
Result<void> Scanner::scan_storage(const Piece& piece) {
  ++report_.storages;
  const std::uint64_t size = piece.source.size();
  if (size == 0) return {};
  ASSAY_TRY(const ByteBlock head, piece.source.fetch(0, std::min(size, kStorageLook)));
  const pickle::Graph front = pickle::parse(head.view(), limits_);
  if (front.events().empty() && !(front.broken() && front.broken()->code() == Code::truncated && size > kStorageLook)) return {};
  ASSAY_TRY(const Stream stream, parse_at(piece, 0));
  const auto& events = stream.graph.events();
  const bool calls = std::ranges::any_of(events, [](const pickle::Event& event) { return event.kind == pickle::EventKind::call; });
  if (!calls && !acts(stream.graph)) return {};
  const Row row = add_row(piece, "storage");
  find(row, piece, Code::extra_pickle, "the bytes of a tensor are a pickle", 0);
  return judge(piece, row, stream, 1);
}

}  // namespace assay::scan
