// SPDX-License-Identifier: Apache-2.0
// <root>/model.json    a protobuf message as JSON; 64-bit integers are texts, fields of value zero may be missing:
//   {"protoVersion": "5", "producerName": …, "mainModule": Module, "tensors": [Tensor, …]}
//   Module  {"name": …, "submodules": [Module, …], "parameters": [{"name": …, "tensorId": "0", "isBuffer": false}, …],
//            "attributes": [{"name": …, "type": …, "id": "0"}, …]}
//   Tensor  {"dims": ["2", "3"], "strides": ["3", "1"], "offset": "0", "dataType": "FLOAT", "requiresGrad": true, "data": {"key":
//   "tensors/0"},
//            "isQuantized": false, "scale": 1, "zeroPoint": "0"}
// <root>/tensors/<n>   the bytes of a storage, which several tensors may look into; offset and strides in elements
// <root>/attributes.pkl   a list or tuple of the attributes' values; tensors among them by their number in the table above
#include "formats/torch_model_json.hpp"

#include <algorithm>
#include <iterator>
#include <optional>

#include "base/arena.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "containers/json.hpp"
#include "formats/torch/nodes.hpp"

namespace assay::formats {

namespace {

constexpr torch::StoragePlace kRecords[] = {{"", ""}};  // keys are whole record names

// caffe2's names of element types.
constexpr struct {
  std::string_view name;
  DType dtype, quantized;
} kTypes[] = {
    {"FLOAT", DType::f32, DType::unknown},  {"DOUBLE", DType::f64, DType::unknown}, {"FLOAT16", DType::f16, DType::unknown},
    {"INT32", DType::i32, DType::qi32},     {"INT64", DType::i64, DType::unknown},  {"INT16", DType::i16, DType::unknown},
    {"INT8", DType::i8, DType::qi8},        {"UINT8", DType::u8, DType::qu8},       {"BYTE", DType::u8, DType::qu8},
    {"UINT16", DType::u16, DType::unknown}, {"BOOL", DType::bool_, DType::unknown}, {"BFLOAT16", DType::bf16, DType::unknown},
};

struct TableTensor {
  std::vector<std::int64_t> dims, strides;
  std::int64_t offset = 0, zero_point = 0;
  double scale = 1;
  bool quantized = false, requires_grad = false;
  std::string type, key;
};
struct Module {
  std::size_t parent;  // itself for the main module
  std::string name;
};
struct Member {
  std::size_t module;
  std::string name;
  std::int64_t id = 0;
  bool buffer = false;
};

// Objects are told by the key they stand under; where the reader is, is a stack of these.
class Reader final : public json::Handler {
 public:
  std::vector<TableTensor> tensors;
  std::vector<Module> modules;
  std::vector<Member> parameters, attributes;
  std::int64_t version = 0;
  std::string producer;

  bool null() override { return true; }
  bool boolean(bool value) override {
    const std::string_view k = key_of_value();
    if (at("tensors") && k == "isQuantized") tensors.back().quantized = value;
    if (at("tensors") && k == "requiresGrad") tensors.back().requires_grad = value;
    if (at("parameters") && k == "isBuffer") parameters.back().buffer = value;
    return true;
  }
  bool number(std::string_view text) override {
    if (at("tensors") && key_of_value() == "scale") tensors.back().scale = json::to_f64(text);
    return value(text);
  }
  bool string(std::string_view text) override {
    const std::string_view k = key_of_value();
    if (at("tensors") && k == "dataType") tensors.back().type = text;
    if (at("data") && k == "key" && !tensors.empty()) tensors.back().key = text;
    if (k == "name" && in_module()) modules[frames_.back().module].name = text;
    if (k == "name" && at("parameters")) parameters.back().name = text;
    if (k == "name" && at("attributes")) attributes.back().name = text;
    if (k == "producerName" && frames_.size() == 1) producer = text;
    return value(text);
  }
  bool key(std::string_view text) override {
    frames_.back().key = text;
    return true;
  }
  bool start_object() override {
    const std::string name = frames_.empty() ? std::string() : frames_.back().key;
    Frame frame{.kind = name, .key = {}, .module = module()};
    if (frames_.size() == 1 && name == "mainModule") {
      modules.push_back({0, {}});
      frame.module = 0;
    } else if (name == "submodules" && in_module()) {
      modules.push_back({module(), {}});
      frame.module = modules.size() - 1;
    } else if (name == "tensors" && frames_.size() == 1) {
      tensors.emplace_back();
    } else if (name == "parameters" && in_module()) {
      parameters.push_back({module(), {}});
    } else if (name == "attributes" && in_module()) {
      attributes.push_back({module(), {}});
    } else if (!(name == "data" && at("tensors")) && !frames_.empty()) {
      frame.kind = "?";
    }
    frames_.push_back(std::move(frame));
    return true;
  }
  bool end_object() override {
    frames_.pop_back();
    return true;
  }
  bool start_array() override { return true; }
  bool end_array() override { return true; }

 private:
  struct Frame {
    std::string kind;  // the key of the object, "?" for one that says nothing here
    std::string key;   // of the member at hand
    std::size_t module;
  };
  std::string_view key_of_value() const { return frames_.empty() ? std::string_view() : std::string_view(frames_.back().key); }
  bool at(std::string_view kind) const { return !frames_.empty() && frames_.back().kind == kind; }
  bool in_module() const { return at("mainModule") || at("submodules"); }
  std::size_t module() const { return frames_.empty() ? 0 : frames_.back().module; }
  bool value(std::string_view text) {
    const auto n = json::to_i64(text);
    if (!n) return true;
    const std::string_view k = key_of_value();
    if (at("tensors")) {
      TableTensor& tensor = tensors.back();
      if (k == "dims") tensor.dims.push_back(*n);
      if (k == "strides") tensor.strides.push_back(*n);
      if (k == "offset") tensor.offset = *n;
      if (k == "zeroPoint") tensor.zero_point = *n;
    }
    if (at("parameters") && k == "tensorId") parameters.back().id = *n;
    if (at("attributes") && k == "id") attributes.back().id = *n;
    if (k == "protoVersion" && frames_.size() == 1) version = *n;
    return true;
  }

  std::vector<Frame> frames_;
};

class Lister {
 public:
  Lister(const torch::Archive& archive, Checkpoint& checkpoint, const Reader& model, const torch::PickleInfo& no_pickle,
         torch::StorageSource& storages)
      : archive_(archive), checkpoint_(checkpoint), model_(model), table_(checkpoint, no_pickle, storages, archive.limits) {}
  Result<void> run();

 private:
  std::string path(const Member& member) const;
  Result<void> add(const std::string& name, std::int64_t id, bool parameter);
  Result<void> list_attributes();
  Result<void> list_attribute(const Member& member, const torch::Graph& graph, torch::Node value);

  const torch::Archive& archive_;
  Checkpoint& checkpoint_;
  const Reader& model_;
  torch::TensorTable table_;
};

std::string Lister::path(const Member& member) const {
  std::string path = member.name;
  for (std::size_t m = member.module; m != 0; m = model_.modules[m].parent) path = concat(model_.modules[m].name, '.', path);
  return path;
}

Result<void> Lister::add(const std::string& name, std::int64_t id, bool parameter) {
  torch::TensorSpec spec;
  Result<void> read;
  spec.parameter = parameter;
  const bool known = id >= 0 && static_cast<std::uint64_t>(id) < model_.tensors.size();
  const TableTensor none{}, &tensor = known ? model_.tensors[static_cast<std::size_t>(id)] : none;
  if (!known) read = fail(Code::malformed_tensor, concat("it is tensor ", id, " of ", model_.tensors.size()));
  for (const auto* const list : {&tensor.dims, &tensor.strides}) {
    for (const std::int64_t n : *list) {
      if (n < 0 && read)
        read = fail(list == &tensor.dims ? Code::bad_shape : Code::bad_stride, concat("it holds ", n, ", which is no size in elements"));
      (list == &tensor.dims ? spec.shape : spec.stride).push_back(static_cast<std::uint64_t>(std::max<std::int64_t>(n, 0)));
    }
  }
  if (tensor.offset < 0 && read) read = fail(Code::bad_stride, concat("storage offset ", tensor.offset, " is no position in elements"));
  spec.offset = static_cast<std::uint64_t>(std::max<std::int64_t>(tensor.offset, 0));
  spec.has_stride = true;
  const auto row = std::ranges::find(kTypes, std::string_view(tensor.type), [](const auto& r) { return r.name; });
  if (row != std::end(kTypes)) spec.dtype = tensor.quantized && row->quantized != DType::unknown ? row->quantized : row->dtype;
  spec.dtype_text = tensor.type;
  torch::StorageId storage;
  storage.key = checkpoint_.arena().text(tensor.key);
  spec.storage = storage;
  const bool quantized = tensor.quantized && read.has_value();
  ASSAY_TRY(const std::uint32_t index, table_.add_spec(name, std::move(spec), std::move(read)));
  if (!quantized) return {};
  checkpoint_.tensors[index].quantizer = static_cast<std::uint32_t>(checkpoint_.quantizers.size());
  Quantizer quantizer;
  quantizer.scale = tensor.scale;
  quantizer.zero_point = tensor.zero_point;
  checkpoint_.quantizers.push_back(quantizer);
  return {};
}

Result<void> Lister::list_attribute(const Member& member, const torch::Graph& graph, torch::Node value) {
  const std::string name = path(member);
  if (torch::kind_of(graph, value) == torch::Kind::call) {
    const std::string_view callable = torch::global_name(graph, graph.callable(value)).name;
    const auto id = torch::integer_of(graph, torch::item_at(graph, graph.args(value), 0));
    if ((callable == "build_tensor_from_id" || callable == "TensorID") && id) return add(name, *id, false);
  }
  MetadataEntry entry;
  entry.key = checkpoint_.arena().text(name);
  entry.kind = MetadataEntry::Kind::object;
  if (const auto number = torch::integer_of(graph, value)) entry.kind = MetadataEntry::Kind::integer, entry.integer = *number;
  else if (torch::kind_of(graph, value) == torch::Kind::boolean)
    entry.kind = MetadataEntry::Kind::boolean, entry.boolean = graph.boolean(value);
  else if (torch::kind_of(graph, value) == torch::Kind::real) entry.kind = MetadataEntry::Kind::real, entry.real = graph.real(value);
  else if (torch::kind_of(graph, value) == torch::Kind::text)
    entry.kind = MetadataEntry::Kind::text, entry.text = checkpoint_.arena().text(graph.text(value));
  else entry.text = checkpoint_.arena().text(pickle::describe(graph, value));
  checkpoint_.metadata.push_back(entry);
  return {};
}

Result<void> Lister::list_attributes() {
  const zip::Member* const member = archive_.find("attributes.pkl");
  if (member == nullptr) return {};
  auto block = zip::read_member(*archive_.source, *member, zip::most_parsed(*member, archive_.limits), archive_.limits);
  if (!block && block.error().code() == Code::need_range) return fail(std::move(block).error());
  if (!block) return checkpoint_.add(Finding::from(std::move(block).error().in_member(member->name))), Result<void>();
  const torch::Graph graph = pickle::parse(*std::move(block), archive_.limits);
  if (graph.broken()) {
    Finding finding = Finding::from(*graph.broken());
    finding.where.member = member->name;
    checkpoint_.add(std::move(finding));
  }
  const torch::Node root = graph.salvage_root();
  for (const Member& attribute : model_.attributes)
    if (attribute.id >= 0)
      ASSAY_CHECK(list_attribute(attribute, graph, torch::item_at(graph, root, static_cast<std::size_t>(attribute.id))));
  return {};
}

Result<void> Lister::run() {
  for (const Member& parameter : model_.parameters) ASSAY_CHECK(add(path(parameter), parameter.id, !parameter.buffer));
  ASSAY_CHECK(list_attributes());
  table_.note_unused_bytes();
  return {};
}

}  // namespace

bool has_model_json(const torch::Archive& archive) { return archive.find("model.json") != nullptr && archive.find("data.pkl") == nullptr; }

Result<void> list_model_json(const torch::Archive& archive, Checkpoint& checkpoint) {
  const zip::Member& member = *archive.find("model.json");
  auto block = zip::read_member(*archive.source, member, archive.limits.json_bytes, archive.limits);
  if (!block) return fail(std::move(block).error().in_member(member.name));
  Reader model;
  if (auto parsed = json::parse(block->view(), model, archive.limits); !parsed)
    return fail(std::move(parsed).error().in_member(member.name));
  if (model.modules.empty())
    return fail(Error(Code::zip_without_checkpoint, "an archive with model.json, which describes no torch module").in_member(member.name));
  MetadataEntry entry;
  entry.kind = MetadataEntry::Kind::integer;
  entry.key = "protoVersion";
  entry.integer = model.version;
  checkpoint.metadata.push_back(entry);
  torch::PickleInfo no_pickle;
  no_pickle.graph = std::make_shared<const pickle::Graph>(pickle::parse(ByteView(), archive.limits));
  no_pickle.member = checkpoint.arena().text(member.name);
  const auto storages = torch::make_zip_storages(archive, checkpoint.arena(), kRecords);
  return Lister(archive, checkpoint, model, no_pickle, *storages).run();
}

}  // namespace assay::formats
