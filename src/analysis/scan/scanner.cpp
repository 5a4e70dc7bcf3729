// SPDX-License-Identifier: Apache-2.0
#include "analysis/scan/scanner.hpp"

#include <algorithm>

#include "analysis/scan/sniff.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "containers/line_ends.hpp"

namespace assay::scan {

namespace {

/// Names of what loaders read. Folders of models hold files of other names that are empty on purpose.
bool promises_data(std::string_view name) {
  constexpr std::string_view kExtensions[] = {
      "bin",   "ckpt",     "dat",   "data",    "dill", "distcp", "ep",          "gguf", "h5",  "hdf5",   "jit",         "joblib",
      "keras", "metadata", "model", "msgpack", "nemo", "npy",    "npz",         "onnx", "p",   "pb",     "pck",         "pickle",
      "pkl",   "pt",       "pt2",   "pth",     "ptl",  "pte",    "safetensors", "sav",  "tar", "tflite", "torchscript", "zip"};
  const std::size_t dot = name.rfind('.');
  return dot != std::string_view::npos && std::ranges::find(kExtensions, lowered(name.substr(dot + 1))) != std::end(kExtensions);
}

}  // namespace

std::string_view status_name(Status status) {
  constexpr std::string_view kNames[] = {"complete", "malformed", "incomplete"};
  return kNames[static_cast<std::size_t>(status)];
}

std::string join(const std::string& outer, std::string_view inner) {
  if (outer.empty() || inner.empty()) return outer.empty() ? std::string(inner) : outer;
  return concat(outer, '/', inner);
}

Scanner::Scanner(const Options& options, std::string_view name)
    : options_(options), limits_(options.limits), unpacked_limits_(options.limits), file_name_(name) {
  constexpr std::uint32_t kMostValues = 1u << 20;
  unpacked_limits_.pickle_nodes = std::min(limits_.pickle_nodes, kMostValues);
  unpacked_limits_.pickle_stack = std::min(limits_.pickle_stack, kMostValues);
  unpacked_limits_.pickle_memo = std::min(limits_.pickle_memo, kMostValues);
}

std::uint64_t Scanner::may_unpack(std::uint64_t packed) const {
  const std::uint64_t at_once =
      std::clamp(std::min(packed, kMostUnpackedAtOnce) * kMostTimesPacked, kLeastUnpackedAtOnce, kMostUnpackedAtOnce);
  return std::min({limits_.inflate_pickle_bytes, at_once, kMostUnpacked - std::min(kMostUnpacked, unpacked_)});
}

// --- the report -------------------------------------------------------------------------------------------------------------

Scanner::Row Scanner::add_row(const Piece& piece, std::string_view kind) {
  report_.members.push_back({.name = piece.name, .kind = kind, .size = piece.source.size()});
  return report_.members.size() - 1;
}

void Scanner::raise(Row row, Verdict verdict) {
  Member& member = report_.members[row];
  member.verdict = std::max(member.verdict, verdict);
  report_.verdict = std::max(report_.verdict, verdict);
}

void Scanner::mark(Row row, Status status) {
  Member& member = report_.members[row];
  member.status = std::max(member.status, status);
  report_.status = std::max(report_.status, status);
}

void Scanner::find(Row row, const Piece& piece, Code code, std::string message, std::optional<std::uint64_t> position,
                   std::optional<std::uint64_t> length) {
  static_cast<void>(row);
  Where where{.member = piece.name, .length = length};
  Finding finding(code, std::move(message));
  if (position) {
    if (piece.base) where.offset = *piece.base + *position;
    if (!piece.base || *piece.base != 0) finding.facts.push_back({"position", *position});
  }
  finding.where = std::move(where);
  report_.findings.add(std::move(finding));
}

void Scanner::take_error(Row row, const Piece& piece, const Error& error) {
  const Code code = error.code();
  const bool unseen = code == Code::limit_exceeded || code == Code::encrypted_member || code == Code::unsupported_compression ||
                      code == Code::unsupported || code == Code::out_of_memory;
  mark(row, unseen ? Status::incomplete : Status::malformed);
  Finding finding = Finding::from(error);
  if (finding.where.member.empty()) finding.where.member = piece.name;
  else if (!piece.name.empty()) finding.where.member = join(piece.name, finding.where.member);
  if (finding.where.offset) {
    if (piece.base) finding.where.offset = *piece.base + *finding.where.offset;
    else finding.facts.push_back({"position", *finding.where.offset}), finding.where.offset.reset();
  }
  report_.findings.add(std::move(finding));
}

Place Scanner::place(const Piece& piece, std::uint64_t position, std::uint32_t stream) const {
  Place place{.member = piece.name, .position = position, .offset = {}, .stream = stream};
  if (piece.base) place.offset = *piece.base + position;
  return place;
}

// --- storages ---------------------------------------------------------------------------------------------------------------

void Scanner::remember_storage(const Piece& piece, std::string_view key, std::optional<std::uint64_t> bytes) {
  if (storage_keys_.size() >= limits_.zip_members) return;
  const std::size_t slash = piece.name.rfind('/');
  const std::string_view folder = slash == std::string::npos ? std::string_view() : std::string_view(piece.name).substr(0, slash + 1);
  storage_keys_.try_emplace(lowered(concat(folder, '\n', key)), bytes);
}

bool Scanner::is_storage(std::string_view member) const {
  // folder/KIND/key, where KIND is data, constants, tensors …; torch.package writes folder/.data/key.storage and names both.
  const std::string name = lowered(member);
  for (std::size_t slash = name.find('/'); slash != std::string::npos; slash = name.find('/', slash + 1)) {
    const std::string_view rest = std::string_view(name).substr(slash + 1);
    const std::size_t before = name.rfind('/', slash == 0 ? 0 : slash - 1);
    const std::string_view folder = std::string_view(name).substr(0, slash == 0 || before == std::string::npos ? 0 : before + 1);
    for (const std::string_view key : {rest, rest.ends_with(".storage") ? rest.substr(0, rest.size() - 8) : rest})
      if (storage_keys_.contains(concat(folder, '\n', key))) return true;
  }
  return false;
}

// --- what a piece is --------------------------------------------------------------------------------------------------------

Result<void> Scanner::scan(const Piece& piece) {
  const std::uint64_t size = piece.source.size();
  if (size == 0) {
    add_row(piece, "empty");
    if (!weights_target_.empty() && piece.name == weights_target_)
      report_.weights_only = {WeightsOnly::Answer::refuses, "the pickle is empty"};
    if (piece.name.empty() && promises_data(file_name_)) {  // which may still come
      mark(0, Status::incomplete);
      find(0, piece, Code::empty_file, "the file is empty: there was nothing to look at", 0);
    }
    return {};
  }
  if (work_ > most_work_) {
    const Row row = add_row(piece, "unopened");
    mark(row, Status::incomplete);
    find(row, piece, Code::limit_exceeded,
         "is not looked at: the parts of this file have many times its size, as where they lie over each other");
    return {};
  }
  ASSAY_TRY(const ByteBlock block, piece.source.fetch(0, std::min<std::uint64_t>(size, kSniffed)));
  const ByteView head = block.view();
  const Row row = add_row(piece, "data");
  ASSAY_TRY(const bool framed, scan_framed(piece, row, head));
  if (framed) return {};
  ASSAY_TRY(const bool pickled, scan_as_pickle(piece, row));
  if (pickled) return {};
  if (!weights_target_.empty() && piece.name == weights_target_) {
    ASSAY_TRY(const Stream stream, parse_at(piece, 0));  // torch takes it for a pickle all the same
    ask_weights_only(piece, row, stream, 1);
  }
  const Known known = recognise(head);
  report_.members[row].kind = known.kind;
  if (known.kind == "text" || known.kind == "json") return scan_text(piece, row);
  if (known.inert || (piece.raw && known.code == Code::unknown_format)) return search_all(piece, row);
  return scan_unknown(piece, row, known);
}

Result<void> Scanner::scan_unknown(const Piece& piece, Row row, const Known& known) {
  report_.members[row].kind = known.kind;
  mark(row, Status::incomplete);
  if (!piece.rest.empty() && known.code == Code::unknown_format)
    find(row, piece, Code::unparsed_bytes,
         concat(counted(piece.source.size(), "byte ", "bytes "), piece.rest, piece.source.size() == 1 ? " is" : " are",
                " of no format that is known here"),
         0, piece.source.size());
  else find(row, piece, known.code, std::string(known.words), 0);
  return search(piece, row, 0);
}

/// A name that promises data which cannot run, on a file that may.
void Scanner::note_extension(const Piece& piece) {
  if (report_.members.empty()) return;
  const std::string_view kind = report_.members[0].kind;
  if (kind != "pickle" && kind != "torch-legacy" && !kind.starts_with("zip") && kind != "tar") return;
  for (const std::string_view promised : {std::string_view("safetensors"), std::string_view("gguf")})
    if (lowered(file_name_).ends_with(concat('.', promised)))
      find(0, piece, Code::extension_mismatch, concat("is named .", promised, ", and is a ", kind == "pickle" ? "Python pickle" : kind), 0);
}

Result<void> Scanner::scan_file(const ByteSource& source) {
  constexpr std::uint64_t kLeast = std::uint64_t{192} << 20, kTimes = 4;
  file_size_ = source.size();
  most_work_ = kLeast + kTimes * std::min(source.size(), std::uint64_t{1} << 60);
  const Piece piece{.source = source, .base = 0};
  ASSAY_CHECK(scan(piece));
  note_extension(piece);
  if (report_.status == Status::complete) return {};
  ASSAY_TRY(auto words, taken_for_text(source));
  if (words) report_.findings.add_first(Finding(Code::text_converted, *std::move(words)));
  return {};
}

Result<Report> scan_file(const ByteSource& source, std::string_view name, const Options& options) {
  Scanner scanner(options, name);
  ASSAY_CHECK(scanner.scan_file(source));
  return scanner.take_report();
}

}  // namespace assay::scan
