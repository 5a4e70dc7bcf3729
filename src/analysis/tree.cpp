// SPDX-License-Identifier: Apache-2.0
#include "analysis/tree.hpp"

#include <algorithm>
#include <array>

#include "base/sort.hpp"
#include "base/text.hpp"
#include "formats/name_table.hpp"

namespace assay::analysis {

namespace {

bool digit(char c) { return c >= '0' && c <= '9'; }

std::uint32_t number_of(std::string_view text) {
  if (text.empty() || text.size() > 9 || !std::ranges::all_of(text, digit)) return kNone;
  std::uint32_t number = 0;
  for (const char c : text) number = number * 10 + static_cast<std::uint32_t>(c - '0');
  return number;
}

}  // namespace

bool NameTree::label_before(std::uint32_t a, std::uint32_t b) const {
  const Label& x = labels_[a];
  const Label& y = labels_[b];
  if (x.number != y.number && x.number != kNone && y.number != kNone) return x.number < y.number;
  return natural_less(x.text, y.text);
}

/// Adds names one by one. Names that follow each other share most of their path, which is kept.
class NameTreeBuilder {
 public:
  NameTreeBuilder(NameTree& tree, std::span<const Tensor> tensors)
      : tree_(tree), tensors_(tensors), most_nodes_(8 * tensors.size() + 1000), seed_(reinterpret_cast<std::uintptr_t>(tensors.data())) {}

  void build() {
    tree_.nodes_.reserve(2 * tensors_.size() + tensors_.size() / 2 + 1);
    tree_.nodes_.push_back({.label = label_of("")});
    tree_.same_name_.assign(tensors_.size(), kNone);
    last_of_name_.assign(tensors_.size(), kNone);
    table_.resize(1024);
    children_.assign(1, kRising);
    constexpr std::size_t kAhead = 8;  // names are far apart in a header
    for (std::uint32_t i = 0; i < tensors_.size(); ++i) {
      if (i + kAhead < tensors_.size()) __builtin_prefetch(tensors_[i + kAhead].name.data());
      add(i);
    }
    sort_siblings();
  }

 private:
  void add(std::uint32_t tensor) {
    const std::string_view name = tensors_[tensor].name;
    // The path of the name before, as far as whole components and their dots agree.
    const std::size_t same = common_prefix(before_, name);
    while (!path_.empty() && path_.back().end > same) path_.pop_back();
    before_ = name;
    std::uint32_t node = path_.empty() ? 0 : path_.back().node;
    std::size_t at = path_.empty() ? 0 : path_.back().end;
    for (bool more = true; more;) {
      const std::size_t dot =
          path_.size() + 1 < NameTree::kDepth && tree_.nodes_.size() < most_nodes_ ? name.find('.', at) : std::string_view::npos;
      more = dot != std::string_view::npos;
      node = child(node, label_at(path_.size(), name.substr(at, dot - at)));
      at = more ? dot + 1 : name.size() + 1;
      path_.push_back({node, at});
    }
    NameTree::Node& end = tree_.nodes_[node];
    if (end.tensor == kNone) {
      end.tensor = last_of_name_[tensor] = tensor;
    } else {
      tree_.same_name_[last_of_name_[end.tensor]] = tensor;
      last_of_name_[end.tensor] = tensor;
    }
  }

  /// The label of a name's component at this depth. Layers and experts repeat: what came behind the component that stood there in the name
  /// before will mostly come again.
  std::uint32_t label_at(std::size_t depth, std::string_view text) {
    std::uint32_t& here = labels_before_[depth];
    if (const std::uint32_t likely = behind_[here]; tree_.labels_[likely].text == text) return here = likely;
    const std::uint32_t label = label_of(text);
    behind_.resize(tree_.labels_.size());
    behind_[here] = label;
    return here = label;
  }

  std::uint32_t label_of(std::string_view text) {
    std::vector<NameTree::Label>& labels = tree_.labels_;
    const auto fresh = static_cast<std::uint32_t>(labels.size());
    const std::uint32_t known = texts_.insert(text, fresh, [&labels](std::uint32_t i) { return labels[i].text; });
    if (known != kNone) return known;
    labels.push_back({text, number_of(text)});
    return fresh;
  }

  // Seeded by an address, so that nobody prepares names that all collide.
  std::uint32_t hash(std::uint32_t parent, std::uint32_t label) const {
    std::uint64_t h = (seed_ ^ (std::uint64_t{parent} << 32 | label)) * 0x9e3779b97f4a7c15u;
    h = (h ^ h >> 32) * 0xff51afd7ed558ccdu;
    return static_cast<std::uint32_t>(h ^ h >> 32);
  }

  /// The child of this label, made where there is none. Most files are sorted: as long as a node's children come in rising order,
  /// by number or by text, the last one tells whether the next is new. A few children are looked through; only more go into the table.
  std::uint32_t child(std::uint32_t parent, std::uint32_t label) {
    const std::uint32_t last = tree_.nodes_[parent].first_child;
    if (last == kNone) return make_child(parent, label);
    const std::uint32_t last_label = tree_.nodes_[last].label;
    if (last_label == label) return last;
    std::uint8_t& count = children_[parent];
    if (count != kInTable) {
      if ((count & kRising) != 0) count &= still_rising(last_label, label);
      if ((count & kRising) != 0) return make_child(parent, label);
      if (count < kFew) {
        for (std::uint32_t c = last; c != kNone; c = tree_.nodes_[c].next)
          if (tree_.nodes_[c].label == label) return c;
        return make_child(parent, label);
      }
      for (std::uint32_t c = last; c != kNone; c = tree_.nodes_[c].next) enter(c);
      count = kInTable;
    }
    const std::uint32_t h = hash(parent, label);
    for (std::size_t slot = h & (table_.size() - 1); table_[slot].node != kNone; slot = (slot + 1) & (table_.size() - 1)) {
      const NameTree::Node& node = tree_.nodes_[table_[slot].node];
      if (table_[slot].hash == h && node.parent == parent && node.label == label) return table_[slot].node;
    }
    const std::uint32_t made = make_child(parent, label);
    enter(made);
    return made;
  }

  /// A mask of what a node's flags keep when `label` comes behind `last`.
  std::uint8_t still_rising(std::uint32_t last, std::uint32_t label) const {
    const NameTree::Label& a = tree_.labels_[last];
    const NameTree::Label& b = tree_.labels_[label];
    const bool numbers = a.number < b.number && b.number != kNone, texts = a.text < b.text;
    return static_cast<std::uint8_t>(~((numbers ? 0 : kRisingNumbers) | (texts ? 0 : kRisingTexts)));
  }

  std::uint32_t make_child(std::uint32_t parent, std::uint32_t label) {
    const auto made = static_cast<std::uint32_t>(tree_.nodes_.size());
    tree_.nodes_.push_back({.label = label, .parent = parent, .next = tree_.nodes_[parent].first_child});
    children_.push_back(kRising);
    tree_.nodes_[parent].first_child = made;
    std::uint8_t& count = children_[parent];
    if (count != kInTable && (count & kFew) != kFew) ++count;
    return made;
  }

  void enter(std::uint32_t node) {
    if (++entries_ * 2 > table_.size()) grow();
    place({node, hash(tree_.nodes_[node].parent, tree_.nodes_[node].label)});
  }

  struct Entry {
    std::uint32_t node = kNone;
    std::uint32_t hash = 0;
  };

  void place(Entry entry) {
    std::size_t slot = entry.hash & (table_.size() - 1);
    while (table_[slot].node != kNone) slot = (slot + 1) & (table_.size() - 1);
    table_[slot] = entry;
  }

  void grow() {
    std::vector<Entry> old(table_.size() * 4);
    table_.swap(old);
    for (const Entry& entry : old)
      if (entry.node != kNone) place(entry);
  }

  void sort_siblings() {
    std::vector<NameTree::Node>& nodes = tree_.nodes_;
    std::vector<std::uint32_t> children, labels, order;
    for (NameTree::Node& node : nodes) {
      if (node.first_child == kNone || nodes[node.first_child].next == kNone) continue;
      children.clear();
      bool repeats = true;  // the node before, whose children are in the same order
      for (std::uint32_t c = node.first_child; c != kNone; c = nodes[c].next) {
        repeats = repeats && children.size() < labels.size() && labels[children.size()] == nodes[c].label;
        children.push_back(c);
      }
      if (!repeats || children.size() != labels.size()) {
        labels.clear();
        for (const std::uint32_t c : children) labels.push_back(nodes[c].label);
        order.resize(labels.size());
        for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::uint32_t>(order.size()) - 1 - i;  // as met in the file
        const auto less = [&](std::uint32_t a, std::uint32_t b) { return tree_.label_before(labels[a], labels[b]); };
        sort_stable(order, less);
      }
      node.first_child = children[order[0]];
      for (std::size_t i = 0; i < order.size(); ++i) nodes[children[order[i]]].next = i + 1 < order.size() ? children[order[i + 1]] : kNone;
    }
  }

  NameTree& tree_;
  std::span<const Tensor> tensors_;
  std::size_t most_nodes_;
  std::uint64_t seed_;
  formats::NameTable texts_;  // of the labels
  std::vector<Entry> table_;  // open addressing
  std::size_t entries_ = 0;
  // Per node: how many children it has up to kFew, in which orders they came so far; or that they are in the table.
  static constexpr std::uint8_t kFew = 0x0f, kRisingNumbers = 0x10, kRisingTexts = 0x20, kRising = 0x30, kInTable = 0xff;
  std::vector<std::uint8_t> children_;
  struct Step {
    std::uint32_t node;
    std::size_t end;  // behind its component's dot, or where a dot would end
  };
  std::array<std::uint32_t, NameTree::kDepth> labels_before_{};  // by depth: of the name before, or of one before that
  std::vector<std::uint32_t> behind_ = {0};                      // by label: the one that came behind it last
  std::string_view before_;
  std::vector<Step> path_;                   // of the name before
  std::vector<std::uint32_t> last_of_name_;  // per first tensor of a name
};

NameTree::NameTree(std::span<const Tensor> tensors) { NameTreeBuilder(*this, tensors).build(); }

std::vector<std::uint32_t> NameTree::natural_order() const {
  std::vector<std::uint32_t> order;
  order.reserve(same_name_.size());
  for (std::uint32_t node = 0; node != kNone;) {
    for (std::uint32_t t = nodes_[node].tensor; t != kNone; t = same_name_[t]) order.push_back(t);
    if (nodes_[node].first_child != kNone) {
      node = nodes_[node].first_child;
      continue;
    }
    while (node != kNone && nodes_[node].next == kNone) node = nodes_[node].parent;
    if (node != kNone) node = nodes_[node].next;
  }
  return order;
}

namespace {

std::size_t digits_from(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && digit(text[end])) ++end;
  return end - at;
}

/// Whether the tree has `a` before `b`: by the first components that differ.
bool name_before(std::string_view a, std::string_view b) {
  const std::size_t same = common_prefix(a, b);
  if (same < a.size() && same < b.size() && a[same] != '.' && b[same] != '.') {
    // Mostly the difference is between two letters, or within numbers that do not begin with 0.
    if (!digit(a[same]) && !digit(b[same])) return static_cast<unsigned char>(a[same]) < static_cast<unsigned char>(b[same]);
    std::size_t number = same;
    while (number > 0 && digit(a[number - 1])) --number;
    const std::size_t in_a = digits_from(a, same), in_b = digits_from(b, same);
    const bool are_numbers = number < same || (in_a > 0 && in_b > 0);
    if (are_numbers && a[number] != '0' && b[number] != '0') return in_a != in_b ? in_a < in_b : a[same] < b[same];
  }
  if (same == a.size() || same == b.size()) {
    // One name goes on: with a component of its own, or within the last one that both have.
    if (a.size() == b.size()) return false;
    const std::string_view longer = a.size() < b.size() ? b : a;
    if (longer[same] == '.') return a.size() < b.size();
  }
  const std::size_t dot = same == 0 ? std::string_view::npos : a.rfind('.', same - 1);
  const std::size_t start = dot == std::string_view::npos ? 0 : dot + 1;
  return natural_less(a.substr(start, a.find('.', same) - start), b.substr(start, b.find('.', same) - start));
}

}  // namespace

std::vector<std::uint32_t> natural_order(std::span<const Tensor> tensors) {
  // Most files are in order, but for a few neighbours: sorted by insertion, as long as that takes few steps.
  std::vector<std::uint32_t> order(tensors.size());
  std::size_t steps_left = 4 * tensors.size();
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    std::size_t place = i;
    for (; place > 0 && name_before(tensors[i].name, tensors[order[place - 1]].name); --place) {
      if (steps_left-- == 0) return NameTree(tensors).natural_order();
      order[place] = order[place - 1];
    }
    order[place] = i;
  }
  return order;
}

}  // namespace assay::analysis
