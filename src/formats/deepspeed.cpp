// SPDX-License-Identifier: Apache-2.0
// latest    the tag, which names the folder
// <tag>/mp_rank_<mm>_model_states.pt    stages 1 and 2: {"module": {…}, "param_shapes": [{name: size, …}, …], "buffer_names": […],
//     "shared_params": {name: name}, "frozen_param_shapes": {…}, "frozen_param_fragments": {…}, "ds_version": …}
// <tag>/zero_pp_rank_<r>_mp_rank_<mm>_model_states.pt    stage 3: the same on every rank, the module's weights empty
// <tag>/[bf16_|fp16_]zero_pp_rank_<r>_mp_rank_<mm>_optim_states.pt    {"optimizer_state_dict": {"zero_stage": n,
//     "partition_count": ranks, "single_partition_of_fp32_groups" or, in stage 3, "fp32_flat_groups": [1-D, …]}}
//
// Stages 1 and 2: the ranks' parts of group g, one behind the other, are the parameters of param_shapes[g] in order, padded at the end to a
// multiple of 2 * ranks. Stage 3: each parameter of n elements is dealt out in pieces of ceil(n / ranks), rank r has the r-th, the last
// padded; in a rank the pieces of all parameters follow each other through its groups.
#include "formats/deepspeed.hpp"

#include <algorithm>
#include <unordered_map>

#include "base/arena.hpp"
#include "base/arith.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "formats/chunked_tensor.hpp"
#include "formats/torch/zero_states.hpp"

namespace assay::formats {

namespace {

using torch::ZeroFile;
using torch::ZeroGroup;
using torch::ZeroParameter;

constexpr std::uint64_t kTagBytes = 256;
constexpr std::uint32_t kModelRanks = 1024;
constexpr std::uint64_t kMostSteps = std::uint64_t{1} << 26;  // parameters times ranks
constexpr std::uint64_t kRanksTried = 64;                     // where no file says how many there are
constexpr std::string_view kStep = "global_step";
constexpr std::string_view kModelEnd = "_model_states.pt";
constexpr std::string_view kOptimEnds[] = {"_optim_states.pt", "optim_states.pt"};
constexpr std::string_view kOptimPrefixes[] = {"", "bf16_", "fp16_"};

std::string two_digits(std::uint32_t n) { return concat(n < 10 ? "0" : "", n); }

/// A run of elements of some rank's flat groups.
struct Run {
  std::uint64_t rank, begin, count;  // counted through the rank's groups
  std::uint64_t at;                  // in the parameter
};

/// The ranks that share one part of the model.
class ModelRank {
 public:
  ModelRank(const FileSet& files, std::string folder, std::uint32_t number, const Limits& limits)
      : files_(files), folder_(std::move(folder)), name_(concat("mp_rank_", two_digits(number))), limits_(limits) {}
  /// False when it has no files.
  Result<bool> open();
  bool has_states() const { return ranks_ != 0; }
  void list(Checkpoint& checkpoint, const std::string& prefix);
  const std::string& name() const { return name_; }

 private:
  Result<std::shared_ptr<ZeroFile>> open_file(const std::string& name);
  Result<bool> open_models();
  Result<bool> open_states();
  Result<std::shared_ptr<ZeroFile>> open_state(std::uint64_t rank);
  void add_files(Checkpoint& checkpoint);
  void list_module(Checkpoint& checkpoint, const std::string& prefix);
  void list_frozen(Checkpoint& checkpoint, const std::string& prefix);
  void list_parameters(Checkpoint& checkpoint, const std::string& prefix);
  void list_shared(Checkpoint& checkpoint, const std::string& prefix);
  void describe(Checkpoint& checkpoint);
  void tell_missing(Checkpoint& checkpoint);
  std::uint64_t group_size(std::uint64_t rank, std::size_t group) const;
  void add_joined(Checkpoint& checkpoint, const std::string& name, const ZeroParameter& parameter, const std::vector<Run>& runs,
                  const std::string& fragment);
  std::optional<Finding> join(Checkpoint& checkpoint, Tensor& tensor, const std::vector<Run>& runs, const std::string& fragment);
  void add_copy(Checkpoint& checkpoint, const std::string& name, const ZeroFile& file, const Tensor& tensor);

  const FileSet& files_;
  std::string folder_, name_;
  const Limits& limits_;
  std::shared_ptr<ZeroFile> model_;                // tells names and shapes, as any other of its kind would
  std::vector<std::shared_ptr<ZeroFile>> models_;  // one, or by rank in stage 3; null where a file is missing
  std::vector<std::shared_ptr<ZeroFile>> states_;  // by rank
  std::vector<std::string> missing_;
  std::optional<Error> unreadable_;
  std::uint64_t ranks_ = 0;
  std::int64_t stage_ = 0;
  std::unordered_map<std::string_view, std::uint32_t> tensors_;  // of this model rank, by name without prefix
};

/// Null where it is not there; one that cannot be read is remembered.
Result<std::shared_ptr<ZeroFile>> ModelRank::open_file(const std::string& name) {
  auto source = files_.open(folder_ + name);
  if (!source && source.error().code() == Code::no_such_file) return std::shared_ptr<ZeroFile>();
  auto part = source ? open_single(files_, folder_ + name, *std::move(source), limits_)
                     : Result<Checkpoint>(fail(std::move(source).error().in_file(folder_ + name)));
  if (part) return std::make_shared<ZeroFile>(*std::move(part));
  if (part.error().code() == Code::need_range || part.error().code() == Code::path_escapes) return fail(std::move(part).error());
  if (!unreadable_) unreadable_ = std::move(part).error();
  return std::shared_ptr<ZeroFile>();
}

Result<bool> ModelRank::open_models() {
  ASSAY_TRY(auto whole, open_file(concat(name_, kModelEnd)));
  if (whole) {
    model_ = whole;
    models_.push_back(std::move(whole));
    return true;
  }
  for (std::uint64_t rank = 0; rank < std::max(ranks_, std::uint64_t{1}); ++rank) {
    ASSAY_TRY(auto file, open_file(concat("zero_pp_rank_", rank, '_', name_, kModelEnd)));
    models_.push_back(std::move(file));
  }
  const auto first = std::ranges::find_if(models_, [](const auto& file) { return file != nullptr; });
  if (first != models_.end()) model_ = *first;
  return model_ != nullptr;
}

Result<std::shared_ptr<ZeroFile>> ModelRank::open_state(std::uint64_t rank) {
  for (const std::string_view prefix : kOptimPrefixes) {
    for (const std::string_view end : kOptimEnds) {
      ASSAY_TRY(auto file, open_file(concat(prefix, "zero_pp_rank_", rank, '_', name_, end)));
      if (file) return file;
    }
  }
  return std::shared_ptr<ZeroFile>();
}

Result<bool> ModelRank::open_states() {
  std::uint64_t first = 0;
  std::shared_ptr<ZeroFile> file;
  for (; first < kRanksTried && !file; ++first) {
    ASSAY_TRY(file, open_state(first));
  }
  if (!file) return false;
  ranks_ = std::max<std::uint64_t>(torch::zero_partition_count(*file), first);
  stage_ = torch::zero_stage(*file);
  if (ranks_ > limits_.shards)
    return fail(Code::limit_exceeded, concat("a partition count of ", ranks_, ", the limit is ", limits_.shards, " files"));
  states_.resize(static_cast<std::size_t>(ranks_));
  for (std::uint64_t rank = 0; rank < ranks_; ++rank) {
    auto& state = states_[static_cast<std::size_t>(rank)];
    if (rank + 1 == first) {
      state = file;
    } else {
      ASSAY_TRY(state, open_state(rank));
    }
    if (!state) missing_.push_back(concat("zero_pp_rank_", rank, '_', name_, kOptimEnds[0]));
  }
  return true;
}

Result<bool> ModelRank::open() {
  ASSAY_TRY(const bool states, open_states());
  ASSAY_TRY(const bool models, open_models());
  return states || models;
}

void ModelRank::add_files(Checkpoint& checkpoint) {
  for (const auto* const list : {&models_, &states_}) {
    for (const auto& file : *list) {
      if (!file) continue;
      file->index = static_cast<std::uint32_t>(checkpoint.files.size());
      checkpoint.files.push_back(file->part.files[0]);
      for (Finding finding : file->part.findings.list()) {
        if (finding.severity < Severity::damage) continue;
        finding.where.file = file->part.files[0].name;
        checkpoint.add(std::move(finding));
      }
      checkpoint.arena().keep(file);  // names and dimensions live in its arena
    }
  }
}

/// A tensor as it stands in one of the files.
void ModelRank::add_copy(Checkpoint& checkpoint, const std::string& name, const ZeroFile& file, const Tensor& from) {
  Tensor tensor = from;
  tensor.name = checkpoint.arena().text(name);
  tensor.quantizer = kNone;
  if (from.storage != kNone) {
    Storage storage = file.part.storages[from.storage];
    storage.file = file.index;
    tensor.storage = static_cast<std::uint32_t>(checkpoint.storages.size());
    checkpoint.storages.push_back(std::move(storage));
  }
  checkpoint.tensors.push_back(tensor);
}

void ModelRank::list_module(Checkpoint& checkpoint, const std::string& prefix) {
  const ZeroFile& file = *model_;
  for (const std::string_view name : torch::zero_buffers(file)) {
    const Tensor* const tensor = file.find(concat("module.", name));
    if (tensor == nullptr) continue;  // not persistent
    tensors_.emplace(name, static_cast<std::uint32_t>(checkpoint.tensors.size()));
    add_copy(checkpoint, prefix + std::string(name), file, *tensor);
  }
}

void ModelRank::list_frozen(Checkpoint& checkpoint, const std::string& prefix) {
  constexpr std::string_view kTable = "frozen_param_fragments";
  for (const ZeroParameter& parameter : torch::zero_shapes(*model_, "frozen_param_shapes")) {
    const std::string name = prefix + std::string(parameter.name);
    tensors_.emplace(parameter.name, static_cast<std::uint32_t>(checkpoint.tensors.size()));
    if (stage_ < 3) {
      if (const Tensor* const tensor = model_->find(concat(kTable, '.', parameter.name))) {
        add_copy(checkpoint, name, *model_, *tensor);
        continue;
      }
    }
    // One piece a rank, as of the parameters that are trained.
    std::vector<Run> runs;
    const std::uint64_t ranks = std::max<std::uint64_t>(models_.size(), 1),
                        piece = parameter.numel / ranks + (parameter.numel % ranks != 0);
    for (std::uint64_t rank = 0; rank < ranks && rank * piece < parameter.numel; ++rank)
      runs.push_back({rank, 0, std::min(piece, parameter.numel - rank * piece), rank * piece});
    add_joined(checkpoint, name, parameter, runs, concat(kTable, '.', parameter.name));
  }
}

/// Elements of a group on a rank. Parts are equally long, so that one of a missing rank is known too.
std::uint64_t ModelRank::group_size(std::uint64_t rank, std::size_t group) const {
  const auto& file = states_[static_cast<std::size_t>(rank)];
  if (file && group < file->groups.size()) return file->groups[group].numel;
  for (const auto& other : states_)
    if (other && group < other->groups.size()) return other->groups[group].numel;
  return 0;
}

void ModelRank::list_parameters(Checkpoint& checkpoint, const std::string& prefix) {
  const auto known = std::ranges::find_if(states_, [](const auto& file) { return file != nullptr; });
  const std::size_t groups = known == states_.end() ? 0 : (*known)->groups.size();
  const std::vector<ZeroGroup> shapes = torch::zero_parameters(*model_, checkpoint);
  std::uint64_t through = 0;  // stage 3: in every rank, through its groups
  std::uint64_t steps = 0;
  for (std::size_t g = 0; g < shapes.size(); ++g) {
    std::uint64_t at = 0, held = 0, before = 0;
    if (stage_ < 3) {
      for (std::size_t i = 0; i < std::min(g, groups); ++i) before += group_size(0, i);
      for (std::uint64_t rank = 0; rank < ranks_ && g < groups; ++rank) held += group_size(rank, g);
    }
    for (const ZeroParameter& parameter : shapes[g].parameters) {
      if ((steps += ranks_) > kMostSteps)
        return checkpoint.add(Finding(Code::limit_exceeded, concat("parameters times ranks exceed ", kMostSteps, "; not all are listed")));
      std::vector<Run> runs;
      if (stage_ < 3) {
        // Where it begins and ends in the vector that the ranks' parts make up.
        std::uint64_t begin = 0;
        for (std::uint64_t rank = 0; rank < ranks_; ++rank) {
          const std::uint64_t size = group_size(rank, g), end = begin + size, from = std::max(at, begin),
                              to = std::min(at + parameter.numel, end);
          if (from < to) runs.push_back({rank, before + from - begin, to - from, from - at});
          begin = end;
        }
        at += parameter.numel;
      } else {
        const std::uint64_t piece = parameter.numel / ranks_ + (parameter.numel % ranks_ != 0);
        for (std::uint64_t rank = 0; rank < ranks_ && rank * piece < parameter.numel; ++rank)
          runs.push_back({rank, through, std::min(piece, parameter.numel - rank * piece), rank * piece});
        through += piece;
      }
      tensors_.emplace(parameter.name, static_cast<std::uint32_t>(checkpoint.tensors.size()));
      add_joined(checkpoint, prefix + std::string(parameter.name), parameter, runs, {});
    }
    const std::uint64_t align = 2 * std::max<std::uint64_t>(ranks_, 1);
    if (stage_ < 3 && (at + align - 1) / align != (held + align - 1) / align)
      checkpoint.add(Finding(Code::size_mismatch,
                             concat("the parameters of group ", g, " have ", grouped(at), " elements, the ranks hold ", grouped(held)), {},
                             {{"expected", at}, {"found", held}}));
  }
  if (stage_ < 3) return;
  std::uint64_t held = 0;
  for (std::size_t g = 0; g < groups; ++g) held += group_size(0, g);
  if (through != held)
    checkpoint.add(Finding(Code::size_mismatch,
                           concat("the parameters need ", grouped(through), " elements of every rank, rank 0 holds ", grouped(held)), {},
                           {{"expected", through}, {"found", held}}));
}

/// Cuts the runs where the rank's groups end, and joins what they name; of a frozen parameter `fragment` names the tensor in the model
/// states.
std::optional<Finding> ModelRank::join(Checkpoint& checkpoint, Tensor& tensor, const std::vector<Run>& runs, const std::string& fragment) {
  std::vector<Chunk> chunks;
  std::uint64_t covered = 0;
  std::uint32_t file_index = 0;
  Storage plain;
  for (const Run& run : runs) {
    const auto& file = (fragment.empty() ? states_ : models_)[static_cast<std::size_t>(run.rank)];
    if (!file)
      return Finding(Code::missing_shard,
                     concat("rank ", run.rank, " holds ", grouped(run.count), " of its elements, and its file is not there"));
    std::vector<ZeroFile::FlatGroup> parts = file->groups;
    if (const Tensor* const piece = fragment.empty() ? nullptr : file->find(fragment)) parts = {{piece, piece->numel}};
    else if (!fragment.empty()) parts.clear();
    std::uint64_t begin = 0, from = run.begin, left = run.count, at = run.at;
    for (const auto& [part, numel] : parts) {
      const auto end = checked_add(begin, numel).value_or(begin);
      if (left != 0 && from < end) {
        if (auto wrong = torch::zero_part_fault(*file, *part))
          return Finding(wrong->code(), concat("rank ", run.rank, ": ", wrong->what()), Where{.file = file->part.files[0].name});
        const std::uint64_t n = std::min(left, end - from), unit = bits_to_bytes(dtype_bits(part->dtype));
        if (!chunks.empty() && part->dtype != tensor.dtype) return Finding(Code::size_mismatch, "its parts are of different dtypes");
        tensor.dtype = part->dtype;
        tensor.source_dtype = part->source_dtype;
        const Storage& storage = file->part.storages[part->storage];
        const std::uint64_t offset = storage.offset + (part->storage_offset + from - begin) * unit;
        if (chunks.empty()) file_index = file->index, plain.offset = offset;
        chunks.push_back({{at}, {n}, chunk_at({file->part.files[0].source, offset, {}}), file->part.files[0].name});
        covered += n;
        from += n, at += n, left -= n;
      }
      begin = end;
    }
    if (left != 0)
      return Finding(Code::out_of_storage, concat("rank ", run.rank, " holds ", grouped(left), " elements fewer than it needs"),
                     Where{.file = file->part.files[0].name});
  }
  if (covered != tensor.numel)
    return Finding(Code::out_of_storage, concat("the ranks hold ", grouped(covered), " of its ", grouped(tensor.numel), " elements"));
  plain.nbytes = tensor.numel * bits_to_bytes(dtype_bits(tensor.dtype));
  plain.file = file_index;
  if (chunks.size() != 1) plain.producer = join_chunks({tensor.numel}, bits_to_bytes(dtype_bits(tensor.dtype)), std::move(chunks));
  tensor.storage = static_cast<std::uint32_t>(checkpoint.storages.size());
  checkpoint.storages.push_back(std::move(plain));
  return std::nullopt;
}

void ModelRank::add_joined(Checkpoint& checkpoint, const std::string& name, const ZeroParameter& parameter, const std::vector<Run>& runs,
                           const std::string& fragment) {
  Tensor tensor;
  tensor.name = checkpoint.arena().text(name);
  tensor.dtype = DType::f32;
  tensor.source_dtype = "torch.float32";
  tensor.shape = checkpoint.arena().numbers(parameter.shape);
  tensor.numel = parameter.numel;
  tensor.parameter = true;
  auto wrong = parameter.fault ? Finding::from(*parameter.fault) : std::optional<Finding>();
  if (!wrong) wrong = join(checkpoint, tensor, runs, fragment);
  if (wrong) checkpoint.refuse(tensor, *std::move(wrong));
  checkpoint.tensors.push_back(tensor);
}

void ModelRank::list_shared(Checkpoint& checkpoint, const std::string& prefix) {
  for (const auto& [name, of] : torch::zero_shared(*model_)) {
    const auto found = tensors_.find(of);
    if (found == tensors_.end() || tensors_.contains(name)) continue;
    Tensor tensor = checkpoint.tensors[found->second];
    tensor.name = checkpoint.arena().text(prefix + std::string(name));
    checkpoint.tensors.push_back(tensor);
  }
}

void ModelRank::describe(Checkpoint& checkpoint) {
  const auto add_number = [&](std::string_view key, std::uint64_t value) {
    MetadataEntry entry;
    entry.kind = MetadataEntry::Kind::integer;
    entry.key = key;
    entry.integer = static_cast<std::int64_t>(value);
    checkpoint.metadata.push_back(entry);
  };
  const auto add_text = [&](std::string_view key, const std::string& text) {
    MetadataEntry entry;
    entry.kind = MetadataEntry::Kind::text;
    entry.key = key;
    entry.text = checkpoint.arena().text(text);
    checkpoint.metadata.push_back(entry);
  };
  add_number("zero_stage", static_cast<std::uint64_t>(stage_));
  add_number("ranks", ranks_);
  std::uint64_t state_bytes = 0, copies = 0, copy_bytes = 0;
  for (const auto& file : states_)
    if (file) state_bytes += torch::zero_other_bytes(*file);
  const ZeroFile& model = *model_;
  const auto buffers = torch::zero_buffers(model);
  for (const Tensor& tensor : model.part.tensors) {
    if (!tensor.name.starts_with("module.") || tensor.numel == 0) continue;
    if (std::ranges::find(buffers, tensor.name.substr(7)) == buffers.end()) ++copies, copy_bytes += tensor.nbytes();
  }
  add_text("optimizer_state",
           concat(grouped(state_bytes), " bytes in ",
                  counted(static_cast<std::uint64_t>(std::ranges::count_if(states_, [](const auto& file) { return file != nullptr; })),
                          "file", "files"),
                  ", not listed"));
  if (copies != 0)
    add_text("module", concat(counted(copies, "tensor", "tensors"), " of ", grouped(copy_bytes), " bytes as they are trained, in ",
                              quote(model.part.files[0].name)));
  constexpr std::string_view kTables[] = {"param_shapes", "frozen_param_shapes", "buffer_names", "shared_params",
                                          "sparse_tensor_module_names"};
  for (const MetadataEntry& entry : model.part.metadata)
    if (entry.kind != MetadataEntry::Kind::null &&
        std::ranges::none_of(kTables, [&](std::string_view table) { return entry.key.starts_with(table); }))
      checkpoint.metadata.push_back(entry);
}

void ModelRank::tell_missing(Checkpoint& checkpoint) {
  for (std::size_t rank = 0; rank < models_.size() && model_; ++rank)
    if (!models_[rank]) missing_.push_back(concat("zero_pp_rank_", rank, '_', name_, kModelEnd));
  if (unreadable_) {
    Finding finding = Finding::from(*unreadable_);
    finding.message = concat(quote(finding.where.file), " cannot be read: ", finding.message);
    finding.code = Code::bad_shard;
    checkpoint.add(std::move(finding));
  }
  for (const std::string& name : missing_)
    checkpoint.add(Finding(Code::missing_shard,
                           concat(quote(name), " is not there, nor under another of its names; the partition count is ", ranks_),
                           Where{.file = folder_ + name}));
}

void ModelRank::list(Checkpoint& checkpoint, const std::string& prefix) {
  add_files(checkpoint);
  tell_missing(checkpoint);
  if (!model_) {
    checkpoint.add(Finding(Code::missing_shard,
                           concat("no file of model states is there for ", name_, "; nothing says what the ", ranks_, " parts mean")));
    return;
  }
  describe(checkpoint);
  list_module(checkpoint, prefix);
  list_frozen(checkpoint, prefix);
  list_parameters(checkpoint, prefix);
  list_shared(checkpoint, prefix);
}

/// The folder's files, or nothing where there are none of ZeRO.
Result<std::optional<Checkpoint>> open_in(const FileSet& files, const std::string& folder, const Limits& limits) {
  std::vector<ModelRank> ranks;
  for (std::uint32_t number = 0; number < kModelRanks; ++number) {
    ModelRank rank(files, folder, number, limits);
    ASSAY_TRY(const bool there, rank.open());
    if (!there) break;
    ranks.push_back(std::move(rank));
  }
  if (std::ranges::none_of(ranks, &ModelRank::has_states)) return std::nullopt;
  Checkpoint checkpoint;
  checkpoint.format = "deepspeed-zero";
  checkpoint.container = "zip";
  for (ModelRank& rank : ranks)
    if (rank.has_states()) rank.list(checkpoint, ranks.size() > 1 ? rank.name() + '.' : std::string());
  if (checkpoint.files.empty()) return std::nullopt;
  if (checkpoint.tensors.empty()) checkpoint.add(Finding(Code::no_tensors, "the files name no parameters"));
  return checkpoint;
}

bool is_state_name(std::string_view name) {
  return name.ends_with("optim_states.pt") && name.find("zero_pp_rank_") != std::string_view::npos;
}

}  // namespace

Probe probe_deepspeed(const ProbeInput&) { return {}; }

Result<Checkpoint> open_deepspeed(const OpenInput& input) {
  const std::string folder(input.name.substr(0, input.name.rfind('/') + 1));  // "" where there is none
  ASSAY_TRY(auto checkpoint, open_in(input.files, folder, input.limits));
  if (checkpoint) return *std::move(checkpoint);
  return fail(Code::unknown_format, "no files of a ZeRO checkpoint beside it");
}

Result<std::optional<Checkpoint>> open_deepspeed_folder(const FileSet& files, std::span<const FileSet::Entry> entries,
                                                        const Limits& limits) {
  const auto has = [&](auto&& test) {
    return std::ranges::any_of(entries, [&](const FileSet::Entry& entry) { return !entry.folder && test(entry.name); });
  };
  if (has(is_state_name)) return open_in(files, "", limits);
  // The last of the steps that were saved.
  std::string_view last;
  for (const FileSet::Entry& entry : entries)
    if (entry.folder && entry.name.starts_with(kStep) && (last.empty() || natural_less(last, entry.name))) last = entry.name;
  const auto open_last = [&] {
    return last.empty() ? Result<std::optional<Checkpoint>>(std::nullopt) : open_in(files, concat(last, '/'), limits);
  };
  if (!has([](std::string_view name) { return name == "latest"; })) return open_last();
  ASSAY_TRY(const auto source, files.open("latest"));
  ASSAY_TRY(const ByteBlock text, source->fetch(0, std::min(source->size(), kTagBytes)));
  std::string_view tag = text.view().text();
  tag = tag.substr(0, tag.find_first_of("\r\n"));
  while (tag.ends_with(' ')) tag.remove_suffix(1);
  if (tag.empty() || source->size() > kTagBytes || std::ranges::any_of(tag, [](char c) { return static_cast<unsigned char>(c) < ' '; }))
    return std::nullopt;
  auto opened = open_in(files, concat(tag, '/'), limits);
  if (!opened && opened.error().code() == Code::path_escapes) return std::nullopt;
  if (!opened) return opened;
  if (!*opened) {
    opened = open_last();
    if (!opened || !*opened) return opened;
    (*opened)->add(Finding(Code::stale_index,
                           concat("'latest' names ", quote(tag), ", in which there are no files of a ZeRO checkpoint; ", quote(last),
                                  " was opened, the last step that is there"),
                           Where{.file = "latest"}));
    tag = last;
  }
  MetadataEntry entry;
  entry.kind = MetadataEntry::Kind::text;
  entry.key = "tag";
  entry.text = (*opened)->arena().text(tag);
  (*opened)->metadata.insert((*opened)->metadata.begin(), entry);
  return opened;
}

}  // namespace assay::formats
