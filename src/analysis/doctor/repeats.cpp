// SPDX-License-Identifier: Apache-2.0
// Repeated layers that are unlike each other: what one lacks, and shapes and dtypes that stand alone. Models have irregular layers by
// design: the first and the last ones, every n-th one, layers of another kind, stages. So a layer is odd only among many that are alike,
// when few are, when they follow no pattern and have nothing instead.
#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <tuple>

#include "analysis/doctor/checks.hpp"
#include "analysis/tree.hpp"
#include "base/sort.hpp"
#include "base/text.hpp"

namespace assay::analysis::doctor {
namespace {

using Places = std::vector<std::uint32_t>;  // rising

struct Leaf {
  std::string_view role;  // its name behind the number
  std::uint32_t place;    // among the numbered siblings
  std::uint32_t tensor;
};

/// The leaves of one role, at most one a place.
using Role = std::vector<Leaf>;

bool plain_float(DType dtype) { return dtype == DType::f64 || dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16; }

/// How many of `n` may be exceptions.
std::size_t few(std::size_t n) { return std::max<std::size_t>(1, n / 16); }
bool most(std::size_t part, std::size_t n) { return part >= 4 && part * 4 >= n * 3; }

/// True for every n-th place of all from the first to the last.
bool every_nth(const Places& places, std::size_t n) {
  if (places.size() < 2) return false;
  const std::uint32_t step = places[1] - places[0];
  for (std::size_t i = 1; i < places.size(); ++i)
    if (places[i] - places[i - 1] != step) return false;
  return step >= 2 && places[0] < step && places.back() + step >= n;
}

/// Without those that the first or the last ones of all places run through.
Places inner(const Places& places, std::size_t n) {
  std::size_t from = 0, to = places.size();
  while (from < to && places[from] == from) ++from;
  while (to > from && places[to - 1] == n - (places.size() - to) - 1) --to;
  return Places(places.begin() + static_cast<std::ptrdiff_t>(from), places.begin() + static_cast<std::ptrdiff_t>(to));
}

/// Where a role stands within something numbered of its own: "mlp.experts.3.w1.weight".
struct Numbered {
  std::string_view list;     // "mlp.experts."
  std::string_view element;  // "mlp.experts.3."
  bool experts = false;
};

Numbered numbered_part(std::string_view role) {
  const std::string_view list = layer_module(role);
  if (list.empty()) return {};
  Numbered part;
  part.element = role.substr(0, std::min(list.size() + 1, role.size()));
  part.list = list.substr(0, list.rfind('.') + 1);
  part.experts = part.list.ends_with("experts.") || part.list.ends_with("expert.");
  return part;
}

constexpr std::size_t kNamed = 3;  // in a message

/// What is odd, until it is known whether the same is so in many stacks.
struct Oddity {
  Code code;
  Severity severity;
  std::string message, tensor;
  std::vector<Fact> facts;
};

class Comparer {
 public:
  Comparer(const Checkpoint& checkpoint, Chart& chart)
      : checkpoint_(checkpoint), chart_(chart), tree_(checkpoint.tensors), nodes_(tree_.nodes()) {}

  void run() {
    // From the innermost ones: an expert that is missing is told there, not as tensors that a layer lacks.
    for (std::uint32_t n = static_cast<std::uint32_t>(nodes_.size()); n-- > 0;)
      if (gather(n)) compare();
    write();
  }

 private:
  /// The numbered children of a node and all tensors below them; false where they are too few to compare.
  bool gather(std::uint32_t node) {
    constexpr std::size_t kLeast = 4;
    children_.clear();
    for (std::uint32_t c = nodes_[node].first_child; c != kNone; c = nodes_[c].next)
      if (tree_.label(nodes_[c]).number != kNone) children_.push_back(c);
    if (children_.size() < kLeast) return false;
    leaves_.clear();
    for (std::uint32_t place = 0; place < children_.size(); ++place) gather_below(place);
    sort_stable(leaves_,
                [](const Leaf& a, const Leaf& b) { return std::tie(a.role, a.place, a.tensor) < std::tie(b.role, b.place, b.tensor); });
    roles_.clear();
    for (const Leaf& leaf : leaves_) {
      if (roles_.empty() || roles_.back().front().role != leaf.role) roles_.emplace_back();
      if (roles_.back().empty() || roles_.back().back().place != leaf.place) roles_.back().push_back(leaf);
    }
    const std::string_view name = checkpoint_.tensors[leaves_.front().tensor].name;
    stack_ = name.substr(0, name.size() - leaves_.front().role.size());
    while (stack_.ends_with('.')) stack_.remove_suffix(1);
    stack_ = stack_.substr(0, stack_.size() - label(children_[leaves_.front().place]).size());
    while (stack_.ends_with('.')) stack_.remove_suffix(1);
    // Of an optimizer each numbered entry is one tensor's: they differ as tensors do.
    return !stack_.starts_with("optim") && stack_.find("optimizer") == stack_.npos;
  }

  std::string_view label(std::uint32_t node) const { return tree_.label(nodes_[node]).text; }

  void gather_below(std::uint32_t place) {
    const std::uint32_t top = children_[place];
    std::vector<std::pair<std::uint32_t, std::size_t>> todo = {{top, 0}};  // node, length of its path below the number
    while (!todo.empty()) {
      const auto [node, length] = todo.back();
      todo.pop_back();
      if (const std::uint32_t t = nodes_[node].tensor; t != kNone) {
        const std::string_view name = checkpoint_.tensors[t].name;
        leaves_.push_back({name.substr(name.size() - std::min(length, name.size())), place, t});
      }
      for (std::uint32_t c = nodes_[node].first_child; c != kNone; c = nodes_[c].next)
        todo.push_back({c, length + (length > 0) + label(c).size()});
    }
  }

  void compare() {
    parts_.clear();
    lacking_.clear();
    unlike_.clear();
    rare_.assign(children_.size(), false);
    usual_ = 0;
    for (const Role& role : roles_) {
      usual_ += most(role.size(), children_.size());
      if (role.size() * 2 < children_.size())
        for (const Leaf& leaf : role) rare_[leaf.place] = true;
    }
    for (const Role& role : roles_) {
      // What is lost with a part of the file is told with that part.
      if (checkpoint_.complete) compare_presence(role);
      compare_shapes(role);
      compare_dtypes(role);
    }
    if (checkpoint_.complete) find_gaps();
    tell_lacking();
    tell_dtypes();
  }

  std::string at(std::uint32_t place) const { return concat(stack_, stack_.empty() ? "" : ".", label(children_[place])); }
  /// Whether a place has something of a list or an element of a Numbered.
  bool has(std::uint32_t place, std::string_view part) {
    if (parts_.empty())
      for (const Leaf& leaf : leaves_) {
        const Numbered numbered = numbered_part(leaf.role);
        parts_.insert({leaf.place, numbered.list});
        parts_.insert({leaf.place, numbered.element});
      }
    return parts_.contains({place, part});
  }
  bool is_told(std::string_view name) const {
    if (told_.contains(name)) return true;
    for (std::size_t dot = name.find('.'); dot != name.npos; dot = name.find('.', dot + 1))
      if (told_.contains(name.substr(0, dot + 1))) return true;
    return false;
  }

  void compare_presence(const Role& role) {
    const std::size_t n = children_.size();
    if (role.size() == n || !most(role.size(), n) || role.front().role.empty()) return;
    // A layer that was kept whole among quantised ones has none.
    if (role_of(checkpoint_.tensors[role.front().tensor]) == TensorRole::scale) return;
    Places absent;
    for (std::uint32_t place = 0, i = 0; place < n; ++place) {
      if (i < role.size() && role[i].place == place) ++i;
      else absent.push_back(place);
    }
    Places odd = inner(absent, n);
    const Numbered part = numbered_part(role.front().role);
    if (part.experts) {  // those of one layer are alike, whichever layer it is
      odd.clear();
      for (const std::uint32_t place : absent)
        if (has(place, part.list)) odd.push_back(place);
    }
    if (odd.size() > few(n) || every_nth(absent, n)) return;
    for (const std::uint32_t place : odd) {
      // Layers of another kind have something else instead; parts may be numbered to different ends.
      if (rare_[place] || (!part.element.empty() && !part.experts && !has(place, part.element))) continue;
      std::string name = concat(at(place), ".", role.front().role);
      if (is_told(name)) continue;
      told_.insert(std::move(name));
      lacking_[place].emplace_back(role.front().role);
    }
  }

  void tell_lacking() {
    if (lacking_.size() > std::max<std::size_t>(1, children_.size() / 8)) return;  // irregular by design
    for (const auto& [place, names] : lacking_) {
      const std::string where = at(place);
      std::string message = names.size() == 1 ? concat(quote(where), " has no ", quote(names[0]), ", which the layers beside it have")
                                              : concat(quote(where), " lacks ", names.size(), " of the ", usual_,
                                                       " tensors that the layers beside it have: ", name_list(names, kNamed));
      odd(Code::missing_tensor, Severity::warning, std::move(message), "", {{"layer", where}, {"names", cut(names)}});
    }
  }

  /// The places whose key is unlike that of nearly all; empty where nothing stands out.
  template <class Key>
  std::pair<Places, std::size_t> exceptions(const Role& role, Key key) const {
    std::map<decltype(key(role[0])), std::vector<std::size_t>> kinds;
    for (std::size_t i = 0; i < role.size(); ++i) kinds[key(role[i])].push_back(i);
    if (kinds.size() < 2) return {};
    const auto largest = std::ranges::max_element(kinds, {}, [](const auto& kind) { return kind.second.size(); });
    if (!most(largest->second.size(), role.size())) return {};
    Places odd;
    for (std::uint32_t i = 0; i < role.size(); ++i)
      if (key(role[i]) != largest->first) odd.push_back(i);
    if (every_nth(odd, role.size())) return {};
    return {std::move(odd), largest->second.front()};
  }

  void compare_shapes(const Role& role) {
    const auto tensor = [this](const Leaf& leaf) -> const Tensor& { return checkpoint_.tensors[leaf.tensor]; };
    // What is packed, and what scales it, has a shape that depends on the kind of quantisation.
    if (!std::ranges::all_of(role, [&](const Leaf& leaf) { return plain_float(tensor(leaf).dtype); })) return;
    if (role_of(tensor(role.front())) == TensorRole::scale) return;
    const auto [all, usual] = exceptions(
        role, [&](const Leaf& leaf) { return std::vector<std::uint64_t>(tensor(leaf).shape.begin(), tensor(leaf).shape.end()); });
    const Places odd_ones = inner(all, role.size());
    if (odd_ones.size() > few(role.size())) return;
    for (const std::uint32_t i : odd_ones) {
      const Tensor& own = tensor(role[i]);
      odd(Code::odd_shape, Severity::warning,
          concat(quote(own.name), " has shape ", bracketed(own.shape), ", in the layers beside it ", bracketed(tensor(role[usual]).shape)),
          own.name, {{"layer", at(role[i].place)}});
    }
  }

  void compare_dtypes(const Role& role) {
    const auto dtype = [this](const Leaf& leaf) { return checkpoint_.tensors[leaf.tensor].dtype; };
    // Quantised layers are of many dtypes by design.
    if (!std::ranges::all_of(role, [&](const Leaf& leaf) { return plain_float(dtype(leaf)); })) return;
    const auto [odd_ones, usual] = exceptions(role, dtype);
    if (odd_ones.size() > few(role.size())) return;
    for (const std::uint32_t i : odd_ones)
      unlike_[{role[i].place, dtype(role[i]), dtype(role[usual])}].emplace_back(checkpoint_.tensors[role[i].tensor].name);
  }

  void tell_dtypes() {
    for (const auto& [key, names] : unlike_) {
      const auto& [place, own, usual] = key;
      const std::string_view is = dtype_info(own).name, are = dtype_info(usual).name;
      const std::string where = at(place);
      std::string message = names.size() == 1 ? concat(quote(names[0]), " is ", is, ", in the layers beside it ", are)
                                              : concat(quote(where), " is ", is, " in ", names.size(), " tensors that are ", are,
                                                       " in the layers beside it: ", name_list(names, kNamed));
      odd(Code::odd_dtype, Severity::note, std::move(message), names.size() == 1 ? names[0] : "",
          {{"layer", where}, {"names", cut(names)}});
    }
  }

  /// Numbers left out between two layers that are like most.
  void find_gaps() {
    // What a place holds, as a number: equal for those with the same roles and shapes.
    std::vector<std::uint64_t> kinds(children_.size(), 0);
    for (std::size_t r = 0; r < roles_.size(); ++r)
      for (const Leaf& leaf : roles_[r]) {
        std::uint64_t& kind = kinds[leaf.place];
        kind = (kind ^ (r + 1)) * 0x9e3779b97f4a7c15u;
        for (const std::uint64_t size : checkpoint_.tensors[leaf.tensor].shape) kind = (kind ^ (size + 1)) * 0xff51afd7ed558ccdu;
      }
    std::map<std::uint64_t, std::size_t> counts;
    for (const std::uint64_t kind : kinds) ++counts[kind];
    const auto usual = std::ranges::max_element(counts, {}, [](const auto& kind) { return kind.second; });
    const bool modules =
        std::ranges::any_of(roles_, [](const Role& role) { return role.front().role.find('.') != std::string_view::npos; });
    if (!most(usual->second, children_.size()) || !modules) return;
    std::vector<std::uint64_t> missing;
    for (std::size_t i = 1; i < children_.size(); ++i) {
      const std::uint64_t before = number_of(i - 1), after = number_of(i);
      if (after <= before + 1) continue;
      if (kinds[i - 1] != usual->first || kinds[i] != usual->first || after - before - 1 > few(children_.size())) return;
      for (std::uint64_t m = before + 1; m < after; ++m) missing.push_back(m);
    }
    if (missing.size() > few(children_.size())) return;
    for (const std::uint64_t m : missing) {
      const std::string where = concat(stack_, stack_.empty() ? "" : ".", m);
      told_.insert(where + ".");
      odd(Code::missing_layer, Severity::warning,
          concat("there is no ", quote(where), " among ", number_of(0), " to ", number_of(children_.size() - 1), " of ", quote(stack_)), "",
          {{"layer", where}});
    }
  }

  std::uint64_t number_of(std::size_t place) const { return tree_.label(nodes_[children_[place]]).number; }

  static std::vector<std::string> cut(std::vector<std::string> names) {
    if (names.size() > 100) names.resize(100);
    return names;
  }

  void odd(Code code, Severity severity, std::string message, std::string_view tensor, std::vector<Fact> facts) {
    odd_[{code, numberless(stack_)}].push_back({code, severity, std::move(message), std::string(tensor), std::move(facts)});
  }

  /// What is the same in many stacks (an expert missing in each layer) is told once.
  void write() {
    constexpr std::size_t kTold = 8;
    for (auto& [key, oddities] : odd_)
      for (std::size_t i = 0; i < oddities.size() && i < kTold; ++i) {
        Oddity& oddity = oddities[i];
        if (i + 1 == kTold && oddities.size() > kTold)
          oddity.message += concat("; and so on, ", counted(oddities.size() - kTold, "place", "places"), " more");
        chart_.add(oddity.code, oddity.severity, std::move(oddity.message), oddity.tensor, std::move(oddity.facts));
      }
  }

  const Checkpoint& checkpoint_;
  Chart& chart_;
  NameTree tree_;
  const std::vector<NameTree::Node>& nodes_;
  // Of the stack that is compared.
  std::string_view stack_;               // "model.layers"
  std::vector<std::uint32_t> children_;  // its numbered nodes, in order
  std::vector<Leaf> leaves_;
  std::vector<Role> roles_;
  std::vector<bool> rare_;                                      // per place: it has a tensor that less than half have
  std::size_t usual_ = 0;                                       // roles that nearly all have
  std::set<std::pair<std::uint32_t, std::string_view>> parts_;  // see has(); made when first asked for
  std::map<std::uint32_t, std::vector<std::string>> lacking_;
  std::map<std::tuple<std::uint32_t, DType, DType>, std::vector<std::string>> unlike_;
  // Of all.
  std::set<std::string, std::less<>> told_;  // names that are told as missing; with a dot at the end all below
  std::map<std::pair<Code, std::string>, std::vector<Oddity>> odd_;
};

}  // namespace

void check_repeats(const Checkpoint& checkpoint, Chart& chart) { Comparer(checkpoint, chart).run(); }

}  // namespace assay::analysis::doctor
