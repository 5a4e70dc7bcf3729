// SPDX-License-Identifier: Apache-2.0
#include "formats/shard_merge.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/arena.hpp"
#include "base/arith.hpp"
#include "base/parallel.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "formats/name_table.hpp"
#include "formats/shard_saves.hpp"
#include "model/sizes.hpp"

namespace assay::formats {

namespace {

constexpr std::size_t kNamesShown = 3;              // in a message
constexpr std::size_t kNamesListed = 1000;          // in the facts
constexpr std::uint64_t kComparedBytes = 64 << 10;  // of a tensor that is there twice
constexpr std::uint64_t kComparedTensors = 256;
constexpr std::uint32_t kMissingNamed = 20;

/// Some tensor names, all counted, few kept.
struct Names {
  std::uint64_t count = 0;
  std::vector<std::string> kept;
  void add(std::string_view name) {
    if (++count <= kNamesListed) kept.emplace_back(name);
  }
  std::string shown() const { return name_list(kept, kNamesShown, count); }
};

class Merger {
 public:
  Merger(const FileSet& files, const ShardPlan& plan, const Limits& limits) : files_(files), plan_(plan), limits_(limits) {}

  Result<Checkpoint> run();

 private:
  enum class State : std::uint8_t { opened, missing, broken, escaping };
  struct Shard {
    std::string_view name;
    State state = State::opened;
    Names lost;                         // tensors that the index promises here and nobody has
    Names unlisted;                     // tensors that the index does not know
    std::optional<Finding> fault = {};  // why a broken one cannot be read
  };

  /// A shard that was opened, on any thread.
  struct Part {
    Result<Checkpoint> opened;
    std::vector<std::uint32_t> entries = {};  // its first tensors' in the index, as far as both are in one order
    std::uint64_t bytes = 0;                  // of its tensors
  };

  void find_promised();
  Part open_shard(const Shard& shard, std::uint32_t file) const;
  Result<void> take_shard(std::uint32_t shard, Part&& part);
  void join_index();
  void absorb(Part&& part, std::uint32_t shard);
  void absorb_metadata(const Checkpoint& part);
  Result<void> find_copies();
  Result<void> report_copy(std::uint32_t winner, std::uint32_t loser);
  Result<std::string> compare_copies(const Tensor& a, const Tensor& b);
  void drop_losers();
  void compare_with_index();
  void report_shards();
  void report_fault(Shard& shard, std::string_view lost, std::vector<Fact> facts);
  void report_numbering();
  void report_total();
  void report_parameters();
  std::uint32_t file_of(std::uint32_t entry) const;
  Error nothing_opened();

  const FileSet& files_;
  const ShardPlan& plan_;
  const Limits& limits_;
  Checkpoint set_;
  std::vector<Shard> shards_;
  std::vector<std::uint32_t> shard_of_tensor_;  // by index into set_.tensors
  std::vector<std::uint32_t> promised_;         // by index file: the shard
  std::vector<std::uint32_t> file_of_shard_;    // the other way round
  std::optional<IndexNames> entries_;
  std::map<std::uint32_t, std::uint32_t> last_file_;  // of an entry whose name is there again: the last one's file, which counts in Python
  std::vector<std::uint32_t> entry_of_tensor_;        // its entry in the index, or kNone
  std::uint64_t followed_ = 0;                        // tensors that stand where the index says, each by an entry of its own
  std::vector<bool> lost_;                            // by tensor: another copy counts
  std::set<std::tuple<std::string_view, MetadataEntry::Kind, std::string_view>> metadata_;
  std::optional<Error> first_error_;
  std::uint64_t compared_ = 0;
  std::uint64_t bytes_ = 0;  // of all tensors
};

Result<Checkpoint> Merger::run() {
  for (const std::string& name : plan_.shards) shards_.push_back({.name = name, .lost = {}, .unlisted = {}});
  find_promised();
  std::vector<std::optional<Part>> parts(shards_.size());
  Result<void> done;
  const auto make = [&](std::size_t i) { parts[i] = open_shard(shards_[i], plan_.index ? file_of_shard_[i] : kNone); };
  const auto take = [&](std::size_t i) {
    done = take_shard(static_cast<std::uint32_t>(i), *std::exchange(parts[i], std::nullopt));
    return done.has_value();
  };
  // The names of the index are sorted out while the first shards are opened.
  in_order(shards_.size(), limits_.threads, make, take, [&] {
    if (plan_.index) entries_.emplace(*plan_.index);
  });
  ASSAY_CHECK(std::move(done));
  if (set_.files.empty()) return fail(nothing_opened());
  join_index();
  const bool as_promised = plan_.index && followed_ == set_.tensors.size() && followed_ == plan_.index->entries.size();
  if (!as_promised) {
    ASSAY_CHECK(find_copies());
    drop_losers();
    if (plan_.index) compare_with_index();
  }
  report_shards();
  if (plan_.numbering) report_numbering();
  report_total();
  if (shards_.size() > 1 || plan_.numbering) set_.format = set_.format == "safetensors" ? "safetensors-sharded" : "torch-sharded";
  return std::move(set_);
}

void Merger::find_promised() {
  if (!plan_.index) return;
  const ShardIndex& index = *plan_.index;
  std::map<std::string_view, std::uint32_t> shards;
  for (std::uint32_t i = 0; i < shards_.size(); ++i) shards.emplace(shards_[i].name, i);
  file_of_shard_.resize(shards_.size(), kNone);
  for (const std::string_view file : index.files) {
    file_of_shard_[shards.at(file)] = static_cast<std::uint32_t>(promised_.size());
    promised_.push_back(shards.at(file));
  }
  set_.tensors.reserve(index.entries.size());
  set_.storages.reserve(index.entries.size());
  entry_of_tensor_.reserve(index.entries.size());
}

/// Finds the entries of tensors that do not stand in the index's own order.
void Merger::join_index() {
  if (!plan_.index) return;
  const ShardIndex& index = *plan_.index;
  Names twice;
  for (const std::uint32_t entry : entries_->repeated()) {
    twice.add(index.entries[entry].tensor);
    last_file_[entries_->find(index.entries[entry].tensor)] = index.entries[entry].file;
  }
  if (twice.count != 0) {
    Finding finding(Code::duplicate_name,
                    concat("the index names ", counted(twice.count, "tensor", "tensors"), " twice, and the last counts: ", twice.shown()),
                    Where{.file = plan_.index_name});
    finding.severity = Severity::warning;
    set_.findings.add_first(std::move(finding));
    // Of names that are there twice the first entry is meant.
    std::ranges::fill(entry_of_tensor_, kNone);
    followed_ = 0;
  }
  if (followed_ == set_.tensors.size()) return;
  for (std::size_t i = 0; i < entry_of_tensor_.size(); ++i)
    if (entry_of_tensor_[i] == kNone) entry_of_tensor_[i] = entries_->find(set_.tensors[i].name);
}

std::uint32_t Merger::file_of(std::uint32_t entry) const {
  const auto last = last_file_.find(entry);
  return last == last_file_.end() ? plan_.index->entries[entry].file : last->second;
}

Merger::Part Merger::open_shard(const Shard& shard, std::uint32_t file) const {
  if (leaves_folder(shard.name)) return {fail(Code::path_escapes, "")};
  auto source = files_.open(shard.name);
  if (!source) return {fail(std::move(source).error())};
  Part part{open_single(files_, shard.name, *std::move(source), limits_)};
  if (!part.opened) return part;
  if (file != kNone) part.entries = follow_index(*plan_.index, file, part.opened->tensors);
  for (const Tensor& tensor : part.opened->tensors) part.bytes += model::tensor_bytes(*part.opened, tensor);
  return part;
}

Result<void> Merger::take_shard(std::uint32_t index, Part&& part) {
  Shard& shard = shards_[index];
  if (part.opened) {
    absorb(std::move(part), index);
    return {};
  }
  Error error = std::move(part.opened).error().in_file(shard.name);
  if (error.code() == Code::need_range) return fail(std::move(error));
  shard.state = error.code() == Code::no_such_file ? State::missing : error.code() == Code::path_escapes ? State::escaping : State::broken;
  if (shard.state != State::broken) return {};
  Finding finding = Finding::from(error);
  finding.code = Code::bad_shard;
  finding.severity = code_severity(Code::bad_shard);
  finding.message = concat(quote(shard.name), " cannot be read: ", error.what(), error.hint().empty() ? "" : "; ", error.hint());
  finding.where.file = shard.name;
  finding.facts.push_back({"cause", std::string(code_name(error.code()))});
  shard.fault = std::move(finding);
  if (!first_error_) first_error_ = std::move(error);
  return {};
}

void Merger::absorb(Part&& opened, std::uint32_t shard) {
  Checkpoint part = *std::move(opened.opened);
  const auto file_base = static_cast<std::uint32_t>(set_.files.size());
  const auto storage_base = static_cast<std::uint32_t>(set_.storages.size());
  const auto quantizer_base = static_cast<std::uint32_t>(set_.quantizers.size());
  if (set_.files.empty()) {
    set_.format = part.format;
    set_.container = part.container;
  }
  if (shards_.size() == 1) {  // a set in name only
    set_.sections = std::move(part.sections);
    set_.values = std::move(part.values);
    set_.node_tensors = std::move(part.node_tensors);
  }
  for (CheckpointFile& file : part.files) set_.files.push_back(std::move(file));
  for (Storage& storage : part.storages) storage.file += file_base;
  std::ranges::move(part.storages, std::back_inserter(set_.storages));
  for (Tensor& tensor : part.tensors) {
    if (tensor.storage != kNone) tensor.storage += storage_base;
    if (tensor.quantizer != kNone) tensor.quantizer += quantizer_base;
  }
  set_.tensors.insert(set_.tensors.end(), part.tensors.begin(), part.tensors.end());
  shard_of_tensor_.insert(shard_of_tensor_.end(), part.tensors.size(), shard);
  entry_of_tensor_.insert(entry_of_tensor_.end(), opened.entries.begin(), opened.entries.end());
  entry_of_tensor_.resize(set_.tensors.size(), kNone);
  followed_ += opened.entries.size();
  bytes_ += opened.bytes;
  for (Quantizer& quantizer : part.quantizers) {
    for (Tensor* const tensor : {&quantizer.scales, &quantizer.zero_points})
      if (tensor->storage != kNone) tensor->storage += storage_base;
    set_.quantizers.push_back(quantizer);
  }
  absorb_metadata(part);
  for (const Finding& finding : part.findings.list()) {
    Finding copy = finding;
    if (copy.where.file.empty()) copy.where.file = shards_[shard].name;
    set_.add(std::move(copy));
  }
  set_.complete = set_.complete && part.complete;
  // The next shard finds this memory free; assigning {} would keep it.
  std::vector<Tensor>().swap(part.tensors);
  std::vector<Storage>().swap(part.storages);
  std::vector<MetadataEntry>().swap(part.metadata);
  part.findings = {};
  set_.arena().keep(std::make_shared<Checkpoint>(std::move(part)));  // names and dimensions live in its arena
}

/// Shards repeat each other's metadata; each entry is kept once.
void Merger::absorb_metadata(const Checkpoint& part) {
  for (const MetadataEntry& entry : part.metadata)
    if (metadata_.emplace(entry.key, entry.kind, entry.text).second) set_.metadata.push_back(entry);
}

Error Merger::nothing_opened() {
  const auto escaping = std::ranges::find(shards_, State::escaping, &Shard::state);
  if (escaping != shards_.end())
    return Error(Code::path_escapes, concat("the index names ", quote(escaping->name), ", which is outside its folder"))
        .in_file(plan_.index_name);
  if (!first_error_)
    return Error(Code::missing_shard, concat("none of the ", counted(shards_.size(), "file", "files"),
                                             " that the index names is there: ", name_list(plan_.shards, kNamesShown)))
        .in_file(plan_.index_name)
        .fact("files", std::vector<std::string>(plan_.shards.begin(), plan_.shards.begin() + static_cast<std::ptrdiff_t>(std::min(
                                                                                                 plan_.shards.size(), kNamesListed))));
  // The first shard's fault stands for all, with what it said.
  Error error(first_error_->code(), concat("none of ", counted(shards_.size(), "shard", "shards"), " can be read; ",
                                           quote(first_error_->where().file), ": ", first_error_->what()));
  error = std::move(error).in_file(first_error_->where().file).advise(std::string(first_error_->hint()));
  for (const Fact& fact : first_error_->facts()) error = std::move(error).fact(fact.key, fact.value);
  return error;
}

/// Tensors that several shards hold. Two of one name within one shard are that shard's own fault and stay.
Result<void> Merger::find_copies() {
  lost_.assign(set_.tensors.size(), false);
  std::vector<std::uint32_t> first_of_entry(plan_.index ? plan_.index->entries.size() : 0, kNone);
  NameTable names(plan_.index ? 0 : set_.tensors.size());  // of what the index does not list
  std::map<std::uint32_t, std::uint32_t> winners;          // of names met twice: first met -> the one that counts
  for (std::uint32_t i = 0; i < set_.tensors.size(); ++i) {
    const std::string_view name = set_.tensors[i].name;
    const std::uint32_t entry = entry_of_tensor_[i];
    const std::uint32_t first = entry != kNone ? std::exchange(first_of_entry[entry], std::min(i, first_of_entry[entry]))
                                               : names.insert(name, i, [this](std::uint32_t t) { return set_.tensors[t].name; });
    if (first == kNone || shard_of_tensor_[first] == shard_of_tensor_[i]) continue;
    const std::uint32_t best = winners.contains(first) ? winners[first] : first;
    const bool promised_here = entry != kNone && promised_[file_of(entry)] == shard_of_tensor_[i];
    const std::uint32_t winner = promised_here ? i : best, loser = promised_here ? best : i;
    winners[first] = winner;
    lost_[loser] = true;
    ASSAY_CHECK(report_copy(winner, loser));
  }
  return {};
}

/// In words whether two tensors hold the same; large ones are not read.
Result<std::string> Merger::compare_copies(const Tensor& a, const Tensor& b) {
  if (a.dtype != b.dtype || !std::ranges::equal(a.shape, b.shape))
    return concat("the copies differ: ", dtype_name(a.dtype), ' ', bracketed(a.shape), " and ", dtype_name(b.dtype), ' ',
                  bracketed(b.shape));
  const auto plain = [&](const Tensor& tensor) {
    return tensor.readable && tensor.storage != kNone && set_.file_offset(tensor) && tensor.contiguous() &&
           tensor.nbytes() <= kComparedBytes;
  };
  if (!plain(a) || !plain(b) || ++compared_ > kComparedTensors)
    return std::string("dtype and shape are the same, the values were not compared");
  ASSAY_TRY(const ByteBlock bytes_a, set_.file_of(a)->source->fetch(*set_.file_offset(a), a.nbytes()));
  ASSAY_TRY(const ByteBlock bytes_b, set_.file_of(b)->source->fetch(*set_.file_offset(b), b.nbytes()));
  const bool same = bytes_a.view().size() == 0 || std::memcmp(bytes_a.view().data(), bytes_b.view().data(), bytes_a.view().size()) == 0;
  return std::string(same ? "the copies hold the same bytes" : "the copies differ in their bytes");
}

Result<void> Merger::report_copy(std::uint32_t winner, std::uint32_t loser) {
  const Tensor& counts = set_.tensors[winner];
  auto compared = compare_copies(counts, set_.tensors[loser]);
  if (!compared && compared.error().code() == Code::need_range) return fail(std::move(compared).error());
  const std::string_view here = shards_[shard_of_tensor_[winner]].name, there = shards_[shard_of_tensor_[loser]].name;
  set_.add(Finding(Code::duplicate_tensor,
                   concat(quote(counts.name), " is in ", quote(here), ", which counts, and in ", quote(there), "; ",
                          compared ? *compared : compared.error().what()),
                   Where{.file = std::string(there), .tensor = std::string(counts.name)}, {{"counts", std::string(here)}}));
  return {};
}

/// Takes out the copies that do not count, and the storages that only they used.
void Merger::drop_losers() {
  if (std::ranges::find(lost_, true) == lost_.end()) return;
  std::size_t kept = 0;
  std::vector<std::uint32_t> moved(set_.storages.size(), kNone);
  for (std::size_t i = 0; i < set_.tensors.size(); ++i) {
    if (lost_[i]) {
      bytes_ -= model::tensor_bytes(set_, set_.tensors[i]);
      continue;
    }
    set_.tensors[kept] = set_.tensors[i];
    shard_of_tensor_[kept] = shard_of_tensor_[i];
    entry_of_tensor_[kept++] = entry_of_tensor_[i];
    if (set_.tensors[i].storage != kNone) moved[set_.tensors[i].storage] = 0;
  }
  set_.tensors.resize(kept);
  shard_of_tensor_.resize(kept);
  std::uint32_t next = 0;
  for (std::size_t i = 0; i < moved.size(); ++i) {
    if (moved[i] == kNone) continue;
    if (next != i) set_.storages[next] = std::move(set_.storages[i]);
    moved[i] = next++;
  }
  set_.storages.resize(next);
  for (Tensor& tensor : set_.tensors)
    if (tensor.storage != kNone) tensor.storage = moved[tensor.storage];
}

void Merger::compare_with_index() {
  const ShardIndex& index = *plan_.index;
  std::vector<bool> found(index.entries.size(), false);
  for (std::size_t i = 0; i < set_.tensors.size(); ++i) {
    const std::string_view name = set_.tensors[i].name;
    const std::uint32_t holder = shard_of_tensor_[i];
    const std::uint32_t entry = entry_of_tensor_[i];
    if (entry == kNone) {
      shards_[holder].unlisted.add(name);
      continue;
    }
    found[entry] = true;
    const Shard& promised = shards_[promised_[file_of(entry)]];
    if (&promised == &shards_[holder]) continue;
    set_.add(Finding(
        Code::wrong_shard,
        concat("the index maps ", quote(name), " to ", quote(promised.name),
               promised.state == State::opened ? ", which lacks it" : ", which cannot be read", "; it is in ", quote(shards_[holder].name)),
        Where{.file = std::string(promised.name), .tensor = std::string(name)}, {{"found_in", std::string(shards_[holder].name)}}));
  }
  for (std::uint32_t i = 0; i < index.entries.size(); ++i) {
    if (found[i] || entries_->find(index.entries[i].tensor) != i) continue;
    Shard& promised = shards_[promised_[file_of(i)]];
    promised.lost.add(index.entries[i].tensor);
    if (promised.state == State::opened)
      set_.add(Finding(
          Code::wrong_shard,
          concat("the index maps ", quote(index.entries[i].tensor), " to ", quote(promised.name), ", which lacks it; no shard holds it"),
          Where{.file = std::string(promised.name), .tensor = std::string(index.entries[i].tensor)}));
  }
}

void Merger::report_shards() {
  const auto unread = std::ranges::count_if(shards_, [](const Shard& shard) { return shard.state != State::opened; });
  const double total = plan_.index && plan_.index->total_size ? *plan_.index->total_size : 0;
  // What one shard held is known when it alone is not there.
  const std::uint64_t gone =
      unread == 1 && total > static_cast<double>(bytes_) && total < 1e18 ? static_cast<std::uint64_t>(total) - bytes_ : 0;
  for (Shard& shard : shards_) {
    const Where where{.file = std::string(shard.name)};
    const std::string lost = shard.lost.count == 0 ? std::string("no tensor is lost with it")
                                                   : concat(counted(shard.lost.count, "tensor is", "tensors are"), " lost",
                                                            gone ? concat(" (", grouped(gone), " bytes)") : "", ": ", shard.lost.shown());
    std::vector<Fact> facts{{"lost", shard.lost.count}, {"tensors", shard.lost.kept}};
    if (gone) facts.push_back({"bytes", gone});
    if (shard.state == State::missing && plan_.index)
      set_.add(Finding(Code::missing_shard, concat(quote(shard.name), " is not there; ", lost), where, std::move(facts)));
    else if (shard.state == State::broken) report_fault(shard, lost, std::move(facts));
    else if (shard.state == State::escaping)
      set_.add(Finding(Code::path_escapes, concat("the index names ", quote(shard.name), ", which is outside its folder; ", lost), where,
                       std::move(facts)));
    if (!plan_.index || shard.unlisted.count == 0) continue;
    const bool whole = std::ranges::find(promised_, static_cast<std::uint32_t>(&shard - shards_.data())) == promised_.end();
    Finding unlisted(Code::stale_index,
                     concat("the index does not list ", whole ? "the " : "", counted(shard.unlisted.count, "tensor", "tensors"), " of ",
                            quote(shard.name), ": ", shard.unlisted.shown(), whole ? "; loaders that follow it do not open that file" : ""),
                     where, {{"tensors", shard.unlisted.kept}});
    unlisted.severity = whole ? Severity::warning : Severity::note;
    set_.add(std::move(unlisted));
  }
}

void Merger::report_fault(Shard& shard, std::string_view lost, std::vector<Fact> facts) {
  Finding& fault = *shard.fault;
  if (plan_.index) {
    fault.message += concat("; ", lost);
    std::ranges::move(facts, std::back_inserter(fault.facts));
  }
  set_.add(std::move(fault));
}

/// Without an index the names still say how many files there should be.
void Merger::report_numbering() {
  const NumberedName& numbering = *plan_.numbering;
  if (numbering.parts > limits_.shards) {
    set_.add(Finding(Code::limit_exceeded, concat("the names promise ", numbering.parts, " files, more than ", limits_.shards)));
    return;
  }
  std::vector<bool> there(numbering.parts + 1, false);
  for (const std::string& name : plan_.shards)
    if (const auto part = numbered_name(name)) there[std::min(part->part, numbering.parts)] = true;
  std::uint32_t missing = 0;
  for (std::uint32_t part = 1; part <= numbering.parts; ++part) {
    if (there[part] || ++missing > kMissingNamed) continue;
    set_.add(Finding(Code::missing_shard,
                     concat(quote(numbering.name_of(part)), " is not there; the names promise ", numbering.parts, " files"),
                     Where{.file = numbering.name_of(part)}));
  }
  if (missing > kMissingNamed)
    set_.add(Finding(Code::missing_shard, concat(missing, " of ", numbering.parts, " files are not there"), {},
                     {{"missing", std::uint64_t{missing}}}));
}

void Merger::report_total() {
  const auto all_opened =
      std::ranges::all_of(shards_, [](const Shard& shard) { return shard.state == State::opened && shard.lost.count == 0; });
  if (!plan_.index || !all_opened || !set_.complete) return;
  report_parameters();
  if (!plan_.index->total_size) return;
  const double total = *plan_.index->total_size;
  if (total == static_cast<double>(bytes_)) return;
  std::uint64_t storages = 0;
  for (const Storage& storage : set_.storages) storages += storage.nbytes;
  if (total == static_cast<double>(storages)) return;  // ties counted once
  const bool whole = total >= 0 && total < 1e18;
  set_.add(Finding(Code::total_size_mismatch,
                   concat("the index says ", whole ? grouped(static_cast<std::uint64_t>(total)) : std::string("an impossible number of"),
                          " bytes in all, the tensors have ", grouped(bytes_)),
                   Where{.file = plan_.index_name}, {{"expected", total}, {"found", bytes_}}));
  for (Finding& finding : find_other_saves(set_, shard_of_tensor_, plan_.shards)) set_.add(std::move(finding));
}

/// Buffers are no parameters, and writers count ties once or twice; packed formats hold several parameters an element.
void Merger::report_parameters() {
  if (!plan_.index->total_parameters) return;
  std::uint64_t elements = 0, packed = 0;
  for (const Tensor& tensor : set_.tensors) {
    elements = checked_add(elements, tensor.numel).value_or(elements);
    if (dtype_info(tensor.dtype).kind != DTypeKind::real) packed = checked_add(packed, tensor.numel).value_or(packed);
  }
  const double said = *plan_.index->total_parameters, found = static_cast<double>(elements);
  if (packed > elements / 100 || (said > found * 0.8 && said < found * 1.2)) return;
  const bool whole = said >= 0 && said < 1e18;
  set_.add(Finding(Code::total_size_mismatch,
                   concat("the index says ", whole ? grouped(static_cast<std::uint64_t>(said)) : std::string("an impossible number of"),
                          " parameters in all, the tensors have ", grouped(elements), " elements"),
                   Where{.file = plan_.index_name}, {{"expected", said}, {"found", elements}}));
}

}  // namespace

Result<Checkpoint> merge_shards(const FileSet& files, const ShardPlan& plan, const Limits& limits) {
  return Merger(files, plan, limits).run();
}

}  // namespace assay::formats
