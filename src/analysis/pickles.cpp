// SPDX-License-Identifier: Apache-2.0
#include "analysis/pickles.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "analysis/scan/raw_storages.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "bytes/window.hpp"
#include "containers/npy.hpp"
#include "containers/tar.hpp"
#include "containers/zip.hpp"
#include "formats/torch/pickle_at.hpp"

namespace assay::analysis {

namespace {

constexpr std::size_t kMostNames = 1000;  // shown of an archive's members
constexpr std::size_t kMostStreams = 100'000;
constexpr int kDeepest = 8;  // archives within archives
constexpr std::uint64_t kTarBlock = 512;

/// Bytes that pickles are read from: [begin, end) of the source.
struct Piece {
  std::shared_ptr<ByteSource> source;
  std::uint64_t begin = 0, end = 0;
  std::string member = {};
  bool in_file = true;
  scan::Layout layout = scan::Layout::plain;
  std::uint64_t size() const { return end - begin; }
};

std::string join(std::string_view outer, std::string_view inner) { return outer.empty() ? std::string(inner) : concat(outer, '/', inner); }

bool looks_like_pickle(std::string_view name) {
  constexpr std::string_view kEndings[] = {".pkl", ".pickle", ".debug_pkl", ".p", ".joblib"};
  return std::ranges::any_of(kEndings, [&](std::string_view ending) { return name.ends_with(ending); });
}

/// Finds the pieces that `wanted` means.
class Finder {
 public:
  Finder(std::string_view wanted, const Limits& limits) : wanted_(wanted), limits_(limits) {}
  Result<void> find(const Piece& piece, std::string_view wanted, int depth);
  std::vector<Piece> pieces;

 private:
  struct Choice {
    std::size_t index;
    std::string_view rest;  // of the wanted name, within the member
  };
  Result<Choice> choose(const std::vector<std::string_view>& names, std::string_view wanted, const Piece& piece) const;
  Error no_member(const std::vector<std::string_view>& names, std::string what) const;
  Result<void> find_in_zip(const Piece& piece, std::string_view wanted, int depth);
  Result<void> find_in_archive(const Piece& piece, std::string_view wanted, int depth);
  Result<void> find_in_tar(const Piece& piece, std::string_view wanted, int depth);
  Result<void> find_in_array(Piece piece, std::string_view wanted);

  std::string_view wanted_;
  const Limits& limits_;
};

Error Finder::no_member(const std::vector<std::string_view>& names, std::string what) const {
  std::vector<std::string> list;
  for (const std::string_view name : names)
    if (list.size() < kMostNames) list.emplace_back(name);
  Error error = Error(Code::no_such_member, std::move(what)).fact("members", list);
  if (names.empty() || wanted_.empty()) return error;
  std::string close;
  for (const std::string_view name : nearest(wanted_, names)) close += concat(close.empty() ? "" : ", ", quote(name));
  return close.empty() ? std::move(error) : std::move(error).advise(concat("did you mean ", close, "?"));
}

/// The member of a name, or of the main pickle.
Result<Finder::Choice> Finder::choose(const std::vector<std::string_view>& names, std::string_view wanted, const Piece& piece) const {
  const auto find = [&](auto&& test) -> std::optional<std::size_t> {
    const auto found = std::ranges::find_if(names, test);
    return found == names.end() ? std::nullopt : std::optional(static_cast<std::size_t>(found - names.begin()));
  };
  if (!wanted.empty()) {
    if (const auto i = find([&](std::string_view name) { return name == wanted; })) return Choice{*i, {}};
    // Without the root folder, which every name has.
    const auto rooted = [&](std::string_view name) {
      return name.find('/') != std::string_view::npos && name.substr(name.find('/') + 1) == wanted;
    };
    if (const auto i = find(rooted)) return Choice{*i, {}};
    for (const bool root : {false, true}) {
      const auto outer = [&](std::string_view name) {
        if (root) name = name.find('/') == std::string_view::npos ? std::string_view() : name.substr(name.find('/') + 1);
        return !name.empty() && wanted.size() > name.size() && wanted.starts_with(name) && wanted[name.size()] == '/';
      };
      if (const auto i = find(outer)) {
        const std::size_t skipped = root ? names[*i].find('/') + 1 : 0;
        return Choice{*i, wanted.substr(names[*i].size() - skipped + 1)};
      }
    }
    return fail(no_member(names, concat("no member ", quote(wanted), piece.member.empty() ? "" : concat(" in ", quote(piece.member)))));
  }
  if (const auto i = find(
          [](std::string_view name) { return name == "data.pkl" || (name.ends_with("/data.pkl") && std::ranges::count(name, '/') == 1); }))
    return Choice{*i, {}};
  std::vector<std::string_view> pickles;
  for (const std::string_view name : names)
    if (looks_like_pickle(name)) pickles.push_back(name);
  if (pickles.empty() && names.size() == 1) return Choice{0, {}};
  if (pickles.size() == 1) return Choice{*find([&](std::string_view name) { return name == pickles[0]; }), {}};
  if (pickles.empty()) return fail(no_member(names, "no main pickle in this archive; name a member"));
  const std::vector<std::string> some(pickles.begin(), pickles.begin() + std::min<std::ptrdiff_t>(3, std::ssize(pickles)));
  return fail(no_member(pickles, concat(pickles.size(), " pickles in this archive, none of them the main one; name a member: ",
                                        name_list(some, some.size(), pickles.size()))));
}

Result<void> Finder::find_in_archive(const Piece& piece, std::string_view wanted, int depth) {
  const WindowSource window(*piece.source, piece.begin, piece.size());
  ASSAY_TRY(const zip::Directory directory, zip::read_directory(window, limits_));
  std::vector<std::string_view> names;
  for (const zip::Member& member : directory.members) names.push_back(member.name);
  ASSAY_TRY(const Choice choice, choose(names, wanted, piece));
  const zip::Member& member = directory.members[choice.index];
  Piece inner{piece.source, 0, 0, join(piece.member, member.name), piece.in_file};
  if (member.method == 0 && !member.encrypted()) {
    auto offset = zip::data_offset(window, member);
    if (!offset) return fail(std::move(offset).error().in_member(member.name));
    inner.begin = piece.begin + *offset;
    inner.end = inner.begin + member.packed_size;
  } else {
    auto bytes = zip::read_member(window, member, zip::most_parsed(member, limits_), limits_);
    if (!bytes) return fail(std::move(bytes).error().in_member(member.name));
    const auto span = bytes->view().span();
    inner.source = std::make_shared<MemorySource>(std::vector<std::byte>(span.begin(), span.end()));
    inner.end = span.size();
    inner.in_file = false;
  }
  return find(inner, choice.rest, depth + 1);
}

Result<void> Finder::find_in_zip(const Piece& piece, std::string_view wanted, int depth) {
  const WindowSource window(*piece.source, piece.begin, piece.size());
  ASSAY_TRY(const std::vector<std::uint64_t> begins, zip::find_chain(window, limits_));
  if (begins.size() < 2) return find_in_archive(piece, wanted, depth);
  // Archives one behind the other, as a distributed checkpoint has them: each with its own pickle.
  for (std::size_t i = 0; i < begins.size() && i < kMostStreams; ++i) {
    const std::string name = concat("bytes at ", begins[i]);
    Piece part = piece;
    part.begin = piece.begin + begins[i];
    part.end = i + 1 < begins.size() ? piece.begin + begins[i + 1] : piece.end;
    part.member = join(piece.member, name);
    if (wanted.starts_with(name + '/')) return find_in_archive(part, wanted.substr(name.size() + 1), depth);
    if (!wanted.empty() && wanted != name) continue;
    ASSAY_CHECK(find_in_archive(part, {}, depth));
  }
  if (!pieces.empty()) return {};
  return fail(Error(Code::no_such_member, concat("no member ", quote(wanted), " in ", begins.size(), " archives one behind the other"))
                  .advise("name the archive by where it begins: 'bytes at 0'"));
}

Result<void> Finder::find_in_tar(const Piece& piece, std::string_view wanted, int depth) {
  const WindowSource window(*piece.source, piece.begin, piece.size());
  ASSAY_TRY(const tar::Archive archive, tar::read_archive(window, limits_));
  std::vector<std::string_view> names;
  std::vector<const tar::Member*> members;
  for (const tar::Member& member : archive.members) {
    if (!member.regular()) continue;
    names.push_back(std::string_view(member.name).substr(member.name.starts_with("./") ? 2 : 0));
    members.push_back(&member);
  }
  const auto has = [&](std::string_view name) { return std::ranges::find(names, name) != names.end(); };
  const bool torch = has("pickle") && has("storages");
  ASSAY_TRY(const Choice choice, choose(names, wanted.empty() && torch ? "pickle" : wanted, piece));
  const tar::Member& member = *members[choice.index];
  Piece inner{piece.source, piece.begin + member.offset, piece.begin + member.offset + member.size, join(piece.member, names[choice.index]),
              piece.in_file};
  if (torch && names[choice.index] == "tensors") inner.layout = scan::Layout::tar_tensors;
  if (torch && names[choice.index] == "storages") inner.layout = scan::Layout::tar_storages;
  return find(inner, choice.rest, depth + 1);
}

Result<void> Finder::find_in_array(Piece piece, std::string_view wanted) {
  if (!wanted.empty()) return fail(Code::no_such_member, "an array has no members");
  const WindowSource window(*piece.source, piece.begin, piece.size());
  ASSAY_TRY(const npy::Header header, npy::read_header(window, limits_));
  if (!header.has_objects) return fail(Error(Code::no_pickle, "an array of plain numbers, without a pickle").in_member(piece.member));
  piece.begin += header.data_offset;
  pieces.push_back(std::move(piece));
  return {};
}

Result<void> Finder::find(const Piece& piece, std::string_view wanted, int depth) {
  if (depth > kDeepest) return fail(Code::limit_exceeded, concat("archives nested more than ", kDeepest, " deep"));
  ASSAY_TRY(const ByteBlock head, piece.source->fetch(piece.begin, std::min(piece.size(), kTarBlock)));
  const std::string_view text = head.view().text();
  if (text.starts_with("PK\3\4") || text.starts_with("PK\5\6")) return find_in_zip(piece, wanted, depth);
  if (npy::is_npy(head.view())) return find_in_array(piece, wanted);
  if (text.size() == kTarBlock && tar::is_header(head.view())) return find_in_tar(piece, wanted, depth);
  if (!text.empty() && text[0] != '\x80' && depth == 0) {  // a zip may stand behind bytes of its own
    const WindowSource window(*piece.source, piece.begin, piece.size());
    const auto directory = zip::read_directory(window, limits_);
    if (!directory && directory.error().code() == Code::need_range) return fail(std::move(zip::read_directory(window, limits_)).error());
    if (directory && !directory->salvaged) return find_in_archive(piece, wanted, depth);
  }
  if (!wanted.empty())
    return fail(Error(Code::no_such_member,
                      concat("no member ", quote(wanted), ": ", depth == 0 ? "the file" : quote(piece.member), " is no archive")));
  pieces.push_back(piece);
  return {};
}

}  // namespace

struct PickleReader::State {
  std::vector<Piece> pieces;
  std::size_t piece = 0;
  std::uint64_t at = 0;  // in the piece's source, absolute
  std::uint64_t number = 0;
  std::optional<scan::RawStorages> storages;
  bool ended = false;  // of the piece at hand
  Limits limits;
  std::string_view rest;
  std::uint64_t rest_at = 0, rest_size = 0;

  void end_with(std::string_view what) {
    ended = true;
    rest = at < pieces[piece].end ? what : std::string_view();
    rest_at = at;
    rest_size = pieces[piece].end - std::min(at, pieces[piece].end);
  }
  Result<std::optional<PickleStream>> read();
  Result<void> step_over(const pickle::Graph& graph);
};

PickleReader::PickleReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
PickleReader::PickleReader(PickleReader&&) noexcept = default;
PickleReader& PickleReader::operator=(PickleReader&&) noexcept = default;
PickleReader::~PickleReader() = default;

Result<PickleReader> PickleReader::open(std::shared_ptr<ByteSource> source, std::string_view member, const Limits& limits) {
  auto state = std::make_unique<State>();
  state->limits = limits;
  const std::uint64_t size = source->size();
  Finder finder(member, limits);
  ASSAY_CHECK(finder.find({std::move(source), 0, size}, member, 0));
  state->pieces = std::move(finder.pieces);
  return PickleReader(std::move(state));
}

/// Raw storages behind the pickle, where its kind of file has them.
Result<void> PickleReader::State::step_over(const pickle::Graph& graph) {
  const Piece& piece_now = pieces[piece];
  storages->take(graph, static_cast<std::uint32_t>(number));
  const WindowSource window(*piece_now.source, 0, piece_now.end);
  ASSAY_TRY(const scan::RawStorages::Step step, storages->step_over(window, at, static_cast<std::uint32_t>(number)));
  if (step.broken) {
    end_with("storages");
    return {};
  }
  at += step.bytes;
  if (step.bytes != 0 && at >= piece_now.end) {  // told as what the file ends with
    at -= step.bytes;
    end_with("storages");
  }
  return {};
}

Result<std::optional<PickleStream>> PickleReader::State::read() {
  const Piece& piece_now = pieces[piece];
  if (number == 0) at = piece_now.begin, storages.emplace(piece_now.layout);
  if (ended || (at >= piece_now.end && number > 0) || number >= kMostStreams) return std::nullopt;
  const bool plain = piece_now.layout == scan::Layout::plain;
  PickleStream stream;
  stream.member = piece_now.member;
  stream.number = number + 1;
  stream.in_file = piece_now.in_file;
  stream.with_arrays = plain && !storages->is_legacy();
  const std::uint64_t window = plain ? formats::torch::kPickleWindow : formats::torch::kSmallPickleWindow;
  ASSAY_TRY(const formats::torch::PickleAt pickle,
            formats::torch::read_pickle_at(*piece_now.source, at, piece_now.end, limits, window, stream.with_arrays));
  if (number > 0 && pickle.graph->broken() && pickle.graph->salvage_root() == pickle::kNoNode) {
    end_with("bytes that are no pickle");
    return std::nullopt;
  }
  stream.graph = pickle.graph;
  stream.bytes = pickle.bytes;
  ++number;
  at = pickle.end();
  if (pickle.graph->broken() && !pickle.graph->reached_stop()) end_with("bytes that were not reached");
  else ASSAY_CHECK(step_over(*pickle.graph));
  return stream;
}

Result<std::optional<PickleStream>> PickleReader::next() {
  for (;;) {
    ASSAY_TRY(auto stream, state_->read());
    if (stream || state_->piece + 1 >= state_->pieces.size()) return stream;
    ++state_->piece;
    state_->number = 0;
    state_->ended = false;
    state_->rest = {};
  }
}

std::string_view PickleReader::rest() const { return state_->rest; }
std::uint64_t PickleReader::rest_offset() const { return state_->rest_at; }
std::uint64_t PickleReader::rest_size() const { return state_->rest_size; }

}  // namespace assay::analysis
