// SPDX-License-Identifier: Apache-2.0
// Tensor names as a tree, and the outline that people read: numbered siblings of one structure collapse to "layers ×32", and
// whatever breaks the pattern is named.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/summary.hpp"
#include "assay/checkpoint.hpp"

namespace assay::analysis {

/// The dots of the names as a tree. Texts belong to the Checkpoint.
class NameTree {
 public:
  /// One component; the rest of a name that is deeper than kDepth.
  struct Label {
    std::string_view text;
    std::uint32_t number = kNone;  ///< what it says where it is nothing but one to nine digits
  };
  struct Node {
    std::uint32_t label = 0;  ///< equal texts have one label
    std::uint32_t parent = kNone;
    std::uint32_t first_child = kNone;  ///< children in natural order
    std::uint32_t next = kNone;         ///< sibling
    std::uint32_t tensor = kNone;       ///< the first tensor of this very name
  };
  static constexpr std::size_t kDepth = 64;

  /// Cost: linear in the names' length, and a sort among siblings. Nodes: at most 9 per tensor, and some; beyond 8
  /// names are no longer split.
  explicit NameTree(std::span<const Tensor> tensors);

  /// nodes()[0] is the root; parents stand before their children.
  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<Label>& labels() const { return labels_; }
  const Label& label(const Node& node) const { return labels_[node.label]; }
  /// Whether the label `a` stands before `b` in natural order.
  bool label_before(std::uint32_t a, std::uint32_t b) const;
  /// The next tensor of the same name, kNone after the last.
  std::uint32_t next_of_name(std::uint32_t tensor) const { return same_name_[tensor]; }
  /// All tensors, names in natural order ("layers.2" before "layers.10"), equal names in file order.
  std::vector<std::uint32_t> natural_order() const;

 private:
  friend class NameTreeBuilder;
  std::vector<Node> nodes_;
  std::vector<Label> labels_;
  std::vector<std::uint32_t> same_name_;
};

/// NameTree::natural_order, without the tree where the tensors nearly stand in that order already.
std::vector<std::uint32_t> natural_order(std::span<const Tensor> tensors);

struct OutlineNode {
  std::string label;  ///< "layers"; "0-2" for some of numbered siblings
  std::uint32_t parent = kNone;
  std::uint32_t depth = 0;
  std::vector<std::uint32_t> children;
  std::uint64_t times = 1;            ///< how many numbered siblings stand here as one
  std::uint64_t present = 1, of = 1;  ///< in how many of the places where its pattern has it; equal where nothing is odd
  std::vector<std::string> missing;   ///< labels of the places without it ("31", "3.5"), at most kNamed, where those are the fewer
  std::vector<std::string> only;      ///< or those with it
  std::string noun;                   ///< what the places are: "layers"
  std::uint64_t tensors = 0, parameters = 0, bytes = 0;  ///< of all repeats
  std::uint32_t tensor = kNone;                          ///< for a tensor: the first of them
};

/// The outline of a NameTree. nodes[0] is the root.
struct Outline {
  static constexpr std::size_t kNamed = 8;
  std::vector<OutlineNode> nodes;
  /// "model.layers.*.mlp": the labels from the root, with * for collapsed numbers.
  std::string path(std::uint32_t node) const;
};

/// Cost: linear in the tree's nodes, times its depth.
Outline outline(const Checkpoint& checkpoint, const Summary& summary, const NameTree& tree);

}  // namespace assay::analysis
