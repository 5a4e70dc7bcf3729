// SPDX-License-Identifier: Apache-2.0
// shard-<rank>-model-<i>-of-<n>.safetensors, one or more for each rank, ranks counted from 1. Each is a safetensors file of the rank's
// chunks by the names of the whole tensors; its __metadata__ says where they belong:
//
//   "DCP_VERSION": "1.0", "format": "pt", "DCP_SHARDING_INFO": "{\"fc.weight\": {\"saved_offsets\": [4, 0]}, …}"
//
// A tensor is as large as its chunks reach. There is no other file.
#include "formats/dcp_safetensors.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "base/arena.hpp"
#include "base/arith.hpp"
#include "base/sort.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "containers/json.hpp"
#include "formats/chunked_tensor.hpp"
#include "formats/format.hpp"

namespace assay::formats {

namespace {

constexpr std::string_view kSharding = "DCP_SHARDING_INFO";
constexpr std::string_view kPrefix = "shard-";
constexpr std::uint64_t kMostRanks = 1'000'000;

using Offsets = std::unordered_map<std::string, std::vector<std::uint64_t>>;

// {name: {"saved_offsets": [n, …]}}
class OffsetsReader final : public json::Handler {
 public:
  Offsets offsets;

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool string(std::string_view) override { return true; }
  bool number(std::string_view text) override {
    if (keys_.size() != 2 || keys_[1] != "saved_offsets" || !in_array_) return true;
    const auto value = json::to_u64(text);
    if (value) offsets[keys_[0]].push_back(*value);
    return value.has_value();
  }
  bool key(std::string_view text) override {
    keys_.back() = text;
    return true;
  }
  bool start_object() override {
    keys_.emplace_back();
    return true;
  }
  bool end_object() override {
    keys_.pop_back();
    return true;
  }
  bool start_array() override {
    in_array_ = true;
    if (keys_.size() == 2 && keys_[1] == "saved_offsets") offsets[keys_[0]].clear();
    return true;
  }
  bool end_array() override {
    in_array_ = false;
    return true;
  }

 private:
  std::vector<std::string> keys_;
  bool in_array_ = false;
};

/// "shard-00003-model-…" is 3; 0 for other names.
std::uint64_t rank_of(std::string_view name) {
  std::uint64_t rank = 0;
  for (std::size_t i = kPrefix.size(); i < name.size() && name[i] >= '0' && name[i] <= '9' && rank <= kMostRanks; ++i)
    rank = rank * 10 + static_cast<std::uint64_t>(name[i] - '0');
  return rank;
}

std::string_view sharding_text(const Checkpoint& part) {
  for (const MetadataEntry& entry : part.metadata)
    if (entry.key == kSharding) return entry.text;
  return {};
}

struct Whole {
  DType dtype = DType::unknown;
  std::string_view source_dtype;
  std::vector<std::uint64_t> shape;
  std::vector<Chunk> chunks;
  std::uint32_t file = 0;
  std::uint64_t offset = 0;
  std::optional<Finding> fault;
};

class Joiner {
 public:
  Joiner(Checkpoint& checkpoint, const Limits& limits) : checkpoint_(checkpoint), limits_(limits) {}
  Result<void> take(Checkpoint part);
  void finish();

 private:
  void take_tensor(const Checkpoint& part, const Tensor& tensor, const Offsets& offsets, std::uint32_t file);
  std::optional<Finding> add(Whole& whole, const Checkpoint& part, const Tensor& tensor, const Offsets& offsets);
  std::optional<Finding> make_storage(std::string_view name, Whole& whole, Tensor& tensor);

  Checkpoint& checkpoint_;
  const Limits& limits_;
  std::vector<std::string_view> order_;
  std::unordered_map<std::string_view, Whole> wholes_;
};

std::optional<Finding> Joiner::add(Whole& whole, const Checkpoint& part, const Tensor& tensor, const Offsets& offsets) {
  const std::string& file = part.files[0].name;
  const auto fault = [&](Code code, std::string what) { return Finding(code, std::move(what), Where{.file = file}); };
  const auto at = offsets.find(std::string(tensor.name));
  if (at == offsets.end() || at->second.size() != tensor.shape.size())
    return fault(Code::bad_metadata, concat("nothing says where the chunk in ", quote(file), " belongs"));
  if (!tensor.readable) return fault(Code::bad_shard, concat("the chunk in ", quote(file), " cannot be read"));
  if (!whole.chunks.empty() && (whole.dtype != tensor.dtype || whole.shape.size() != tensor.shape.size()))
    return fault(Code::size_mismatch, concat("the chunk in ", quote(file), " is ", dtype_name(tensor.dtype), ' ', bracketed(tensor.shape),
                                             ", which does not fit those before it"));
  Chunk chunk{at->second, {tensor.shape.begin(), tensor.shape.end()}, nullptr, file};
  if (whole.chunks.empty()) whole.shape.assign(chunk.sizes.size(), 0);
  for (std::size_t d = 0; d < chunk.sizes.size(); ++d) {
    const auto end = checked_add(chunk.offsets[d], chunk.sizes[d]);
    if (!end) return fault(Code::shape_overflow, concat("the chunk in ", quote(file), " ends beyond 64 bits"));
    whole.shape[d] = std::max(whole.shape[d], *end);
  }
  if (tensor.storage != kNone) {
    const Storage& storage = part.storages[tensor.storage];
    chunk.finder = chunk_at({part.files[0].source, storage.offset + tensor.storage_offset * bits_to_bytes(dtype_bits(tensor.dtype)), {}});
    if (whole.chunks.empty()) whole.offset = storage.offset;
  }
  whole.chunks.push_back(std::move(chunk));
  return std::nullopt;
}

void Joiner::take_tensor(const Checkpoint& part, const Tensor& tensor, const Offsets& offsets, std::uint32_t file) {
  const auto [at, fresh] = wholes_.try_emplace(tensor.name);
  Whole& whole = at->second;
  if (fresh) {
    order_.push_back(tensor.name);
    whole.dtype = tensor.dtype;
    whole.source_dtype = tensor.source_dtype;
    whole.file = file;
  }
  auto fault = add(whole, part, tensor, offsets);
  if (fault && !whole.fault) whole.fault = std::move(fault);
}

Result<void> Joiner::take(Checkpoint part) {
  OffsetsReader reader;
  const std::string_view text = sharding_text(part);
  const auto* const bytes = reinterpret_cast<const std::byte*>(text.data());
  auto parsed = json::parse(ByteView({bytes, text.size()}, 0), reader, limits_);
  if (!parsed) {
    Finding finding(Code::bad_metadata, concat(kSharding, ": ", parsed.error().what()), Where{.file = part.files[0].name});
    finding.severity = Severity::damage;
    checkpoint_.add(std::move(finding));
  }
  const auto file = static_cast<std::uint32_t>(checkpoint_.files.size());
  for (const Tensor& tensor : part.tensors) take_tensor(part, tensor, reader.offsets, file);
  for (const MetadataEntry& entry : part.metadata)
    if (entry.key != kSharding &&
        std::ranges::none_of(checkpoint_.metadata, [&](const MetadataEntry& e) { return e.key == entry.key && e.text == entry.text; }))
      checkpoint_.metadata.push_back(entry);
  for (Finding finding : part.findings.list()) {
    if (finding.where.file.empty()) finding.where.file = part.files[0].name;
    checkpoint_.add(std::move(finding));
  }
  checkpoint_.complete = checkpoint_.complete && part.complete;
  checkpoint_.files.push_back(part.files[0]);
  checkpoint_.arena().keep(std::make_shared<Checkpoint>(std::move(part)));  // names live in its arena
  return {};
}

std::optional<Finding> Joiner::make_storage(std::string_view name, Whole& whole, Tensor& tensor) {
  const std::uint64_t unit = bits_to_bytes(dtype_bits(whole.dtype));
  std::optional<std::uint64_t> numel = 1;
  for (const std::uint64_t n : whole.shape) numel = numel ? checked_mul(*numel, n) : std::nullopt;
  const auto bytes = numel ? checked_mul(*numel, std::max<std::uint64_t>(unit, 1)) : std::nullopt;
  if (!bytes || !checked_mul(*bytes, 8))
    return Finding(Code::shape_overflow, concat("shape ", bracketed(whole.shape), " has more elements than 64 bits count"));
  tensor.numel = *numel;
  if (whole.fault) return std::move(whole.fault);
  if (dtype_bits(whole.dtype) % 8 != 0) return Finding(Code::unsupported, "chunks of elements that are no whole bytes");
  const Coverage found = coverage(whole.shape, whole.chunks);
  if (!found.known)
    return Finding(Code::limit_exceeded, concat(whole.chunks.size(), " chunks lie too irregularly to tell what they cover"));
  if (found.overlapping != 0) {
    Finding finding(
        Code::overlap,
        concat(counted(found.overlapping, "element", "elements"), " of ", quote(name), " are in more than one chunk; the first counts"),
        Where{.tensor = std::string(name)}, {{"elements", found.overlapping}, {"bytes", found.overlapping * unit}});
    if (found.same_boxes) finding.severity = Severity::warning;
    checkpoint_.add(std::move(finding));
  }
  if (found.missing != 0) {
    Finding finding(Code::gap,
                    concat(counted(found.missing, "element", "elements"), " (", counted(found.missing * unit, "byte", "bytes"), ") of ",
                           quote(name), " are in no chunk"),
                    {}, {{"elements", found.missing}, {"bytes", found.missing * unit}});
    finding.severity = Severity::damage;
    return finding;
  }
  Storage storage;
  storage.nbytes = *bytes;
  storage.file = whole.file;
  storage.offset = whole.offset;
  storage.key = name;
  storage.producer = join_chunks(whole.shape, unit, std::move(whole.chunks), found.overlapping != 0);
  tensor.storage = static_cast<std::uint32_t>(checkpoint_.storages.size());
  checkpoint_.storages.push_back(std::move(storage));
  return std::nullopt;
}

void Joiner::finish() {
  for (const std::string_view name : order_) {
    Whole& whole = wholes_.at(name);
    Tensor tensor;
    tensor.name = name;
    tensor.dtype = whole.dtype;
    tensor.source_dtype = whole.source_dtype;
    tensor.shape = checkpoint_.arena().numbers(whole.shape);
    if (auto wrong = make_storage(name, whole, tensor)) checkpoint_.refuse(tensor, *std::move(wrong));
    checkpoint_.tensors.push_back(tensor);
  }
}

/// Ranks count up from 1: one that is not there took its chunks along.
void tell_missing_ranks(Checkpoint& checkpoint, const std::vector<std::string>& names) {
  std::map<std::uint64_t, bool> ranks;
  for (const std::string& name : names) ranks[rank_of(name)] = true;
  const std::uint64_t last = ranks.empty() ? 0 : ranks.rbegin()->first;
  if (last <= ranks.size()) return;
  std::uint64_t first_missing = 1;
  while (ranks.contains(first_missing)) ++first_missing;
  checkpoint.findings.add_first(
      Finding(Code::missing_shard,
              concat(last - ranks.size(), " of ", last, " ranks wrote no file that is here; the first of them is ", first_missing)));
  checkpoint.complete = false;
}

}  // namespace

bool is_dcp_safetensors_name(std::string_view name) {
  return name.starts_with(kPrefix) && name.ends_with(".safetensors") && name.find("-model-") != std::string_view::npos &&
         rank_of(name) != 0;
}

Result<std::optional<Checkpoint>> open_dcp_safetensors(const FileSet& files, std::span<const FileSet::Entry> entries,
                                                       const Limits& limits) {
  std::vector<std::string> names;
  for (const FileSet::Entry& entry : entries)
    if (!entry.folder && is_dcp_safetensors_name(entry.name)) names.push_back(entry.name);
  if (names.size() < 2) return std::nullopt;  // by itself a safetensors file as any other
  if (names.size() > limits.shards) return fail(Code::limit_exceeded, concat(names.size(), " files, the limit is ", limits.shards));
  sort_stable(names, [](const std::string& a, const std::string& b) { return natural_less(a, b); });
  Checkpoint checkpoint;
  checkpoint.format = "torch-dcp";
  checkpoint.container = "safetensors";
  Joiner joiner(checkpoint, limits);
  bool any = false;
  for (const std::string& name : names) {
    ASSAY_TRY(auto source, files.open(name));
    auto part = open_single(files, name, std::move(source), limits);
    if (!part && part.error().code() == Code::need_range) return fail(std::move(part).error());
    if (!part) {
      Finding finding = Finding::from(part.error());
      finding.message = concat(quote(name), " cannot be read: ", finding.message);
      finding.code = Code::bad_shard;
      checkpoint.add(std::move(finding));
      continue;
    }
    if (sharding_text(*part).empty()) return std::nullopt;  // an ordinary set of shards
    any = true;
    ASSAY_CHECK(joiner.take(*std::move(part)));
  }
  if (!any) return std::nullopt;
  joiner.finish();
  tell_missing_ranks(checkpoint, names);
  return checkpoint;
}

}  // namespace assay::formats
