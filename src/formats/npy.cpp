// SPDX-License-Identifier: Apache-2.0
// npy   { header (containers/npy.hpp), data } …     one array as a rule; np.save may write several to one open file
// npz   a zip of members "<name>.npy", stored (np.savez) or deflated (np.savez_compressed)
#include "formats/npy.hpp"

#include <algorithm>

#include "base/arena.hpp"
#include "base/arith.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "containers/inflate_stream.hpp"
#include "containers/npy.hpp"
#include "containers/zip.hpp"
#include "formats/plain_pickle.hpp"
#include "formats/torch/collect.hpp"
#include "formats/torch/numpy.hpp"
#include "formats/torch/pickle_at.hpp"

namespace assay::formats {

namespace {

constexpr std::uint64_t kHeaderGuess = 1024;  // nearly every header is 128 bytes or less
constexpr std::uint64_t kShortestArray = 10;
constexpr std::string_view kEnding = ".npy";

/// One array: what is known of it and where its data is.
struct Array {
  std::string name;
  npy::Header header;
  Storage storage;  // nbytes: what is there of its data
  std::string_view member = {};
};

// The data of a packed member behind its header.
class BehindHeader final : public Producer {
 public:
  BehindHeader(std::shared_ptr<const Producer> member, std::uint64_t header, std::uint64_t size)
      : member_(std::move(member)), header_(header), size_(size) {}
  Result<ByteBlock> load(const ByteSource& file) const override {
    ASSAY_TRY(ByteBlock whole, member_->load(file));
    if (!within(header_, size_, whole.view().size())) return fail(Code::inflate_failed, "the member is shorter than its directory says");
    return std::move(whole).part(static_cast<std::size_t>(header_), static_cast<std::size_t>(size_));
  }

 private:
  std::shared_ptr<const Producer> member_;
  std::uint64_t header_, size_;
};

std::string type_text(const npy::Header& header) {
  if (!header.structured && header.fields.size() == 1) return header.fields[0].type;
  std::string text = "{";
  for (const npy::Field& field : header.fields) text += concat(text.size() == 1 ? "" : ", ", field.name, ": ", field.type);
  return escape(text + "}", 200);
}

std::optional<std::uint64_t> product(const std::vector<std::uint64_t>& shape) {
  if (std::ranges::find(shape, std::uint64_t{0}) != shape.end()) return 0;
  std::optional<std::uint64_t> numel = 1;
  for (const std::uint64_t size : shape)
    if (numel) numel = checked_mul(*numel, size);
  return numel;
}

// Column-major strides in elements; none where they would not fit, which is only so for arrays without elements.
std::vector<std::uint64_t> fortran_strides(const std::vector<std::uint64_t>& shape) {
  std::vector<std::uint64_t> strides;
  std::optional<std::uint64_t> step = 1;
  for (const std::uint64_t size : shape) {
    strides.push_back(*step);
    step = checked_mul(*step, std::max<std::uint64_t>(size, 1));
    if (!step) return {};
  }
  return strides;
}

// What keeps the array from being read; nothing when it is fine.
std::optional<Error> check_array(const Array& array, const Tensor& tensor) {
  const auto needed = npy::data_size(array.header);
  if (!needed) return Error(needed.error().code(), needed.error().what());
  if (*needed > array.storage.nbytes)
    return Error(Code::truncated, concat("the array needs ", *needed, " bytes of data, ", array.storage.nbytes, " are there"))
        .expected_found(*needed, array.storage.nbytes);
  if (tensor.dtype == DType::unknown)
    return Error(Code::unknown_dtype, concat("element type ", quote(tensor.source_dtype, 200), " has no values to read"));
  return std::nullopt;
}

void list_array(Checkpoint& checkpoint, Array array) {
  const npy::Header& header = array.header;
  Tensor tensor;
  tensor.name = checkpoint.arena().text(array.name);
  tensor.source_dtype = checkpoint.arena().text(type_text(header));
  tensor.shape = checkpoint.arena().numbers(header.shape);
  const bool simple = !header.structured && header.fields.size() == 1 && header.fields[0].shape.empty();
  const torch::NumpyType type = simple ? torch::numpy_type(header.fields[0].type) : torch::NumpyType();
  tensor.dtype = type.dtype;
  const auto numel = product(header.shape);
  tensor.numel = numel.value_or(0);
  auto wrong = check_array(array, tensor);
  if (!numel && !wrong)
    wrong = Error(Code::shape_overflow, concat("shape ", bracketed(header.shape), " has more elements than 64 bits count"));
  if (header.fortran_order && header.shape.size() > 1) tensor.stride = checkpoint.arena().numbers(fortran_strides(header.shape));
  tensor.storage = static_cast<std::uint32_t>(checkpoint.storages.size());
  array.storage.big_endian = type.big_endian;
  const std::uint64_t at = array.storage.offset;
  checkpoint.storages.push_back(std::move(array.storage));
  if (wrong) {
    Finding finding = Finding::from(*wrong);
    finding.where.member = array.member;
    finding.where.offset = at;
    checkpoint.refuse(tensor, std::move(finding));
  }
  checkpoint.tensors.push_back(tensor);
}

// An array of Python objects: its data is a pickle of them.
Result<void> list_objects(Checkpoint& checkpoint, const torch::PickleAt& stream, std::string_view name, std::string_view member,
                          bool in_file, const Limits& limits) {
  torch::PickleInfo pickle;
  pickle.graph = stream.graph;
  pickle.member = member;
  if (in_file) pickle.in_file = stream.bytes;
  if (const auto& broken = stream.graph->broken()) {
    Finding finding(broken->code(), broken->what());
    finding.where.member = member;
    if (in_file) finding.where.offset = broken->where().offset;
    checkpoint.add(std::move(finding));
  }
  NoStorages storages;
  ASSAY_CHECK(torch::collect(checkpoint, pickle, stream.graph->salvage_root(), storages, limits, name));
  torch::note_foreign_imports(checkpoint, pickle);
  return {};
}

// The header of an array that stands in the file at [at, end).
Result<npy::Header> header_in_file(const ByteSource& source, std::uint64_t at, std::uint64_t end, const Limits& limits) {
  ASSAY_TRY(ByteBlock block, source.fetch(at, std::min(end - at, kHeaderGuess)));
  ASSAY_TRY(const std::uint64_t size, npy::header_size(block.view()));
  if (size > block.view().size() && size <= end - at) {
    ASSAY_TRY(block, source.fetch(at, size));
  }
  return npy::parse_header(block.view(), limits);
}

// Bytes behind a header that belong to it: all there are, or what it needs of them.
std::uint64_t data_there(const npy::Header& header, std::uint64_t left) {
  const auto needed = npy::data_size(header);
  return needed ? std::min(*needed, left) : left;
}

// The array at `at`; gives where the next one could be.
Result<std::uint64_t> read_array(const OpenInput& input, std::uint64_t at, std::string name, Checkpoint& checkpoint) {
  const std::uint64_t end = input.source->size();
  ASSAY_TRY(npy::Header header, header_in_file(*input.source, at, end, input.limits));
  const std::uint64_t data = at + header.data_offset;
  if (header.has_objects) {
    ASSAY_TRY(const torch::PickleAt stream, torch::read_pickle_at(*input.source, data, end, input.limits));
    ASSAY_CHECK(list_objects(checkpoint, stream, name, {}, true, input.limits));
    return stream.graph->broken() ? end : stream.end();
  }
  Storage storage;
  storage.offset = data;
  storage.nbytes = data_there(header, end - data);
  const std::uint64_t behind = data + storage.nbytes;
  list_array(checkpoint, {.name = std::move(name), .header = std::move(header), .storage = std::move(storage)});
  return behind;
}

std::string stem(std::string_view member) { return std::string(member.substr(0, member.size() - kEnding.size())); }

// The start of a packed member, inflated far enough for its header.
Result<npy::Header> header_in_member(const OpenInput& input, const zip::Member& member, std::uint64_t offset) {
  std::uint64_t packed = std::min<std::uint64_t>(member.packed_size, kHeaderGuess);
  std::uint64_t wanted = kHeaderGuess;
  for (;;) {
    ASSAY_TRY(const ByteBlock block, input.source->fetch(offset, packed));
    const Inflated start = inflate_stream(block.view(), wanted);
    const ByteView bytes(start.bytes, offset);
    const bool all = packed == member.packed_size;
    if (bytes.size() < kShortestArray + 2 && !all && start.broken && start.broken->code() == Code::truncated) {
      packed = std::min(member.packed_size, packed * 2);
      continue;
    }
    ASSAY_TRY(const std::uint64_t size, npy::header_size(bytes));
    if (size <= bytes.size()) return npy::parse_header(bytes, input.limits);
    if (wanted >= size && all)
      return fail(
          Error(Code::inflate_failed, concat("the array header needs ", size, " bytes, ", bytes.size(), " can be unpacked")).at(offset));
    wanted = std::max(wanted, size);
    packed = std::min(member.packed_size, packed * 2);
  }
}

Result<void> read_member(const OpenInput& input, const zip::Member& member, Checkpoint& checkpoint) {
  const std::uint64_t end = input.source->size();
  const std::string_view name = checkpoint.arena().text(member.name);
  // One range for the local header and the array's own, so that a host that supplies ranges is asked once.
  const std::uint64_t both = 30 + member.name.size() + kHeaderGuess;
  if (member.header_offset < end) ASSAY_CHECK(input.source->available(member.header_offset, std::min(both, end - member.header_offset)));
  ASSAY_TRY(Storage storage, zip::storage_of(*input.source, member, input.limits));
  const bool packed = storage.producer != nullptr;
  ASSAY_TRY(npy::Header header, packed ? header_in_member(input, member, storage.offset)
                                       : header_in_file(*input.source, storage.offset, storage.offset + storage.nbytes, input.limits));
  if (header.data_offset > storage.nbytes)
    return fail(Error(Code::truncated, "the member ends within the array's header").at(storage.offset));
  if (header.has_objects && !packed) {
    ASSAY_TRY(const torch::PickleAt stream,
              torch::read_pickle_at(*input.source, storage.offset + header.data_offset, storage.offset + storage.nbytes, input.limits));
    return list_objects(checkpoint, stream, stem(name), name, true, input.limits);
  }
  if (header.has_objects) {
    ASSAY_TRY(ByteBlock whole, zip::read_member(*input.source, member, zip::most_parsed(member, input.limits), input.limits));
    const std::size_t begin = static_cast<std::size_t>(std::min<std::uint64_t>(header.data_offset, whole.view().size()));
    const std::size_t size = whole.view().size() - begin;
    torch::PickleAt stream;
    stream.graph = std::make_shared<const torch::Graph>(pickle::parse(std::move(whole).part(begin, size), input.limits));
    return list_objects(checkpoint, stream, stem(name), name, false, input.limits);
  }
  const std::uint64_t left = storage.nbytes - header.data_offset;
  const std::uint64_t there = data_there(header, left);
  if (there < left) {
    Finding finding(Code::trailing_bytes, concat(counted(left - there, "byte", "bytes"), " behind the array's data"));
    finding.where.member = name;
    checkpoint.add(std::move(finding));
  }
  if (packed) storage.producer = std::make_shared<BehindHeader>(storage.producer, header.data_offset, there);
  else storage.offset += header.data_offset;
  storage.nbytes = there;
  storage.key = name;
  list_array(checkpoint, {.name = stem(name), .header = std::move(header), .storage = std::move(storage), .member = name});
  return {};
}

// A member whose header cannot be read is listed by its name alone.
void list_unread(Checkpoint& checkpoint, std::string_view member, Error error) {
  Tensor tensor;
  tensor.name = checkpoint.arena().text(stem(member));
  tensor.numel = 0;
  const std::uint64_t none[] = {0};
  tensor.shape = checkpoint.arena().numbers(none);
  checkpoint.refuse(tensor, Finding::from(std::move(error).in_member(member)));
  checkpoint.tensors.push_back(tensor);
}

}  // namespace

Probe probe_npy(const ProbeInput& input) {
  if (npy::is_npy(input.head)) return {100, "the magic of a NumPy array"};
  return {};
}

Result<Checkpoint> open_npy(const OpenInput& input) {
  Checkpoint checkpoint;
  checkpoint.format = "npy";
  checkpoint.container = "npy";
  const std::uint64_t size = input.source->size();
  checkpoint.files.push_back({std::string(input.name), size, input.source});
  ASSAY_TRY(std::uint64_t at, read_array(input, 0, "array", checkpoint));
  for (std::uint64_t i = 1; size - at >= kShortestArray; ++i) {
    ASSAY_TRY(const ByteBlock magic, input.source->fetch(at, kShortestArray));
    if (!npy::is_npy(magic.view())) break;
    auto next = read_array(input, at, concat("array.", i), checkpoint);
    if (!next && next.error().code() == Code::need_range) return fail(std::move(next).error());
    if (!next) {
      checkpoint.add(Finding::from(next.error()));
      at = size;
      break;
    }
    at = *next;
  }
  if (at < size) {
    Finding finding(Code::trailing_bytes, concat(counted(size - at, "byte", "bytes"), " behind the last array"));
    finding.where.offset = at;
    checkpoint.add(std::move(finding));
  }
  if (checkpoint.tensors.empty()) checkpoint.add(Finding(Code::no_tensors, "the array holds Python objects, none of them a tensor"));
  return checkpoint;
}

Probe probe_npz(const ProbeInput& input) {
  constexpr std::size_t kLocalHeader = 30;
  const std::string_view head = input.head.text();
  const bool named = lowered(input.name).ends_with(".npz");
  if (head.starts_with("PK\5\6") && named) return {60, "an empty zip named .npz"};
  if (!head.starts_with("PK\3\4") || head.size() < kLocalHeader) return {};
  const std::size_t name_size = std::to_integer<std::size_t>(input.head[26]) + 256 * std::to_integer<std::size_t>(input.head[27]);
  if (head.substr(kLocalHeader, name_size).ends_with(kEnding)) return {90, "zip, its first member is a .npy"};
  if (named) return {60, "zip, named .npz"};
  return {};
}

Result<Checkpoint> open_npz(const OpenInput& input) {
  ASSAY_TRY(const zip::Directory directory, zip::read_directory(*input.source, input.limits));
  Checkpoint checkpoint;
  checkpoint.format = "npz";
  checkpoint.container = "zip";
  checkpoint.files.push_back({std::string(input.name), input.source->size(), input.source});
  for (const Finding& finding : directory.findings.list()) checkpoint.add(finding);
  std::size_t others = 0;
  for (const zip::Member& member : directory.members) {
    if (!member.name.ends_with(kEnding)) {
      ++others;
      continue;
    }
    auto read = read_member(input, member, checkpoint);
    if (read) continue;
    if (read.error().code() == Code::need_range) return fail(std::move(read).error());
    list_unread(checkpoint, member.name, std::move(read).error());
  }
  if (directory.cut && directory.cut->name.ends_with(kEnding))
    list_unread(
        checkpoint, directory.cut->name,
        Error(Code::truncated, concat("the file ends ", directory.cut->packed_size, " bytes into member ", quote(directory.cut->name))));
  if (others > 0 && others == directory.members.size())
    return fail(Error(Code::zip_without_checkpoint, concat("a zip archive of ", counted(others, "member", "members"), " without arrays")));
  if (checkpoint.tensors.empty()) checkpoint.add(Finding(Code::no_tensors, "the archive holds no arrays"));
  return checkpoint;
}

}  // namespace assay::formats
