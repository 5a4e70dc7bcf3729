// SPDX-License-Identifier: Apache-2.0
// Making small files in memory and opening them.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "assay/checkpoint.hpp"
#include "base/endian.hpp"
#include "base/text.hpp"
#include "unit/containers/zip_builder.hpp"

namespace assay::testing {

/// A safetensors file: the header as given, then `data_size` bytes 0, 1, 2, …
inline std::string safetensors(std::string_view header, std::size_t data_size) {
  std::string file(8, '\0');
  const std::uint64_t length = header.size();
  std::memcpy(file.data(), &length, 8);
  file += header;
  for (std::size_t i = 0; i < data_size; ++i) file += static_cast<char>(i);
  return file;
}

inline std::string entry(std::string_view name, std::string_view dtype, std::string_view shape, std::uint64_t begin, std::uint64_t end) {
  return concat('"', name, "\":{\"dtype\":\"", dtype, "\",\"shape\":[", shape, "],\"data_offsets\":[", begin, ',', end, "]}");
}

using Files = std::vector<std::pair<std::string, std::string>>;

inline Result<Checkpoint> open_files(const Files& files, std::string primary, const Limits& limits = {}) {
  SourceSet set("set", std::move(primary));
  for (const auto& [name, content] : files) set.add(name, std::make_shared<MemorySource>(bytes_of(content)));
  return open(set, limits);
}

inline Result<Checkpoint> open_file_named(std::string name, std::string_view content, const Limits& limits = {}) {
  return open_files({{name, std::string(content)}}, name, limits);
}

/// Everything a checkpoint says, as text, for comparison.
inline std::string describe(const Checkpoint& checkpoint) {
  std::string out = concat(checkpoint.format, ' ', checkpoint.complete ? "complete" : "incomplete", '\n');
  for (const CheckpointFile& file : checkpoint.files) out += concat("file ", file.name, ' ', file.size, '\n');
  for (const Tensor& tensor : checkpoint.tensors) {
    out += concat("tensor ", quote(tensor.name), ' ', tensor.source_dtype, '/', dtype_name(tensor.dtype), ' ', bracketed(tensor.shape), ' ',
                  tensor.numel, tensor.readable ? " readable" : " unreadable");
    if (tensor.storage != kNone) {
      const Storage& storage = checkpoint.storages[tensor.storage];
      out += concat(" file ", storage.file, " at ", storage.offset, " n ", storage.nbytes);
    }
    out += '\n';
  }
  for (const MetadataEntry& entry : checkpoint.metadata)
    out += concat("metadata ", quote(entry.key), '=', quote(entry.text), ' ', static_cast<int>(entry.kind), ' ', entry.integer, ' ',
                  entry.boolean ? 1 : 0, '\n');
  for (const Finding& finding : checkpoint.findings.list())
    out +=
        concat(severity_name(finding.severity), ' ', code_name(finding.code), ' ', finding.message, " @", finding.where.offset.value_or(0),
               '+', finding.where.length.value_or(0), ' ', finding.where.tensor, ' ', finding.where.file, '\n');
  return out;
}

inline std::string describe(const Result<Checkpoint>& result) {
  if (result) return describe(*result);
  return concat("error ", code_name(result.error().code()), ' ', result.error().what(), " @", result.error().where().offset.value_or(0));
}

inline const Finding* find(const Checkpoint& checkpoint, Code code) {
  for (const Finding& finding : checkpoint.findings.list())
    if (finding.code == code) return &finding;
  return nullptr;
}

/// The message of the first finding of this code, or of the error; "" where there is none.
inline std::string message_of(const Result<Checkpoint>& result, Code code) {
  if (!result) return result.error().code() == code ? result.error().what() : concat("another error: ", describe(result));
  const Finding* finding = find(*result, code);
  return finding ? finding->message : std::string();
}

/// The code of the error; Code::internal when there was none.
inline Code error_code(const Result<Checkpoint>& result) { return result ? Code::internal : result.error().code(); }

}  // namespace assay::testing
