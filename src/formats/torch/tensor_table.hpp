// SPDX-License-Identifier: Apache-2.0
// Tensors as a checkpoint lists them: numbers read from the graph, storages resolved once per key, every bound checked.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "assay/checkpoint.hpp"
#include "formats/torch/rebuild.hpp"
#include "formats/torch/storage_id.hpp"

namespace assay::formats::torch {

/// A tensor in numbers, not yet compared with its storage.
struct TensorSpec {
  std::vector<std::uint64_t> shape{}, stride{};
  bool has_stride = false;
  std::uint64_t offset = 0;
  std::optional<StorageId> storage{};
  DType dtype = DType::unknown;
  std::string_view dtype_text{};  ///< what names it where `dtype` is unknown
  bool meta = false, conj = false, neg = false, parameter = false;
  bool numpy = false;
};

/// Where a container keeps the storages that persistent ids name. Each form of torch file supplies its own.
class StorageSource {
 public:
  virtual ~StorageSource() = default;
  /// The storage of this key. Called once per key. Fails with `missing-storage` where the container has none; `need-range` ends the
  /// opening.
  virtual Result<Storage> find(const StorageId& id) = 0;
  /// For containers whose persistent ids name whole tensors (tar): fills `spec`, or leaves it to the usual reading by giving false. What
  /// it fails with is the tensor's finding; only `need-range` ends the opening.
  virtual Result<bool> describe(const Graph&, Node, TensorSpec&) { return false; }
  /// True when the file ends within this storage: the Storage that find() gave holds what is there.
  virtual bool is_cut(std::string_view) const { return false; }
  /// True for containers that tell by themselves where a storage's size is not the claimed one.
  virtual bool compares_sizes() const { return false; }
};

/// Where the pickle that is being collected stands.
struct PickleInfo {
  std::shared_ptr<const Graph> graph;
  std::uint32_t file = 0;        ///< index into Checkpoint::files
  std::string_view member;       ///< "archive/data.pkl"; "" where the file itself is the pickle
  bool shared_storages = false;  ///< other pickles use its storages too, so that unused bytes cannot be told
  ByteView in_file;              ///< the pickle's bytes where they stand in the file as such; empty when they were inflated
};

class TensorTable {
 public:
  TensorTable(Checkpoint& checkpoint, const PickleInfo& pickle, StorageSource& storages, const Limits& limits);

  // Each lists one tensor, readable or refused with its finding, and gives its index. Only `need-range` is an error.
  Result<std::uint32_t> add(std::string_view name, Node node, const TensorNodes& nodes, bool parameter);
  Result<std::uint32_t> add_array(std::string_view name, Node node, const ArrayNodes& array);
  Result<std::uint32_t> add_bare_storage(std::string_view name, Node node);
  /// For tensors that no pickle describes; their storage's dtype is unknown, so that its record's size counts.
  /// `read` says what is wrong with them where something is.
  Result<std::uint32_t> add_spec(std::string_view name, TensorSpec spec, Result<void> read = {});

  /// Gives quantizers per channel the scales and zero points that were listed since. `node_tensors` as in Checkpoint, sorted.
  void resolve_quantizers();
  /// Notes on storages of which the listed tensors use only a part.
  void note_unused_bytes();

 private:
  struct Entry {
    std::uint32_t storage = kNone;     // kNone when it could not be resolved
    std::uint64_t claimed = 0;         // bytes, by the first id
    std::unique_ptr<Finding> failure;  // why not
    bool told = false;                 // that its size is not the claimed one
    bool doubtful = false;             // a tensor on it was refused: what is used is not known
  };
  struct Embedded {
    StorageId id;
    Entry entry;
  };
  struct Use {
    std::uint32_t storage;
    std::uint32_t tensor;
    std::uint64_t begin, end;  // bytes
  };

  struct PendingQuantizer {
    std::uint32_t tensor;
    Node node, scales, zero_points;
  };

  Result<void> read(Node node, const TensorNodes& nodes);
  void read_quantizer(std::uint32_t index, Node node, Node quantizer);
  std::optional<Error> resolve(const PendingQuantizer& pending);
  Tensor channel_numbers(Node node);
  Result<void> read_numbers(Node node, Node sequence, Code code, std::string_view what, std::vector<std::uint64_t>& out);
  Result<std::uint32_t> list(std::string_view name, Node node, Result<void> read);
  Result<Entry*> entry_of(const StorageId& id);
  void use_embedded(Node call);
  void check_size(Tensor& tensor, Node node, Entry& entry);
  void tell_sizes(Severity severity, std::string what, Entry& entry, const Storage& storage);
  std::optional<Error> check_shape(Tensor& tensor);
  std::optional<Error> pack_to_storage_units(Tensor& tensor);
  std::optional<Error> check_bounds(Tensor& tensor, Entry& entry);
  void refuse(Tensor& tensor, Node node, Finding finding);
  std::string_view type_text(DType dtype, std::string_view otherwise);
  Where where(Node node) const;

  Checkpoint& checkpoint_;
  const PickleInfo& pickle_;
  const Graph& graph_;
  StorageSource& source_;
  const Limits& limits_;
  TensorSpec spec_;       // of the tensor in hand; reused, so that a tensor costs no allocation
  Entry* own_ = nullptr;  // of the tensor in hand, where its storage is not one of the container's
  std::unordered_map<std::string_view, Entry> entries_;
  std::unordered_map<Node, Embedded> embedded_;      // by the node of the bytes
  std::unordered_map<std::uint64_t, Entry> arrays_;  // by the node of the bytes and their order
  std::vector<Use> uses_;
  std::vector<std::string_view> type_texts_;
  std::vector<PendingQuantizer> pending_;
  std::unordered_map<Node, Tensor> listed_numbers_;  // quantizers' numbers that are lists, by the list
};

}  // namespace assay::formats::torch
