// SPDX-License-Identifier: Apache-2.0
// A folder of a sharded checkpoint:
//
//   model-00001-of-00002.safetensors, model-00002-of-00002.safetensors   the shards, each a file of its own
//   model.safetensors.index.json                                         which tensor is in which shard; may be absent
//
// and likewise pytorch_model-00001-of-00002.bin with pytorch_model.bin.index.json. Other weights may lie beside them: a second
// copy in another format, training state, adapters. They are named and never added up.
#include "formats/shard_set.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/sort.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "formats/dcp_safetensors.hpp"
#include "formats/deepspeed.hpp"
#include "formats/not_weights.hpp"
#include "formats/shard_merge.hpp"
#include "formats/torch_dcp.hpp"

namespace assay::formats {

namespace {

constexpr std::size_t kFilesShown = 10;
constexpr std::size_t kFilesListed = 1000;

bool naturally(std::string_view a, std::string_view b) { return natural_less(a, b); }

/// One thing a folder may mean: a file, or a numbered set without an index.
struct Candidate {
  std::vector<std::string> names;
  std::optional<NumberedName> numbering;  // refers into the listing

  /// Better ones first: models before training state, safetensors before torch, usual names before others, then by name.
  auto rank() const {
    const int role = role_rank(names.front());
    return std::tuple(role >= kSideFile, *weights_rank(names.front()), role);
  }
};

class Folder {
 public:
  Folder(const FileSet& files, std::vector<FileSet::Entry> entries, const Limits& limits)
      : files_(files), entries_(std::move(entries)), limits_(limits) {}

  Result<Checkpoint> open();
  /// The set that `name` is part of, if any.
  Result<std::optional<Checkpoint>> open_around(std::string_view name);
  Result<Checkpoint> open_index(std::string_view name);

 private:
  bool has(std::string_view name) const {
    return std::ranges::any_of(entries_, [&](const FileSet::Entry& entry) { return !entry.folder && entry.name == name; });
  }
  std::vector<std::string_view> indexes() const;
  std::vector<Candidate> candidates() const;
  Candidate numbered_set(const NumberedName& numbering) const;
  Result<ShardIndex> read_index(std::string_view name) const;
  ShardPlan plan_of(std::string_view index_name, ShardIndex index) const;
  Result<Checkpoint> open_indexed(std::string_view name, ShardIndex index);
  Result<std::optional<Checkpoint>> open_instead(std::string_view index_name, const ShardIndex& index);
  Result<Checkpoint> open_candidate(const Candidate& candidate);
  Result<Checkpoint> open_best(std::vector<Candidate> found);
  Error no_weights() const;
  std::string latest_tag() const;
  void note_strays(Checkpoint& checkpoint, const std::set<std::string_view>& used) const;
  void note_side_files(Checkpoint& checkpoint) const;

  const FileSet& files_;
  std::vector<FileSet::Entry> entries_;
  const Limits& limits_;
};

std::vector<std::string_view> Folder::indexes() const {
  std::vector<std::string_view> names;
  for (const FileSet::Entry& entry : entries_)
    if (!entry.folder && is_index_name(entry.name)) names.push_back(entry.name);
  const auto rank = [](std::string_view name) {
    return std::tuple(name.find(".safetensors.index.") == std::string_view::npos, role_rank(name), name.size());
  };
  sort_stable(names, [&](std::string_view a, std::string_view b) { return rank(a) != rank(b) ? rank(a) < rank(b) : naturally(a, b); });
  return names;
}

std::vector<Candidate> Folder::candidates() const {
  std::vector<Candidate> found;
  std::map<std::tuple<std::string_view, std::uint32_t, std::string_view>, std::size_t> sets;
  for (const FileSet::Entry& entry : entries_) {
    if (entry.folder || !weights_rank(entry.name)) continue;
    const auto numbering = numbered_name(entry.name);
    if (numbering && numbering->parts > 1) {
      const auto [place, fresh] = sets.try_emplace({numbering->stem, numbering->parts, numbering->suffix}, found.size());
      if (fresh) found.push_back({{}, numbering});
      found[place->second].names.push_back(entry.name);
    } else {
      found.push_back({{entry.name}, std::nullopt});
    }
  }
  for (Candidate& candidate : found) sort_stable(candidate.names, naturally);
  sort_stable(found, [](const Candidate& a, const Candidate& b) {
    if (a.rank() != b.rank()) return a.rank() < b.rank();
    // The model itself before its variants: "model.safetensors", "model.fp16.safetensors".
    const auto dots = [](const Candidate& candidate) { return std::ranges::count(candidate.names.front(), '.'); };
    return dots(a) != dots(b) ? dots(a) < dots(b) : naturally(a.names.front(), b.names.front());
  });
  return found;
}

Result<ShardIndex> Folder::read_index(std::string_view name) const {
  ASSAY_TRY(const auto source, files_.open(name));
  auto index = read_shard_index(source, limits_);
  if (index) return index;
  Error error = std::move(index).error();
  if (error.code() == Code::bad_header) {
    // A pointer or an error page says more by what it is than by where it stops being JSON.
    constexpr std::uint64_t kHead = 4096;
    ASSAY_TRY(const ByteBlock head, source->fetch(0, std::min(source->size(), kHead)));
    auto known = recognise_not_weights({.name = name, .size = source->size(), .head = head.view(), .tail = head.view()});
    if (known && known->error.code() != Code::json_document) error = std::move(known->error);
  }
  return fail(std::move(error).in_file(name));
}

ShardPlan Folder::plan_of(std::string_view index_name, ShardIndex index) const {
  ShardPlan plan;
  plan.index_name = index_name;
  plan.shards.assign(index.files.begin(), index.files.end());
  // Parts of the same set that the index does not name may hold what it seeks elsewhere, or nowhere.
  const std::set<std::string_view> named(index.files.begin(), index.files.end());
  for (const std::string_view file : index.files) {
    const auto numbering = numbered_name(file);
    if (!numbering) continue;
    for (std::string& other : numbered_set(*numbering).names)
      if (!named.contains(other)) plan.shards.push_back(std::move(other));
    break;
  }
  sort_stable(plan.shards, naturally);
  plan.index = std::move(index);
  return plan;
}

Result<Checkpoint> Folder::open_candidate(const Candidate& candidate) {
  if (candidate.numbering) {
    ShardPlan plan;
    plan.shards = candidate.names;
    plan.numbering = candidate.numbering;
    return merge_shards(files_, plan, limits_);
  }
  ASSAY_TRY(auto source, files_.open(candidate.names.front()));
  return open_single(files_, candidate.names.front(), std::move(source), limits_);
}

/// An index whose files are all absent may be left over from an earlier save: another file then holds every tensor it names.
Result<std::optional<Checkpoint>> Folder::open_instead(std::string_view index_name, const ShardIndex& index) {
  const auto found = candidates();
  if (found.empty() || index.entries.empty()) return std::nullopt;
  auto other = open_candidate(found.front());
  if (!other) {
    if (other.error().code() == Code::need_range) return fail(std::move(other).error());
    return std::nullopt;
  }
  std::set<std::string_view> names;
  for (const Tensor& tensor : other->tensors) names.insert(tensor.name);
  std::uint64_t lost = 0;
  std::vector<std::string> lost_names;
  for (const ShardIndex::Entry& entry : index.entries)
    if (!names.contains(entry.tensor) && ++lost <= kFilesListed) lost_names.emplace_back(entry.tensor);
  const std::uint64_t all = index.entries.size();
  if (lost == all) return std::nullopt;
  Finding finding(lost > 0 ? Code::missing_shard : Code::stale_index,
                  concat(quote(index_name), " names ", counted(index.files.size(), "file that is", "files that are"), " not there; ",
                         quote(found.front().names.front()), found.front().names.size() > 1 ? " and the other parts hold " : " holds ",
                         lost > 0 ? concat(all - lost, " of its ", all, " tensors, without ", name_list(lost_names, 3, lost))
                                  : concat("all ", all, " tensors")),
                  Where{.file = std::string(index_name)});
  if (lost > 0) finding.facts = {{"lost", lost}, {"tensors", std::move(lost_names)}};
  other->add(std::move(finding));
  note_strays(*other, {found.front().names.begin(), found.front().names.end()});
  return std::optional(*std::move(other));
}

Result<Checkpoint> Folder::open_indexed(std::string_view name, ShardIndex index) {
  const bool escapes = std::ranges::any_of(index.files, leaves_folder);
  // A file in a sub-folder is in no listing; whether it is there shows when it is opened.
  const bool some =
      std::ranges::any_of(index.files, [&](std::string_view file) { return has(file) || file.find('/') != std::string_view::npos; });
  if (!escapes && !some) {
    ASSAY_TRY(auto other, open_instead(name, index));
    if (other) return *std::move(other);
  }
  const ShardPlan plan = plan_of(name, std::move(index));
  auto checkpoint = merge_shards(files_, plan, limits_);
  if (checkpoint) note_strays(*checkpoint, {plan.shards.begin(), plan.shards.end()});
  return checkpoint;
}

Result<Checkpoint> Folder::open_index(std::string_view name) {
  ASSAY_TRY(auto index, read_index(name));
  return open_indexed(name, std::move(index));
}

Candidate Folder::numbered_set(const NumberedName& numbering) const {
  Candidate set{{}, numbering};
  for (const FileSet::Entry& entry : entries_)
    if (const auto other = numbered_name(entry.name); other && !entry.folder && other->same_set(numbering)) set.names.push_back(entry.name);
  sort_stable(set.names, naturally);
  return set;
}

Result<std::optional<Checkpoint>> Folder::open_around(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  const std::string mark = dot == std::string_view::npos ? std::string() : concat(name.substr(dot), ".index.");
  for (const std::string_view index_name : indexes()) {
    if (mark.empty() || index_name.find(mark) == std::string_view::npos) continue;
    auto index = read_index(index_name);
    if (!index && index.error().code() == Code::need_range) return fail(std::move(index).error());
    // An index that cannot be read says nothing about this file.
    if (!index || std::ranges::find(index->files, name) == index->files.end()) continue;
    ASSAY_TRY(auto checkpoint, open_indexed(index_name, *std::move(index)));
    return std::optional(std::move(checkpoint));
  }
  const auto numbering = numbered_name(name);
  if (!numbering || numbering->parts < 2 || !weights_rank(name)) return std::nullopt;
  Candidate set = numbered_set(*numbering);
  const bool alone = set.names.size() < 2;
  if (alone) set = {{std::string(name)}, std::nullopt};
  ASSAY_TRY(auto checkpoint, open_candidate(set));
  if (alone) {
    Finding finding(Code::missing_shard, concat("part ", numbering->part, " of ", numbering->parts, "; the other parts are not beside it"));
    finding.severity = Severity::warning;  // it was asked for by itself, and is whole
    checkpoint.add(std::move(finding));
  }
  return std::optional(std::move(checkpoint));
}

Result<Checkpoint> Folder::open_best(std::vector<Candidate> found) {
  const Candidate best = std::move(found.front());
  auto checkpoint = open_candidate(best);
  if (checkpoint) note_strays(*checkpoint, {best.names.begin(), best.names.end()});
  return checkpoint;
}

Result<Checkpoint> Folder::open() {
  std::optional<Error> unreadable_index;
  for (const std::string_view name : indexes()) {
    auto index = read_index(name);
    if (index) {
      auto checkpoint = open_indexed(name, *std::move(index));
      if (checkpoint) note_side_files(*checkpoint);
      return checkpoint;
    }
    if (index.error().code() == Code::need_range) return fail(std::move(index).error());
    if (!unreadable_index) unreadable_index = std::move(index).error().in_file(name);
  }
  auto found = candidates();
  if (found.empty()) {
    if (unreadable_index) return fail(*std::move(unreadable_index));
    // A lone file of another name may still be weights: content decides.
    std::vector<std::string> plain;
    for (const FileSet::Entry& entry : entries_)
      if (!entry.folder && !is_apple_double_name(entry.name)) plain.push_back(entry.name);
    if (plain.size() != 1) return fail(no_weights());
    auto lone = open_candidate({std::move(plain), std::nullopt});
    if (!lone && (lone.error().code() == Code::json_document || lone.error().code() == Code::text_document)) return fail(no_weights());
    return lone;
  }
  auto checkpoint = open_best(std::move(found));
  if (!checkpoint) return checkpoint;
  if (unreadable_index) {
    Finding finding = Finding::from(*unreadable_index);
    finding.severity = Severity::warning;
    const std::string_view hint = unreadable_index->hint();
    finding.message = concat("the index ", quote(finding.where.file), " cannot be read: ", finding.message, hint.empty() ? "" : "; ", hint);
    checkpoint->add(std::move(finding));
  }
  note_side_files(*checkpoint);
  return checkpoint;
}

/// What 'latest' says, in quotes.
std::string Folder::latest_tag() const {
  constexpr std::uint64_t kMost = 100;
  const auto source = files_.open("latest");
  const auto text = source ? (*source)->fetch(0, std::min((*source)->size(), kMost)) : Result<ByteBlock>(fail(Code::io_error, ""));
  if (!text) return "a folder";
  const std::string_view tag = text->view().text();
  return quote(tag.substr(0, tag.find_first_of("\r\n")));
}

/// What a folder without weights of its own is, by a file in it.
struct Kind {
  std::string_view mark, advice;
};
constexpr Kind kKinds[] = {
    {"model_index.json", "a diffusers pipeline; open one of its folders"},
    {"latest_checkpointed_iteration.txt", "checkpoints of Megatron; open a folder iter_…/mp_rank_…"},
    {"manifest.ocdbt", "an Orbax checkpoint of JAX; convert it with orbax"},
    {"_CHECKPOINT_METADATA", "an Orbax checkpoint of JAX; convert it with orbax"},
    {".zarray", "an array of zarr, as older Orbax and Megatron write them; convert it with the tool that wrote it"},
    {"saved_model.pb", "a TensorFlow SavedModel; convert it with the tool that wrote it"},
    {"checkpoint", "a TensorFlow checkpoint; convert it with the tool that wrote it"},
};

Error Folder::no_weights() const {
  std::string what = entries_.empty() ? "an empty folder" : "no weights in this folder; it holds ";
  std::vector<std::string> names;
  for (const FileSet::Entry& entry : entries_) names.push_back(entry.folder ? entry.name + '/' : entry.name);
  what += name_list(names, kFilesShown);
  names.resize(std::min(names.size(), kFilesListed));
  Error error = Error(Code::unknown_format, std::move(what)).fact("files", std::move(names));
  const auto parts =
      std::ranges::count_if(entries_, [](const FileSet::Entry& entry) { return !entry.folder && entry.name.ends_with(".distcp"); });
  if (parts > 0)
    return std::move(
        Error(Code::missing_metadata, concat(counted(static_cast<std::uint64_t>(parts), "file", "files"), " of a distributed checkpoint ",
                                             has(".metadata") ? "whose .metadata is empty or not what says what is in them"
                                                              : "without .metadata, which says what is in them"))
            .advise("get .metadata of the same save; it is written last, so that a save that was stopped has none"));
  const auto* const kind = std::ranges::find_if(kKinds, [&](const Kind& known) { return has(known.mark); });
  if (kind != std::end(kKinds)) error = std::move(error).advise(std::string(kind->advice));
  else if (has("latest"))
    error = std::move(error).advise(
        concat("its file 'latest' names ", latest_tag(), ", in which there are no files of a ZeRO checkpoint; get that folder too"));
  return error;
}

/// Weights beside those that were opened. Training state is expected there and not worth a word.
void Folder::note_strays(Checkpoint& checkpoint, const std::set<std::string_view>& used) const {
  std::vector<const FileSet::Entry*> strays;
  for (const FileSet::Entry& entry : entries_)
    if (!entry.folder && !used.contains(entry.name) && weights_rank(entry.name) && role_rank(entry.name) < kSideFile)
      strays.push_back(&entry);
  if (strays.size() <= kFilesShown) {
    for (const FileSet::Entry* entry : strays)
      checkpoint.add(Finding(
          Code::stray_file,
          concat(quote(entry->name), " (", counted(entry->size, "byte", "bytes"), ") is not part of this checkpoint and was not counted"),
          Where{.file = entry->name}, {{"size", entry->size}}));
    return;
  }
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(strays.size(), kFilesListed); ++i) names.push_back(strays[i]->name);
  std::string what = concat(
      strays.size(), " other files of weights are not part of this checkpoint and were not counted: ", name_list(names, 3, strays.size()));
  checkpoint.add(Finding(Code::stray_file, std::move(what), {}, {{"files", std::move(names)}}));
}

void Folder::note_side_files(Checkpoint& checkpoint) const {
  for (const FileSet::Entry& entry : entries_) {
    if (entry.folder || !is_apple_double_name(entry.name)) continue;
    Finding finding(Code::apple_double, concat(quote(entry.name), " is a macOS side file and was skipped"), Where{.file = entry.name});
    finding.severity = Severity::note;
    checkpoint.add(std::move(finding));
  }
}

/// An index names what it maps to; the first kilobytes show one such name.
Probe probe_index(const ProbeInput& input, bool safetensors) {
  const std::string_view head = input.head.text();
  const std::size_t first = head.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || head[first] != '{') return {};
  if (head.find("\"weight_map\"") == std::string_view::npos && !is_index_name(input.name)) return {};
  const bool names_safetensors = head.find(".safetensors\"") != std::string_view::npos;
  return names_safetensors == safetensors ? Probe{90, "JSON with a weight_map"} : Probe{};
}

}  // namespace

Probe probe_safetensors_index(const ProbeInput& input) { return probe_index(input, true); }
Probe probe_torch_index(const ProbeInput& input) { return probe_index(input, false); }

Result<Checkpoint> open_index(const OpenInput& input) {
  ASSAY_TRY(auto entries, input.files.list());
  return Folder(input.files, std::move(entries), input.limits).open_index(input.name);
}

Result<std::optional<Checkpoint>> open_set(const FileSet& files, const Limits& limits) {
  const std::string& primary = files.primary();
  // Only weights have sets; everything else is spared the listing.
  const bool distributed_part = primary.ends_with(".distcp");
  if (!primary.empty() && !weights_rank(primary) && !distributed_part) return std::nullopt;
  auto entries = files.list();
  if (!entries) {
    if (primary.empty() || entries.error().code() == Code::need_range) return fail(std::move(entries).error());
    return std::nullopt;
  }
  if (primary.empty() || distributed_part) {
    ASSAY_TRY(auto distributed, open_dcp_folder(files, *entries, limits));
    if (distributed) return distributed;
  }
  if (primary.empty() || is_dcp_safetensors_name(primary)) {
    ASSAY_TRY(auto distributed, open_dcp_safetensors(files, *entries, limits));
    if (distributed) return distributed;
  }
  if (distributed_part) return std::nullopt;
  // Weights that were gathered into a file of their own are what people mean by such a folder.
  const bool gathered = std::ranges::any_of(
      *entries, [](const FileSet::Entry& entry) { return !entry.folder && weights_rank(entry.name) && role_rank(entry.name) == 0; });
  if (primary.empty() && !gathered) {
    ASSAY_TRY(auto zero, open_deepspeed_folder(files, *entries, limits));
    if (zero) return zero;
  }
  Folder folder(files, *std::move(entries), limits);
  if (!primary.empty()) return folder.open_around(primary);
  ASSAY_TRY(auto checkpoint, folder.open());
  return std::optional(std::move(checkpoint));
}

}  // namespace assay::formats
