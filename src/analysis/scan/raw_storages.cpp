// SPDX-License-Identifier: Apache-2.0
#include "analysis/scan/raw_storages.hpp"

#include <algorithm>
#include <array>

#include "analysis/scan/storage_text.hpp"
#include "base/arith.hpp"
#include "base/endian.hpp"
#include "base/text.hpp"
#include "base/try.hpp"

namespace assay::scan {

using pickle::Graph;
using pickle::Kind;
using pickle::Node;

namespace {

// 0x1950a86a20f9469cfc6c
constexpr unsigned char kMagic[] = {0x6c, 0xfc, 0x9c, 0x46, 0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19};
constexpr std::uint32_t kLegacyPickles = 5;

constexpr struct {
  std::string_view name;
  std::uint8_t bytes;
} kStorages[] = {{"DoubleStorage", 8},      {"FloatStorage", 4},    {"HalfStorage", 2},         {"BFloat16Storage", 2},
                 {"LongStorage", 8},        {"IntStorage", 4},      {"ShortStorage", 2},        {"CharStorage", 1},
                 {"ByteStorage", 1},        {"BoolStorage", 1},     {"ComplexFloatStorage", 8}, {"ComplexDoubleStorage", 16},
                 {"ComplexHalfStorage", 4}, {"QInt8Storage", 1},    {"QUInt8Storage", 1},       {"QInt32Storage", 4},
                 {"QUInt4x2Storage", 1},    {"QUInt2x4Storage", 1}, {"UntypedStorage", 1},      {"_UntypedStorage", 1},
                 {"UInt16Storage", 2},      {"UInt32Storage", 4},   {"UInt64Storage", 8}};

std::string key_text(const Graph& graph, Node key) {
  return graph.kind(key) == Kind::integer ? decimal(graph.integer(key)) : std::string(graph.text(key));
}

}  // namespace

bool is_torch_magic(const Graph& graph) {
  if (graph.kind(graph.root()) != Kind::big_integer) return false;
  const ByteView bytes = graph.bytes(graph.root());
  if (bytes.size() < sizeof kMagic) return false;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    if (bytes[i] != std::byte{i < sizeof kMagic ? kMagic[i] : static_cast<unsigned char>(0)}) return false;
  return true;
}

std::optional<std::uint64_t> storage_element_size(std::string_view class_name) {
  for (const auto& row : kStorages)
    if (row.name == class_name) return row.bytes;
  return std::nullopt;
}

void RawStorages::take(const Graph& graph, std::uint32_t number) {
  keys_follow_ = false;
  if (layout_ != Layout::plain) return take_tar(graph, number);
  const bool between = legacy_ && number < legacy_first_ + kLegacyPickles;
  if (!between && is_torch_magic(graph)) {
    legacy_ = true;
    legacy_first_ = number;
    claims_.clear();
    return;
  }
  if (!between) return;
  if (number == legacy_first_ + 3) take_object(graph);
  if (number != legacy_first_ + 4) return;
  keys_.clear();
  numbered_.clear();
  const Node root = graph.root();
  for (std::size_t i = 0; graph.kind(root) == Kind::list && i < graph.length(root); ++i) {
    keys_.push_back(key_text(graph, graph.item(root, i)));
    if (graph.kind(graph.item(root, i)) == Kind::integer && numbered_.empty()) numbered_ = keys_.back();
  }
  keys_follow_ = true;
}

void RawStorages::take_object(const Graph& graph) {
  for (const pickle::Event& event : graph.events()) {
    if (event.kind != pickle::EventKind::persistent) continue;
    const Node id = graph.item(event.node, 0);
    if (graph.kind(id) == Kind::text) {
      if (const auto storage = read_storage_text(graph.text(id)))
        claims_.try_emplace(std::string(storage->key), Claim{.element_size = *storage_element_size(storage->class_name)});
      continue;
    }
    if (graph.kind(id) != Kind::tuple || graph.length(id) < 5 || graph.text(graph.item(id, 0)) != "storage") continue;
    const auto size = storage_element_size(graph.global(graph.item(id, 1)).name);
    const Node numel = graph.item(id, 4);
    if (size && graph.text(graph.item(id, 2)).size() <= kMostStorageKey)
      claims_.try_emplace(key_text(graph, graph.item(id, 2)), Claim{*size, graph.kind(numel) == Kind::integer ? graph.integer(numel) : -1});
  }
}

void RawStorages::take_tar(const Graph& graph, std::uint32_t number) {
  tar_element_ = 0;
  const Node root = graph.root();
  if (number == 1) {
    if (graph.kind(root) == Kind::integer && graph.integer(root) > 0) tar_count_ = static_cast<std::uint64_t>(graph.integer(root));
    return;
  }
  if (number - 1 > tar_count_ || graph.kind(root) != Kind::tuple) return;
  if (layout_ == Layout::tar_tensors) {
    tar_element_ = 1;
    return;
  }
  for (std::size_t i = 0; i < graph.length(root); ++i)
    if (const auto size = storage_element_size(graph.global(graph.item(root, i)).name)) tar_element_ = *size;
}

Result<RawStorages::Step> RawStorages::step_over(const ByteSource& source, std::uint64_t position, std::uint32_t) {
  if (keys_follow_) return step_storages(source, position);
  if (tar_element_ != 0) return step_tar(source, position);
  return Step{};
}

Result<RawStorages::Step> RawStorages::step_storages(const ByteSource& source, std::uint64_t position) const {
  Step step;
  std::uint64_t at = position;
  if (!numbered_.empty()) step.refusal = concat("storage key ", numbered_, " not found in deserialized_objects");
  for (const std::string& key : keys_) {
    const auto claim = claims_.find(key);
    if (claim == claims_.end()) {
      step.broken =
          Error(Code::malformed_pickle, concat("the list of storages names ", quote(key), ", which no tensor refers to")).at(position);
      return step;
    }
    if (!within(at, 8, source.size())) {
      step.broken = Error(Code::truncated, concat("the file ends before storage ", quote(key))).at(at);
      return step;
    }
    std::array<std::byte, 8> count_bytes;
    ASSAY_CHECK(source.read(at, count_bytes));
    const std::uint64_t count = load_le<std::uint64_t>(count_bytes.data());
    at += 8;
    const auto& [element_size, numel] = claim->second;
    if (numel >= 0 && count != static_cast<std::uint64_t>(numel) && step.refusal.empty())
      step.refusal = concat("storage has wrong byte size: ", quote(key), " has ", count, " elements, its id says ", numel);
    const auto bytes = checked_mul(count, element_size);
    if (!bytes || !within(at, *bytes, source.size())) {
      step.broken =
          Error(Code::truncated, concat("storage ", quote(key), " claims ", count, " elements, ", source.size() - at, " bytes are left"))
              .at(at - 8);
      return step;
    }
    at += *bytes;
  }
  step.bytes = at - position;
  return step;
}

Result<RawStorages::Step> RawStorages::step_tar(const ByteSource& source, std::uint64_t position) const {
  Step step;
  std::array<std::byte, 8> head;
  if (!within(position, head.size(), source.size())) {
    step.broken = Error(Code::truncated, "the member ends before the bytes of a tensor").at(position);
    return step;
  }
  ASSAY_CHECK(source.read(position, head));
  std::optional<std::uint64_t> bytes;
  if (layout_ == Layout::tar_tensors)
    bytes = checked_mul(load_le<std::uint32_t>(head.data()), 16), bytes = bytes ? checked_add(*bytes, 16) : bytes;
  else bytes = checked_mul(load_le<std::uint64_t>(head.data()), tar_element_), bytes = bytes ? checked_add(*bytes, 8) : bytes;
  if (!bytes || !within(position, *bytes, source.size())) {
    step.broken = Error(Code::truncated, concat("a storage needs more than the ", source.size() - position, " bytes left")).at(position);
    return step;
  }
  step.bytes = *bytes;
  return step;
}

}  // namespace assay::scan
