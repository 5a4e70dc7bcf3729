// SPDX-License-Identifier: Apache-2.0
#include "formats/torch/aoti_weights.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/arena.hpp"
#include "base/arith.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "containers/json.hpp"
#include "formats/torch/nested_file.hpp"

namespace assay::formats::torch {

namespace {

constexpr std::string_view kFolder = "data/aotinductor/", kConfig = "/weights_config.json", kWeights = "data/weights/";

struct Weight {
  std::string name, record;
  std::vector<std::uint64_t> shape, stride;
  std::uint64_t offset = 0;
  bool valid = true;
};

// {name: [record, [sizes], [strides], offset]}
class ConfigReader final : public json::Handler {
 public:
  std::vector<Weight> weights;

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number(std::string_view text) override {
    if (weights.empty()) return true;
    Weight& weight = weights.back();
    const auto value = json::to_u64(text);
    weight.valid = weight.valid && value.has_value();
    if (depth_ == 2) (lists_ == 1 ? weight.shape : weight.stride).push_back(value.value_or(0));
    else weight.offset = value.value_or(0);
    return true;
  }
  bool string(std::string_view text) override {
    if (!weights.empty() && depth_ == 1) weights.back().record = text;
    return true;
  }
  bool key(std::string_view text) override {
    weights.emplace_back().name = text;
    lists_ = 0;
    return true;
  }
  bool start_object() override { return true; }
  bool end_object() override { return true; }
  bool start_array() override {
    lists_ += ++depth_ == 2;
    return true;
  }
  bool end_array() override {
    --depth_;
    return true;
  }

 private:
  int depth_ = 0, lists_ = 0;
};

/// The tensor as the config says, on the storage of the file's own tensor.
void add_view(Checkpoint& checkpoint, const Weight& weight, const std::string& name, const Tensor& stored) {
  Tensor tensor = stored;
  tensor.name = checkpoint.arena().text(name);
  tensor.shape = checkpoint.arena().numbers(weight.shape);
  tensor.stride = checkpoint.arena().numbers(weight.stride);
  tensor.storage_offset = weight.offset;
  std::optional<std::uint64_t> numel = 1, end = checked_add(weight.offset, 1);  // in elements
  for (const std::uint64_t size : weight.shape) numel = numel ? checked_mul(*numel, size) : std::nullopt;
  tensor.numel = numel.value_or(0);
  if (!weight.valid || weight.shape.size() != weight.stride.size() || !numel || !checked_mul(*numel, 128)) {
    checkpoint.refuse(tensor, Finding(Code::bad_shape, "its sizes, strides and offset in the configuration cannot be"));
    checkpoint.tensors.push_back(tensor);
    return;
  }
  for (std::size_t d = 0; d < weight.shape.size() && end && *numel != 0; ++d) {
    const auto reach = checked_mul(weight.shape[d] - 1, weight.stride[d]);
    end = reach ? checked_add(*end, *reach) : std::nullopt;
  }
  const auto bits = end ? checked_mul(*end, dtype_bits(tensor.dtype)) : std::nullopt;
  const std::uint64_t held = tensor.storage == kNone ? 0 : checkpoint.storages[tensor.storage].nbytes;
  if (*numel != 0 && tensor.readable && (!bits || *bits / 8 + (*bits % 8 != 0) > held))
    checkpoint.refuse(tensor, Finding(Code::out_of_storage,
                                      concat("its last element lies beyond the ", grouped(held), " bytes of ", quote(weight.record))));
  if (tensor.contiguous()) tensor.stride = {};
  checkpoint.tensors.push_back(tensor);
}

class Lister {
 public:
  Lister(const Archive& archive, Checkpoint& checkpoint) : archive_(archive), checkpoint_(checkpoint) {}
  Result<void> list(const zip::Member& config, const std::string& prefix);

 private:
  Result<std::optional<Tensor>> stored(const std::string& record);

  const Archive& archive_;
  Checkpoint& checkpoint_;
  std::map<std::string, std::optional<Tensor>> stored_;  // by record: several weights may share one
};

Result<std::optional<Tensor>> Lister::stored(const std::string& record) {
  const auto found = stored_.find(record);
  if (found != stored_.end()) return found->second;
  std::optional<Tensor> tensor;
  if (const zip::Member* const member = archive_.find(concat(kWeights, record))) {
    const std::size_t before = checkpoint_.tensors.size();
    ASSAY_CHECK(list_nested_file(archive_, *member, record, checkpoint_));
    if (checkpoint_.tensors.size() == before + 1) tensor = checkpoint_.tensors.back();
    checkpoint_.tensors.resize(before);
  }
  stored_.emplace(record, tensor);
  return tensor;
}

Result<void> Lister::list(const zip::Member& config, const std::string& prefix) {
  auto block = zip::read_member(*archive_.source, config, archive_.limits.json_bytes, archive_.limits);
  if (!block && block.error().code() == Code::need_range) return fail(std::move(block).error());
  if (!block) return checkpoint_.add(Finding::from(std::move(block).error().in_member(config.name))), Result<void>();
  ConfigReader reader;
  if (auto parsed = json::parse(block->view(), reader, archive_.limits); !parsed)
    checkpoint_.add(Finding::from(std::move(parsed).error().in_member(config.name)));
  for (const Weight& weight : reader.weights) {
    ASSAY_TRY(const auto tensor, stored(weight.record));
    if (tensor) {
      add_view(checkpoint_, weight, prefix + weight.name, *tensor);
      continue;
    }
    Tensor lost;
    lost.name = checkpoint_.arena().text(prefix + weight.name);
    lost.shape = checkpoint_.arena().numbers(weight.shape);
    checkpoint_.refuse(lost, Finding(Code::missing_storage, concat("record ", quote(concat(kWeights, weight.record)),
                                                                   " is not there, or holds no single tensor")));
    checkpoint_.tensors.push_back(lost);
  }
  return {};
}

}  // namespace

Result<void> list_aoti_weights(const Archive& archive, Checkpoint& checkpoint) {
  std::vector<const zip::Member*> configs;
  std::set<std::string_view> models;
  std::uint64_t blobs = 0, blob_bytes = 0, code = 0, code_bytes = 0;
  for (const zip::Member& member : archive.directory.members) {
    if (!member.name.starts_with(archive.base)) continue;
    const std::string_view record = member.name.substr(archive.base.size());
    if (!record.starts_with(kFolder)) continue;
    models.insert(record.substr(kFolder.size(), record.find('/', kFolder.size()) - kFolder.size()));
    if (record.ends_with(kConfig)) configs.push_back(&member);
    if (record.ends_with("weights.bin") || record.ends_with("weights.blob")) ++blobs, blob_bytes += member.size;
    if (record.ends_with(".so") || record.ends_with(".o") || record.ends_with(".pyd") || record.ends_with(".dll"))
      ++code, code_bytes += member.size;
  }
  Lister lister(archive, checkpoint);
  for (const zip::Member* const config : configs) {
    const std::string_view record = config->name.substr(archive.base.size());
    const std::string_view model = record.substr(kFolder.size(), record.size() - kFolder.size() - kConfig.size());
    ASSAY_CHECK(lister.list(*config, models.size() > 1 ? concat(model, '.') : std::string()));
  }
  if (models.empty()) return {};
  std::string what = concat("compiled by AOTInductor: ", counted(models.size(), "model", "models"), ", ", counted(code, "file", "files"),
                            " of machine code, ", grouped(code_bytes), " bytes");
  if (blobs != 0) what += concat("; ", grouped(blob_bytes), " bytes of weights whose layout only that code knows");
  else if (configs.empty()) what += "; weights, if any, are in the code";
  Finding finding(Code::opaque_object, std::move(what));
  finding.facts = {{"code_bytes", code_bytes}, {"weight_bytes", blob_bytes}};
  checkpoint.add(std::move(finding));
  return {};
}

}  // namespace assay::formats::torch
