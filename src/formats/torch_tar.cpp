// SPDX-License-Identifier: Apache-2.0
// A tar (containers/tar.hpp) of four members, all numbers little endian:
//
//   sys_info  pickle {"protocol_version": 1000, …}
//   pickle    pickle of the object; a persistent id is a tensor's or storage's key as decimal text, or (class, file, source)
//   tensors   pickle n, then n times: pickle (key, storage key or None, tensor class), i32 dimensions, 4 bytes of anything,
//             i64 sizes, i64 strides, i64 offset
//   storages  pickle n, then n times: pickle (key, location, storage class), i64 count, data; then pickle [(key, root key, offset, count),
//   …]
//
// The first versions wrote (key, tensor class, storage key) and (key, storage class), and no list of views at the end.
#include "formats/torch_tar.hpp"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "base/arena.hpp"
#include "base/arith.hpp"
#include "base/endian.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "bytes/cursor.hpp"
#include "containers/tar.hpp"
#include "formats/cut_file.hpp"
#include "formats/torch/collect.hpp"
#include "formats/torch/pickle_at.hpp"
#include "formats/torch/stream_storages.hpp"

namespace assay::formats {

namespace {

using torch::Graph;
using torch::Node;

constexpr std::string_view kMembers[] = {"sys_info", "pickle", "tensors", "storages"};

constexpr std::string_view kNoStorage = "None";  // a key that no storage has

std::string_view plain_name(std::string_view name) { return name.starts_with("./") ? name.substr(2) : name; }

// A key: an integer, or its decimal text.
std::optional<std::int64_t> key_of(const Graph& graph, Node n) {
  if (const auto number = torch::integer_of(graph, n)) return number;
  if (!torch::is_text(torch::kind_of(graph, n))) return std::nullopt;
  const std::string_view text = graph.text(n);
  std::int64_t value = 0;
  if (text.empty() || text.size() > 18) return std::nullopt;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  return value;
}

struct TarTensor {
  std::vector<std::int64_t> sizes, strides;
  std::int64_t offset = 0;
  std::optional<std::int64_t> storage;
  std::string_view class_name;  // "FloatTensor"
};

struct View {
  std::int64_t root = 0;
  std::uint64_t offset = 0, numel = 0;
};

class TarContents final : public torch::StorageSource {
 public:
  Result<Storage> find(const torch::StorageId& id) override { return storages.find(id); }
  bool is_cut(std::string_view key) const override { return storages.is_cut(key); }
  bool compares_sizes() const override { return true; }
  Result<bool> describe(const Graph& graph, Node n, torch::TensorSpec& spec) override;

  torch::StreamStorages storages;
  std::unordered_map<std::int64_t, torch::StorageId> ids;
  std::unordered_map<std::int64_t, View> views;
  std::unordered_map<std::int64_t, TarTensor> tensors;
  bool cut = false;  // the archive ends too early: what is absent was there once

 private:
  Result<torch::StorageId> storage_id(std::int64_t key) const;
  Error absent(std::string_view what, std::int64_t key) const {
    if (cut) return Error(Code::truncated, concat("the file ends before ", what, ' ', key));
    return Error(Code::missing_storage, concat(what, ' ', key, " is not in the file"));
  }
};

Result<torch::StorageId> TarContents::storage_id(std::int64_t key) const {
  const auto view = views.find(key);
  const auto found = ids.find(view == views.end() ? key : view->second.root);
  if (found == ids.end()) return fail(absent("storage", key));
  torch::StorageId id = found->second;
  if (view != views.end()) {
    id.view_offset = view->second.offset;
    id.view_numel = view->second.numel;
  }
  return id;
}

Result<void> copy_sizes(const std::vector<std::int64_t>& from, Code code, std::string_view what, std::vector<std::uint64_t>& to) {
  for (const std::int64_t value : from) {
    if (value < 0) return fail(code, concat(what, " holds ", value, ", which is no size in elements"));
    to.push_back(static_cast<std::uint64_t>(value));
  }
  return {};
}

Result<bool> TarContents::describe(const Graph& graph, Node n, torch::TensorSpec& spec) {
  if (torch::kind_of(graph, n) != torch::Kind::persistent) return false;
  const auto key = key_of(graph, graph.item(n, 0));
  if (!key) return false;
  const auto found = tensors.find(*key);
  if (found == tensors.end()) {
    if (!ids.contains(*key) && !views.contains(*key)) return fail(absent("tensor", *key));
    ASSAY_TRY(const torch::StorageId id, storage_id(*key));
    spec.dtype = id.dtype;
    spec.dtype_text = id.class_name;
    spec.shape = {id.view_numel.value_or(id.numel)};
    spec.storage = id;
    return true;
  }
  const TarTensor& tensor = found->second;
  const std::string_view type = tensor.class_name.substr(0, tensor.class_name.size() - (tensor.class_name.ends_with("Tensor") ? 6 : 0));
  spec.dtype = dtype_from_storage_class(concat(type, "Storage")).value_or(DType::unknown);
  spec.dtype_text = tensor.class_name;
  ASSAY_CHECK(copy_sizes(tensor.sizes, Code::bad_shape, "shape", spec.shape));
  ASSAY_CHECK(copy_sizes(tensor.strides, Code::bad_stride, "stride", spec.stride));
  spec.has_stride = true;
  if (tensor.offset < 0) return fail(Code::bad_stride, concat("storage offset ", tensor.offset, " is no position in elements"));
  spec.offset = static_cast<std::uint64_t>(tensor.offset);
  if (!tensor.storage) {  // an empty tensor; without dimensions it had no elements then
    if (spec.shape.empty()) spec.shape = {0}, spec.stride = {1};
    if (std::ranges::find(spec.shape, std::uint64_t{0}) == spec.shape.end())
      return fail(Code::missing_storage, "the tensor has elements, but no storage");
    spec.storage = torch::StorageId();
    spec.storage->key = kNoStorage;
    return true;
  }
  ASSAY_TRY(spec.storage, storage_id(*tensor.storage));
  if (spec.dtype == DType::unknown) spec.dtype = spec.storage->dtype;
  return true;
}

// The records of one member, read from front to back. What cannot be read ends the member with a finding.
class MemberReader {
 public:
  MemberReader(const OpenInput& input, const tar::Member& member, Checkpoint& checkpoint)
      : source_(*input.source), limits_(input.limits), name_(plain_name(member.name)), at_(member.offset),
        end_(member.offset + member.size), checkpoint_(checkpoint) {}

  Result<void> read_tensors(TarContents& contents);
  Result<void> read_storages(TarContents& contents);

 private:
  // Each is nothing after a break.
  Result<std::optional<torch::PickleAt>> pickle();
  Result<ByteBlock> take(std::uint64_t n);
  Result<std::uint64_t> record_count();
  Result<bool> read_tensor(TarContents& contents);
  Result<bool> read_storage(TarContents& contents);
  Result<void> read_views(TarContents& contents);
  void complain(Code code, std::string what);
  // The class among items 1 and 2 of a record, and the item that is not it.
  static Node class_of(const Graph& graph, Node record, Node& other);

  const ByteSource& source_;
  const Limits& limits_;
  std::string_view name_;
  std::uint64_t at_, end_;
  Checkpoint& checkpoint_;
  bool broken_ = false;
  Code code_ = Code::malformed_pickle;
};

void MemberReader::complain(Code code, std::string what) {
  if (broken_) return;
  broken_ = true;
  code_ = code;
  Finding finding(code, std::move(what));
  finding.where.member = name_;
  finding.where.offset = at_;
  checkpoint_.add(std::move(finding));
}

Result<std::optional<torch::PickleAt>> MemberReader::pickle() {
  ASSAY_TRY(torch::PickleAt pickle, torch::read_pickle_at(source_, at_, end_, limits_, torch::kSmallPickleWindow));
  if (const auto& broken = pickle.graph->broken()) {
    complain(broken->code(), broken->what());
    return std::nullopt;
  }
  at_ = pickle.end();
  return std::optional(std::move(pickle));
}

// The next n bytes; an empty block where the member ends before.
Result<ByteBlock> MemberReader::take(std::uint64_t n) {
  if (!within(at_, n, end_)) {
    complain(Code::truncated, concat("member ", quote(name_), " ends ", end_ - at_, " bytes into a record part of ", n));
    return ByteBlock();
  }
  ASSAY_TRY(ByteBlock block, source_.fetch(at_, n));
  at_ += n;
  return block;
}

Result<std::uint64_t> MemberReader::record_count() {
  ASSAY_TRY(const auto count, pickle());
  if (!count) return std::uint64_t{0};
  const auto number = torch::integer_of(*count->graph, count->graph->root());
  if (number && *number >= 0) return static_cast<std::uint64_t>(*number);
  complain(Code::bad_header, concat("member ", quote(name_), " does not start with a count of its records"));
  return std::uint64_t{0};
}

Node MemberReader::class_of(const Graph& graph, Node record, Node& other) {
  const Node first = torch::item_at(graph, record, 1), second = torch::item_at(graph, record, 2);
  const bool class_first = torch::kind_of(graph, first) == torch::Kind::global;
  other = class_first ? second : first;
  return class_first ? first : second;
}

Result<bool> MemberReader::read_tensor(TarContents& contents) {
  ASSAY_TRY(const auto pickle, this->pickle());
  if (!pickle) return false;
  const Graph& graph = *pickle->graph;
  Node storage = torch::kNoNode;
  const Node type = class_of(graph, graph.root(), storage);
  const auto key = key_of(graph, torch::item_at(graph, graph.root(), 0));
  TarTensor tensor;
  tensor.class_name = checkpoint_.arena().text(torch::global_name(graph, type).name);
  tensor.storage = key_of(graph, storage);
  ASSAY_TRY(const ByteBlock head, take(8));
  if (head.view().empty()) return false;
  const auto rank = load_le<std::int32_t>(head.view().data());
  if (!key || rank < 0 || static_cast<std::uint32_t>(rank) > limits_.rank) {
    complain(!key || rank < 0 ? Code::bad_header : Code::limit_exceeded,
             !key ? concat("a record of member ", quote(name_), " has no key") : concat("tensor ", *key, " has ", rank, " dimensions"));
    return false;
  }
  ASSAY_TRY(const ByteBlock numbers, take(std::uint64_t{16} * static_cast<std::uint32_t>(rank) + 8));
  if (numbers.view().empty()) return false;
  Cursor cursor(numbers.view());
  for (std::int32_t i = 0; i < rank; ++i) tensor.sizes.push_back(cursor.i64_le("size"));
  for (std::int32_t i = 0; i < rank; ++i) tensor.strides.push_back(cursor.i64_le("stride"));
  tensor.offset = cursor.i64_le("offset");
  contents.tensors.insert_or_assign(*key, std::move(tensor));
  return true;
}

Result<void> MemberReader::read_tensors(TarContents& contents) {
  ASSAY_TRY(const std::uint64_t count, record_count());
  for (std::uint64_t i = 0; i < count; ++i) {
    ASSAY_TRY(const bool more, read_tensor(contents));
    if (!more) break;
  }
  return {};
}

Result<bool> MemberReader::read_storage(TarContents& contents) {
  ASSAY_TRY(const auto pickle, this->pickle());
  if (!pickle) return false;
  const Graph& graph = *pickle->graph;
  Node location = torch::kNoNode;
  const Node type = class_of(graph, graph.root(), location);
  const auto key = key_of(graph, torch::item_at(graph, graph.root(), 0));
  torch::StorageId id;
  id.class_name = checkpoint_.arena().text(torch::global_name(graph, type).name);
  id.dtype = dtype_from_storage_class(id.class_name).value_or(DType::unknown);
  if (torch::is_text(torch::kind_of(graph, location))) id.location = checkpoint_.arena().text(graph.text(location));
  if (!key || dtype_bits(id.dtype) < 8) {
    complain(Code::bad_header, key ? concat("storage ", *key, " is of the class ", quote(id.class_name), ", which is not known")
                                   : concat("a record of member ", quote(name_), " has no key"));
    return false;
  }
  id.key = checkpoint_.arena().text(decimal(*key));
  ASSAY_TRY(const ByteBlock head, take(8));
  if (head.view().empty()) return false;
  const auto count = load_le<std::int64_t>(head.view().data());
  if (count < 0) {
    complain(Code::bad_header, concat("storage ", *key, " claims ", count, " elements"));
    return false;
  }
  id.numel = static_cast<std::uint64_t>(count);
  const std::uint64_t nbytes = id.claimed_bytes().value_or(std::numeric_limits<std::uint64_t>::max());
  const std::uint64_t have = std::min(nbytes, end_ - at_);
  contents.storages.place(id.key, at_, nbytes, have);
  contents.ids.insert_or_assign(*key, id);
  if (have < nbytes)
    complain(Code::truncated, concat("storage ", *key, " claims ", grouped(nbytes), " bytes, ", grouped(have), " are left"));
  at_ += have;
  return have == nbytes;
}

Result<void> MemberReader::read_views(TarContents& contents) {
  if (at_ == end_) return {};
  ASSAY_TRY(const auto pickle, this->pickle());
  if (!pickle) return {};
  const Graph& graph = *pickle->graph;
  for (std::size_t i = 0; i < torch::length_of(graph, graph.root()); ++i) {
    const Node item = torch::item_at(graph, graph.root(), i);
    const auto target = key_of(graph, torch::item_at(graph, item, 0)), root = key_of(graph, torch::item_at(graph, item, 1));
    const auto offset = torch::integer_of(graph, torch::item_at(graph, item, 2)),
               numel = torch::integer_of(graph, torch::item_at(graph, item, 3));
    if (!target || !root || !offset || !numel || *offset < 0 || *numel < 0) {
      complain(Code::bad_header, concat("view ", i, " is not (key, root key, offset, count)"));
      return {};
    }
    contents.views.insert_or_assign(*target, View{*root, static_cast<std::uint64_t>(*offset), static_cast<std::uint64_t>(*numel)});
  }
  return {};
}

Result<void> MemberReader::read_storages(TarContents& contents) {
  ASSAY_TRY(const std::uint64_t count, record_count());
  bool more = !broken_;
  for (std::uint64_t i = 0; i < count && more; ++i) {
    ASSAY_TRY(more, read_storage(contents));
  }
  if (more) ASSAY_CHECK(read_views(contents));
  if (broken_) contents.storages.break_with(Error(code_));
  return {};
}

const tar::Member* find_member(const tar::Archive& archive, std::string_view name) {
  for (const tar::Member& member : archive.members)
    if (member.regular() && plain_name(member.name) == name) return &member;
  return nullptr;
}

/// Within a member, or between two of them: then what should follow and the zeros of the end are not there.
bool is_cut(const tar::Archive& archive) {
  constexpr std::string_view kNeeded[] = {"pickle", "tensors", "storages"};
  return archive.findings.has(Code::truncated) ||
         (!archive.ended && std::ranges::any_of(kNeeded, [&](std::string_view name) { return find_member(archive, name) == nullptr; }));
}

Error absent_member(const tar::Archive& archive, std::string_view name) {
  if (is_cut(archive)) return Error(Code::truncated, concat("the file ends before member ", quote(name))).at(archive.end_offset);
  return Error(Code::bad_header, concat("member ", quote(name), " is not in the archive"));
}

Result<void> read_members(const OpenInput& input, const tar::Archive& archive, TarContents& contents, Checkpoint& checkpoint) {
  if (const tar::Member* const tensors = find_member(archive, "tensors")) {
    ASSAY_CHECK(MemberReader(input, *tensors, checkpoint).read_tensors(contents));
  } else {
    checkpoint.add(Finding::from(absent_member(archive, "tensors")));
  }
  if (const tar::Member* const storages = find_member(archive, "storages")) {
    ASSAY_CHECK(MemberReader(input, *storages, checkpoint).read_storages(contents));
  } else {
    const Error absent = absent_member(archive, "storages");
    contents.storages.break_with(absent);
    checkpoint.add(Finding::from(absent));
  }
  return {};
}

}  // namespace

Probe probe_torch_tar(const ProbeInput& input) {
  constexpr std::size_t kBlock = 512;
  if (input.head.size() < kBlock || !tar::is_header(input.head.slice(0, kBlock))) return {};
  const auto archive = tar::read_archive(*MemorySource::borrow(input.head.span()), Limits());
  if (!archive || archive->members.empty()) return {};
  const std::string_view first = plain_name(archive->members.front().name);
  if (std::ranges::find(kMembers, first) == std::end(kMembers)) return {};
  return {90, "tar, its first member is one of torch.save's"};
}

Result<Checkpoint> open_torch_tar(const OpenInput& input) {
  ASSAY_TRY(const tar::Archive archive, tar::read_archive(*input.source, input.limits));
  Checkpoint checkpoint;
  checkpoint.format = "torch-tar";
  checkpoint.container = "tar";
  checkpoint.files.push_back({std::string(input.name), input.source->size(), input.source});
  for (const Finding& finding : archive.findings.list()) checkpoint.add(finding);
  const tar::Member* const member = find_member(archive, "pickle");
  if (member == nullptr) return fail(absent_member(archive, "pickle"));

  ASSAY_TRY(const torch::PickleAt stream,
            torch::read_pickle_at(*input.source, member->offset, member->offset + member->size, input.limits));
  torch::PickleInfo pickle;
  pickle.graph = stream.graph;
  pickle.member = "pickle";
  pickle.in_file = stream.bytes;
  const Node root = stream.graph->salvage_root();
  if (const auto& broken = stream.graph->broken()) {
    Error error = Error(broken->code(), broken->what()).at(broken->where().offset.value_or(member->offset)).in_member(pickle.member);
    if (root == torch::kNoNode) return fail(std::move(error));
    checkpoint.add(Finding::from(error));
  }
  TarContents contents;
  contents.storages.place(kNoStorage, member->offset, 0, 0);
  contents.cut = is_cut(archive);
  ASSAY_CHECK(read_members(input, archive, contents, checkpoint));
  ASSAY_CHECK(torch::collect(checkpoint, pickle, root, contents, input.limits));
  torch::note_foreign_imports(checkpoint, pickle);
  if (contents.cut) ASSAY_CHECK(tell_cut(checkpoint, {.where = "within the archive"}));
  if (checkpoint.tensors.empty()) checkpoint.add(Finding(Code::no_tensors, "the file holds no tensors"));
  return checkpoint;
}

}  // namespace assay::formats
