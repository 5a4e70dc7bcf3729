// SPDX-License-Identifier: Apache-2.0
#include "formats/torch/tensor_table.hpp"

#include <algorithm>

#include "base/arena.hpp"
#include "base/arith.hpp"
#include "base/sort.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "formats/torch/embedded.hpp"

namespace assay::formats::torch {

namespace {

std::optional<std::uint64_t> product(std::span<const std::uint64_t> shape) {
  // A zero anywhere makes the tensor empty, whatever the other sizes would give.
  if (std::ranges::find(shape, 0u) != shape.end()) return 0;
  std::optional<std::uint64_t> numel = 1;
  for (const std::uint64_t size : shape)
    if (numel) numel = checked_mul(*numel, size);
  return numel;
}

// Row-major strides without gaps, as torch writes them for a contiguous tensor.
bool is_row_major(std::span<const std::uint64_t> shape, std::span<const std::uint64_t> stride) {
  std::uint64_t expected = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    if (stride[i] != expected) return false;
    expected *= std::max<std::uint64_t>(shape[i], 1);
  }
  return true;
}

// The last element's position; nothing when it does not fit 64 bits. Precondition: no dimension is 0.
std::optional<std::uint64_t> last_element(const Tensor& tensor) {
  if (tensor.stride.empty()) return checked_add(tensor.storage_offset, tensor.numel - 1);
  std::optional<std::uint64_t> last = tensor.storage_offset;
  for (std::size_t i = 0; i < tensor.shape.size() && last; ++i) {
    const auto reach = checked_mul(tensor.shape[i] - 1, tensor.stride[i]);
    last = reach ? checked_add(*last, *reach) : std::nullopt;
  }
  return last;
}

bool is_packed(DType dtype) { return dtype == DType::qu4x2 || dtype == DType::qu2x4; }

// With what torch allocates for packed kinds: rows of whole bytes.
std::uint64_t stored_bytes(const Tensor& tensor) {
  if (!is_packed(tensor.dtype) || tensor.shape.empty() || tensor.numel == 0) return tensor.nbytes();
  const std::uint64_t columns = tensor.shape.back(), per_byte = 8 / dtype_bits(tensor.dtype);
  return tensor.numel / columns * (columns / per_byte + (columns % per_byte != 0));
}

Finding finding_of(Severity severity, Code code, std::string message) {
  Finding finding(code, std::move(message));
  finding.severity = severity;
  return finding;
}

}  // namespace

TensorTable::TensorTable(Checkpoint& checkpoint, const PickleInfo& pickle, StorageSource& storages, const Limits& limits)
    : checkpoint_(checkpoint), pickle_(pickle), graph_(*pickle.graph), source_(storages), limits_(limits) {
  const auto storages_named = std::ranges::count(graph_.events(), pickle::EventKind::persistent, &pickle::Event::kind);
  entries_.reserve(static_cast<std::size_t>(storages_named));
  uses_.reserve(static_cast<std::size_t>(storages_named));
}

Where TensorTable::where(Node node) const {
  Where where;
  where.member = pickle_.member;
  if (node != kNoNode && pickle_.in_file.size() > 0) where.offset = graph_.offset(node);
  return where;
}

void TensorTable::refuse(Tensor& tensor, Node node, Finding finding) {
  const Where at = where(node);
  if (finding.where.member.empty()) finding.where.member = at.member;
  if (!finding.where.offset) finding.where.offset = at.offset;
  checkpoint_.refuse(tensor, std::move(finding));
}

std::string_view TensorTable::type_text(DType dtype, std::string_view otherwise) {
  if (dtype == DType::unknown || dtype_info(dtype).torch.empty()) return checkpoint_.arena().text(otherwise);
  const auto index = static_cast<std::size_t>(dtype);
  if (type_texts_.size() <= index) type_texts_.resize(index + 1);
  if (type_texts_[index].empty()) type_texts_[index] = checkpoint_.arena().text(concat("torch.", dtype_info(dtype).torch));
  return type_texts_[index];
}

Result<void> TensorTable::read_numbers(Node node, Node sequence, Code code, std::string_view what, std::vector<std::uint64_t>& out) {
  if (kind_of(graph_, sequence) == Kind::call && graph_.is_call(sequence, "torch", "Size"))
    sequence = item_at(graph_, graph_.args(sequence), 0);
  const Kind kind = kind_of(graph_, sequence);
  if (kind != Kind::tuple && kind != Kind::list)
    return fail(
        Error(Code::malformed_tensor, concat(what, " is ", sequence == kNoNode ? "missing" : pickle::kind_name(kind), ", not a tuple"))
            .at(graph_.offset(node)));
  const std::size_t rank = graph_.length(sequence);
  if (rank > limits_.rank) return fail(Code::limit_exceeded, concat(what, " has ", rank, " dimensions, the limit is ", limits_.rank));
  for (std::size_t i = 0; i < rank; ++i) {
    const Node item = graph_.item(sequence, i);
    const auto value = integer_of(graph_, item);
    if (value && *value >= 0) {
      out.push_back(static_cast<std::uint64_t>(*value));
      continue;
    }
    const std::string shown = pickle::describe(graph_, item);
    return fail(Error(code, concat(what, " holds ", escape(shown, 80), ", which is no size in elements")).at(graph_.offset(node)));
  }
  return {};
}

Result<void> TensorTable::read(Node node, const TensorNodes& nodes) {
  spec_.meta = nodes.meta;
  spec_.conj = nodes.conj;
  spec_.neg = nodes.neg;
  // The dtype first: a tensor that fails later is still listed with it.
  if (!nodes.meta && is_embedded(graph_, nodes.storage)) {
    use_embedded(nodes.storage);
  } else if (!nodes.meta) {
    bool described = false;
    if (kind_of(graph_, nodes.storage) != Kind::persistent && nodes.storage != kNoNode) {
      ASSAY_TRY(described, source_.describe(graph_, nodes.storage, spec_));
    }
    if (!described) {
      ASSAY_TRY(spec_.storage, read_storage_id(graph_, nodes.storage, checkpoint_.arena()));
    }
    if (spec_.storage) {
      spec_.dtype = spec_.storage->dtype;
      spec_.dtype_text = spec_.storage->class_name;
    }
  }
  if (nodes.dtype != kNoNode) {
    const GlobalName name = global_name(graph_, nodes.dtype);
    spec_.dtype = dtype_from_torch(name.name).value_or(DType::unknown);
    spec_.dtype_text = name.name;
    if (name.name.empty()) return fail(Error(Code::bad_dtype, "the dtype is not a name").at(graph_.offset(node)));
  }
  ASSAY_CHECK(read_numbers(node, nodes.size, Code::bad_shape, "shape", spec_.shape));
  if (kind_of(graph_, nodes.stride) != Kind::none) {
    ASSAY_CHECK(read_numbers(node, nodes.stride, Code::bad_stride, "stride", spec_.stride));
    spec_.has_stride = true;
  }
  if (nodes.offset != kNoNode) {
    const auto offset = integer_of(graph_, nodes.offset);
    if (!offset || *offset < 0) {
      const std::string shown = pickle::describe(graph_, nodes.offset);
      return fail(
          Error(Code::bad_stride, concat("storage offset ", escape(shown, 80), " is no position in elements")).at(graph_.offset(node)));
    }
    spec_.offset = static_cast<std::uint64_t>(*offset);
  }
  return {};
}

Result<std::uint32_t> TensorTable::add(std::string_view name, Node node, const TensorNodes& nodes, bool parameter) {
  spec_ = {.shape = std::move(spec_.shape), .stride = std::move(spec_.stride)};
  spec_.shape.clear();
  spec_.stride.clear();
  spec_.parameter = parameter;
  own_ = nullptr;
  auto index = list(name, node, read(node, nodes));
  if (index && nodes.quantizer != kNoNode) read_quantizer(*index, node, nodes.quantizer);
  return index;
}

Result<std::uint32_t> TensorTable::add_bare_storage(std::string_view name, Node node) {
  spec_ = {};
  own_ = nullptr;
  if (is_embedded(graph_, node)) {
    use_embedded(node);
    spec_.shape = {spec_.storage->view_numel.value_or(spec_.storage->numel)};
    return list(name, node, {});
  }
  auto described = source_.describe(graph_, node, spec_);
  if (!described) return list(name, node, fail(std::move(described).error()));
  if (*described) return list(name, node, {});
  auto id = read_storage_id(graph_, node, checkpoint_.arena());
  if (!id) return list(name, node, fail(std::move(id).error()));
  spec_.dtype = id->dtype;
  spec_.dtype_text = id->class_name;
  spec_.shape = {id->view_numel.value_or(id->numel)};
  if (is_packed(id->dtype)) {
    const auto values = checked_mul(spec_.shape[0], 8 / dtype_bits(id->dtype));
    if (!values) return list(name, node, fail(Code::shape_overflow, concat("a storage of ", spec_.shape[0], " bytes")));
    spec_.shape = {*values};
  }
  spec_.storage = *id;
  return list(name, node, {});
}

Result<std::uint32_t> TensorTable::add_spec(std::string_view name, TensorSpec spec, Result<void> read) {
  spec_ = std::move(spec);
  own_ = nullptr;
  return list(name, kNoNode, std::move(read));
}

std::optional<Error> TensorTable::check_shape(Tensor& tensor) {
  if (spec_.has_stride && spec_.stride.size() != spec_.shape.size())
    return Error(Code::malformed_tensor, concat("shape has ", spec_.shape.size(), " dimensions, stride has ", spec_.stride.size()));
  if (auto wrong = pack_to_storage_units(tensor)) return wrong;
  tensor.shape = checkpoint_.arena().numbers(spec_.shape);
  const auto numel = product(spec_.shape);
  const auto bits = numel ? checked_mul(*numel, dtype_bits(tensor.dtype)) : std::nullopt;
  if (!bits) return Error(Code::shape_overflow, concat("shape ", bracketed(spec_.shape), " has more elements than 64 bits count"));
  tensor.numel = *numel;
  if (spec_.has_stride && !is_row_major(spec_.shape, spec_.stride)) tensor.stride = checkpoint_.arena().numbers(spec_.stride);
  return std::nullopt;
}

// torch counts float4_e2m1fn_x2 in bytes of two values and the quantised sub-byte kinds in values; the listing counts values of either.
std::optional<Error> TensorTable::pack_to_storage_units(Tensor& tensor) {
  auto& shape = spec_.shape;
  auto& stride = spec_.stride;
  if (tensor.dtype == DType::f4) {
    const auto offset = checked_mul(spec_.offset, 2);
    if (shape.empty()) shape = {1}, stride = {1};
    // Side by side in the last dimension, in a transposed matrix in the first; with gaps they get a dimension of their own.
    std::size_t along = shape.size() - 1;
    if (spec_.has_stride && shape[along] > 1 && stride[along] != 1) {
      along = static_cast<std::size_t>(std::ranges::find(stride, 1u) - stride.begin());
      if (along == shape.size()) shape.push_back(1), stride.push_back(1);
    }
    const auto pairs = checked_mul(shape[along], 2);
    if (!offset || !pairs) return Error(Code::shape_overflow, concat("shape ", bracketed(shape), " of 4-bit pairs does not fit 64 bits"));
    for (std::size_t i = 0; i < stride.size(); ++i) {
      const auto doubled = i == along ? 1 : checked_mul(stride[i], 2);
      if (!doubled) return Error(Code::bad_stride, concat("stride ", bracketed(stride), " of 4-bit pairs does not fit 64 bits"));
      stride[i] = *doubled;
    }
    shape[along] = *pairs;
    spec_.offset = *offset;
  } else if (is_packed(tensor.dtype)) {
    // Their values stand side by side, though storages have room for rows of whole bytes; torch's offset counts bytes.
    const auto offset = checked_mul(spec_.offset, 8 / dtype_bits(tensor.dtype));
    if (!offset) return Error(Code::bad_stride, concat("storage offset ", spec_.offset, " does not fit 64 bits"));
    spec_.offset = *offset;
    spec_.has_stride = false;
  }
  return std::nullopt;
}

Result<std::uint32_t> TensorTable::list(std::string_view name, Node node, Result<void> read) {
  if (!read && read.error().code() == Code::need_range) return fail(std::move(read).error());
  const auto index = static_cast<std::uint32_t>(checkpoint_.tensors.size());
  Tensor tensor;
  tensor.name = checkpoint_.arena().text(name);
  tensor.dtype = spec_.dtype;
  tensor.source_dtype =
      spec_.numpy ? checkpoint_.arena().text(concat("numpy.", dtype_info(spec_.dtype).torch)) : type_text(spec_.dtype, spec_.dtype_text);
  tensor.conj = spec_.conj;
  tensor.neg = spec_.neg;
  tensor.parameter = spec_.parameter;

  std::optional<Error> wrong;
  if (!read) {
    wrong = std::move(read).error();
    tensor.shape = checkpoint_.arena().numbers(spec_.shape);
  } else {
    wrong = check_shape(tensor);
  }
  if (wrong) {
    refuse(tensor, node, Finding::from(*wrong));
  } else if (own_ != nullptr) {
    check_size(tensor, node, *own_);
  } else if (spec_.storage) {
    ASSAY_TRY(Entry* const entry, entry_of(*spec_.storage));
    check_size(tensor, node, *entry);
  } else if (spec_.meta) {
    refuse(tensor, node, finding_of(Severity::note, Code::missing_storage, "a meta tensor: a shape without data"));
  }
  tensor.storage_offset = spec_.offset;
  checkpoint_.tensors.push_back(tensor);
  return index;
}

Result<TensorTable::Entry*> TensorTable::entry_of(const StorageId& id) {
  const auto [at, fresh] = entries_.try_emplace(id.key);
  Entry& entry = at->second;
  if (!fresh) return &entry;
  auto storage = source_.find(id);
  if (!storage) {
    if (storage.error().code() == Code::need_range) return fail(std::move(storage).error());
    entry.failure = std::make_unique<Finding>(Finding::from(storage.error()));
    return &entry;
  }
  entry.storage = static_cast<std::uint32_t>(checkpoint_.storages.size());
  entry.claimed = id.claimed_bytes().value_or(std::numeric_limits<std::uint64_t>::max());
  if (id.dtype == DType::unknown) entry.claimed = storage->nbytes;
  if (entry.claimed < storage->nbytes && !id.view_numel && !source_.compares_sizes())
    tell_sizes(Severity::warning,
               concat("the pickle claims ", entry.claimed, " bytes of storage ", quote(id.key), ", which has ", storage->nbytes,
                      "; torch.load refuses that"),
               entry, *storage);
  checkpoint_.storages.push_back(*std::move(storage));
  return &entry;
}

// Makes the storage within the pickle's bytes that of the tensor in hand.
void TensorTable::use_embedded(Node call) {
  const Node bytes = item_at(graph_, graph_.args(call), 0);
  const auto [at, fresh] = embedded_.try_emplace(bytes);
  Embedded& embedded = at->second;
  if (fresh) {
    auto found = find_embedded(pickle_.graph, bytes, pickle_.in_file, checkpoint_.arena(), limits_);
    if (!found) {
      embedded.entry.failure = std::make_unique<Finding>(Finding::from(found.error()));
    } else {
      embedded.id = found->id;
      embedded.entry.storage = static_cast<std::uint32_t>(checkpoint_.storages.size());
      found->storage.file = pickle_.file;
      checkpoint_.storages.push_back(std::move(found->storage));
    }
  }
  own_ = &embedded.entry;
  spec_.storage = embedded.id;
  spec_.dtype = embedded.id.dtype;
  spec_.dtype_text = embedded.id.class_name;
}

void TensorTable::tell_sizes(Severity severity, std::string what, Entry& entry, const Storage& storage) {
  Finding finding = finding_of(severity, Code::storage_size_mismatch, std::move(what));
  finding.where.member = pickle_.member;
  if (!storage.producer) finding.where.offset = storage.offset;
  finding.facts = {{"claimed", entry.claimed}, {"stored", storage.nbytes}};
  entry.told = true;
  checkpoint_.add(std::move(finding));
}

void TensorTable::check_size(Tensor& tensor, Node node, Entry& entry) {
  if (entry.failure) {
    refuse(tensor, node, *entry.failure);
    return;
  }
  const Storage& storage = checkpoint_.storages[entry.storage];
  if (storage.nbytes == 0 && tensor.numel > 0 && spec_.storage->location == "meta") {
    refuse(tensor, node, finding_of(Severity::note, Code::missing_storage, "a meta tensor: a shape without data"));
    return;
  }
  tensor.storage = entry.storage;
  if (tensor.dtype == DType::unknown) {
    entry.doubtful = true;
    refuse(tensor, node, {Code::unknown_dtype, concat("element type ", quote(tensor.source_dtype, 80), " is not known")});
    return;
  }
  if (auto wrong = check_bounds(tensor, entry)) {
    entry.doubtful = true;
    refuse(tensor, node, Finding::from(*wrong));
  }
}

std::optional<Error> TensorTable::check_bounds(Tensor& tensor, Entry& entry) {
  const Storage& storage = checkpoint_.storages[entry.storage];
  const StorageId& id = *spec_.storage;
  const std::uint64_t bits = dtype_bits(tensor.dtype);
  const auto unit_bytes = checked_mul(id.view_offset, storage_unit(id.dtype));
  const auto unit_bits = unit_bytes ? checked_mul(*unit_bytes, 8) : std::nullopt;
  const auto offset = unit_bits ? checked_add(spec_.offset, *unit_bits / bits) : std::nullopt;
  const std::uint64_t claimed =
      id.dtype == DType::unknown ? storage.nbytes : id.claimed_bytes().value_or(std::numeric_limits<std::uint64_t>::max());
  const std::uint64_t available = std::min(claimed, storage.nbytes);
  if (!offset) return Error(Code::out_of_storage, concat("storage offset ", spec_.offset, " does not fit 64 bits"));
  spec_.offset = tensor.storage_offset = *offset;
  const auto tell_claim = [&] {
    if (claimed > storage.nbytes && !entry.told && !source_.compares_sizes() && !source_.is_cut(id.key))
      tell_sizes(Severity::damage,
                 concat("the pickle claims ", claimed, " bytes of storage ", quote(id.key), ", which has ", storage.nbytes,
                        "; torch.load refuses that"),
                 entry, storage);
  };
  if (tensor.numel == 0) {
    tell_claim();
    return std::nullopt;
  }

  const auto last = last_element(tensor);
  const auto end = last ? checked_add(*last, 1) : std::nullopt;
  const auto end_bits = end ? checked_mul(*end, bits) : std::nullopt;
  if (!end_bits) {
    return Error(Code::out_of_storage,
                 concat("shape ", bracketed(spec_.shape), " with stride ", bracketed(spec_.stride), " from element ", spec_.offset,
                        " reaches further than 64 bits count; storage ", quote(id.key), " has ", storage.nbytes, " bytes"));
  }
  const std::uint64_t needed = bits_to_bytes(*end_bits);
  if (needed > available) {
    if (needed <= claimed && own_ == nullptr && source_.is_cut(id.key)) {
      return Error(Code::truncated,
                   concat("the file ends ", storage.nbytes, " bytes into storage ", quote(id.key), "; the tensor needs ", needed))
          .expected_found(needed, storage.nbytes);
    }
    const bool lie = claimed > storage.nbytes && needed <= claimed;
    std::string what = lie ? concat("the pickle claims ", claimed, " bytes of storage ", quote(id.key), ", which has ", storage.nbytes,
                                    "; the tensor needs ", needed)
                           : concat("the tensor reaches byte ", needed, " of storage ", quote(id.key), ", which has ", available);
    return Error(lie ? Code::storage_size_mismatch : Code::out_of_storage, std::move(what)).expected_found(needed, available);
  }
  tell_claim();
  const std::uint64_t begin = tensor.storage_offset * bits / 8;
  const auto reserved = is_packed(tensor.dtype) ? checked_add(begin, stored_bytes(tensor)) : std::nullopt;
  const std::uint64_t used = reserved ? std::min(std::max(needed, *reserved), available) : needed;
  uses_.push_back({entry.storage, static_cast<std::uint32_t>(checkpoint_.tensors.size()), begin, used});
  return std::nullopt;
}

Result<std::uint32_t> TensorTable::add_array(std::string_view name, Node node, const ArrayNodes& array) {
  spec_ = {};
  spec_.dtype = array.dtype;
  spec_.numpy = true;
  auto read = read_numbers(node, array.shape, Code::bad_shape, "shape", spec_.shape);
  if (read && array.fortran) {
    std::optional<std::uint64_t> step = 1;
    for (const std::uint64_t size : spec_.shape) {
      spec_.stride.push_back(step.value_or(0));
      if (step) step = checked_mul(*step, std::max<std::uint64_t>(size, 1));
    }
    if (step) spec_.has_stride = true;
  }
  StorageId id;
  id.dtype = DType::u8;
  id.numel = array.bytes.size;
  spec_.storage = id;
  // An array that stands in two places has its bytes once.
  Entry& entry = arrays_[2 * std::uint64_t{array.bytes.node} + (array.big_endian ? 1 : 0)];
  if (entry.storage == kNone) {
    Storage storage;
    storage.file = pickle_.file;
    storage.nbytes = array.bytes.size;
    storage.big_endian = array.big_endian;
    if (const auto bytes = bytes_in_file(graph_, array.bytes, pickle_.in_file)) storage.offset = bytes->offset();
    else storage.producer = std::make_shared<PickledBytes>(pickle_.graph, array.bytes, 0, storage.nbytes);
    entry.storage = static_cast<std::uint32_t>(checkpoint_.storages.size());
    checkpoint_.storages.push_back(std::move(storage));
  }
  own_ = &entry;
  return list(name, node, std::move(read));
}

void TensorTable::note_unused_bytes() {
  std::vector<bool> doubtful(checkpoint_.storages.size());
  for (const auto& [key, entry] : entries_)
    if (entry.storage != kNone && entry.doubtful) doubtful[entry.storage] = true;
  for (const auto& [node, embedded] : embedded_)
    if (embedded.entry.storage != kNone && embedded.entry.doubtful) doubtful[embedded.entry.storage] = true;
  sort_stable(uses_, [](const Use& a, const Use& b) { return a.storage != b.storage ? a.storage < b.storage : a.begin < b.begin; });
  for (std::size_t i = 0; i < uses_.size();) {
    const Use& first = uses_[i];
    const Storage& storage = checkpoint_.storages[first.storage];
    std::uint64_t covered = 0, reached = first.begin, elements = 0, tensors = 0;
    for (; i < uses_.size() && uses_[i].storage == first.storage; ++i) {
      const Use& use = uses_[i];
      if (use.end > reached) covered += use.end - std::max(use.begin, reached);
      reached = std::max(reached, use.end);
      elements = checked_add(elements, stored_bytes(checkpoint_.tensors[use.tensor])).value_or(std::numeric_limits<std::uint64_t>::max());
      ++tensors;
    }
    const std::uint64_t used = std::min(covered, elements);
    if (used >= storage.nbytes || doubtful[first.storage]) continue;
    const std::string_view name = checkpoint_.tensors[first.tensor].name;
    std::string what = tensors == 1
                           ? concat(quote(name), " uses ", used, " of ", storage.nbytes, " stored bytes")
                           : concat(quote(name), " and ", tensors - 1, " more use ", used, " of ", storage.nbytes, " stored bytes");
    checkpoint_.add(
        {Code::oversized_storage, std::move(what), {.tensor = std::string(name)}, {{"used", used}, {"stored", storage.nbytes}}});
  }
}

}  // namespace assay::formats::torch
