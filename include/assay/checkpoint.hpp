// SPDX-License-Identifier: Apache-2.0
// What is in a checkpoint: its files, storages, tensors, metadata and findings. Headers only; no tensor data is read.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "assay/finding.hpp"
#include "assay/limits.hpp"
#include "assay/source.hpp"
#include "assay/tensor.hpp"

namespace assay {

class Arena;
namespace pickle {
class Graph;
}

struct CheckpointFile {
  std::string name;  ///< in the FileSet
  std::uint64_t size = 0;
  std::shared_ptr<ByteSource> source;
};

/// One value that is not a tensor: safetensors __metadata__, an epoch, a hyper parameter. Nested containers are flattened, keys
/// joined as tensor names are; short lists of plain values stay one entry.
struct MetadataEntry {
  enum class Kind : std::uint8_t {
    null,
    boolean,
    integer,
    real,
    text,
    json,    ///< `text` is JSON: a list of plain values, or an integer beyond 64 bits
    object,  ///< something a reader cannot make plain; `text` describes it: "my_project.cfg.Config", "list of 625"
  };
  Kind kind = Kind::null;
  bool boolean = false;
  std::int64_t integer = 0;
  double real = 0;
  std::string_view key = {};   ///< lives in the Checkpoint
  std::string_view text = {};  ///< lives in the Checkpoint
};

/// A part of a training checkpoint as people think of it: "model", "optimizer", "ema", …
struct Section {
  std::string name;
  std::uint64_t tensors = 0;
  std::uint64_t bytes = 0;  ///< distinct storage bytes first met in this section
};

/// Everything a header says. Move-only: tensors refer into text it owns.
class Checkpoint {
 public:
  Checkpoint();
  ~Checkpoint();
  Checkpoint(Checkpoint&&) noexcept;
  Checkpoint& operator=(Checkpoint&&) noexcept;

  std::string format;                 ///< registry id: "safetensors", "torch-zip"
  std::string container;              ///< "zip", "safetensors", …: what holds the bytes
  std::vector<CheckpointFile> files;  ///< files[0] is the one opened, or the first shard
  std::vector<Storage> storages;
  std::vector<Tensor> tensors;        ///< in file order
  std::vector<Quantizer> quantizers;  ///< of quantised tensors, by Tensor::quantizer
  std::vector<MetadataEntry> metadata;
  std::vector<Section> sections;
  Findings findings;
  bool complete = true;  ///< false when part of the content is missing or damaged
  /// The main pickle's values where the format has one; Node handles of tensors map to `tensors` by `node_tensors`.
  std::shared_ptr<const pickle::Graph> values;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> node_tensors;  ///< (node, tensor), sorted by node

  /// The first tensor of this name. Cost: a linear search.
  const Tensor* find(std::string_view name) const;
  /// The file a tensor's bytes are in, null for a tensor without storage.
  const CheckpointFile* file_of(const Tensor& tensor) const;
  /// Absolute offset of element 0 in its file; nothing where there is no plain range or the element does not start on a byte.
  std::optional<std::uint64_t> file_offset(const Tensor& tensor) const;
  /// Owns the names, keys and dimensions that tensors refer to.
  Arena& arena() { return *arena_; }

  /// Records a finding; one of severity damage or above also makes the checkpoint incomplete.
  void add(Finding finding);
  /// Marks the tensor unreadable and records why.
  void refuse(Tensor& tensor, Finding finding);

 private:
  std::unique_ptr<Arena> arena_;
};

/// Opens what the set holds: finds the format by content, reads headers only. Fails when nothing can be listed; a damaged file
/// whose good part can be listed succeeds with `complete` false. `need-range` asks the host for bytes and is not a verdict.
/// Defined in formats/registry.cpp.
Result<Checkpoint> open(const FileSet& files, const Limits& limits = {});

}  // namespace assay
