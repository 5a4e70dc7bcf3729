// SPDX-License-Identifier: Apache-2.0
// What the files of a ZeRO checkpoint say, each by itself (deepspeed.cpp has their layout).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "assay/checkpoint.hpp"

namespace assay::formats::torch {

/// One rank's file. Texts of all that follows live in it.
struct ZeroFile {
  explicit ZeroFile(Checkpoint opened);
  struct FlatGroup {
    const Tensor* tensor;
    std::uint64_t numel;
  };

  Checkpoint part;
  std::uint32_t index = 0;        ///< in the whole checkpoint's files
  std::vector<FlatGroup> groups;  ///< the rank's parts of the flat fp32 groups
  /// By the name within the file; null when there is none.
  const Tensor* find(std::string_view name) const;

 private:
  std::unordered_map<std::string_view, std::uint32_t> names_;
};

struct ZeroParameter {
  std::string_view name;
  std::vector<std::uint64_t> shape;
  std::uint64_t numel = 0;
  std::optional<Error> fault;  ///< why the shape cannot be
};
struct ZeroGroup {
  std::vector<ZeroParameter> parameters;
};

/// The most that any group says; 0 where none does.
std::uint64_t zero_partition_count(const ZeroFile& states);
/// 1 where the file does not say and is of the first two stages, 3 where it is of the third.
std::int64_t zero_stage(const ZeroFile& states);
/// Bytes of storages besides the fp32 groups.
std::uint64_t zero_other_bytes(const ZeroFile& states);
/// Why a part of a flat group cannot be joined with others; nothing when it can.
std::optional<Error> zero_part_fault(const ZeroFile& file, const Tensor& part);

std::vector<std::string_view> zero_buffers(const ZeroFile& model);
/// {name: size} of one dict of the model states.
std::vector<ZeroParameter> zero_shapes(const ZeroFile& model, std::string_view key);
/// param_shapes: a list with a dict a group; one dict in early versions. Where groups share more parameters than the file has values the
/// rest is left out, and `told` gets a finding.
std::vector<ZeroGroup> zero_parameters(const ZeroFile& model, Checkpoint& told);
/// (name, of which other): parameters that are one.
std::vector<std::pair<std::string_view, std::string_view>> zero_shared(const ZeroFile& model);

}  // namespace assay::formats::torch
