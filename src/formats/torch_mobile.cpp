// SPDX-License-Identifier: Apache-2.0
// A FlatBuffer (containers/flatbuffer.hpp) of identifier "PTMF". The tables, fields counted from 0:
//
//   Module          0 bytecode version u32, 3 state object u32, 4 values [IValue], 6 storages [StorageData], 7 types [ObjectType]; values
//   are named
//                   by their number
//   IValue          0 kind u8, 1 what it is: 1 i64, 2 bool, 3 f64, 4 f64 f64 (complex), 5 TensorMetadata, 6 String, 7 List, 8 Tuple, 9
//   Dict,
//                   10 Object, 11 [i64], 12 [f64], 13 [bool], 14 Device, 15 EnumValue, 16 Function
//   TensorMetadata  0 storage u32, 1 c10 scalar type i8, 2 storage offset i32, 3 sizes [i32], 4 strides [i32], 5 requires_grad bool,
//                   6 QuantizedSchema
//   QuantizedSchema 0 scheme i8, 1 scale f64, 2 zero point i32, 3 scales TensorMetadata, 4 zero points TensorMetadata, 5 axis i32
//   Object          0 type u32, 1 state u32, 2 attributes [u32];  ObjectType 0 name, 1 kind u8, 2 attribute names [string]
//   List, Tuple     0 items [u32];  Dict 0 keys [u32], 1 values [u32];  String, Device 0 text;  StorageData 0 bytes [u8]
#include "formats/torch_mobile.hpp"

#include <algorithm>

#include "base/arena.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "containers/flatbuffer.hpp"
#include "formats/torch/c10_types.hpp"
#include "formats/torch/tensor_table.hpp"

namespace assay::formats {

namespace {

using flatbuffer::Reader;
using flatbuffer::Table;
using flatbuffer::Vector;

constexpr std::string_view kMagic = "PTMF";
constexpr std::uint32_t kTextBytes = 4096;
constexpr std::uint32_t kListShown = 32;  // plain values that stay one entry

enum Kind : std::uint8_t {
  none,
  integer,
  boolean,
  real,
  complex,
  tensor,
  text,
  list,
  tuple,
  dict,
  object,
  integers,
  reals,
  booleans,
  device,
  enumeration,
  function
};

class MobileStorages final : public torch::StorageSource {
 public:
  MobileStorages(Reader& reader, Vector storages) : reader_(reader), storages_(storages) {}
  Result<Storage> find(const torch::StorageId& id) override {
    if (id.numel >= storages_.count) return fail(Code::missing_storage, concat("storage ", id.numel, " of ", storages_.count));
    ASSAY_TRY(const Table table, reader_.table_of(storages_, static_cast<std::uint32_t>(id.numel)));
    ASSAY_TRY(const Vector bytes, reader_.vector_field(table, 0, 1));
    Storage storage;
    storage.offset = bytes.at;
    storage.nbytes = bytes.count;
    storage.key = id.key;
    return storage;
  }

 private:
  Reader& reader_;
  Vector storages_;
};

class Lister {
 public:
  Lister(Reader& reader, Checkpoint& checkpoint, const torch::PickleInfo& no_pickle, MobileStorages& storages, const Limits& limits)
      : reader_(reader), checkpoint_(checkpoint), limits_(limits), table_(checkpoint, no_pickle, storages, limits) {}
  Result<void> run(const Table& module);

 private:
  struct Item {
    std::uint32_t value;
    std::string path;
    std::size_t depth;
  };
  Result<void> visit(const Item& item);
  Result<void> list_tensor(const Item& item, const Table& metadata);
  Result<void> list_quantized(const Item& item, const Table& schema, std::uint32_t index);
  Result<torch::TensorSpec> read_tensor(const Table& metadata);
  Result<void> read_sizes(const Table& metadata, unsigned field, std::string_view what, std::vector<std::uint64_t>& out);
  Result<void> push_items(const Item& item, const Vector& items);
  Result<void> push_object(const Item& item, const Table& object);
  Result<void> push_dict(const Item& item, const Table& dict);
  Result<std::string> plain_text(std::uint32_t value);
  void push(const Item& parent, std::string_view name, std::uint32_t value);
  void add(const Item& item, MetadataEntry entry);
  void add_text(const Item& item, MetadataEntry::Kind kind, const std::string& text);

  Reader& reader_;
  Checkpoint& checkpoint_;
  const Limits& limits_;
  torch::TensorTable table_;
  Vector values_, types_;
  std::vector<Item> stack_;
  std::uint64_t visits_ = 0;
};

void Lister::push(const Item& parent, std::string_view name, std::uint32_t value) {
  stack_.push_back({value, parent.path.empty() ? std::string(name) : concat(parent.path, '.', name), parent.depth + 1});
}

void Lister::add(const Item& item, MetadataEntry entry) {
  entry.key = checkpoint_.arena().text(item.path);
  checkpoint_.metadata.push_back(entry);
}

void Lister::add_text(const Item& item, MetadataEntry::Kind kind, const std::string& text) {
  MetadataEntry entry;
  entry.kind = kind;
  entry.text = checkpoint_.arena().text(text);
  add(item, entry);
}

Result<void> Lister::read_sizes(const Table& metadata, unsigned field, std::string_view what, std::vector<std::uint64_t>& out) {
  ASSAY_TRY(const Vector sizes, reader_.vector_field(metadata, field, 4));
  if (sizes.count > limits_.rank)
    return fail(Code::limit_exceeded, concat(what, " has ", sizes.count, " dimensions, the limit is ", limits_.rank));
  for (std::uint32_t i = 0; i < sizes.count; ++i) {
    ASSAY_TRY(const std::int32_t size, reader_.number<std::int32_t>(sizes.at + 4 * std::uint64_t{i}));
    if (size < 0)
      return fail(field == 3 ? Code::bad_shape : Code::bad_stride, concat(what, " holds ", size, ", which is no size in elements"));
    out.push_back(static_cast<std::uint64_t>(size));
  }
  return {};
}

Result<torch::TensorSpec> Lister::read_tensor(const Table& metadata) {
  torch::TensorSpec spec;
  ASSAY_TRY(const std::uint32_t storage, reader_.number_field<std::uint32_t>(metadata, 0));
  ASSAY_TRY(const std::int8_t type, reader_.number_field<std::int8_t>(metadata, 1));
  ASSAY_TRY(const std::int32_t offset, reader_.number_field<std::int32_t>(metadata, 2));
  ASSAY_CHECK(read_sizes(metadata, 3, "shape", spec.shape));
  ASSAY_CHECK(read_sizes(metadata, 4, "stride", spec.stride));
  if (offset < 0) return fail(Code::bad_stride, concat("storage offset ", offset, " is no position in elements"));
  spec.has_stride = true;
  spec.offset = static_cast<std::uint64_t>(offset);
  spec.dtype_text = torch::c10_type_name(type);
  spec.dtype = dtype_from_torch(spec.dtype_text).value_or(DType::unknown);
  torch::StorageId id;  // its dtype unknown: the storage itself says how large it is
  id.key = checkpoint_.arena().text(decimal(std::uint64_t{storage}));
  id.numel = storage;
  spec.storage = id;
  return spec;
}

Result<void> Lister::list_quantized(const Item& item, const Table& schema, std::uint32_t index) {
  Quantizer quantizer;
  ASSAY_TRY(const auto scales, reader_.reference(schema, 3));
  ASSAY_TRY(const auto zero_points, reader_.reference(schema, 4));
  ASSAY_TRY(quantizer.scale, reader_.number_field<double>(schema, 1));
  ASSAY_TRY(const std::int32_t zero_point, reader_.number_field<std::int32_t>(schema, 2));
  quantizer.zero_point = zero_point;
  if (scales && zero_points) {
    ASSAY_TRY(const std::int32_t axis, reader_.number_field<std::int32_t>(schema, 5));
    quantizer.axis = static_cast<std::uint32_t>(std::max(axis, 0));
    quantizer.scheme = Quantizer::Scheme::per_channel_affine;
    Tensor* const parts[] = {&quantizer.scales, &quantizer.zero_points};
    const std::uint64_t places[] = {*scales, *zero_points};
    for (std::size_t i = 0; i < 2; ++i) {
      ASSAY_TRY(const Table metadata, reader_.table(places[i]));
      ASSAY_TRY(auto spec, read_tensor(metadata));
      ASSAY_TRY(const std::uint32_t part, table_.add_spec(concat(item.path, i == 0 ? ".scales" : ".zero_points"), std::move(spec)));
      *parts[i] = checkpoint_.tensors[part];
    }
    Tensor& whole = checkpoint_.tensors[index];
    const bool fits = quantizer.axis < whole.shape.size() && quantizer.scales.numel == whole.shape[quantizer.axis] &&
                      quantizer.zero_points.numel == quantizer.scales.numel;
    if (!fits) {
      checkpoint_.refuse(whole, Finding(Code::malformed_tensor, "its scales and zero points are not one for each channel"));
      return {};
    }
    if (dtype_info(quantizer.zero_points.dtype).kind == DTypeKind::real)
      quantizer.scheme = Quantizer::Scheme::per_channel_affine_float_qparams;
  }
  checkpoint_.tensors[index].quantizer = static_cast<std::uint32_t>(checkpoint_.quantizers.size());
  checkpoint_.quantizers.push_back(quantizer);
  return {};
}

Result<void> Lister::list_tensor(const Item& item, const Table& metadata) {
  auto spec = read_tensor(metadata);
  if (!spec && spec.error().code() == Code::need_range) return fail(std::move(spec).error());
  Result<void> read;
  torch::TensorSpec known;
  if (spec) known = *std::move(spec);
  else read = fail(std::move(spec).error());
  ASSAY_TRY(const std::uint32_t index, table_.add_spec(item.path.empty() ? "tensor" : item.path, std::move(known), std::move(read)));
  ASSAY_TRY(const auto schema, reader_.reference(metadata, 6));
  if (!schema) return {};
  ASSAY_TRY(const Table quantized, reader_.table(*schema));
  return list_quantized(item, quantized, index);
}

Result<void> Lister::push_items(const Item& item, const Vector& items) {
  for (std::uint32_t i = items.count; i-- > 0;) {
    ASSAY_TRY(const std::uint32_t value, reader_.number<std::uint32_t>(items.at + 4 * std::uint64_t{i}));
    push(item, decimal(std::uint64_t{i}), value);
  }
  return {};
}

Result<void> Lister::push_object(const Item& item, const Table& object) {
  ASSAY_TRY(const std::uint32_t type_index, reader_.number_field<std::uint32_t>(object, 0));
  ASSAY_TRY(const Vector attributes, reader_.vector_field(object, 2, 4));
  Vector names;
  if (type_index < types_.count) {
    ASSAY_TRY(const Table type, reader_.table_of(types_, type_index));
    ASSAY_TRY(names, reader_.vector_field(type, 2, 4));
  }
  for (std::uint32_t i = attributes.count; i-- > 0;) {
    ASSAY_TRY(const std::uint32_t value, reader_.number<std::uint32_t>(attributes.at + 4 * std::uint64_t{i}));
    std::string name = decimal(std::uint64_t{i});
    if (i < names.count) {
      ASSAY_TRY(name, reader_.text_of(names, i, kTextBytes));
    }
    push(item, name, value);
  }
  if (attributes.count != 0) return {};
  // What __getstate__ gave: packed parameters of quantised modules.
  ASSAY_TRY(const std::uint32_t state, reader_.number_field<std::uint32_t>(object, 1));
  if (state != item.value) stack_.push_back({state, item.path, item.depth + 1});
  return {};
}

/// A dict key as a part of a name.
Result<std::string> Lister::plain_text(std::uint32_t value) {
  if (value >= values_.count) return std::string("?");
  ASSAY_TRY(const Table holder, reader_.table_of(values_, value));
  ASSAY_TRY(const std::uint8_t kind, reader_.number_field<std::uint8_t>(holder, 0));
  ASSAY_TRY(const auto at, reader_.reference(holder, 1));
  if (!at) return std::string("None");
  if (kind == text) {
    ASSAY_TRY(const Table table, reader_.table(*at));
    return reader_.text_field(table, 0, kTextBytes);
  }
  if (kind != integer) return std::string("?");
  ASSAY_TRY(const std::int64_t number, reader_.number<std::int64_t>(*at));
  return decimal(number);
}

Result<void> Lister::push_dict(const Item& item, const Table& table) {
  ASSAY_TRY(const Vector keys, reader_.vector_field(table, 0, 4));
  ASSAY_TRY(const Vector values, reader_.vector_field(table, 1, 4));
  for (std::uint32_t i = std::min(keys.count, values.count); i-- > 0;) {
    ASSAY_TRY(const std::uint32_t key, reader_.number<std::uint32_t>(keys.at + 4 * std::uint64_t{i}));
    ASSAY_TRY(const std::uint32_t value, reader_.number<std::uint32_t>(values.at + 4 * std::uint64_t{i}));
    ASSAY_TRY(const std::string name, plain_text(key));
    push(item, name, value);
  }
  return {};
}

Result<void> Lister::visit(const Item& item) {
  if (item.value >= values_.count)
    return fail(Code::malformed_tensor, concat(quote(item.path), " is value ", item.value, " of ", values_.count));
  ASSAY_TRY(const Table holder, reader_.table_of(values_, item.value));
  ASSAY_TRY(const std::uint8_t kind, reader_.number_field<std::uint8_t>(holder, 0));
  ASSAY_TRY(const auto at, reader_.reference(holder, 1));
  MetadataEntry entry;
  if (kind == none || !at) return add(item, entry), Result<void>();
  const auto table_at = [&]() { return reader_.table(*at); };
  switch (kind) {
    case integer: {
      ASSAY_TRY(entry.integer, reader_.number<std::int64_t>(*at));
      entry.kind = MetadataEntry::Kind::integer;
      add(item, entry);
      return {};
    }
    case boolean: {
      ASSAY_TRY(const std::uint8_t value, reader_.number<std::uint8_t>(*at));
      entry.kind = MetadataEntry::Kind::boolean;
      entry.boolean = value != 0;
      add(item, entry);
      return {};
    }
    case real: {
      ASSAY_TRY(entry.real, reader_.number<double>(*at));
      entry.kind = MetadataEntry::Kind::real;
      add(item, entry);
      return {};
    }
    case tensor: {
      ASSAY_TRY(const Table table, table_at());
      return list_tensor(item, table);
    }
    case text:
    case device: {
      ASSAY_TRY(const Table table, table_at());
      ASSAY_TRY(const std::string value, reader_.text_field(table, 0, kTextBytes));
      add_text(item, MetadataEntry::Kind::text, value);
      return {};
    }
    case list:
    case tuple: {
      ASSAY_TRY(const Table table, table_at());
      ASSAY_TRY(const Vector items, reader_.vector_field(table, 0, 4));
      return push_items(item, items);
    }
    case dict: {
      ASSAY_TRY(const Table table, table_at());
      return push_dict(item, table);
    }
    case object: {
      ASSAY_TRY(const Table table, table_at());
      return push_object(item, table);
    }
    case integers: {
      ASSAY_TRY(const Table table, table_at());
      ASSAY_TRY(const Vector numbers, reader_.vector_field(table, 0, 8));
      std::string json = "[";
      for (std::uint32_t i = 0; i < std::min(numbers.count, kListShown); ++i) {
        ASSAY_TRY(const std::int64_t number, reader_.number<std::int64_t>(numbers.at + 8 * std::uint64_t{i}));
        json += concat(i ? ", " : "", number);
      }
      if (numbers.count > kListShown) add_text(item, MetadataEntry::Kind::object, concat("list of ", numbers.count));
      else add_text(item, MetadataEntry::Kind::json, json + "]");
      return {};
    }
    case function: return {};
    default:
      add_text(item, MetadataEntry::Kind::object,
               kind == reals      ? "list of numbers"
               : kind == booleans ? "list of booleans"
               : kind == complex  ? "complex number"
                                  : "value");
      return {};
  }
}

Result<void> Lister::run(const Table& module) {
  ASSAY_TRY(values_, reader_.vector_field(module, 4, 4));
  ASSAY_TRY(types_, reader_.vector_field(module, 7, 4));
  ASSAY_TRY(const std::uint32_t state, reader_.number_field<std::uint32_t>(module, 3));
  stack_.push_back({state, "", 0});
  // A value may be an attribute of several objects; one that holds itself ends here.
  const std::uint64_t most = 4 * std::uint64_t{values_.count} + 1024;
  while (!stack_.empty()) {
    const Item item = std::move(stack_.back());
    stack_.pop_back();
    if (++visits_ > most || item.depth > limits_.walk_depth || item.path.size() > limits_.name_bytes) {
      checkpoint_.add(Finding(Code::limit_exceeded, concat("the module's values go on for more than ", most, " steps or ",
                                                           limits_.walk_depth, " levels; not all are listed")));
      break;
    }
    auto visited = visit(item);
    if (visited) continue;
    if (visited.error().code() == Code::need_range) return visited;
    checkpoint_.add(Finding::from(visited.error()));
  }
  table_.note_unused_bytes();
  return {};
}

}  // namespace

Probe probe_torch_mobile(const ProbeInput& input) {
  return input.head.size() >= 8 && input.head.text().substr(4).starts_with(kMagic) ? Probe{100, "PTMF at byte 4"} : Probe{};
}

Result<Checkpoint> open_torch_mobile(const OpenInput& input) {
  Checkpoint checkpoint;
  checkpoint.format = "torch-mobile";
  checkpoint.container = "flatbuffer";
  checkpoint.files.push_back({std::string(input.name), input.source->size(), input.source});
  Reader reader(*input.source);
  ASSAY_TRY(const Table module, reader.root());
  ASSAY_TRY(const std::uint32_t version, reader.number_field<std::uint32_t>(module, 0));
  ASSAY_TRY(const Vector storage_list, reader.vector_field(module, 6, 4));
  torch::PickleInfo no_pickle;
  no_pickle.graph = std::make_shared<const pickle::Graph>(pickle::parse(ByteView(), input.limits));
  MobileStorages storages(reader, storage_list);
  MetadataEntry entry;
  entry.kind = MetadataEntry::Kind::integer;
  entry.key = "bytecode_version";
  entry.integer = version;
  checkpoint.metadata.push_back(entry);
  ASSAY_CHECK(Lister(reader, checkpoint, no_pickle, storages, input.limits).run(module));
  if (checkpoint.tensors.empty()) checkpoint.add(Finding(Code::no_tensors, "the module holds no tensors"));
  return checkpoint;
}

}  // namespace assay::formats
