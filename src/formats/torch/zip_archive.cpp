// SPDX-License-Identifier: Apache-2.0
#include "formats/torch/zip_archive.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "base/arena.hpp"
#include "base/arith.hpp"
#include "base/sort.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "containers/inflate.hpp"
#include "containers/zip_layout.hpp"
#include "formats/torch/collect.hpp"

namespace assay::formats::torch {

namespace {

constexpr std::uint64_t kSmallRecord = 64;  // byteorder and version are a few characters
constexpr std::uint64_t kMinVersion = 1, kMaxVersion = 10;
constexpr std::uint64_t kExtraHeader = 4, kDescriptor = 16, kDescriptor64 = 24;
constexpr std::uint64_t kAlignment = 64;

// Where torch puts a record's data: header, name, an extra field that pads to the alignment. Only believed when data and descriptor then
// end exactly where the next header begins. In a large file each header stands on a page of its own: not to read them saves a fetch, a
// seek or a page for every storage.
class Layout {
 public:
  explicit Layout(const zip::Directory& directory) : prefix_(directory.prefix) {
    for (const zip::Member& member : directory.members) ends_.push_back(member.header_offset);
    ends_.push_back(directory.directory_offset);
    sort_stable(ends_);
  }
  std::optional<std::uint64_t> offset_of(const zip::Member& member) const {
    if (member.method != 0 || member.encrypted() || member.packed_size != member.size || member.header_offset < prefix_)
      return std::nullopt;
    const auto next = std::ranges::upper_bound(ends_, member.header_offset);
    const std::uint64_t least = member.header_offset - prefix_ + zip::kLocalHeaderSize + member.name.size() + kExtraHeader;
    const std::uint64_t data = prefix_ + (least + kAlignment - 1) / kAlignment * kAlignment;
    if (next == ends_.end() || *next < data || *next - data < member.size) return std::nullopt;
    const std::uint64_t behind = *next - data - member.size;
    const bool described = (member.flags & zip::kHasDescriptor) != 0;
    const bool fits = behind == 0 ? !described || member.size == 0 : described && (behind == kDescriptor || behind == kDescriptor64);
    return fits ? std::optional(data) : std::nullopt;
  }
  /// Whether `count` headers, spread evenly, stand where the directory says and agree. Where they do not, each is worth reading.
  bool agrees(const Archive& archive, std::size_t count) const {
    const std::vector<zip::Member>& members = archive.directory.members;
    for (std::size_t i = 0; i < count; ++i) {
      const zip::Member& member = members[i * members.size() / count];
      const auto inferred = offset_of(member);
      if (inferred && zip::data_offset(*archive.source, member) != *inferred) return false;
    }
    return true;
  }

 private:
  std::uint64_t prefix_;
  std::vector<std::uint64_t> ends_;
};

class ZipStorages final : public StorageSource {
 public:
  ZipStorages(const Archive& archive, Arena& arena, std::span<const StoragePlace> places, LostEnd* lost)
      : archive_(archive), arena_(arena), places_(places), lost_(lost) {}

  Result<Storage> find(const StorageId& id) override {
    const zip::Member* member = nullptr;
    for (const auto& [before, behind] : places_)
      if (member == nullptr) member = archive_.find(concat(before, id.key, behind));
    if (member == nullptr) return fail(missing(concat(places_[0].before, id.key, places_[0].behind), id.claimed_bytes().value_or(0)));
    auto storage = place(*member);
    if (!storage) return fail(std::move(storage).error().in_member(member->name));
    storage->big_endian = archive_.big_endian;
    storage->key = arena_.text(member->name);
    return storage;
  }

 private:
  Result<Storage> place(const zip::Member& member) {
    if (!trusts_layout_) trusts_layout_ = trusts_layout();
    if (*trusts_layout_)
      if (auto storage = infer(member)) return *std::move(storage);
    auto storage = zip::storage_of(*archive_.source, member, archive_.limits);
    if (!storage && storage.error().code() == Code::need_range)
      if (auto inferred = infer(member)) return *std::move(inferred);
    return storage;
  }

  bool trusts_layout() {
    const zip::Directory& directory = archive_.directory;
    return !directory.salvaged && directory.members.size() > archive_.limits.zip_headers &&
           layout().agrees(archive_, archive_.limits.zip_headers);
  }

  std::optional<Storage> infer(const zip::Member& member) {
    const auto offset = layout().offset_of(member);
    if (!offset) return std::nullopt;
    Storage storage;
    storage.offset = *offset;
    storage.nbytes = member.size;
    storage.inferred = true;
    return storage;
  }

  const Layout& layout() {
    if (!layout_) layout_.emplace(archive_.directory);
    return *layout_;
  }

  Error missing(std::string_view record, std::uint64_t claimed) {
    const std::string name = archive_.base + std::string(record);
    const auto& cut = archive_.directory.cut;
    const bool partly = cut && equals_ignoring_case(cut->name, name);
    if (lost_ != nullptr) {
      lost_->bytes = checked_add(lost_->bytes, claimed - std::min(claimed, partly ? cut->packed_size : 0)).value_or(lost_->bytes);
      lost_->within = lost_->within || (partly && cut->packed_size <= claimed + kDescriptor64);
    }
    if (partly)
      return Error(Code::truncated, concat("the file ends in record ", quote(name), ", ", cut->packed_size, " bytes into it"))
          .in_member(cut->name);
    return Error(Code::missing_storage, concat("record ", quote(name), " is not in the archive"));
  }

  const Archive& archive_;
  Arena& arena_;
  std::span<const StoragePlace> places_;
  LostEnd* lost_;
  std::optional<Layout> layout_;
  std::optional<bool> trusts_layout_;
};

Result<std::optional<std::string>> read_small(const Archive& archive, const zip::Member* member) {
  if (member == nullptr) return std::nullopt;
  if (member->size > kSmallRecord) return std::string(1, '?');
  auto block = zip::read_member(*archive.source, *member, kSmallRecord, archive.limits);
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
  finding.where = {.member = std::string(member->name), .offset = member->header_offset};
  checkpoint.add(std::move(finding));
  return false;
}

// As torch parses it: spaces before and anything behind the digits are accepted.
Result<void> check_version(const Archive& archive, Checkpoint& checkpoint) {
  const zip::Member* member = archive.find(".data/version");
  if (member == nullptr) member = archive.find("version");
  ASSAY_TRY(const auto text, read_small(archive, member));
  if (!text) {
    if (!archive.directory.salvaged)
      checkpoint.add(Finding(Code::bad_version, "the archive has no record 'version'; torch.load refuses it",
                             {.offset = archive.directory.directory_offset}));
    return {};
  }
  std::uint64_t version = 0;
  std::size_t i = std::min(text->find_first_not_of(" \t\n\r"), text->size());
  for (; i < text->size() && (*text)[i] >= '0' && (*text)[i] <= '9' && version <= kMaxVersion; ++i)
    version = version * 10 + static_cast<std::uint64_t>((*text)[i] - '0');
  if (version >= kMinVersion && version <= kMaxVersion) return {};
  Finding finding(Code::bad_version, concat("archive version ", quote(*text), " is not between ", kMinVersion, " and ", kMaxVersion,
                                            "; torch.load refuses it"));
  finding.where = {.member = std::string(member->name), .offset = member->header_offset};
  checkpoint.add(std::move(finding));
  return {};
}

void note_rest(const Graph& graph, ByteView stream, const Archive& archive, std::string_view member, Checkpoint& checkpoint) {
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

}  // namespace

const zip::Member* Archive::find(std::string_view record) const { return directory.find(concat(base, record)); }

std::unique_ptr<StorageSource> make_zip_storages(const Archive& archive, Arena& arena, std::span<const StoragePlace> places,
                                                 LostEnd* lost) {
  return std::make_unique<ZipStorages>(archive, arena, places, lost);
}

Result<void> read_small_records(Archive& archive, Checkpoint& checkpoint) {
  ASSAY_TRY(archive.big_endian, read_byte_order(archive, checkpoint));
  return check_version(archive, checkpoint);
}

namespace {

/// All names and shapes come from these few bytes, so that they are held against their check sum (0 means that it was not computed) before
/// anything is believed.
void check_sum(const zip::Member& member, ByteView stream, Checkpoint& checkpoint) {
  constexpr std::size_t kFew = 64 << 20;
  if (member.crc == 0 || stream.size() > kFew) return;
  const std::uint32_t found = crc32(stream.span());
  if (found == member.crc) return;
  checkpoint.add(Finding(Code::crc_mismatch,
                         concat("member ", quote(member.name), " has the CRC ", hex(found), ", ", hex(member.crc),
                                " is claimed: names, shapes and places of tensors may be wrong"),
                         Where{.member = std::string(member.name), .offset = stream.offset(), .length = stream.size()}));
}

}  // namespace

Result<void> read_pickle(const Archive& archive, const zip::Member& member, Checkpoint& checkpoint, const PickleOptions& options) {
  auto block = zip::read_member(*archive.source, member, zip::most_parsed(member, archive.limits), archive.limits);
  if (!block) return fail(std::move(block).error().in_member(member.name));
  const ByteView stream = block->view();
  check_sum(member, stream, checkpoint);

  PickleInfo pickle;
  pickle.member = checkpoint.arena().text(member.name);
  pickle.shared_storages = options.shared_storages;
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
  if (options.further && kind_of(graph, root) == Kind::tuple && graph.length(root) == 0) return {};  // no constants: nothing to say
  const auto storages = make_zip_storages(archive, checkpoint.arena(), options.places, options.lost);
  auto values = std::move(checkpoint.values);
  auto node_tensors = std::move(checkpoint.node_tensors);
  checkpoint.node_tensors = {};
  ASSAY_CHECK(collect(checkpoint, pickle, root, *storages, archive.limits, options.prefix));
  if (options.further) {
    checkpoint.values = std::move(values);
    checkpoint.node_tensors = std::move(node_tensors);
  }
  note_foreign_imports(checkpoint, pickle);
  note_rest(graph, stream, archive, member.name, checkpoint);
  return {};
}

}  // namespace assay::formats::torch
