// SPDX-License-Identifier: Apache-2.0
// From the tree of names to the outline. An outline node stands for a list of tree nodes, its instances: one, or one per repeat of
// what it is part of. Expanding a node gathers its instances' children by label; numbered children are grouped by their structure.
// Instances that hold the same are kept as one of them and how often it stands there, so that 80,000 equal experts are looked at once.
#include <algorithm>
#include <limits>
#include <unordered_map>

#include "analysis/tree.hpp"
#include "base/arith.hpp"
#include "base/sort.hpp"
#include "base/text.hpp"

namespace assay::analysis {
namespace {

/// A tree node, and for how many that hold the same it stands. Those that may have to be named stand for themselves: `times` is 1 or more
/// than Outline::kNamed.
struct Instance {
  std::uint32_t node;
  std::uint32_t times = 1;
};
using Instances = std::vector<Instance>;

std::uint64_t count(const Instances& instances) {
  std::uint64_t n = 0;
  for (const Instance& instance : instances) n += instance.times;
  return n;
}

/// "0-2" or "0,4,8": the label of a group of numbered siblings.
bool is_number_list(std::string_view label) { return !label.empty() && label[0] >= '0' && label[0] <= '9'; }

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

void add_to(std::uint64_t& sum, std::uint64_t n) { sum = checked_add(sum, n).value_or(kMost); }

std::uint64_t mixed(std::uint64_t h, std::uint64_t word) {
  h = (h ^ word) * 0xff51afd7ed558ccdu;
  return h ^ h >> 31;
}

/// What a subtree is apart from where it hangs: names below it, dtypes and shapes.
struct Shape {
  std::uint64_t signature = 0;
  std::uint64_t tensors = 0;
};

class Outliner {
 public:
  Outliner(const Checkpoint& checkpoint, const Summary& summary, const NameTree& tree)
      : checkpoint_(checkpoint), summary_(summary), tree_(tree), nodes_(tree.nodes()) {}

  Outline run() {
    measure();
    make(kNone, "", {{.node = 0}});
    for (std::uint32_t i = 0; i < out_.nodes.size(); ++i) expand(i);
    sum_up();
    return std::move(out_);
  }

 private:
  std::string_view text(std::uint32_t tree_node) const { return tree_.label(nodes_[tree_node]).text; }
  bool is_number(std::uint32_t tree_node) const { return tree_.label(nodes_[tree_node]).number != kNone; }

  std::uint64_t tensor_signature(std::uint32_t t) const {
    const Tensor& tensor = checkpoint_.tensors[t];
    std::uint64_t h = mixed(static_cast<std::uint64_t>(tensor.dtype), tensor.shape.size());
    for (const std::uint64_t dimension : tensor.shape) h = mixed(h, dimension);
    return h | 1;
  }

  // Children have larger handles than their parents, so one walk from the end sees every child first.
  void measure() {
    shapes_.resize(nodes_.size());
    const Tensor* last = nullptr;  // neighbours often share their dimensions
    std::uint64_t signature = 0, nbytes = 0;
    bool plain = true;  // what a tensor takes follows from its dtype and shape
    for (std::size_t i = nodes_.size(); i-- > 0;) {
      Shape& shape = shapes_[i];
      for (std::uint32_t t = nodes_[i].tensor; t != kNone; t = tree_.next_of_name(t)) {
        const Tensor& tensor = checkpoint_.tensors[t];
        if (last == nullptr || last->shape.data() != tensor.shape.data() || last->shape.size() != tensor.shape.size() ||
            last->dtype != tensor.dtype)
          signature = tensor_signature(t), nbytes = tensor.nbytes();
        last = &tensor;
        shape.signature = mixed(shape.signature, signature);
        ++shape.tensors;
        plain = plain && summary_.shares[t].parameters == tensor.numel && summary_.shares[t].bytes == nbytes;
      }
      for (std::uint32_t c = nodes_[i].first_child; c != kNone; c = nodes_[c].next) {
        shape.signature = mixed(mixed(shape.signature, nodes_[c].label + 1), shapes_[c].signature);
        shape.tensors += shapes_[c].tensors;
      }
    }
    if (!plain) measure_shares();
  }

  /// Where tensors of one dtype and shape may take more or less, as tied ones do, also what they take makes two subtrees differ.
  void measure_shares() {
    contents_.resize(nodes_.size());
    for (std::size_t i = nodes_.size(); i-- > 0;) {
      std::uint64_t h = shapes_[i].signature;
      for (std::uint32_t t = nodes_[i].tensor; t != kNone; t = tree_.next_of_name(t))
        h = mixed(mixed(h, summary_.shares[t].parameters), summary_.shares[t].bytes);
      for (std::uint32_t c = nodes_[i].first_child; c != kNone; c = nodes_[c].next) h = mixed(h, contents_[c]);
      contents_[i] = h;
    }
  }

  /// Equal for tree nodes that hold the same: names, dtypes, shapes, and what the tensors take.
  std::uint64_t content(std::uint32_t tree_node) const { return contents_.empty() ? shapes_[tree_node].signature : contents_[tree_node]; }

  /// The same instances, those of one content as one where they are too many to be named.
  Instances merged(Instances all) const {
    if (all.size() <= Outline::kNamed && std::ranges::all_of(all, [](const Instance& instance) { return instance.times == 1; })) return all;
    struct Kind {
      std::uint32_t times = 0;
      std::uint32_t place = kNone;  // in what is returned
    };
    std::vector<Kind> kinds;
    std::unordered_map<std::uint64_t, std::size_t> where;
    std::vector<std::size_t> kind_of;
    for (const Instance& instance : all) {
      if (kind_of.empty() || content(instance.node) != content(all[kind_of.size() - 1].node))
        kind_of.push_back(where.try_emplace(content(instance.node), kinds.size()).first->second);
      else kind_of.push_back(kind_of.back());
      if (kind_of.back() == kinds.size()) kinds.emplace_back();
      kinds[kind_of.back()].times += instance.times;
    }
    std::uint32_t kept = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      Kind& kind = kinds[kind_of[i]];
      if (kind.times <= Outline::kNamed) all[kept++] = all[i];
      else if (kind.place == kNone) all[kind.place = kept++] = {all[i].node, kind.times};
    }
    all.resize(kept);
    return all;
  }

  std::uint32_t make(std::uint32_t parent, std::string label, Instances instances) {
    const auto made = static_cast<std::uint32_t>(out_.nodes.size());
    OutlineNode node;
    node.label = std::move(label);
    node.parent = parent;
    node.present = node.of = count(instances);
    if (parent != kNone) {
      node.depth = out_.nodes[parent].depth + 1;
      out_.nodes[parent].children.push_back(made);
    }
    out_.nodes.push_back(std::move(node));
    instances_.push_back(merged(std::move(instances)));
    return made;
  }

  void expand(std::uint32_t at) {
    // By label in the order of their first appearance; numbered ones apart.
    std::vector<std::pair<std::uint32_t, Instances>> named;
    std::unordered_map<std::uint32_t, std::size_t> where;
    std::size_t next = 0;  // repeats have their children in one order
    Instances numbered;
    for (const Instance& instance : instances_[at])
      for (std::uint32_t c = nodes_[instance.node].first_child; c != kNone; c = nodes_[c].next) {
        if (is_number(c)) {
          numbered.push_back({c, instance.times});
          continue;
        }
        const std::uint32_t label = nodes_[c].label;
        if (next >= named.size()) next = 0;
        if (named.empty() || named[next].first != label) {
          const auto [it, fresh] = where.try_emplace(label, named.size());
          if (fresh) named.push_back({label, {}});
          next = it->second;
        }
        named[next++].second.push_back({c, instance.times});
      }
    add_tensors(at);
    // A node that holds nothing but equal numbered children becomes them: "layers ×32".
    if (!numbered.empty()) add_numbered(at, numbered, named.empty());
    for (auto& [label, instances] : named)
      for (const Instances& variant : variants(std::move(instances))) {
        const std::uint32_t made = make(at, std::string(tree_.labels()[label].text), variant);
        note_absence(made, at, variant);
      }
  }

  /// Leaves of one name whose dtype or shape differs from repeat to repeat, apart; anything else together.
  std::vector<Instances> variants(Instances instances) const {
    constexpr std::size_t kKinds = 16;  // worth telling apart
    std::vector<Instances> out;
    std::vector<std::pair<std::uint64_t, Instances>> kinds;
    for (const Instance& instance : instances) {
      const std::uint64_t signature = shapes_[instance.node].signature;
      auto kind = std::ranges::find(kinds, signature, &std::pair<std::uint64_t, Instances>::first);
      if (kind == kinds.end()) kind = kinds.insert(kind, {signature, {}});
      if (nodes_[instance.node].first_child != kNone || kinds.size() > kKinds) {
        out.push_back(std::move(instances));
        return out;
      }
      kind->second.push_back(instance);
    }
    for (auto& [signature, alike] : kinds) out.push_back(std::move(alike));
    return out;
  }

  /// Counts the tensors that stand at the node itself.
  void add_tensors(std::uint32_t at) {
    OutlineNode& node = out_.nodes[at];
    for (const Instance& instance : instances_[at])
      for (std::uint32_t t = nodes_[instance.node].tensor; t != kNone; t = tree_.next_of_name(t)) {
        if (node.tensor == kNone) node.tensor = t;
        node.tensors += instance.times;
        add_to(node.parameters, checked_mul(summary_.shares[t].parameters, instance.times).value_or(kMost));
        add_to(node.bytes, checked_mul(summary_.shares[t].bytes, instance.times).value_or(kMost));
      }
  }

  struct Group {
    std::uint64_t signature;
    Instances members;
    bool joined = false;  // to the largest group, from which it differs little
  };

  void add_numbered(std::uint32_t at, const Instances& numbered, bool alone) {
    std::vector<Group> groups;
    std::unordered_map<std::uint64_t, std::size_t> where;
    std::size_t last = 0;
    for (const Instance& instance : numbered) {
      const std::uint64_t signature = shapes_[instance.node].signature;
      if (groups.empty() || groups[last].signature != signature) {
        const auto [it, fresh] = where.try_emplace(signature, groups.size());
        if (fresh) groups.push_back({signature, {}});
        last = it->second;
      }
      groups[last].members.push_back(instance);
    }
    // Ties go to the first.
    Group& largest = *std::ranges::max_element(groups, {}, [](const Group& group) { return count(group.members); });
    const bool repeats = count(largest.members) > 1;
    if (repeats)
      for (Group& group : groups)
        if (&group != &largest && alike(group.members[0].node, largest.members[0].node)) {
          group.joined = true;
          largest.members.insert(largest.members.end(), group.members.begin(), group.members.end());
        }
    std::erase_if(groups, [](const Group& group) { return group.joined; });
    const bool fold = alone && groups.size() == 1 && out_.nodes[at].tensor == kNone && at != 0 && out_.nodes[at].times == 1;
    if (fold && labels_of(groups[0].members).size() > 1) return fold_into(at, std::move(groups[0].members));
    for (const Group& group : groups) {
      const auto labels = labels_of(group.members);
      const std::uint32_t made = make(at, ranges(labels), group.members);
      out_.nodes[made].times = labels.size();
      if (labels.size() > 1) note_missing_numbers(made, instances_[at], labels);
      else note_absence(made, at, group.members);
    }
  }

  /// The node stands for its numbered children from now on.
  void fold_into(std::uint32_t at, Instances members) {
    const auto labels = labels_of(members);
    const Instances places = std::exchange(instances_[at], merged(std::move(members)));
    out_.nodes[at].times = labels.size();
    note_missing_numbers(at, places, labels);
    expand(at);
  }

  /// Where the parents do not all have every number: in how many places they are, and, of a few, which are not.
  void note_missing_numbers(std::uint32_t at, const Instances& places, const std::vector<std::uint64_t>& labels) {
    OutlineNode& node = out_.nodes[at];
    const std::uint64_t expected = count(places) * labels.size();
    const std::uint64_t found = count(instances_[at]);
    if (found >= expected) return;
    node.present = found;
    node.of = expected;
    node.noun = noun_of(at);
    if (expected - found > Outline::kNamed) return;
    for (const Instance& place : places) {
      Instances here;
      for (std::uint32_t c = nodes_[place.node].first_child; c != kNone; c = nodes_[c].next) here.push_back({.node = c});
      const auto has = labels_of(here);
      for (const std::uint64_t label : labels)
        if (!std::ranges::binary_search(has, label))
          node.missing.push_back(join(place_name(place.node, out_.nodes[at].parent), decimal(label)));
    }
  }

  /// The distinct numbers of tree nodes, in order.
  std::vector<std::uint64_t> labels_of(const Instances& members) const {
    std::vector<std::uint64_t> labels;
    for (const Instance& member : members)
      if (is_number(member.node)) labels.push_back(tree_.label(nodes_[member.node]).number);
    const std::uint64_t largest = labels.empty() ? 0 : std::ranges::max(labels);
    if (largest < 4 * labels.size()) {  // many places with the same few numbers
      std::vector<bool> seen(static_cast<std::size_t>(largest) + 1);
      for (const std::uint64_t label : labels) seen[static_cast<std::size_t>(label)] = true;
      labels.clear();
      for (std::size_t i = 0; i < seen.size(); ++i)
        if (seen[i]) labels.push_back(i);
      return labels;
    }
    sort_stable(labels);
    labels.erase(std::ranges::unique(labels).begin(), labels.end());
    return labels;
  }

  static std::string ranges(const std::vector<std::uint64_t>& numbers) {
    std::string out;
    std::size_t parts = 0;
    for (std::size_t i = 0; i < numbers.size(); ++parts) {
      std::size_t end = i + 1;
      while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
      if (parts > 0) out += ',';
      if (parts >= Outline::kNamed) return out + "…";
      out += decimal(numbers[i]);
      if (end > i + 1) out += concat(end == i + 2 ? "," : "-", numbers[end - 1]);
      i = end;
    }
    return out;
  }

  /// True when two subtrees of about the same size have most tensors in common, by name below them, dtype and shape.
  bool alike(std::uint32_t a, std::uint32_t b) const {
    const std::uint64_t smaller = std::min(shapes_[a].tensors, shapes_[b].tensors);
    const std::uint64_t larger = std::max(shapes_[a].tensors, shapes_[b].tensors);
    if (smaller * 2 < larger) return false;
    std::uint64_t common = 0;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> todo = {{a, b}};
    while (!todo.empty()) {
      const auto [x, y] = todo.back();
      todo.pop_back();
      if (shapes_[x].signature == shapes_[y].signature) {
        common += shapes_[x].tensors;
        continue;
      }
      if (nodes_[x].tensor != kNone && nodes_[y].tensor != kNone)
        common += tensor_signature(nodes_[x].tensor) == tensor_signature(nodes_[y].tensor);
      // Both lists are in natural order.
      std::uint32_t c = nodes_[x].first_child, d = nodes_[y].first_child;
      while (c != kNone && d != kNone) {
        if (nodes_[c].label == nodes_[d].label) {
          todo.push_back({c, d});
          c = nodes_[c].next, d = nodes_[d].next;
        } else if (tree_.label_before(nodes_[c].label, nodes_[d].label)) {
          c = nodes_[c].next;
        } else {
          d = nodes_[d].next;
        }
      }
    }
    return common * 2 >= larger;
  }

  static std::string join(std::string_view a, std::string_view b) { return concat(a, a.empty() ? "" : ".", b); }

  /// A name for one place: the numbers of the collapsed nodes from `at` up, "31" or "3.5".
  std::string place_name(std::uint32_t tree_node, std::uint32_t at) const {
    std::size_t levels = 0;
    for (; at != kNone; at = out_.nodes[at].parent) levels += out_.nodes[at].times > 1;
    std::string out;
    for (; levels > 0 && tree_node != 0; tree_node = nodes_[tree_node].parent) {
      if (!is_number(tree_node)) continue;
      out = concat(text(tree_node), out.empty() ? "" : ".", out);
      --levels;
    }
    return out;
  }

  /// Says where a node is not, when its parent's instances do not all have it: `have` are its own, as the parents have them.
  void note_absence(std::uint32_t at, std::uint32_t parent, const Instances& have) {
    OutlineNode& node = out_.nodes[at];
    const std::uint64_t found = count(have);
    const std::uint64_t expected = count(instances_[parent]);
    node.present = found;
    node.of = expected;
    if (found >= expected) return;
    for (std::uint32_t up = parent; up != kNone && node.noun.empty(); up = out_.nodes[up].parent)
      if (out_.nodes[up].times > 1) node.noun = noun_of(up);
    const bool few = found * 2 < expected;
    const std::uint64_t to_name = few ? found : expected - found;
    if (to_name > Outline::kNamed) return;
    std::vector<std::uint32_t> parents;
    for (const Instance& instance : have) parents.push_back(nodes_[instance.node].parent);
    sort_stable(parents);
    std::vector<std::string>& list = few ? node.only : node.missing;
    for (const Instance& instance : instances_[parent])
      if (std::ranges::binary_search(parents, instance.node) == few) list.push_back(place_name(instance.node, parent));
  }

  /// "layers" for both "layers ×32" and its child "3-60 ×58".
  std::string noun_of(std::uint32_t at) const {
    const std::uint32_t first = instances_[at].empty() ? kNone : instances_[at][0].node;
    if (first == kNone) return "";
    const std::uint32_t holder = is_number(first) ? nodes_[first].parent : first;
    return holder == kNone ? std::string() : std::string(text(holder));
  }

  /// Sums from the leaves up: children have larger handles than their parents here too.
  void sum_up() {
    for (std::size_t i = out_.nodes.size(); i-- > 1;) {
      const OutlineNode& node = out_.nodes[i];
      OutlineNode& parent = out_.nodes[node.parent];
      parent.tensors += node.tensors;
      add_to(parent.parameters, node.parameters);
      add_to(parent.bytes, node.bytes);
    }
  }

  const Checkpoint& checkpoint_;
  const Summary& summary_;
  const NameTree& tree_;
  const std::vector<NameTree::Node>& nodes_;
  std::vector<Shape> shapes_;            // per tree node
  std::vector<std::uint64_t> contents_;  // per tree node; empty where the shapes' signatures say it all
  std::vector<Instances> instances_;     // per outline node
  Outline out_;
};

}  // namespace

std::string Outline::path(std::uint32_t node) const {
  std::string out;
  for (; node != 0; node = nodes[node].parent) {
    const std::string_view star = nodes[node].times > 1 ? is_number_list(nodes[node].label) ? "" : ".*" : "";
    const std::string label = star.empty() && nodes[node].times > 1 ? concat("[", nodes[node].label, "]") : nodes[node].label;
    out = concat(label, star, out.empty() ? "" : ".", out);
  }
  return out;
}

Outline outline(const Checkpoint& checkpoint, const Summary& summary, const NameTree& tree) {
  return Outliner(checkpoint, summary, tree).run();
}

}  // namespace assay::analysis
