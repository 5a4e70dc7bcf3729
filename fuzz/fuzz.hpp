// SPDX-License-Identifier: Apache-2.0
// What fuzz targets share. A target takes any bytes, and stops the program when the reader breaks a promise; that it reads nothing outside
// is left to the sanitizers. THE table of targets is in targets.cpp.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "assay/checkpoint.hpp"

namespace assay::fuzz {

using Bytes = std::span<const std::byte>;

struct Target {
  std::string_view name;
  void (*run)(Bytes input);
};
std::span<const Target> targets();

/// Stops the program with `promise` on standard error unless it holds.
void require(bool holds, std::string_view promise);

/// Opens the bytes as a file of this name, by content.
Result<Checkpoint> open_bytes(Bytes bytes, std::string_view name);
/// The same through one format, whether or not its probe would take them.
Result<Checkpoint> open_as(std::string_view format, Bytes bytes, std::string_view name);
/// Opens the bytes as a host does that holds nothing of them at first: it supplies the ranges that are asked for, and opens again. Stops
/// the program when a range is asked for that makes no sense, or was given before.
Result<Checkpoint> open_by_ranges(Bytes bytes, std::string_view name);

/// What must hold of every checkpoint: indices and places are in range, unreadable tensors have a reason.
void check_whole(const Checkpoint& checkpoint);
/// Reads the first and the last values of every tensor that claims to be readable.
void read_some_values(const Checkpoint& checkpoint);
/// Maps and verifies a checkpoint that was opened from bytes at hand. True when no check fails. Stops the program when a map leaves a byte
/// out or gives it away twice.
bool passes_verify(const FileSet& files, const Checkpoint& checkpoint);
/// All a checkpoint or an error says, as text, to be compared.
std::string told(const Result<Checkpoint>& opened);

// targets/*.cpp
void containers_zip(Bytes input);
void containers_pickle(Bytes input);
void containers_json(Bytes input);
void containers_inflate(Bytes input);
void formats_safetensors(Bytes input);
void formats_safetensors_header(Bytes input);
void formats_shard_index(Bytes input);
void formats_torch_zip(Bytes input);
void formats_torch_legacy(Bytes input);
void formats_torch_tar(Bytes input);
void formats_torch_mobile(Bytes input);
void formats_torch_dcp(Bytes input);
void formats_npy(Bytes input);
void formats_npz(Bytes input);
void formats_pickle(Bytes input);
void opening_ranges(Bytes input);
void opening_verify(Bytes input);
void scan_file(Bytes input);
void values_decode(Bytes input);
void values_strides(Bytes input);

}  // namespace assay::fuzz
