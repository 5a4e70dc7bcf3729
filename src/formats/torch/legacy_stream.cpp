// SPDX-License-Identifier: Apache-2.0
#include "formats/torch/legacy_stream.hpp"

#include <algorithm>
#include <array>
#include <unordered_set>

#include "base/arith.hpp"
#include "base/endian.hpp"
#include "base/text.hpp"
#include "base/try.hpp"

namespace assay::formats::torch {

namespace {

using std::string_view_literals::operator""sv;

constexpr std::string_view kMagic = "\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19"sv;
constexpr std::int64_t kProtocol = 1001;
constexpr std::uint64_t kCountSize = 8;
constexpr std::uint64_t kWidths[] = {4, 2, 8, 1, 16};  // of elements, the likeliest first
constexpr std::uint64_t kBeyond = std::numeric_limits<std::uint64_t>::max();

// What the first persistent id of a key says about its storage.
struct Claim {
  std::uint64_t numel = 0;
  std::uint64_t width = 0;  // bytes of an element; 0 when nothing tells

  bool known() const { return width != 0; }
  std::uint64_t nbytes() const { return checked_mul(numel, width).value_or(kBeyond); }
};

class Reader {
 public:
  Reader(const ByteSource& source, std::uint64_t begin, std::uint64_t end, Arena& arena, const Limits& limits)
      : source_(source), at_(begin), end_(end), arena_(arena), limits_(limits) {}

  Result<LegacyStream> run();

 private:
  Result<PickleAt> small_pickle(std::string_view what);
  void collect_claims();
  Result<void> read_keys();
  void take_keys(const Graph& graph, Node list);
  void predict();
  Result<void> walk();
  Result<bool> zeros_from(std::uint64_t at);
  Result<bool> step(std::size_t i);
  Result<std::optional<std::int64_t>> count_at(std::size_t i, std::uint64_t at);
  Result<bool> agrees(std::size_t next, std::uint64_t at);
  Result<std::optional<std::uint64_t>> size_of(std::size_t i, std::uint64_t data, std::uint64_t count);
  void compare(std::size_t i, std::uint64_t count);
  void stop(std::size_t first_lost, Error error);

  const ByteSource& source_;
  std::uint64_t at_, end_;
  Arena& arena_;
  const Limits& limits_;
  LegacyStream out_;
  std::unordered_map<std::string_view, Claim> by_key_;
  std::vector<std::string_view> keys_;
  std::vector<Claim> claims_;             // of keys_
  std::vector<std::uint64_t> predicted_;  // where each count stands; empty when the claims do not fill the file
};

// One of the pickles before the object: nothing can be listed without it.
Result<PickleAt> Reader::small_pickle(std::string_view what) {
  ASSAY_TRY(PickleAt pickle, read_pickle_at(source_, at_, end_, limits_));
  if (const auto& broken = pickle.graph->broken())
    return fail(Error(broken->code(), concat(what, ": ", broken->what())).at(broken->where().offset.value_or(at_)));
  at_ = pickle.end();
  return pickle;
}

void Reader::collect_claims() {
  const Graph& graph = *out_.object.graph;
  for (const pickle::Event& event : graph.events()) {
    if (event.kind != pickle::EventKind::persistent) continue;
    const auto id = read_storage_id(graph, event.node, arena_);
    if (id) by_key_.try_emplace(id->key, Claim{id->numel, storage_unit(id->dtype)});
  }
}

void Reader::take_keys(const Graph& graph, Node list) {
  const Kind kind = kind_of(graph, list);
  if (kind != Kind::list && kind != Kind::tuple) {
    if (!out_.broken) out_.broken = Error(Code::malformed_pickle, "the list of storages is not a list").at(graph.begin_offset());
    return;
  }
  std::unordered_set<std::string_view> seen;
  for (std::size_t i = 0; i < graph.length(list); ++i) {
    const Node item = graph.item(list, i);
    if (is_text(kind_of(graph, item))) {
      keys_.push_back(arena_.text(graph.text(item)));
    } else if (const auto number = integer_of(graph, item)) {
      keys_.push_back(arena_.text(decimal(*number)));
      if (out_.findings.empty()) {
        Finding finding(Code::odd_header, concat("the list names storage ", *number, " by a number; torch.load refuses that"),
                        {.offset = graph.offset(item)});
        finding.severity = Severity::warning;
        out_.findings.push_back(std::move(finding));
      }
    } else {
      if (!out_.broken)
        out_.broken = Error(Code::malformed_pickle, "the list of storages holds something that is no key").at(graph.offset(item));
      return;
    }
    if (!seen.insert(keys_.back()).second)
      out_.findings.emplace_back(Code::duplicate_name, concat("storage ", quote(keys_.back()), " is listed twice; the last one counts"),
                                 Where{.offset = graph.offset(item)});
  }
}

Result<void> Reader::read_keys() {
  if (out_.object.graph->broken()) {
    const Error& broken = *out_.object.graph->broken();
    out_.broken = Error(broken.code(), concat("the object: ", broken.what())).at(broken.where().offset.value_or(at_));
    return {};
  }
  ASSAY_TRY(const PickleAt list, read_pickle_at(source_, at_, end_, limits_));
  if (const auto& broken = list.graph->broken())
    out_.broken = Error(broken->code(), concat("the list of storages: ", broken->what())).at(broken->where().offset.value_or(at_));
  else at_ = list.end();
  take_keys(*list.graph, list.graph->salvage_root());
  for (const std::string_view key : keys_) {
    const auto found = by_key_.find(key);
    claims_.push_back(found == by_key_.end() ? Claim() : found->second);
    if (found == by_key_.end()) {
      Finding finding(Code::odd_header, concat("storage ", quote(key), " is in the file, but nothing uses it; torch.load refuses that"));
      finding.severity = Severity::warning;
      out_.findings.push_back(std::move(finding));
    }
  }
  return {};
}

void Reader::predict() {
  std::optional<std::uint64_t> at = at_;
  for (std::size_t i = 0; i < keys_.size() && at; ++i) {
    if (!claims_[i].known()) break;
    predicted_.push_back(*at);
    const auto data = checked_add(*at, kCountSize);
    at = data ? checked_add(*data, claims_[i].nbytes()) : std::nullopt;
  }
  if (predicted_.size() != keys_.size() || at != end_) predicted_.clear();
}

// The count that stands at `at`; nothing where the stream ends before its eight bytes do.
Result<std::optional<std::int64_t>> Reader::count_at(std::size_t i, std::uint64_t at) {
  if (!within(at, kCountSize, end_)) return std::nullopt;
  std::array<std::byte, kCountSize> bytes;
  auto read = source_.read(at, bytes);
  if (!read && read.error().code() == Code::need_range && i < predicted_.size() && predicted_[i] == at)
    return static_cast<std::int64_t>(claims_[i].numel);
  ASSAY_CHECK(std::move(read));
  return load_le<std::int64_t>(bytes.data());
}

// True when what stands at `at` can be the count of storage `next`, or the end of the stream when there is none.
Result<bool> Reader::agrees(std::size_t next, std::uint64_t at) {
  if (next == keys_.size()) return at == end_;
  ASSAY_TRY(const auto count, count_at(next, at));
  if (!count || *count < 0) return false;
  if (claims_[next].known()) return static_cast<std::uint64_t>(*count) == claims_[next].numel;
  return static_cast<std::uint64_t>(*count) <= end_ - at - kCountSize;
}

// The bytes of a storage: by its count, unless only another size brings the next count to where it must be. Torch itself wrote too low a
// count for a storage that is no whole number of elements.
Result<std::optional<std::uint64_t>> Reader::size_of(std::size_t i, std::uint64_t data, std::uint64_t count) {
  const Claim& claim = claims_[i];
  const auto fits = [&](std::uint64_t size) -> Result<bool> {
    if (!within(data, size, end_)) return false;
    return agrees(i + 1, data + size);
  };
  if (!claim.known()) {
    if (i + 1 == keys_.size()) return std::min(count, end_ - data);  // nothing behind it depends on its size
    for (const std::uint64_t width : kWidths) {
      const std::uint64_t size = checked_mul(count, width).value_or(kBeyond);
      ASSAY_TRY(const bool good, fits(size));
      if (good) return size;
    }
    return std::nullopt;
  }
  const std::uint64_t by_count = checked_mul(count, claim.width).value_or(kBeyond);
  if (i + 1 == keys_.size() && count == claim.numel) return by_count;
  ASSAY_TRY(bool good, fits(by_count));
  if (good) return by_count;
  ASSAY_TRY(good, fits(claim.nbytes()));
  if (good) return claim.nbytes();
  for (std::uint64_t rest = 1; rest < claim.width && within(data, by_count, end_); ++rest) {
    ASSAY_TRY(good, fits(by_count + rest));
    if (good) return by_count + rest;
  }
  return by_count;
}

void Reader::compare(std::size_t i, std::uint64_t count) {
  const Claim& claim = claims_[i];
  if (!claim.known() || count == claim.numel) return;
  Finding finding(Code::storage_size_mismatch, concat("storage ", quote(keys_[i]), " has ", counted(count, "element", "elements"),
                                                      ", the pickle claims ", claim.numel, "; torch.load refuses that"));
  finding.where.offset = at_;
  finding.facts = {{"claimed", claim.nbytes()}, {"stored", checked_mul(count, claim.width).value_or(kBeyond)}};
  out_.findings.push_back(std::move(finding));
}

// Everything from a key on is lost.
void Reader::stop(std::size_t first_lost, Error error) {
  for (std::size_t i = first_lost; i < keys_.size(); ++i) {
    out_.storages.lose(keys_[i]);
    const auto whole = claims_[i].known() ? checked_add(claims_[i].nbytes(), kCountSize) : kCountSize;
    out_.missing = whole ? checked_add(out_.missing, *whole).value_or(kBeyond) : kBeyond;
  }
  out_.storages.break_with(error);
  if (error.code() != Code::truncated) out_.broken = std::move(error);
}

/// Whether the next bytes and the last ones are zeros: of a download that reserved its space and did not end.
Result<bool> Reader::zeros_from(std::uint64_t at) {
  constexpr std::uint64_t kLook = 4096;
  if (end_ - at < kLook) return false;
  for (const std::uint64_t from : {at, end_ - kLook}) {
    ASSAY_TRY(const ByteBlock block, source_.fetch(from, kLook));
    if (!std::ranges::all_of(block.view().span(), [](std::byte b) { return b == std::byte{0}; })) return false;
  }
  return true;
}

Result<bool> Reader::step(std::size_t i) {
  ASSAY_TRY(const auto count, count_at(i, at_));
  if (!count) {
    out_.cut = concat("before storage ", quote(keys_[i]));
    stop(i, Error(Code::truncated));
    out_.missing -= std::min(out_.missing, end_ - at_);
    return false;
  }
  if (*count < 0) {
    stop(i, Error(Code::bad_header, concat("storage ", quote(keys_[i]), " claims ", *count, " elements")).at(at_));
    return false;
  }
  const auto elements = static_cast<std::uint64_t>(*count);
  const std::uint64_t data = at_ + kCountSize;
  if (elements == 0 && claims_[i].known() && claims_[i].numel > 0) {
    ASSAY_TRY(const bool unwritten, zeros_from(data));
    if (unwritten) {
      out_.cut = concat("before storage ", quote(keys_[i]));
      stop(i, Error(Code::truncated));
      return false;
    }
  }
  ASSAY_TRY(const auto size, size_of(i, data, elements));
  if (!size) {
    stop(i, Error(Code::bad_header,
                  concat("nothing tells how large the elements of storage ", quote(keys_[i]), " are, so what follows cannot be found"))
                .at(at_));
    return false;
  }
  compare(i, elements);
  const std::uint64_t have = std::min(*size, end_ - data);
  out_.storages.place(keys_[i], data, *size, have);
  at_ = data + have;
  if (have == *size) return true;
  out_.cut = concat(grouped(have), " of ", grouped(*size), " bytes into storage ", quote(keys_[i]));
  stop(i + 1, Error(Code::truncated));
  out_.missing = checked_add(out_.missing, *size - have).value_or(kBeyond);
  return false;
}

Result<void> Reader::walk() {
  bool more = true;
  for (std::size_t i = 0; i < keys_.size() && more; ++i) {
    ASSAY_TRY(more, step(i));
  }
  return {};
}

Result<LegacyStream> Reader::run() {
  ASSAY_TRY(const PickleAt magic, small_pickle("the magic number"));
  if (!is_legacy_magic(*magic.graph))
    return fail(Error(Code::bad_header, "no legacy torch.save stream: its magic number is missing").at(magic.bytes.offset()));
  ASSAY_TRY(const PickleAt protocol, small_pickle("the protocol version"));
  const auto version = integer_of(*protocol.graph, protocol.graph->root());
  if (version != kProtocol) {
    const std::string shown = pickle::describe(*protocol.graph, protocol.graph->root(), 40);
    out_.findings.emplace_back(Code::bad_version, concat("the stream's version is ", shown, ", not ", kProtocol, "; torch.load refuses it"),
                               Where{.offset = protocol.bytes.offset()});
  }
  ASSAY_CHECK(small_pickle("the system information"));
  ASSAY_TRY(out_.object, read_pickle_at(source_, at_, end_, limits_));
  at_ = out_.object.end();
  collect_claims();
  ASSAY_CHECK(read_keys());
  if (out_.broken) {
    ASSAY_TRY(const bool unwritten, zeros_from(std::min(out_.broken->where().offset.value_or(at_), end_)));
    if (unwritten) out_.broken = Error(Code::truncated);
    Error why(out_.broken->code());
    // The list may be lost, so that the ids alone tell what was to follow.
    for (const auto& [key, claim] : by_key_) {
      const auto whole = checked_add(claim.nbytes(), kCountSize);
      out_.missing = whole ? checked_add(out_.missing, *whole).value_or(kBeyond) : kBeyond;
    }
    if (why.code() == Code::truncated) out_.cut = out_.object.graph->broken() ? "within the object's pickle" : "before its storages";
    out_.storages.break_with(why);
  } else {
    predict();
    ASSAY_CHECK(walk());
  }
  out_.end = at_;
  return std::move(out_);
}

}  // namespace

bool is_legacy_magic(const Graph& graph) {
  const Node root = graph.root();
  return kind_of(graph, root) == Kind::big_integer && graph.bytes(root).text() == kMagic;
}

Result<LegacyStream> read_legacy_stream(const ByteSource& source, std::uint64_t begin, std::uint64_t end, Arena& arena,
                                        const Limits& limits) {
  return Reader(source, begin, end, arena, limits).run();
}

}  // namespace assay::formats::torch
