// SPDX-License-Identifier: Apache-2.0
// Since torch 2.8, records in a root folder:
//
//   archive_format "pt2", archive_version "0", models/<name>.json: the graph
//   data/weights/<name>_weights_config.json     {"config": {"fc.weight": {"path_name": "weight_0", "is_param": true,
//                                                "use_pickle": false, "tensor_meta": {"dtype": 7, "sizes": [{"as_int": 2}, …],
//                                                "strides": [{"as_int": 1}], "storage_offset": {"as_int": 0}, …}}, …}}
//   data/weights/weight_<i>                     a storage's bytes, or a torch.save file where use_pickle is true
//   data/constants/<name>_constants_config.json the same form; data/constants/tensor_<i>, custom_obj_<i> (no tensors)
//   data/weights/<name>.pt data/constants/<name>.pt   for a time: a torch.save file of all of them instead
//   data/sample_inputs/<name>.pt                no weights
//   data/aotinductor/<name>/weights_config.json {"fc.weight": ["weight_0", [2, 3], [3, 1], 0], …}: record, sizes, strides, offset; its
//   weight_<i>
//                                               are torch.save files (torch/aoti_weights.hpp)
//
// Before, without a root folder, written by Python's zipfile:
//
//   serialized_exported_program.json serialized_state_dict.pt serialized_constants.pt serialized_example_inputs.pt   torch.save files
#include "formats/torch_export.hpp"

#include <algorithm>
#include <optional>

#include "base/arena.hpp"
#include "base/arith.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "containers/json.hpp"
#include "formats/torch/aoti_weights.hpp"
#include "formats/torch/nested_file.hpp"
#include "formats/torch_zip.hpp"

namespace assay::formats {

namespace {

using torch::Archive;

constexpr std::string_view kProgram = "serialized_exported_program.json";
constexpr std::size_t kNestedFiles = 10'000;  // of one program: each is an archive of its own

// torch._export's own numbers, other than those of c10.
constexpr struct {
  std::uint64_t number;
  DType dtype;
} kDTypes[] = {
    {1, DType::u8},       {2, DType::i8},   {3, DType::i16},      {4, DType::i32},      {5, DType::i64},          {6, DType::f16},
    {7, DType::f32},      {8, DType::f64},  {9, DType::c32},      {10, DType::c64},     {11, DType::c128},        {12, DType::bool_},
    {13, DType::bf16},    {28, DType::u16}, {29, DType::f8_e4m3}, {30, DType::f8_e5m2}, {31, DType::f8_e4m3fnuz}, {32, DType::f8_e5m2fnuz},
    {33, DType::f8_e8m0}, {34, DType::u32}, {35, DType::u64},
};

using Number = std::optional<std::uint64_t>;  // nothing where it is symbolic, negative or missing

struct Entry {
  std::string name, path;
  bool parameter = false, pickled = false;
  Number dtype{}, offset = 0;
  std::vector<Number> sizes, strides;
};

// {"config": {name: entry}}: `keys_` holds the key that each open object is at.
class ConfigReader final : public json::Handler {
 public:
  std::vector<Entry> entries;

  bool null() override { return true; }
  bool boolean(bool value) override {
    if (at(3) && keys_[2] == "is_param") entry().parameter = value;
    if (at(3) && keys_[2] == "use_pickle") entry().pickled = value;
    return true;
  }
  bool number(std::string_view text) override {
    if (!in_meta()) return true;
    const Number value = json::to_u64(text);
    if (keys_[3] == "dtype" && at(4)) entry().dtype = value;
    if (keys_.back() != "as_int") return true;
    if (keys_[3] == "storage_offset") entry().offset = value;
    if (std::vector<Number>* const list = list_of_meta(); list && !list->empty()) list->back() = value;
    return true;
  }
  bool string(std::string_view text) override {
    if (at(3) && keys_[2] == "path_name") entry().path = text;
    return true;
  }
  bool key(std::string_view text) override {
    keys_.back() = text;
    if (at_entry()) entries.emplace_back().name = text;
    return true;
  }
  bool start_object() override {
    if (in_meta() && at(4))
      if (std::vector<Number>* const list = list_of_meta()) list->push_back(std::nullopt);
    keys_.emplace_back();
    return true;
  }
  bool end_object() override {
    keys_.pop_back();
    return true;
  }
  bool start_array() override { return true; }
  bool end_array() override { return true; }

 private:
  bool at_entry() const { return keys_.size() == 2 && keys_[0] == "config"; }
  bool at(std::size_t depth) const { return keys_.size() == depth && !entries.empty(); }
  bool in_meta() const { return keys_.size() >= 4 && keys_[0] == "config" && keys_[2] == "tensor_meta" && !entries.empty(); }
  Entry& entry() { return entries.back(); }
  std::vector<Number>* list_of_meta() { return keys_[3] == "sizes" ? &entry().sizes : keys_[3] == "strides" ? &entry().strides : nullptr; }

  std::vector<std::string> keys_;
};

// A failure of one part, told unless the host must supply bytes first.
Result<void> tell(Checkpoint& checkpoint, Error error, std::string_view member) {
  if (error.code() == Code::need_range) return fail(std::move(error));
  checkpoint.add(Finding::from(std::move(error).in_member(member)));
  return {};
}

// One folder of the archive's data: weights or constants.
class Folder {
 public:
  Folder(const Archive& archive, std::string_view folder, Checkpoint& checkpoint)
      : archive_(archive), checkpoint_(checkpoint), folder_(checkpoint.arena().text(folder)), places_{{folder_, ""}} {}

  /// `member` lists tensors, whose names get `prefix`.
  Result<void> list(const zip::Member& member, const std::string& prefix);

 private:
  Result<void> add(torch::TensorTable& table, const Entry& entry, const std::string& prefix, std::string_view member);

  const Archive& archive_;
  Checkpoint& checkpoint_;
  std::string_view folder_;
  torch::StoragePlace places_[1];
  std::size_t nested_ = 0;
};

Result<void> Folder::list(const zip::Member& member, const std::string& prefix) {
  const std::string_view name = checkpoint_.arena().text(member.name);
  auto block = zip::read_member(*archive_.source, member, archive_.limits.json_bytes, archive_.limits);
  if (!block) return tell(checkpoint_, std::move(block).error(), name);
  ConfigReader config;
  if (auto parsed = json::parse(block->view(), config, archive_.limits); !parsed)
    ASSAY_CHECK(tell(checkpoint_, std::move(parsed).error(), name));

  torch::PickleInfo no_pickle;
  no_pickle.graph = std::make_shared<const pickle::Graph>(pickle::parse(ByteView(), archive_.limits));
  no_pickle.member = name;
  const auto storages = torch::make_zip_storages(archive_, checkpoint_.arena(), places_);
  torch::TensorTable table(checkpoint_, no_pickle, *storages, archive_.limits);
  for (const Entry& entry : config.entries) ASSAY_CHECK(add(table, entry, prefix, name));
  table.note_unused_bytes();
  return {};
}

Result<void> Folder::add(torch::TensorTable& table, const Entry& entry, const std::string& prefix, std::string_view member) {
  const zip::Member* const record = archive_.find(concat(folder_, entry.path));
  if (entry.path.starts_with("custom_obj_") || entry.path.starts_with("opaque_obj_")) return {};
  const std::string name = prefix + entry.name;
  if (entry.pickled && record != nullptr) {
    if (++nested_ > kNestedFiles)
      return tell(checkpoint_, Error(Code::limit_exceeded, concat("more than ", kNestedFiles, " files within the file")), member);
    return torch::list_nested_file(archive_, *record, name, checkpoint_);
  }
  torch::TensorSpec spec;
  spec.parameter = entry.parameter;
  const auto row = std::ranges::find(kDTypes, entry.dtype.value_or(0), [](const auto& r) { return r.number; });
  if (row != std::end(kDTypes)) spec.dtype = row->dtype;
  const std::string dtype_text = concat("dtype ", entry.dtype.value_or(0));
  spec.dtype_text = dtype_text;
  bool known = entry.offset.has_value() && entry.sizes.size() == entry.strides.size();
  for (const auto* const list : {&entry.sizes, &entry.strides}) {
    for (const Number& number : *list) {
      known = known && number.has_value();
      (list == &entry.sizes ? spec.shape : spec.stride).push_back(number.value_or(0));
    }
  }
  spec.offset = entry.offset.value_or(0);
  spec.has_stride = true;
  torch::StorageId id;
  id.key = checkpoint_.arena().text(entry.path);
  if (record != nullptr && record->size == 0) id.location = "meta";
  spec.storage = id;
  Result<void> read;
  if (!known) read = fail(Code::bad_shape, "its sizes, strides and offset are not all numbers");
  ASSAY_CHECK(table.add_spec(name, std::move(spec), std::move(read)));
  return {};
}

// "data/weights/model_weights_config.json" with "_weights_config.json" is "model"; nothing for other records.
std::optional<std::string_view> stem(std::string_view record, std::string_view folder, std::string_view ending) {
  if (!record.starts_with(folder) || !record.ends_with(ending) || record.size() <= folder.size() + ending.size()) return std::nullopt;
  return record.substr(folder.size(), record.size() - folder.size() - ending.size());
}

/// Storages are there, and nothing that says which tensors they hold: neither a list of theirs nor one of compiled code.
void tell_unlisted(const Archive& archive, std::string_view folder, std::string_view ending, Checkpoint& checkpoint) {
  std::uint64_t storages = 0, bytes = 0;
  const zip::Member* first = nullptr;
  for (const zip::Member& member : archive.directory.members) {
    if (!member.name.starts_with(archive.base)) continue;
    const std::string_view record = member.name.substr(archive.base.size());
    if (stem(record, folder, ending) || record.ends_with("/weights_config.json") ||
        (stem(record, folder, ".pt") && record.find('/', folder.size()) == record.npos))
      return;
    const std::string_view name = record.starts_with(folder) ? record.substr(folder.size()) : std::string_view();
    if (!name.starts_with("weight_") && !name.starts_with("tensor_")) continue;
    if (storages++ == 0) first = &member;
    bytes = checked_add(bytes, member.size).value_or(bytes);
  }
  if (first == nullptr) return;
  checkpoint.add(Finding(Code::missing_metadata,
                         concat("the list of tensors ", folder, '*', ending, " is not in the archive, so that its ",
                                counted(storages, "storage", "storages"), " of ", grouped(bytes), " bytes in ", folder, " cannot be told"),
                         {.member = std::string(first->name), .offset = first->header_offset}));
}

}  // namespace

bool is_torch_export(Archive& archive) {
  if (archive.find("archive_format") != nullptr) return true;
  const zip::Directory& directory = archive.directory;
  if (directory.find(kProgram) == nullptr && directory.find("archive_format") == nullptr) return false;
  archive.base.clear();
  return true;
}

Result<void> list_torch_export(const Archive& archive, Checkpoint& checkpoint) {
  if (const zip::Member* const state = archive.find("serialized_state_dict.pt"))
    ASSAY_CHECK(torch::list_nested_file(archive, *state, "", checkpoint));
  if (const zip::Member* const constants = archive.find("serialized_constants.pt"))
    ASSAY_CHECK(torch::list_nested_file(archive, *constants, "constants", checkpoint));

  struct Kind {
    std::string_view folder, ending, prefix;
  };
  constexpr Kind kKinds[] = {{"data/weights/", "_weights_config.json", ""}, {"data/constants/", "_constants_config.json", "constants."}};
  for (const auto& [folder, ending, prefix] : kKinds) {
    tell_unlisted(archive, folder, ending, checkpoint);
    Folder lists(archive, folder, checkpoint);
    std::size_t models = 0;
    for (const zip::Member& member : archive.directory.members)
      models += member.name.starts_with(archive.base) && stem(member.name.substr(archive.base.size()), folder, ending).has_value();
    for (const zip::Member& member : archive.directory.members) {
      if (!member.name.starts_with(archive.base)) continue;
      const std::string_view record = member.name.substr(archive.base.size());
      if (const auto model = stem(record, folder, ending)) {
        ASSAY_CHECK(lists.list(member, models > 1 ? concat(*model, ".", prefix) : std::string(prefix)));
      } else if (stem(record, folder, ".pt") && record.find('/', folder.size()) == std::string_view::npos) {
        ASSAY_CHECK(torch::list_nested_file(archive, member, prefix.substr(0, prefix.size() - !prefix.empty()), checkpoint));
      }
    }
  }
  return torch::list_aoti_weights(archive, checkpoint);
}

}  // namespace assay::formats
