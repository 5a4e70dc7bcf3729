// SPDX-License-Identifier: Apache-2.0
// Is this file what it says it is? A list of checks, each with a verdict: what was looked at and is right, what is wrong, what could not be
// looked at and why.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/model_config.hpp"
#include "analysis/verify/pass.hpp"
#include "assay/checkpoint.hpp"
#include "model/byte_map.hpp"

namespace assay::analysis {

enum class CheckVerdict : std::uint8_t { pass, fail, skip };
std::string_view check_verdict_name(CheckVerdict verdict);

struct Check {
  std::string name;  ///< "crc-32"
  CheckVerdict verdict = CheckVerdict::pass;
  std::string detail = {};              ///< what was looked at, what is wrong, or why it was skipped
  std::vector<std::string> wrong = {};  ///< of a failure: each thing that is, at most kMostWrong
  static constexpr std::size_t kMostWrong = 100;
};

/// What headers say, of themselves and of each other: structure, bytes-owned, sizes, local-headers, shards, config.
/// New findings are added to `findings`. Fails only as reading does. Cost: a zip's local headers are read, and
/// the zeros that a file ends in.
Result<std::vector<Check>> check_headers(const Checkpoint& checkpoint, std::span<const model::ByteMap> maps, const ModelConfig& config,
                                         Findings& findings, const Limits& limits = {});

/// Layers, hidden size and vocabulary against config.json, where it was found and the names allow it.
Check check_config(const Checkpoint& checkpoint, const ModelConfig& config);

/// What a finished pass says: crc-32, and values where it looked at them.
Result<std::vector<Check>> check_contents(const Checkpoint& checkpoint, const Pass& pass, bool values, Findings& findings);

/// A digest that somebody says a file has.
struct Expected {
  std::uint32_t file = 0;  ///< into Checkpoint::files
  std::string sha256;      ///< 64 lower-case digits
  std::string from;        ///< who says so: "SHA256SUMS", "its name"
  std::optional<std::uint64_t> size;
};
/// One check for each, against the digest that was computed (64 lower-case digits).
Check check_digest(const Expected& expected, std::string_view file, std::uint64_t size, std::string_view sha256);
/// Where nobody says any.
Check no_digest();

/// True for 64 hexadecimal digits.
bool is_sha256(std::string_view text);
/// The digest and size in a Git LFS pointer. Fails with `bad-header` when it is none.
Result<Expected> read_lfs_pointer(std::string_view text);
/// Lines "<digest>  <name>" or "<digest> *<name>" as sha256sum writes them, and "SHA256 (<name>) = <digest>" as BSD's does.
struct Sum {
  std::string sha256, name;
};
std::vector<Sum> read_sums(std::string_view text);

}  // namespace assay::analysis
