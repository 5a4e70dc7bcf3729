// SPDX-License-Identifier: Apache-2.0
// The walk behind collect(): an explicit stack, so that no nesting in the file becomes nesting of calls.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "formats/torch/collect.hpp"
#include "formats/torch/optimizer_state.hpp"

namespace assay::formats::torch {

class Walker {
 public:
  Walker(Checkpoint& checkpoint, const PickleInfo& pickle, StorageSource& storages, const Limits& limits, std::string_view prefix);
  Result<void> walk(Node root);
  /// What only the whole listing shows: repeated names, storages of which little is used, the node table's order.
  void finish();

 private:
  struct Frame {
    Group group;
    Node owner = kNoNode;    // leaves the path with this frame
    std::uint32_t next = 0;  // child to visit
    std::uint32_t end = 0;
    std::uint32_t path = 0;   // length of the name the children stand under
    std::uint32_t parts = 0;  // where this frame's parts begin
  };
  struct Origin {  // of a tensor: for telling a repeated dict key from two paths of one name
    Node parent, key;
  };

  Result<void> visit(Node node);
  Result<void> visit_call(Node node);
  Result<void> list_rebuilt(Node outer, Node node, bool parameter);
  Result<void> note_tensor(Node node, Result<std::uint32_t> index);
  void visit_sequence(Node node);
  bool one_entry(Node sequence);
  bool next_child(Frame& frame, Node& child);
  void append_key(Node key, std::uint32_t place);
  bool next_tensor_key(Node& key);
  bool skip_attribute(const Frame& frame, Node key, Node value) const;
  void push(Node owner, std::span<const Group> groups, std::span<const Part> parts);
  bool may_enter(Node node);
  bool shared_too_often(Node node);
  void spend(std::uint64_t cost);
  bool spend_work();
  std::string_view name_or(std::string_view otherwise) const;
  void append_name(std::string_view label);
  void limit(std::string what);
  void count_distributed(const Rebuilt& rebuilt);

  void add_entry(MetadataEntry entry);
  void add_text(MetadataEntry::Kind kind, std::string_view text);
  void add_plain(Node node);

  Checkpoint& checkpoint_;
  const PickleInfo& pickle_;
  const Graph& graph_;
  const Limits& limits_;
  TensorTable table_;
  Rebuilt rebuilt_;
  std::vector<Frame> stack_;
  std::vector<Part> parts_;
  std::vector<Origin> origins_;
  std::vector<bool> on_path_, seen_, kept_keys_;  // by node
  std::vector<Node> plain_;
  std::vector<std::string> told_limits_;
  Origin origin_{kNoNode, kNoNode};
  std::string path_;
  std::string label_;
  struct TensorKey {
    Node key;
    std::string name;
  };
  ParameterNumbers parameter_numbers_;
  std::vector<TensorKey> tensor_keys_;  // listed at the end, unless they are somewhere else too
  std::size_t next_key_ = 0;
  std::uint64_t distributed_ = 0;  // tensors that this file holds a part of
  std::string first_distributed_;
  std::uint32_t first_tensor_;  // those before it are another pickle's
  std::uint64_t budget_;        // visits beyond which a container is not listed a second time
  std::uint64_t name_budget_;   // bytes of composed names
  std::uint64_t work_budget_;   // items and bytes of calls' arguments: many calls may share them
};

}  // namespace assay::formats::torch
