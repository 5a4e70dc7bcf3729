// SPDX-License-Identifier: Apache-2.0
// Torch archives made by hand: pickles in the readable opcodes of protocol 0, in archives of any shape.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>

#include "unit/containers/zip_builder.hpp"
#include "unit/formats/torch_expected.hpp"

namespace assay::test {

using assay::testing::bytes_of;
using assay::testing::ZipBuilder;
using assay::testing::ZipMember;

using Numbers = std::initializer_list<std::string_view>;

inline std::string tuple(Numbers numbers) {
  std::string text = "(";
  for (const std::string_view number : numbers) text += "L" + std::string(number) + "L\n";
  return text + "t";
}

inline std::string global(std::string_view module, std::string_view name) {
  return "c" + std::string(module) + "\n" + std::string(name) + "\n";
}
inline std::string text(std::string_view value) { return "V" + std::string(value) + "\n"; }

/// A persistent id of the storage `key`.
inline std::string storage(std::string_view key = "0", std::string_view numel = "4", std::string_view type = "FloatStorage",
                           std::string_view location = "cpu") {
  return "(" + text("storage") + global("torch", type) + text(key) + text(location) + "L" + std::string(numel) + "L\ntQ";
}

struct View {
  std::string storage = test::storage();
  std::string offset = "0";
  std::string size = tuple({"4"});
  std::string stride = tuple({"1"});
};

inline std::string tensor(const View& view = {}) {
  return global("torch._utils", "_rebuild_tensor_v2") + "(" + view.storage + "L" + view.offset + "L\n" + view.size + view.stride + "I00\n" +
         global("collections", "OrderedDict") + "(tRtR";
}
/// The same through _rebuild_tensor_v3, with a dtype.
inline std::string tensor_v3(const View& view, std::string_view dtype) {
  return global("torch._utils", "_rebuild_tensor_v3") + "(" + view.storage + "L" + view.offset + "L\n" + view.size + view.stride +
         "I00\nN" + global("torch", dtype) + "tR";
}

/// A dict of (key, value) pickles; keys are texts.
inline std::string dict(std::initializer_list<std::pair<std::string_view, std::string>> pairs) {
  std::string out = "(d";
  for (const auto& [key, value] : pairs) out += text(key) + value + "s";
  return out;
}

inline std::vector<std::byte> numbers_1_to_4() { return bytes_of(std::string_view("\0\0\x80\x3f\0\0\0\x40\0\0\x40\x40\0\0\x80\x40", 16)); }

inline ZipBuilder archive_of(std::string_view pickle, std::string_view root = "archive") {
  ZipBuilder zip;
  zip.add(assay::testing::torch_member(std::string(root) + "/data.pkl", bytes_of(pickle)));
  zip.add(assay::testing::torch_member(std::string(root) + "/data/0", numbers_1_to_4()));
  zip.add(assay::testing::torch_member(std::string(root) + "/version", bytes_of("3\n")));
  return zip;
}

inline Result<Checkpoint> open_pickle(std::string_view pickle) { return open_bytes(archive_of(std::string(pickle) + ".").build_torch()); }

inline std::vector<std::string> names_of(const Checkpoint& checkpoint) {
  std::vector<std::string> names;
  for (const Tensor& tensor : checkpoint.tensors) names.emplace_back(tensor.name);
  return names;
}

inline const Finding* finding(const Checkpoint& checkpoint, Code code) {
  for (const Finding& finding : checkpoint.findings.list())
    if (finding.code == code) return &finding;
  return nullptr;
}

inline std::string codes_of(const Checkpoint& checkpoint) {
  std::string codes;
  for (const Finding& finding : checkpoint.findings.list()) codes += std::string(code_name(finding.code)) + " ";
  return codes;
}

inline std::optional<MetadataEntry> metadata(const Checkpoint& checkpoint, std::string_view key) {
  for (const MetadataEntry& entry : checkpoint.metadata)
    if (entry.key == key) return entry;
  return std::nullopt;
}

}  // namespace assay::test
