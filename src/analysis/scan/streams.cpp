// SPDX-License-Identifier: Apache-2.0
// Pickles one behind the other, and the raw bytes between them that a loader steps over:
//
//   torch before 1.6   magic, version, system, object, keys: five pickles; then for each key  count i64, count elements
//   torch 0.1 (tar)    storages: n; n × { pickle (key, location, class), count i64, elements }; pickle of views
//                      tensors:  n; n × { pickle, rank i32, 4 bytes, rank × i64, rank × i64, i64 }
//   joblib             behind an array wrapper's BUILD: the array (containers/joblib.hpp)
#include <algorithm>
#include <optional>

#include "analysis/scan/judge.hpp"
#include "analysis/scan/raw_storages.hpp"
#include "analysis/scan/scanner.hpp"
#include "analysis/scan/sniff.hpp"
#include "analysis/scan/weights_only.hpp"
#include "base/endian.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "bytes/window.hpp"
#include "containers/joblib.hpp"
#include "containers/pickle/frames.hpp"
#include "containers/pickle/opcodes.hpp"

namespace assay::scan {

namespace {

constexpr std::uint64_t kFirstWindow = 4096;
constexpr std::uint64_t kWindowGrowth = 16;
constexpr std::uint64_t kFarFrame = std::uint64_t{64} << 20;
constexpr std::uint32_t kMostStreams = 1'000'000;
constexpr std::uint32_t kLegacyPickles = 5;
constexpr std::int64_t kLegacyVersion = 1001;
constexpr std::uint64_t kBlankChecked = std::uint64_t{64} << 20;

bool has_kind(const pickle::Graph& graph, pickle::EventKind kind) {
  return std::ranges::any_of(graph.events(), [kind](const pickle::Event& event) { return event.kind == kind; });
}

/// True when it does something that needs no loader's hook.
bool acts_by_itself(const pickle::Graph& graph) {
  return has_kind(graph, pickle::EventKind::import_) || has_kind(graph, pickle::EventKind::call) ||
         has_kind(graph, pickle::EventKind::extension);
}

/// Text that happens to start with a 'c' or a 'P': the first thing it would do is to import a module that no Python can have, or to hand
/// its first line to a hook, and then it breaks.
bool is_text_after_all(const pickle::Graph& graph, ByteView head) {
  if (graph.reached_stop() || graph.events().empty() || !is_text(head)) return false;
  for (const pickle::Event& event : graph.events()) {
    // A hook could take one word for a path; a line of words is none.
    if (event.kind == pickle::EventKind::persistent) {
      if (graph.text(graph.item(event.node, 0)).find(' ') == std::string_view::npos) return false;
      continue;
    }
    return event.kind == pickle::EventKind::import_ && !has_kind(graph, pickle::EventKind::call) &&
           (cannot_be_module(graph.global(event.node).module) || cannot_be_module(graph.global(event.node).name));
  }
  return true;
}

/// True when some opcodes went well before one that exists did not: chance breaks sooner, and on bytes that are no opcodes.
bool breaks_late(const pickle::Graph& graph, ByteView bytes) {
  constexpr int kEnough = 3;
  const auto end = static_cast<std::size_t>(graph.end_offset() - bytes.offset());
  if (end >= bytes.size() || pickle::find_opcode(bytes[end]) == nullptr) return false;
  int opcodes = 0;
  for (std::size_t at = 0; at < end && opcodes < kEnough; ++opcodes) at = pickle::next_opcode(bytes, at).next;
  return opcodes == kEnough;
}

/// By its extension a file for torch.load, pickle.load or the like.
bool is_named_as_pickle(std::string_view file) {
  constexpr std::string_view kExtensions[] = {"bin", "ckpt",   "dat", "data", "dill", "joblib", "p",
                                              "pck", "pickle", "pkl", "pt",   "pth",  "sav"};
  const std::size_t dot = file.rfind('.');
  return dot != std::string_view::npos && std::ranges::find(kExtensions, lowered(file.substr(dot + 1))) != std::end(kExtensions);
}

/// True when `plain`, which goes on with a nested pickle's opcodes as its own, imports what `nested` imports but for the module, which
/// comes from another memo: honest arrays of objects make it ask somebody else for numpy's dtype.
bool mixes_memos_only(const pickle::Graph& plain, const pickle::Graph& nested) {
  auto same = nested.events().begin();
  for (const pickle::Event& event : plain.events()) {
    if (event.offset < nested.begin_offset() || event.kind != pickle::EventKind::import_) continue;
    same = std::find_if(same, nested.events().end(), [&](const pickle::Event& e) { return e.offset >= event.offset; });
    if (same == nested.events().end() || same->offset != event.offset || same->kind != pickle::EventKind::import_) return false;
    const pickle::GlobalName taken = plain.mapped_global(event.node), meant = nested.mapped_global(same->node);
    if (taken.name != meant.name || find_benign(meant.module, meant.name).rule == Rule::none) return false;
    if (judge_danger(taken.module, taken.name).verdict == Verdict::dangerous) return false;
  }
  return true;
}

}  // namespace

Result<bool> is_blank(const ByteSource& source, std::uint64_t begin) {
  constexpr std::uint64_t kChunk = 1 << 16;
  if (source.size() - begin > kBlankChecked) return false;
  for (std::uint64_t at = begin; at < source.size();) {
    const std::uint64_t n = std::min(kChunk, source.size() - at);
    ASSAY_TRY(const ByteBlock block, source.view(at, n));
    for (const std::byte b : block.view().span())
      if (b != std::byte{0} && b != std::byte{' '} && (b < std::byte{'\t'} || b > std::byte{'\r'})) return false;
    at += n;
  }
  return true;
}

Result<Scanner::Stream> Scanner::parse_at(const Piece& piece, std::uint64_t position) {
  const std::uint64_t left = piece.source.size() - position;
  const Limits& limits = piece.base ? limits_ : unpacked_limits_;
  for (std::uint64_t window = kFirstWindow;; window *= kWindowGrowth) {
    const std::uint64_t n = std::min({window, left, std::max(limits_.pickle_bytes, kFirstWindow)});
    Stream stream;
    ASSAY_TRY(stream.bytes, piece.source.view(position, n));
    joblib::ArrayReader arrays(limits);
    stream.graph = pickle::parse(stream.bytes.view(), limits, arrays);
    work_ += stream.graph.end_offset() - stream.graph.begin_offset();
    const auto& broken = stream.graph.broken();
    const bool far_frame = broken && broken->code() == Code::truncated && !(stream.graph.reached_stop() && n >= kFarFrame);
    const bool cut = n < left && (stream.graph.ends_early() || far_frame);
    if (cut && n < limits_.pickle_bytes) continue;
    stream.beyond_limit = cut;
    stream.nested = arrays.take_nested();
    read_otherwise(stream, arrays.first_array(), limits);
    return stream;
  }
}

/// Adds what readers would do that take the bytes behind an array's wrapper for opcodes, or keep to frames that are too short.
void Scanner::read_otherwise(Stream& stream, std::optional<std::uint64_t> first_array, const Limits& limits) const {
  constexpr std::uint64_t kMostReadTwice = std::uint64_t{64} << 20;
  if (first_array) {
    pickle::Graph plain = pickle::parse(stream.bytes.view(), limits);
    const bool told =
        !stream.nested.empty() && stream.nested[0].begin_offset() == *first_array && mixes_memos_only(plain, stream.nested[0]);
    if (!told && acts(plain, *first_array)) stream.others.push_back({std::move(plain), *first_array});
  }
  if (!stream.graph.crosses_frame() || stream.bytes.view().size() > kMostReadTwice) return;
  auto reading = pickle::read_buffered(stream.bytes.view());
  if (!reading) return;
  const std::size_t n = reading->bytes.size();
  auto held = std::make_unique_for_overwrite<std::byte[]>(n);
  std::ranges::copy(reading->bytes, held.get());
  stream.others.push_back({pickle::parse(ByteBlock(std::move(held), n, stream.bytes.view().offset()), limits), reading->first_cut});
}

// --- what it is -------------------------------------------------------------------------------------------------------------

Result<bool> Scanner::scan_as_pickle(const Piece& piece, Row row) {
  ASSAY_TRY(Stream stream, parse_at(piece, 0));
  const ByteView bytes = stream.bytes.view();
  const bool marked = (bytes.size() >= 2 && bytes[0] == std::byte{0x80} && bytes[1] < std::byte{16}) ||
                      (piece.name.empty() && (!is_text(bytes) || is_named_as_pickle(file_name_)) && breaks_late(stream.graph, bytes));
  const bool acts_otherwise =
      std::ranges::any_of(stream.others, [](const Stream::Reading& other) { return !other.graph.events().empty(); });
  if (!stream.graph.reached_stop() && stream.graph.events().empty() && !marked && !acts_otherwise) return false;
  if (is_text_after_all(stream.graph, bytes)) return false;
  // A picture's first bytes may hand a line to a hook before they break; what some other format begins with is taken for that.
  if (!stream.graph.reached_stop() && !marked && !acts_by_itself(stream.graph) && !is_text(bytes) && recognise(bytes).kind != "unknown")
    return false;
  report_.members[row].kind = "pickle";
  ASSAY_CHECK(scan_streams(piece, row, 0, Layout::plain, std::move(stream)));
  return true;
}

Result<void> Scanner::scan_second_reading(const Piece& piece, Row row) {
  constexpr std::uint32_t kMostReadTwice = 1000;
  std::uint64_t position = 0;
  for (std::uint32_t n = 1; n <= kMostReadTwice && position < piece.source.size(); ++n) {
    ASSAY_TRY(const Stream stream, parse_at(piece, position));
    const auto& graph = stream.graph;
    if (acts_by_itself(graph)) {
      if (n == 1 && is_text_after_all(graph, stream.bytes.view())) return {};
      // "PK" begins a persistent id of protocol 0: a loader without a hook stops there, and torch takes the archive.
      if (graph.events().front().kind == pickle::EventKind::persistent && stream.bytes.view()[0] == std::byte{'P'}) return {};
      // What begins a map of msgpack may ask for an extension by number; no loader knows it, and nothing that can be read follows.
      if (report_.members[row].kind == "msgpack" && graph.events().size() == 1 && !graph.reached_stop() &&
          graph.events().front().kind == pickle::EventKind::extension)
        return {};
      find(row, piece, Code::ambiguous_archive, "read from its first byte the file is a pickle too, and runs as one", position);
      ASSAY_CHECK(judge(piece, row, stream, n));
    }
    // One that loads well may be followed by another.
    if (!graph.reached_stop()) return {};
    position = graph.end_offset();
  }
  return {};
}

// --- one behind the other ---------------------------------------------------------------------------------------------------

Result<void> Scanner::scan_streams(const Piece& piece, Row row, std::uint64_t begin, Layout layout, std::optional<Stream> first) {
  const std::uint64_t size = piece.source.size();
  RawStorages raw(layout);
  std::uint64_t position = begin;
  for (std::uint32_t n = 1; position < size; ++n) {
    if (n > kMostStreams) {
      mark(row, Status::incomplete);
      find(row, piece, Code::limit_exceeded, concat("more than ", kMostStreams, " pickles follow each other"), position);
      return {};
    }
    Stream stream;
    if (first) stream = *std::exchange(first, std::nullopt);
    else {
      ASSAY_TRY(stream, parse_at(piece, position));
    }
    const pickle::Graph& graph = stream.graph;
    if (n > 1 && !graph.reached_stop() && graph.events().empty()) {
      ask_weights_only(piece, row, stream, n);
      return scan_gap(piece, row, position, "behind the last pickle", Status::incomplete);
    }
    report_.pickle_bytes += graph.end_offset() - position;
    report_.members[row].streams = n;
    note_broken(piece, row, stream);
    ASSAY_CHECK(judge(piece, row, stream, n));
    if (!graph.reached_stop()) return scan_gap(piece, row, graph.end_offset(), "behind the break", Status::malformed);
    position = graph.end_offset();
    raw.take(graph, n);
    if (raw.is_legacy()) report_.members[row].kind = "torch-legacy";
    ASSAY_TRY(const RawStorages::Step step, raw.step_over(piece.source, position, n));
    if (step.broken) {
      take_error(row, piece, *step.broken);
      refuse_legacy(piece, step.broken->what());
      return scan_gap(piece, row, position, "where storages should be", Status::malformed);
    }
    if (!step.refusal.empty()) refuse_legacy(piece, step.refusal);
    if (step.bytes != 0) {
      ASSAY_CHECK(scan_hidden(piece, row, position));
      position += step.bytes;
    }
    if (position >= size && n < kLegacyPickles) refuse_legacy(piece, concat("the file ends after ", n, " of its 5 pickles"));
    if (position < size && n == 1) {
      ASSAY_TRY(const bool blank, is_blank(piece.source, position));
      if (blank) return {};
    }
  }
  return {};
}

/// What torch finds wrong with a file of the form before 1.6, beside its pickles.
void Scanner::refuse_legacy(const Piece& piece, std::string_view why) {
  if (!piece.name.empty() || !legacy_ || report_.weights_only.answer != WeightsOnly::Answer::accepts) return;
  report_.weights_only = {WeightsOnly::Answer::refuses, std::string(why)};
}

/// Raw bytes may still be a pickle to somebody who reads on: torch looks at their count only.
Result<void> Scanner::scan_hidden(const Piece& piece, Row row, std::uint64_t position) {
  for (const std::uint64_t at : {position, position + 8}) {
    if (at >= piece.source.size()) continue;
    ASSAY_TRY(const Stream stream, parse_at(piece, at));
    if (!has_kind(stream.graph, pickle::EventKind::call)) continue;
    ASSAY_CHECK(judge(piece, row, stream, 0));
  }
  return {};
}

void Scanner::note_broken(const Piece& piece, Row row, const Stream& stream) {
  const pickle::Graph& graph = stream.graph;
  if (stream.beyond_limit) {
    mark(row, Status::incomplete);
    find(row, piece, Code::limit_exceeded, concat("the pickle is longer than the limit of ", limits_.pickle_bytes, " bytes"),
         graph.begin_offset());
    return;
  }
  if (graph.broken()) return take_error(row, piece, *graph.broken());
  if (graph.left_on_stack() != 0)
    find(row, piece, Code::odd_header, concat(counted(graph.left_on_stack(), "item is", "items are"), " left on the stack at STOP"),
         graph.end_offset());
}

// --- bytes that nothing explains --------------------------------------------------------------------------------------------

Result<void> Scanner::scan_gap(const Piece& piece, Row row, std::uint64_t begin, std::string_view what, Status status) {
  const std::uint64_t size = piece.source.size();
  if (begin >= size) return {};
  ASSAY_TRY(const bool blank, is_blank(piece.source, begin));
  if (blank) return {};
  mark(row, status);
  find(row, piece, Code::unparsed_bytes,
       concat(counted(size - begin, "byte ", "bytes "), what, size - begin == 1 ? " is not parsed" : " are not parsed"), begin,
       size - begin);
  return search(piece, row, begin);
}

Result<void> Scanner::judge(const Piece& piece, Row row, const Stream& stream, std::uint32_t number) {
  if (piece.base) judged_streams_.insert(*piece.base + stream.graph.begin_offset());
  Judge judge(*this, piece, row, stream.graph, number);
  judge.run();
  ask_weights_only(piece, row, stream, number);
  for (const Stream::Reading& other : stream.others) {
    if (other.graph.events().empty() || other.graph.events().back().offset < other.from) continue;
    find(row, piece, Code::ambiguous_archive, "some readers take the bytes from here on otherwise, and would run them", other.from);
    Judge(*this, piece, row, other.graph, number).run(other.from);
  }
  for (const auto& inner : stream.nested) {
    Judge(*this, piece, row, inner, number).run();
    if (inner.broken()) take_error(row, piece, *inner.broken());
  }
  for (const pickle::Node node : judge.nested()) {
    ASSAY_CHECK(scan_bytes(piece, row, stream.graph, node));
  }
  return {};
}

void Scanner::ask_weights_only(const Piece& piece, Row row, const Stream& stream, std::uint32_t number) {
  WeightsOnly& answer = report_.weights_only;
  const auto ask = [&] {
    const auto refusal = weights_only_refusal(stream.graph, stream.bytes.view(), legacy_ ? kLegacyIdParts : kZipIdParts);
    answer.answer = refusal ? WeightsOnly::Answer::refuses : WeightsOnly::Answer::accepts;
    answer.reason = refusal.value_or("");
  };
  if (!weights_target_.empty()) {
    // Of members of one name torch reads the first.
    if (piece.name == weights_target_ && number == 1 && answer.answer == WeightsOnly::Answer::does_not_apply) ask();
    return;
  }
  const std::string_view kind = report_.members[row].kind;
  if (!piece.name.empty() || (kind != "pickle" && kind != "torch-legacy")) return;
  if (number == 1) {
    ask();
    legacy_ = is_torch_magic(stream.graph);
    if (legacy_ || answer.answer == WeightsOnly::Answer::refuses) return;
    answer = {WeightsOnly::Answer::refuses, "Invalid magic number; corrupt file?"};
  } else if (legacy_ && number <= kLegacyPickles && answer.answer == WeightsOnly::Answer::accepts) {
    ask();
    const pickle::Node root = stream.graph.root();
    if (number == 2 && (stream.graph.kind(root) != pickle::Kind::integer || stream.graph.integer(root) != kLegacyVersion))
      refuse_legacy(piece, concat("Invalid protocol version: ", pickle::describe(stream.graph, root, 40)));
  }
}

/// The bytes that torch.storage._load_from_bytes would load: a whole legacy file.
Result<void> Scanner::scan_bytes(const Piece& piece, Row row, const pickle::Graph& graph, pickle::Node node) {
  const ByteView bytes = graph.bytes(node);
  if (piece.depth >= kDeepest) {
    mark(row, Status::incomplete);
    find(row, piece, Code::limit_exceeded, concat("more than ", kDeepest, " files within each other"), graph.offset(node));
    return {};
  }
  std::vector<std::byte> decoded;
  std::optional<WindowSource> window;
  std::shared_ptr<MemorySource> memory;
  if (graph.kind(node) == pickle::Kind::text) {  // each character is a byte
    decoded.reserve(bytes.size());
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const auto b = std::to_integer<unsigned>(bytes[i]);
      if (b >= 0xc0 && i + 1 < bytes.size())
        decoded.push_back(static_cast<std::byte>((b & 3) << 6 | (std::to_integer<unsigned>(bytes[++i]) & 0x3f)));
      else decoded.push_back(bytes[i]);
    }
    memory = std::make_shared<MemorySource>(std::move(decoded));
  } else if (graph.in_stream(node)) {
    window.emplace(piece.source, bytes.offset(), bytes.size());
  } else {
    memory = MemorySource::borrow(bytes.span());
  }
  const ByteSource& source = window ? static_cast<const ByteSource&>(*window) : *memory;
  Piece inner{.source = source, .name = join(piece.name, concat("bytes at ", graph.offset(node))), .base = {}, .depth = piece.depth + 1};
  if (window && piece.base) inner.base = *piece.base + bytes.offset();
  const Row inner_row = report_.members.size();
  ASSAY_CHECK(scan(inner));
  const bool torch = report_.members[inner_row].kind == "torch-legacy" && report_.members[inner_row].streams >= 5;
  if (!torch) {
    raise(row, Verdict::unknown);
    find(row, piece, Code::unknown_call, "would call torch.storage._load_from_bytes() with what is no file of torch", graph.offset(node));
  }
  Member& member = report_.members[row];
  member.verdict = std::max(member.verdict, report_.members[inner_row].verdict);
  member.status = std::max(member.status, report_.members[inner_row].status);
  ++report_.storages;
  if (torch && report_.members.size() == inner_row + 1 && report_.members[inner_row].verdict == Verdict::clean &&
      report_.members[inner_row].status == Status::complete)
    report_.members.pop_back();
  return {};
}

}  // namespace assay::scan
