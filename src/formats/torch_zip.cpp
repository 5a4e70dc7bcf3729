// SPDX-License-Identifier: Apache-2.0
// A zip whose records all stand in one folder, the root, named when it was saved:
//
//   <root>/data.pkl           the object as a pickle; persistent ids name storages
//   <root>/byteorder          "little" or "big": of the storages; absent in older files, which are little
//   <root>/data/<key>         the bytes of one storage; <root>/tensors/<key> in early files, <root>/.data/<key>.storage in packages
//   <root>/version            decimal; <root>/.data/version for 6 and above
//   <root>/constants.pkl      only in TorchScript archives
//   <root>/.format_version .storage_alignment .data/serialization_id   say nothing that a listing needs
//
// The root is the text before the first '/' of the first directory entry, as torch takes it.
#include "formats/torch_zip.hpp"

#include <algorithm>
#include <unordered_map>

#include "base/arena.hpp"
#include "base/arith.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "containers/zip.hpp"
#include "formats/torch/collect.hpp"

namespace assay::formats {

namespace {

constexpr std::uint64_t kSmallRecord = 64;  // byteorder and version are a few characters
constexpr std::uint64_t kMinVersion = 1, kMaxVersion = 10;
constexpr std::size_t kNamedMembers = 8;
constexpr std::uint64_t kLocalHeader = 30, kExtraHeader = 4, kDescriptor = 16, kDescriptor64 = 24;
constexpr std::uint64_t kAlignment = 64;

// The parts of an archive that one opening needs.
struct Archive {
  const ByteSource& source;
  const zip::Directory& directory;
  const Limits& limits;
  std::string base;  // "root/", or "" where data.pkl stands outside any folder

  const zip::Member* find(std::string_view record) const { return directory.find(concat(base, record)); }
};

// Where torch puts a record's data: header, name, an extra field that pads to the alignment. Only believed when data and descriptor then
// end exactly where the next header begins. It saves a host that fetches ranges one fetch for every storage.
class PredictedOffsets {
 public:
  explicit PredictedOffsets(const zip::Directory& directory) {
    for (const zip::Member& member : directory.members) ends_.push_back(member.header_offset);
    ends_.push_back(directory.directory_offset);
    std::ranges::sort(ends_);
  }
  std::optional<std::uint64_t> of(const zip::Member& member, std::uint64_t prefix) const {
    if (member.method != 0 || member.encrypted() || member.packed_size != member.size || member.header_offset < prefix) return std::nullopt;
    const auto next = std::ranges::upper_bound(ends_, member.header_offset);
    const std::uint64_t least = member.header_offset - prefix + kLocalHeader + member.name.size() + kExtraHeader;
    const std::uint64_t data = prefix + (least + kAlignment - 1) / kAlignment * kAlignment;
    if (next == ends_.end() || *next < data || *next - data < member.size) return std::nullopt;
    const std::uint64_t behind = *next - data - member.size;
    if (behind != (member.size == 0 ? 0 : kDescriptor) && behind != kDescriptor64) return std::nullopt;
    return data;
  }

 private:
  std::vector<std::uint64_t> ends_;
};

class ZipStorages final : public torch::StorageSource {
 public:
  ZipStorages(const Archive& archive, Arena& arena, bool big_endian) : archive_(archive), arena_(arena), big_endian_(big_endian) {}

  Result<Storage> find(const torch::StorageId& id) override {
    const std::string record = concat("data/", id.key);
    const zip::Member* member = archive_.find(record);
    if (member == nullptr) member = archive_.find(concat("tensors/", id.key));
    if (member == nullptr) member = archive_.find(concat(".data/", id.key, ".storage"));
    if (member == nullptr) return fail(missing(record));
    auto storage = zip::storage_of(archive_.source, *member, archive_.limits);
    if (!storage && storage.error().code() == Code::need_range) {
      if (!predicted_) predicted_.emplace(archive_.directory);
      if (const auto offset = predicted_->of(*member, archive_.directory.prefix)) {
        storage = Storage();
        storage->offset = *offset;
        storage->nbytes = member->size;
      }
    }
    if (!storage) return fail(std::move(storage).error().in_member(member->name));
    storage->big_endian = big_endian_;
    storage->key = arena_.text(member->name);
    return storage;
  }

 private:
  Error missing(std::string_view record) const {
    const std::string name = archive_.base + std::string(record);
    const auto& cut = archive_.directory.cut;
    if (cut && equals_ignoring_case(cut->name, name))
      return Error(Code::truncated, concat("the file ends in record ", quote(name), ", ", cut->packed_size, " bytes into it"))
          .in_member(cut->name);
    return Error(Code::missing_storage, concat("record ", quote(name), " is not in the archive"));
  }

  const Archive& archive_;
  Arena& arena_;
  bool big_endian_;
  std::optional<PredictedOffsets> predicted_;
};

bool ends_with_data_pkl(std::string_view name) {
  constexpr std::string_view kRecord = "data.pkl";
  if (name.size() < kRecord.size() || !equals_ignoring_case(name.substr(name.size() - kRecord.size()), kRecord)) return false;
  return name.size() == kRecord.size() || name[name.size() - kRecord.size() - 1] == '/';
}

Error without_checkpoint(const zip::Directory& directory) {
  std::string what = concat("a zip archive of ", counted(directory.members.size(), "member", "members"), " without data.pkl");
  std::string nested;
  std::size_t listed = 0;
  for (const zip::Member& member : directory.members) {
    if (listed++ < kNamedMembers) what += concat(listed == 1 ? ": " : ", ", quote(escape(member.name, 100)));
    const std::string name = lowered(member.name);
    for (const std::string_view ending : {".pt", ".pth", ".ckpt", ".bin", ".safetensors", ".gguf", ".npy", ".pkl"})
      if (nested.empty() && name.ends_with(ending)) nested = escape(member.name, 100);
  }
  if (directory.members.size() > kNamedMembers) what += concat(" and ", directory.members.size() - kNamedMembers, " more");
  Error error(Code::zip_without_checkpoint, std::move(what));
  if (!nested.empty()) return std::move(error).advise(concat("unpack it and open what is inside, such as ", quote(nested)));
  return error;
}

// The member to parse; sets the archive's base. Torch's rule first, then any data.pkl.
Result<zip::Member> find_pickle(Archive& archive, Checkpoint& checkpoint) {
  const zip::Directory& directory = archive.directory;
  if (!directory.members.empty()) {
    const std::string_view first = directory.members.front().name;
    const std::size_t slash = first.find_first_of("/\\");
    if (slash != std::string_view::npos) archive.base = concat(first.substr(0, slash), "/");
    if (const zip::Member* member = archive.find("data.pkl")) return *member;
  }
  for (const zip::Member& member : directory.members) {
    if (!ends_with_data_pkl(member.name)) continue;
    archive.base = member.name.substr(0, member.name.size() - std::string_view("data.pkl").size());
    checkpoint.add(Finding(Code::odd_name, concat("the checkpoint is ", quote(member.name),
                                                  ", not in the folder of the archive's first entry; torch.load refuses that")));
    return member;
  }
  if (directory.cut && ends_with_data_pkl(directory.cut->name)) {
    archive.base = directory.cut->name.substr(0, directory.cut->name.size() - std::string_view("data.pkl").size());
    zip::Member cut = *directory.cut;
    cut.size = cut.packed_size;
    return cut;
  }
  return fail(without_checkpoint(directory));
}

Result<std::optional<std::string>> read_small(const Archive& archive, const zip::Member* member) {
  if (member == nullptr) return std::nullopt;
  if (member->size > kSmallRecord) return std::string(1, '?');
  auto block = zip::read_member(archive.source, *member, kSmallRecord, archive.limits);
  if (block) return std::string(block->view().text());
  if (block.error().code() == Code::need_range) return fail(std::move(block).error());
  return std::string(1, '?');
}

Result<bool> read_byte_order(const Archive& archive, Checkpoint& checkpoint) {
  const zip::Member* const member = archive.find("byteorder");
  ASSAY_TRY(const auto text, read_small(archive, member));
  if (!text || *text == "little") return false;
  if (*text == "big") return true;
  Finding finding(Code::bad_byteorder, concat("byteorder is ", quote(*text), ", neither 'little' nor 'big'; little is assumed"));
  finding.where.member = member->name;
  checkpoint.add(std::move(finding));
  return false;
}

// As torch parses it: spaces before and anything behind the digits are accepted.
Result<void> check_version(const Archive& archive, Checkpoint& checkpoint) {
  const zip::Member* member = archive.find(".data/version");
  if (member == nullptr) member = archive.find("version");
  ASSAY_TRY(const auto text, read_small(archive, member));
  if (!text) return {};
  std::uint64_t version = 0;
  std::size_t i = std::min(text->find_first_not_of(" \t\n\r"), text->size());
  for (; i < text->size() && (*text)[i] >= '0' && (*text)[i] <= '9' && version <= kMaxVersion; ++i)
    version = version * 10 + static_cast<std::uint64_t>((*text)[i] - '0');
  if (version >= kMinVersion && version <= kMaxVersion) return {};
  Finding finding(Code::bad_version, concat("archive version ", quote(*text), " is not between ", kMinVersion, " and ", kMaxVersion,
                                            "; torch.load refuses it"));
  finding.where.member = member->name;
  checkpoint.add(std::move(finding));
  return {};
}

void note_rest(const torch::Graph& graph, ByteView stream, const Archive& archive, std::string_view member, Checkpoint& checkpoint) {
  const std::uint64_t used = graph.end_offset() - graph.begin_offset();
  if (graph.broken() || used >= stream.size()) return;
  const ByteView rest = stream.from(static_cast<std::size_t>(used));
  const bool another = !pickle::parse(rest, archive.limits).broken();
  Finding finding(another ? Code::extra_pickle : Code::unparsed_bytes,
                  concat(counted(rest.size(), "byte", "bytes"), " behind the pickle's end, ", another ? "another pickle" : "not a pickle",
                         "; loaders ignore them"));
  finding.severity = Severity::note;
  finding.where.member = member;
  checkpoint.add(std::move(finding));
}

void tell_salvaged(Checkpoint& checkpoint) {
  std::uint64_t whole = 0, bytes = 0;
  for (const Tensor& tensor : checkpoint.tensors) {
    if (!tensor.readable) continue;
    ++whole;
    bytes = checked_add(bytes, tensor.nbytes()).value_or(bytes);
  }
  Finding finding(Code::truncated, concat("the archive's directory is lost; whole: ", whole, " of ",
                                          counted(checkpoint.tensors.size(), "tensor", "tensors"), ", ", grouped(bytes), " bytes"));
  finding.facts = {{"whole", whole}, {"tensors", std::uint64_t{checkpoint.tensors.size()}}, {"bytes", bytes}};
  checkpoint.add(std::move(finding));
}

Result<void> read_pickle(Archive& archive, const zip::Member& member, bool big_endian, Checkpoint& checkpoint) {
  const std::uint64_t most = member.method == 0 ? archive.limits.pickle_bytes : archive.limits.inflate_pickle_bytes;
  auto block = zip::read_member(archive.source, member, most, archive.limits);
  if (!block) return fail(std::move(block).error().in_member(member.name));
  const ByteView stream = block->view();

  torch::PickleInfo pickle;
  pickle.member = checkpoint.arena().text(member.name);
  if (member.method == 0) pickle.in_file = stream;
  pickle.graph = std::make_shared<const pickle::Graph>(pickle::parse(*std::move(block), archive.limits));
  const pickle::Graph& graph = *pickle.graph;
  const pickle::Node root = graph.salvage_root();
  if (const auto& broken = graph.broken()) {
    // The archive is whole, so the pickle was cut before it was packed: getting the file again would not help.
    const bool cut_within = broken->code() == Code::truncated && !archive.directory.salvaged;
    const Code code = cut_within ? Code::malformed_pickle : broken->code();
    Error error = Error(code, broken->what()).at(broken->where().offset.value_or(stream.offset())).in_member(member.name);
    if (root == pickle::kNoNode) return fail(std::move(error));
    checkpoint.add(Finding::from(error));
  }
  ZipStorages storages(archive, checkpoint.arena(), big_endian);
  ASSAY_CHECK(torch::collect(checkpoint, pickle, root, storages, archive.limits));
  torch::note_foreign_imports(checkpoint, pickle);
  note_rest(graph, stream, archive, member.name, checkpoint);
  return {};
}

}  // namespace

Probe probe_torch_zip(const ProbeInput& input) {
  const std::string_view head = input.head.text();
  if (head.starts_with("PK\3\4")) {
    const std::string_view first = head.substr(0, 512);
    if (first.find("data.pkl") != std::string_view::npos) return {100, "zip, its first record is data.pkl"};
    return {50, "zip local header"};
  }
  if (input.tail.text().find("PK\5\6") != std::string_view::npos) return {40, "zip end record in the last 64 KiB"};
  return {};
}

Result<Checkpoint> open_torch_zip(const OpenInput& input) {
  ASSAY_TRY(const zip::Directory directory, zip::read_directory(*input.source, input.limits));
  Checkpoint checkpoint;
  checkpoint.format = "torch-zip";
  checkpoint.container = "zip";
  checkpoint.files.push_back({std::string(input.name), input.source->size(), input.source});
  for (const Finding& finding : directory.findings.list()) checkpoint.add(finding);

  Archive archive{*input.source, directory, input.limits, {}};
  ASSAY_TRY(const zip::Member member, find_pickle(archive, checkpoint));
  if (archive.find("constants.pkl") != nullptr) checkpoint.format = "torch-script";
  ASSAY_TRY(const bool big_endian, read_byte_order(archive, checkpoint));
  ASSAY_CHECK(check_version(archive, checkpoint));
  ASSAY_CHECK(read_pickle(archive, member, big_endian, checkpoint));
  if (directory.salvaged) tell_salvaged(checkpoint);
  if (checkpoint.tensors.empty()) checkpoint.add(Finding(Code::no_tensors, "data.pkl holds no tensors"));
  return checkpoint;
}

}  // namespace assay::formats
