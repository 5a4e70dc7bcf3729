// SPDX-License-Identifier: Apache-2.0
// A zip whose records all stand in one folder, the root, named when it was saved:
//
//   <root>/data.pkl           the object as a pickle; persistent ids name storages
//   <root>/byteorder          "little" or "big": of the storages; absent in older files, which are little
//   <root>/data/<key>         the bytes of one storage; <root>/tensors/<key> in early files
//   <root>/version            decimal; <root>/.data/version for 6 and above
//   <root>/.format_version .storage_alignment .data/serialization_id   say nothing that a listing needs
// TorchScript adds
//   <root>/constants.pkl      a pickle of a tuple of tensors, in frozen modules all weights; their storages at constants/<key>
//   <root>/code/ debug_pkl bytecode.pkl traced_inputs/   hold no weights
//   <root>/model.json instead of pickles in torch 1.0 to 1.3 (torch_model_json.hpp)
// torch.package has, instead of data.pkl,
//   <root>/<package>/<resource>   pickles (protocol 3) among other files; their storages at .data/<key>.storage
//   <root>/.data/ts_code/<n>/data.pkl   TorchScript modules, their storages in .data/ too
//   <root>/.data/extern_modules .data/python_version
//
// The root is the text before the first '/' of the first directory entry, as torch takes it.
#include "formats/torch_zip.hpp"

#include <algorithm>
#include <unordered_map>

#include "base/arith.hpp"
#include "base/endian.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "containers/zip.hpp"
#include "formats/cut_file.hpp"
#include "formats/torch/zip_archive.hpp"
#include "formats/torch_export.hpp"
#include "formats/torch_model_json.hpp"

namespace assay::formats {

namespace {

using torch::Archive;

constexpr std::size_t kNamedMembers = 8;
constexpr std::size_t kPickles = 256;  // of one package: each costs a walk over all tensors
constexpr torch::StoragePlace kConstants[] = {{"constants/", ""}};

bool ends_with_data_pkl(std::string_view name) {
  constexpr std::string_view kRecord = "data.pkl";
  if (name.size() < kRecord.size() || !equals_ignoring_case(name.substr(name.size() - kRecord.size()), kRecord)) return false;
  return name.size() == kRecord.size() || name[name.size() - kRecord.size() - 1] == '/';
}

Error without_checkpoint(const zip::Directory& directory) {
  std::string what = concat("a zip archive of ", counted(directory.members.size(), "member", "members"), " without data.pkl");
  std::string nested;
  std::vector<std::string> names;
  for (const zip::Member& member : directory.members) {
    if (names.size() < kNamedMembers) names.emplace_back(member.name);
    const std::string name = lowered(member.name);
    for (const std::string_view ending : {".pt", ".pth", ".ckpt", ".bin", ".safetensors", ".gguf", ".npy", ".pkl"})
      if (nested.empty() && name.ends_with(ending)) nested = escape(member.name, 100);
  }
  what += concat(names.empty() ? "" : ": ", name_list(names, kNamedMembers, directory.members.size()));
  Error error(Code::zip_without_checkpoint, std::move(what));
  if (!nested.empty()) return std::move(error).advise(concat("unpack it and open what is inside, such as ", quote(nested)));
  return error;
}

// The member to parse; sets the archive's base. Torch's rule first, then any data.pkl.
Result<zip::Member> find_pickle(Archive& archive, Checkpoint& checkpoint) {
  const zip::Directory& directory = archive.directory;
  if (const zip::Member* member = archive.find("data.pkl")) return *member;
  for (const zip::Member& member : directory.members) {
    if (!ends_with_data_pkl(member.name)) continue;
    archive.base = member.name.substr(0, member.name.size() - std::string_view("data.pkl").size());
    Finding finding(
        Code::odd_name,
        concat("the checkpoint is ", quote(member.name), ", not in the folder of the archive's first entry; torch.load refuses that"),
        {.member = std::string(member.name), .offset = member.entry_offset});
    finding.severity = Severity::warning;
    checkpoint.add(std::move(finding));
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

/// In place of what the archive says of its lost directory: what that means for the tensors.
Result<void> tell_salvaged(const zip::Directory& directory, const torch::LostEnd& lost, Checkpoint& checkpoint) {
  CutFile cut{
      .missing = lost.bytes, .at_least = true, .within = lost.within, .facts = {{"members", std::uint64_t{directory.members.size()}}}};
  std::string where = "without the archive's directory";
  if (directory.cut) {
    where = concat(counted(directory.cut->packed_size, "byte", "bytes"), " into record ", quote(directory.cut->name));
    cut.facts.push_back({"cut_bytes", directory.cut->packed_size});
  }
  cut.where = where;
  return tell_cut(checkpoint, std::move(cut));
}

std::string root_of(const zip::Directory& directory) {
  if (directory.members.empty()) return {};
  const std::string_view first = directory.members.front().name;
  const std::size_t slash = first.find_first_of("/\\");
  return slash == std::string_view::npos ? std::string() : concat(first.substr(0, slash), "/");
}

/// Torch lists all records before it reads one, and wants each in the root.
void tell_strays(const Archive& archive, Checkpoint& checkpoint) {
  const zip::Member* first = nullptr;
  std::uint64_t strays = 0;
  for (const zip::Member& member : archive.directory.members)
    if (!member.name.starts_with(archive.base) && strays++ == 0) first = &member;
  if (first == nullptr) return;
  Finding finding(Code::odd_name,
                  concat(counted(strays, "member stands", "members stand"), " outside of the folder ", quote(archive.base), ", such as ",
                         quote(first->name, 100), "; torch.load refuses that"),
                  {.member = std::string(first->name), .offset = first->entry_offset});
  finding.severity = Severity::warning;
  checkpoint.add(std::move(finding));
}

// What a frozen module's weights became. They are listed beside what data.pkl holds, so their damage is a finding.
Result<void> list_constants(const Archive& archive, Checkpoint& checkpoint) {
  const zip::Member* const member = archive.find("constants.pkl");
  auto read = torch::read_pickle(archive, *member, checkpoint, {.prefix = "constants", .places = kConstants, .further = true});
  if (read) return {};
  if (read.error().code() == Code::need_range) return fail(std::move(read).error());
  checkpoint.add(Finding::from(read.error()));
  return {};
}

bool is_package(const Archive& archive) {
  return archive.find("data.pkl") == nullptr && archive.find(".data/extern_modules") != nullptr && archive.find(".data/version") != nullptr;
}

// Pickles by their name, other resources by the first byte of protocol 2 and later.
Result<bool> is_pickle(const Archive& archive, const zip::Member& member, std::string_view record) {
  if (record.starts_with(".data/")) return record.starts_with(".data/ts_code/") && record.ends_with("/data.pkl");
  if (record.find('/') == std::string_view::npos || record.ends_with(".py") || member.size < 2) return false;
  if (record.ends_with(".pkl") || record.ends_with(".pickle")) return true;
  constexpr std::string_view kWeights[] = {".pt", ".pth", ".bin", ".ckpt"};
  if (std::ranges::none_of(kWeights, [&](std::string_view ending) { return record.ends_with(ending); }) || member.method != 0) return false;
  auto offset = zip::data_offset(*archive.source, member);
  if (!offset) {
    if (offset.error().code() == Code::need_range) return fail(std::move(offset).error());
    return false;
  }
  ASSAY_TRY(const auto start, archive.source->fetch(*offset, 1));
  return start.view()[0] == std::byte{0x80};
}

// "model/sub/net.pkl" holds what Python calls model.sub.net.
std::string prefix_of(std::string_view record) {
  std::string prefix(record.substr(0, record.rfind('.')));
  if (record.starts_with(".data/ts_code/")) prefix = concat("ts_code.", prefix.substr(14, prefix.rfind('/') - 14));
  std::ranges::replace(prefix, '/', '.');
  return prefix;
}

// Pickles of one package share storages: one record is one storage.
void join_storages(Checkpoint& checkpoint) {
  std::unordered_map<std::string_view, std::uint32_t> first;
  std::vector<std::uint32_t> joined;
  for (std::uint32_t i = 0; i < checkpoint.storages.size(); ++i) {
    const std::string_view key = checkpoint.storages[i].key;
    joined.push_back(key.empty() ? i : first.try_emplace(key, i).first->second);
  }
  const auto join = [&](Tensor& tensor) {
    if (tensor.storage != kNone) tensor.storage = joined[tensor.storage];
  };
  for (Tensor& tensor : checkpoint.tensors) join(tensor);
  for (Quantizer& quantizer : checkpoint.quantizers) join(quantizer.scales), join(quantizer.zero_points);
}

Result<void> list_package(const Archive& archive, Checkpoint& checkpoint) {
  std::vector<const zip::Member*> pickles;
  for (const zip::Member& member : archive.directory.members) {
    if (!member.name.starts_with(archive.base)) continue;
    ASSAY_TRY(const bool pickle, is_pickle(archive, member, member.name.substr(archive.base.size())));
    if (pickle) pickles.push_back(&member);
  }
  if (pickles.size() > kPickles) {
    checkpoint.add(Finding(Code::limit_exceeded, concat("a package of ", pickles.size(), " pickles; the first ", kPickles, " are listed")));
    pickles.resize(kPickles);
  }
  for (const zip::Member* const member : pickles) {
    const std::string prefix = pickles.size() > 1 ? prefix_of(member->name.substr(archive.base.size())) : std::string();
    auto read = torch::read_pickle(archive, *member, checkpoint,
                                   {.prefix = prefix, .shared_storages = pickles.size() > 1, .further = checkpoint.values != nullptr});
    if (read) continue;
    if (read.error().code() == Code::need_range) return fail(std::move(read).error());
    checkpoint.add(Finding::from(read.error()));
  }
  join_storages(checkpoint);
  return {};
}

Result<void> list_state(Archive& archive, std::string_view prefix, torch::LostEnd& lost, Checkpoint& checkpoint) {
  ASSAY_TRY(const zip::Member member, find_pickle(archive, checkpoint));
  ASSAY_CHECK(torch::read_small_records(archive, checkpoint));
  const bool script = archive.find("constants.pkl") != nullptr;
  if (script) checkpoint.format = "torch-script";
  else if (archive.base == root_of(archive.directory)) tell_strays(archive, checkpoint);
  ASSAY_CHECK(torch::read_pickle(archive, member, checkpoint, {.prefix = prefix, .lost = &lost}));
  return script ? list_constants(archive, checkpoint) : Result<void>();
}

Result<Checkpoint> open_archive(const std::shared_ptr<ByteSource>& source, std::string_view name, const Limits& limits, bool nested,
                                std::string_view prefix) {
  ASSAY_TRY(const zip::Directory directory, zip::read_directory(*source, limits));
  Checkpoint checkpoint;
  checkpoint.format = "torch-zip";
  checkpoint.container = "zip";
  checkpoint.files.push_back({std::string(name), source->size(), source});
  for (const Finding& finding : directory.findings.list())
    if (!directory.salvaged || finding.code != Code::truncated) checkpoint.add(finding);

  Archive archive{.source = source, .directory = directory, .limits = limits, .base = root_of(directory)};
  torch::LostEnd lost;
  if (!nested && is_torch_export(archive)) {
    checkpoint.format = "torch-export";
    ASSAY_CHECK(torch::read_small_records(archive, checkpoint));
    ASSAY_CHECK(list_torch_export(archive, checkpoint));
  } else if (!nested && is_package(archive)) {
    checkpoint.format = "torch-package";
    ASSAY_CHECK(torch::read_small_records(archive, checkpoint));
    ASSAY_CHECK(list_package(archive, checkpoint));
  } else if (!nested && has_model_json(archive)) {
    checkpoint.format = "torch-script";
    ASSAY_CHECK(list_model_json(archive, checkpoint));
  } else {
    ASSAY_CHECK(list_state(archive, prefix, lost, checkpoint));
  }
  if (directory.salvaged) ASSAY_CHECK(tell_salvaged(directory, lost, checkpoint));
  if (checkpoint.tensors.empty() && !nested)
    checkpoint.add(
        Finding(Code::no_tensors, checkpoint.format == "torch-zip" ? "data.pkl holds no tensors" : "the archive holds no tensors"));
  return checkpoint;
}

// Looks for a record among those directory entries that stand in the tail.
bool tail_lists(const ProbeInput& input, std::string_view record) {
  constexpr std::size_t kEntry = 46;
  const std::string_view tail = input.tail.text();
  for (std::size_t at = tail.find("PK\1\2"); at != std::string_view::npos; at = tail.find("PK\1\2", at + 4)) {
    if (tail.size() - at < kEntry) return false;
    const std::size_t length = load_le<std::uint16_t>(input.tail.data() + at + 28);
    if (tail.size() - at - kEntry < length) return false;
    const std::string_view name = tail.substr(at + kEntry, length);
    if (name == record || (name.ends_with(record) && name[name.size() - record.size() - 1] == '/')) return true;
  }
  return false;
}

}  // namespace

Probe probe_torch_script(const ProbeInput& input) {
  if (tail_lists(input, "constants.pkl")) return {100, "zip that lists constants.pkl"};
  return tail_lists(input, "model.json") && tail_lists(input, "version") ? Probe{60, "zip that lists model.json"} : Probe{};
}

Probe probe_torch_package(const ProbeInput& input) {
  return tail_lists(input, ".data/extern_modules") ? Probe{100, "zip that lists .data/extern_modules"} : Probe{};
}

Probe probe_torch_export(const ProbeInput& input) {
  const bool listed = tail_lists(input, "archive_format") || tail_lists(input, "serialized_exported_program.json");
  return listed ? Probe{100, "zip that lists an exported program"} : Probe{};
}

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

Result<Checkpoint> open_torch_zip(const OpenInput& input) { return open_archive(input.source, input.name, input.limits, false, {}); }

Result<Checkpoint> open_nested_torch_zip(std::shared_ptr<ByteSource> source, std::string_view name, const Limits& limits,
                                         std::string_view prefix) {
  return open_archive(source, name, limits, true, prefix);
}

}  // namespace assay::formats
