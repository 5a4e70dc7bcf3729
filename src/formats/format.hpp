// SPDX-License-Identifier: Apache-2.0
// What a format is: a row that can recognise a file by content and open it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "assay/checkpoint.hpp"

namespace assay::model {
class ByteMapBuilder;
}

namespace assay::formats {

/// What a probe may look at: the first 4 KiB and the last 64 KiB, never more.
struct ProbeInput {
  std::string_view name;  ///< the file's name in its set; content decides, a name may only break a tie
  std::uint64_t size = 0;
  ByteView head;  ///< min(size, 4096) bytes
  ByteView tail;  ///< min(size, 65536) bytes
};

struct Probe {
  int score = 0;            ///< 0 no, 50 may be, 80 by magic, 100 certain
  std::string_view reason;  ///< "8-byte length, then '{'"
};

struct OpenInput {
  const FileSet& files;
  std::string_view name;               ///< the file to open, in `files`
  std::shared_ptr<ByteSource> source;  ///< it, opened
  const Limits& limits;
};

struct Format {
  std::string_view id;          ///< stable: "torch-zip"
  std::string_view name;        ///< for people: "PyTorch checkpoint (zip, since 1.6)"
  std::string_view extensions;  ///< usual ones, for listings: ".pt .pth .bin .ckpt"
  Probe (*probe)(const ProbeInput&);
  Result<Checkpoint> (*open)(const OpenInput&);
  bool head_decides = false;  ///< its probe looks at the head only, and a score of 100 ends the search before a tail is read
  /// Tells a byte map what the format's own parts are (maps.hpp); null where it does not.
  Result<void> (*map)(model::ByteMapBuilder&, const Limits&) = nullptr;
};

/// THE table of formats, in registry.cpp.
std::span<const Format> registry();
const Format* find_format(std::string_view id);

/// What open_single may find. An index may name indexes, itself too: a file that a set is made of must hold weights, or opening never ends.
enum class Content : std::uint8_t { weights, weights_or_index };

/// Opens one file of a set by content, without looking for the set it may be a shard of. The registry's own step, also used by shard_set.
/// Fails with `json-document` for an index where only weights are wanted.
Result<Checkpoint> open_single(const FileSet& files, std::string_view name, std::shared_ptr<ByteSource> source, const Limits& limits,
                               Content content = Content::weights);

}  // namespace assay::formats
