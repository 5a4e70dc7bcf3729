// SPDX-License-Identifier: Apache-2.0
// .metadata: a pickle that lists all tensors, how each is cut into chunks, and where every chunk is (torch/dcp_metadata.hpp).
//
// __<rank>_<n>.distcp: items one behind the other, values first, then chunks; each item is a torch.save file of its own with one value or
// tensor in it. With the other serialization format the whole file is one safetensors file, and the offsets in .metadata mean nothing.
#include "formats/torch_dcp.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/arena.hpp"
#include "base/arith.hpp"
#include "base/sort.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "containers/zip.hpp"
#include "formats/chunked_tensor.hpp"
#include "formats/shard_names.hpp"
#include "formats/torch/dcp_items.hpp"
#include "formats/torch/dcp_metadata.hpp"
#include "formats/torch/nested_file.hpp"
#include "formats/torch/pickle_at.hpp"

namespace assay::formats {

namespace {

using torch::DcpBox;
using torch::DcpEntry;
using torch::DcpMetadata;
using torch::DcpPlace;

constexpr std::string_view kMetadata = ".metadata";
constexpr std::uint64_t kHeadBytes = 4096;
constexpr std::size_t kValuesRead = 1000;                       // bytes entries whose value is looked at
constexpr std::uint64_t kValueBytes = std::uint64_t{64} << 10;  // of one of them
constexpr std::size_t kNamesShown = 3, kNamesKept = 1000;

struct DataFile {
  std::shared_ptr<torch::DcpFile> file;  // null where it is not there
  std::uint32_t index = 0;               // in Checkpoint::files
  std::optional<Error> error;
  std::vector<std::string> lost;  // tensors that need it
};

class Opener {
 public:
  Opener(const FileSet& files, const Limits& limits, std::string folder, DcpMetadata metadata, Checkpoint& checkpoint)
      : set_(files), limits_(limits), folder_(std::move(folder)), metadata_(std::move(metadata)), checkpoint_(checkpoint) {}
  Result<void> run();

 private:
  Result<void> open_files();
  Result<void> list_value(const DcpEntry& entry);
  void list_tensor(const DcpEntry& entry);
  std::optional<Finding> make_storage(const DcpEntry& entry, Tensor& tensor);
  std::optional<Finding> add_chunk(const DcpEntry& entry, const DcpBox& box, std::vector<Chunk>& chunks);
  std::optional<Finding> check_coverage(const DcpEntry& entry, const std::vector<Chunk>& chunks, bool& overlaps);
  void tell_lost();

  const FileSet& set_;
  const Limits& limits_;
  std::string folder_;  // "" or "sub/"
  DcpMetadata metadata_;
  Checkpoint& checkpoint_;
  std::unordered_map<std::string_view, DataFile> files_;
  std::size_t values_read_ = 0;
};

Result<void> Opener::open_files() {
  if (metadata_.files.size() > limits_.shards)
    return fail(Code::limit_exceeded, concat(metadata_.files.size(), " files, the limit is ", limits_.shards));
  for (const std::string_view name : metadata_.files) {
    DataFile& file = files_[name];
    const std::string path = concat(folder_, name);
    auto source = leaves_folder(name)
                      ? Result<std::shared_ptr<ByteSource>>(
                            fail(Code::path_escapes, concat("the metadata names ", quote(name), ", which is outside its folder")))
                      : set_.open(path);
    if (!source) {
      if (source.error().code() == Code::need_range) return fail(std::move(source).error());
      file.error = std::move(source).error();
      continue;
    }
    file.index = static_cast<std::uint32_t>(checkpoint_.files.size());
    checkpoint_.files.push_back({path, (*source)->size(), *source});
    file.file = std::make_shared<torch::DcpFile>(*std::move(source), path, limits_);
  }
  return {};
}

/// A value is small; it is read as the metadata it is. What is in it may be tensors too, such as the state of a random generator.
Result<void> Opener::list_value(const DcpEntry& entry) {
  const DcpPlace* const place = metadata_.find(entry.name, nullptr);
  const auto found = place ? files_.find(place->file) : files_.end();
  const bool there =
      found != files_.end() && found->second.file && within(place->offset, place->length, found->second.file->source()->size());
  if (there && place->transform.empty() && place->length <= kValueBytes && values_read_ < kValuesRead) {
    ++values_read_;
    const auto& source = found->second.file->source();
    if (auto at_hand = source->available(place->offset, place->length); !at_hand)
      return fail(std::move(at_hand).error().in_file(found->second.file->name()));
    std::byte head[4];
    if (place->length >= sizeof head && source->read(place->offset, head) && ByteView(head, 0).text() == "PK\3\4") {
      auto listed = torch::list_file_at(source, {found->second.index, place->offset, place->length}, entry.name, limits_, checkpoint_);
      if (!listed) return fail(std::move(listed).error().in_file(found->second.file->name()));
      return {};
    }
  }
  MetadataEntry value;
  value.kind = MetadataEntry::Kind::object;
  value.key = entry.name;
  value.text =
      checkpoint_.arena().text(place ? concat(place->length, " bytes in ", quote(place->file)) : std::string("bytes that are in no file"));
  checkpoint_.metadata.push_back(value);
  return {};
}

std::string box_text(const DcpBox& box) {
  std::string text = "[";
  for (std::size_t d = 0; d < box.offsets.size(); ++d) text += concat(d ? ", " : "", box.offsets[d], ':', box.offsets[d] + box.sizes[d]);
  return text + "]";
}

/// The chunk, or why it cannot be read.
std::optional<Finding> Opener::add_chunk(const DcpEntry& entry, const DcpBox& box, std::vector<Chunk>& chunks) {
  for (std::size_t d = 0; d < box.sizes.size(); ++d)
    if (!within(box.offsets[d], box.sizes[d], entry.shape[d]))
      return Finding(Code::malformed_tensor, concat("a chunk at ", bracketed(box.offsets), " of sizes ", bracketed(box.sizes),
                                                    " leaves the shape ", bracketed(entry.shape)));
  const DcpPlace* const place = metadata_.find(entry.name, &box.offsets);
  if (place == nullptr) return Finding(Code::missing_storage, concat("the metadata does not say where chunk ", box_text(box), " is"));
  DataFile& file = files_.at(place->file);
  Where where{.file = concat(folder_, place->file), .offset = place->offset, .length = place->length};
  if (!file.file) {
    file.lost.emplace_back(entry.name);
    return Finding(file.error->code() == Code::no_such_file ? Code::missing_shard : file.error->code(),
                   concat("chunk ", box_text(box), " is in ", quote(place->file), ", which ",
                          file.error->code() == Code::no_such_file ? "is not there" : concat("cannot be read: ", file.error->what())),
                   std::move(where));
  }
  if (!place->transform.empty())
    return Finding(Code::unsupported, concat("chunk ", box_text(box), " is packed with ", quote(place->transform)), std::move(where));
  const std::uint64_t size = file.file->source()->size();
  if (!within(place->offset, place->length, size))
    return Finding(Code::truncated,
                   concat("chunk ", box_text(box), " ends at ", checked_add(place->offset, place->length).value_or(~std::uint64_t{0}),
                          " in ", quote(place->file), ", which has ", size, " bytes"),
                   std::move(where));
  torch::DcpItem item{.name = entry.name, .offset = place->offset, .length = place->length, .dtype = entry.dtype, .sizes = box.sizes};
  chunks.push_back({box.offsets, box.sizes, torch::make_dcp_chunk(file.file, std::move(item)), file.file->name()});
  return std::nullopt;
}

std::optional<Finding> Opener::check_coverage(const DcpEntry& entry, const std::vector<Chunk>& chunks, bool& overlaps) {
  const Coverage found = coverage(entry.shape, chunks);
  const std::uint64_t unit = bits_to_bytes(dtype_bits(entry.dtype));
  const auto amount = [&](std::uint64_t elements) {
    return concat(counted(elements, "element", "elements"), " (", counted(elements * unit, "byte", "bytes"), ")");
  };
  if (!found.known) return Finding(Code::limit_exceeded, concat(chunks.size(), " chunks lie too irregularly to tell what they cover"));
  if (found.overlapping != 0) {
    overlaps = true;
    Finding finding(Code::overlap,
                    concat(amount(found.overlapping), " of ", quote(entry.name), " are in more than one chunk; the first counts"),
                    Where{.tensor = std::string(entry.name)}, {{"elements", found.overlapping}, {"bytes", found.overlapping * unit}});
    // Replicas that were written twice hold the same; chunks that overlap in part were never written by torch.
    if (found.same_boxes) finding.severity = Severity::warning;
    checkpoint_.add(std::move(finding));
  }
  if (found.missing == 0) return std::nullopt;
  Finding finding(Code::gap, concat(amount(found.missing), " of ", quote(entry.name), " are in no chunk"), {},
                  {{"elements", found.missing}, {"bytes", found.missing * unit}});
  finding.severity = Severity::damage;
  return finding;
}

std::optional<Finding> Opener::make_storage(const DcpEntry& entry, Tensor& tensor) {
  std::optional<std::uint64_t> numel = 1;
  const bool empty = std::ranges::find(entry.shape, std::uint64_t{0}) != entry.shape.end();
  for (const std::uint64_t n : entry.shape) numel = empty ? std::optional<std::uint64_t>(0) : numel ? checked_mul(*numel, n) : std::nullopt;
  const std::uint64_t unit = bits_to_bytes(dtype_bits(entry.dtype));
  const auto bytes = numel ? checked_mul(*numel, std::max<std::uint64_t>(unit, 1)) : std::nullopt;
  if (!bytes || !checked_mul(*bytes, 8))
    return Finding(Code::shape_overflow, concat("shape ", bracketed(entry.shape), " has more elements than 64 bits count"));
  tensor.numel = *numel;
  if (entry.fault) return Finding::from(*entry.fault);
  std::vector<Chunk> chunks;
  for (const DcpBox& box : entry.chunks)
    if (auto wrong = add_chunk(entry, box, chunks)) return wrong;
  bool overlaps = false;
  if (auto wrong = check_coverage(entry, chunks, overlaps)) return wrong;
  if (entry.dtype == DType::unknown) return std::nullopt;  // listed, its values are not readable
  Storage storage;
  storage.nbytes = *bytes;
  storage.key = entry.name;
  if (!chunks.empty()) {
    const DcpPlace* const place = metadata_.find(entry.name, &entry.chunks[0].offsets);
    storage.file = files_.at(place->file).index;
    storage.offset = place->offset;
  }
  storage.producer = join_chunks(entry.shape, unit, std::move(chunks), overlaps);
  tensor.storage = static_cast<std::uint32_t>(checkpoint_.storages.size());
  checkpoint_.storages.push_back(std::move(storage));
  return std::nullopt;
}

void Opener::list_tensor(const DcpEntry& entry) {
  Tensor tensor;
  tensor.name = entry.name;
  tensor.dtype = entry.dtype;
  tensor.source_dtype = checkpoint_.arena().text(concat("torch.", entry.dtype_text));
  tensor.shape = checkpoint_.arena().numbers(entry.shape);
  auto wrong = make_storage(entry, tensor);
  if (entry.dtype == DType::f4)
    if (const auto shape = torch::sizes_in_values(entry.dtype, entry.shape)) {
      tensor.shape = checkpoint_.arena().numbers(*shape);
      tensor.numel *= 2;
    }
  if (wrong) checkpoint_.refuse(tensor, *std::move(wrong));
  checkpoint_.tensors.push_back(tensor);
}

/// One line a file for what is lost with it, before the tensors' own findings.
void Opener::tell_lost() {
  for (const std::string_view name : metadata_.files) {
    DataFile& file = files_.at(name);
    if (file.file) continue;
    const bool absent = file.error->code() == Code::no_such_file;
    std::string what = concat(quote(name), absent ? " is not there; " : concat(" cannot be read: ", file.error->what(), "; "),
                              counted(file.lost.size(), "tensor is", "tensors are"), " lost", file.lost.empty() ? "" : ": ",
                              name_list(file.lost, kNamesShown));
    const std::uint64_t lost = file.lost.size();
    file.lost.resize(std::min(file.lost.size(), kNamesKept));
    checkpoint_.findings.add_first(Finding(absent                                     ? Code::missing_shard
                                           : file.error->code() == Code::path_escapes ? Code::path_escapes
                                                                                      : Code::bad_shard,
                                           std::move(what), Where{.file = concat(folder_, name)},
                                           {{"lost", lost}, {"tensors", std::move(file.lost)}}));
    checkpoint_.complete = false;
  }
}

Result<void> Opener::run() {
  ASSAY_CHECK(open_files());
  for (const DcpEntry& entry : metadata_.entries)
    if (entry.tensor) list_tensor(entry);
  for (const DcpEntry& entry : metadata_.entries)
    if (!entry.tensor) ASSAY_CHECK(list_value(entry));
  tell_lost();
  return {};
}

std::string folder_of(std::string_view name) {
  const std::size_t slash = name.rfind('/');
  return slash == std::string_view::npos ? std::string() : std::string(name.substr(0, slash + 1));
}

struct Metadata {
  std::string name;
  std::shared_ptr<ByteSource> source;
  DcpMetadata parsed;
  std::shared_ptr<const torch::Graph> graph;
};
Result<Metadata> read_metadata(std::string name, std::shared_ptr<ByteSource> source, const Limits& limits) {
  auto pickle = torch::read_pickle_at(*source, 0, source->size(), limits);
  if (!pickle) return fail(std::move(pickle).error().in_file(name));
  auto parsed = torch::read_dcp_metadata(*pickle->graph, limits);
  if (parsed) return Metadata{std::move(name), std::move(source), *std::move(parsed), pickle->graph};
  if (const auto& broken = pickle->graph->broken())
    return fail(Error(broken->code(), broken->what()).at(broken->where().offset.value_or(0)).in_file(name));
  return fail(std::move(parsed).error().in_file(name));
}

/// One metadata, or those of all ranks.
Result<Checkpoint> open_whole(const FileSet& files, std::vector<Metadata> all, const Limits& limits) {
  Checkpoint checkpoint;
  checkpoint.format = "torch-dcp";
  checkpoint.container = "distcp";
  checkpoint.values = all.front().graph;
  std::unordered_set<std::string_view> twice;
  for (std::size_t i = 0; i < all.size(); ++i) {
    checkpoint.files.push_back({all[i].name, all[i].source->size(), all[i].source});
    checkpoint.arena().keep(all[i].graph);  // names point into it
    if (const auto& broken = all[i].graph->broken()) {
      Finding finding = Finding::from(*broken);
      finding.where.file = all[i].name;
      checkpoint.add(std::move(finding));
    }
    if (i != 0) torch::merge(all.front().parsed, std::move(all[i].parsed), twice);
  }
  if (!twice.empty()) {
    Finding finding(Code::duplicate_tensor, concat("several ranks hold the same parts of ", counted(twice.size(), "tensor", "tensors"),
                                                   "; those of the first rank count"));
    finding.severity = Severity::note;
    checkpoint.add(std::move(finding));
  }
  ASSAY_CHECK(Opener(files, limits, folder_of(all.front().name), std::move(all.front().parsed), checkpoint).run());
  if (checkpoint.tensors.empty()) checkpoint.add(Finding(Code::no_tensors, "the metadata lists no tensors"));
  return checkpoint;
}

/// "__12.metadata": what a rank writes that does not wait for the others.
bool is_rank_metadata(std::string_view name) {
  if (!name.starts_with("__") || !name.ends_with(kMetadata)) return false;
  const std::string_view rank = name.substr(2, name.size() - 2 - kMetadata.size());
  return !rank.empty() && std::ranges::all_of(rank, [](char c) { return c >= '0' && c <= '9'; });
}

/// A .distcp file of which no metadata is at hand: its items in turn.
Result<Checkpoint> open_alone(const OpenInput& input) {
  Checkpoint checkpoint;
  checkpoint.format = "torch-dcp";
  checkpoint.container = "distcp";
  checkpoint.files.push_back({std::string(input.name), input.source->size(), input.source});
  ASSAY_TRY(const std::vector<std::uint64_t> begins, zip::find_chain(*input.source, input.limits));
  if (begins.empty())
    return fail(
        Error(Code::bad_zip, "its items do not follow each other to the end; the .metadata that says where they are is not beside it"));
  for (std::size_t i = 0; i < begins.size(); ++i) {
    const std::uint64_t end = i + 1 < begins.size() ? begins[i + 1] : input.source->size();
    ASSAY_CHECK(
        torch::list_file_at(input.source, {0, begins[i], end - begins[i]}, concat("bytes at ", begins[i]), input.limits, checkpoint));
  }
  Finding finding(Code::missing_shard,
                  concat("the .metadata of this distributed checkpoint is not beside it; ", counted(begins.size(), "item", "items"),
                         " without names, which may be parts of tensors"),
                  Where{.file = std::string(kMetadata)});
  finding.severity = Severity::warning;  // the file was asked for by itself, and is whole
  checkpoint.add(std::move(finding));
  return checkpoint;
}

}  // namespace

Probe probe_dcp(const ProbeInput& input) {
  if (torch::is_dcp_metadata(input.head)) return {100, "the metadata of a distributed checkpoint"};
  if (input.name.ends_with(".distcp") && input.head.text().starts_with("PK\3\4")) return {100, "a .distcp file of zips"};
  return {};
}

Result<Checkpoint> open_dcp(const OpenInput& input) {
  if (input.name.ends_with(".distcp")) return open_alone(input);
  const std::string folder = folder_of(input.name);
  if (folder.empty() && is_rank_metadata(input.name)) {
    if (const auto entries = input.files.list()) {
      ASSAY_TRY(auto checkpoint, open_dcp_folder(input.files, *entries, input.limits));
      if (checkpoint) return *std::move(checkpoint);
    }
  }
  std::vector<Metadata> one;
  ASSAY_TRY(Metadata metadata, read_metadata(std::string(input.name), input.source, input.limits));
  one.push_back(std::move(metadata));
  return open_whole(input.files, std::move(one), input.limits);
}

Result<std::optional<Checkpoint>> open_dcp_folder(const FileSet& files, std::span<const FileSet::Entry> entries, const Limits& limits) {
  std::vector<std::string> names;
  for (const FileSet::Entry& entry : entries)
    if (!entry.folder && is_rank_metadata(entry.name)) names.push_back(entry.name);
  sort_stable(names, [](const std::string& a, const std::string& b) { return natural_less(a, b); });
  if (std::ranges::find(entries, kMetadata, &FileSet::Entry::name) != entries.end()) names = {std::string(kMetadata)};
  if (names.empty()) return std::nullopt;
  if (names.size() > limits.shards) return fail(Code::limit_exceeded, concat(names.size(), " files, the limit is ", limits.shards));
  std::vector<Metadata> all;
  const std::string& primary = files.primary();
  for (const std::string& name : names) {
    ASSAY_TRY(auto source, files.open(name));
    auto head = source->fetch(0, std::min(source->size(), kHeadBytes));
    if (!head) return fail(std::move(head).error().in_file(name));
    if (!torch::is_dcp_metadata(head->view())) continue;  // of something else
    auto metadata = read_metadata(name, std::move(source), limits);
    if (metadata) all.push_back(*std::move(metadata));
    // A file that was asked for by itself can be listed by itself.
    else if (metadata.error().code() == Code::need_range || primary.empty()) return fail(std::move(metadata).error());
  }
  if (all.empty()) return std::nullopt;
  ASSAY_TRY(auto checkpoint, open_whole(files, std::move(all), limits));
  if (!primary.empty() && std::ranges::find(checkpoint.files, primary, &CheckpointFile::name) == checkpoint.files.end())
    return std::nullopt;
  return std::optional(std::move(checkpoint));
}

}  // namespace assay::formats
