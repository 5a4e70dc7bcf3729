// SPDX-License-Identifier: Apache-2.0
#include "formats/torch/walker.hpp"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "base/arena.hpp"
#include "base/sort.hpp"
#include "base/text.hpp"
#include "base/try.hpp"

namespace assay::formats::torch {

namespace {

constexpr std::uint64_t kFreeVisits = 20'000;  // allowance for shared containers, beyond the graph's own size
constexpr std::uint64_t kBytesPerVisit = 16;   // bytes that cost as much to look at as a visit
// All names and keys together: what few bytes of a file name over and over must not cost much more than they do.
constexpr std::uint64_t kMostNameBytes = std::uint64_t{256} << 20, kFreeNameBytes = std::uint64_t{16} << 20, kNameBytesPerByte = 16;
// All that is looked at of calls' arguments, in items and bytes: any number of calls may share the same ones.
constexpr std::uint64_t kFreeWork = std::uint64_t{64} << 20, kWorkPerByte = 16;
constexpr std::size_t kMetadataEntries = 100'000;
constexpr std::size_t kListedItems = 64;  // a longer list is only counted
constexpr std::size_t kListedBytes = 8192;
constexpr std::size_t kTextBytes = 1u << 16;  // of one text or object description
constexpr unsigned kWrappers = 64;            // a parameter around a tensor around …

std::uint32_t group_size(const Graph& graph, const Group& group) {
  const bool pairs = group.kind == GroupKind::pairs || group.kind == GroupKind::attributes || group.kind == GroupKind::members ||
                     group.kind == GroupKind::module_attributes;
  return static_cast<std::uint32_t>(pairs ? graph.pair_count(group.node) : graph.length(group.node));
}

std::uint64_t most_name_bytes(const Graph& graph) {
  return std::min(kMostNameBytes, kFreeNameBytes + kNameBytesPerByte * (graph.end_offset() - graph.begin_offset()));
}

}  // namespace

Walker::Walker(Checkpoint& checkpoint, const PickleInfo& pickle, StorageSource& storages, const Limits& limits, std::string_view prefix)
    : checkpoint_(checkpoint), pickle_(pickle), graph_(*pickle.graph), limits_(limits), table_(checkpoint, pickle, storages, limits),
      on_path_(graph_.node_count()), seen_(graph_.node_count()), kept_keys_(graph_.node_count()), path_(prefix), parameter_numbers_(graph_),
      first_tensor_(static_cast<std::uint32_t>(checkpoint.tensors.size())),
      budget_(2 * std::uint64_t{graph_.node_count()} + (graph_.end_offset() - graph_.begin_offset()) / kBytesPerVisit + kFreeVisits),
      name_budget_(most_name_bytes(*pickle.graph)), work_budget_(kFreeWork + kWorkPerByte * (graph_.end_offset() - graph_.begin_offset())) {
  const auto persistent = std::ranges::count(graph_.events(), pickle::EventKind::persistent, &pickle::Event::kind);
  checkpoint_.tensors.reserve(checkpoint_.tensors.size() + static_cast<std::size_t>(persistent));
  checkpoint_.storages.reserve(checkpoint_.storages.size() + static_cast<std::size_t>(persistent));
  origins_.resize(checkpoint_.tensors.size(), origin_);
}

Result<void> Walker::walk(Node root) {
  ASSAY_CHECK(visit(root));
  for (Node key = kNoNode; !stack_.empty() || next_tensor_key(key);) {
    if (stack_.empty()) {
      ASSAY_CHECK(visit(key));
      continue;
    }
    Frame& frame = stack_.back();
    path_.resize(frame.path);
    Node child = kNoNode;
    if (!next_child(frame, child)) {
      if (frame.owner != kNoNode) on_path_[frame.owner] = false;
      if (frame.group.kind == GroupKind::parts) parts_.resize(frame.parts);
      stack_.pop_back();
      continue;
    }
    if (child == kNoNode) {
      spend(1);
      continue;
    }
    if (name_budget_ < path_.size() - frame.path) {
      limit(concat("names together exceed ", most_name_bytes(graph_), " bytes"));
      return {};
    }
    name_budget_ -= path_.size() - frame.path;
    if (path_.size() > limits_.name_bytes) {
      limit(concat("a name of ", path_.size(), " bytes exceeds the limit of ", limits_.name_bytes));
      continue;
    }
    ASSAY_CHECK(visit(child));
  }
  return {};
}

// Gives the next child and makes path_ its name; false at the group's end. A child that is to be passed over is kNoNode.
bool Walker::next_child(Frame& frame, Node& child) {
  if (frame.next == frame.end) return false;
  const std::uint32_t i = frame.next++;
  origin_ = {frame.group.node, kNoNode};
  switch (frame.group.kind) {
    case GroupKind::items:
      child = graph_.item(frame.group.node, i);
      append_name(decimal(std::uint64_t{i}));
      return true;
    case GroupKind::parts:
      child = parts_[frame.parts + i].node;
      append_name(parts_[frame.parts + i].label);
      return true;
    case GroupKind::pair_items: {
      const Node pair = graph_.item(frame.group.node, i);
      origin_.key = item_at(graph_, pair, 0);
      child = item_at(graph_, pair, 1);
      label_.clear();
      append_label(label_, graph_, origin_.key);
      append_name(label_);
      return true;
    }
    default: {
      const Node key = graph_.key(frame.group.node, i);
      const Node value = graph_.value(frame.group.node, i);
      if (skip_attribute(frame, key, value)) return true;
      origin_.key = key;
      child = value;
      append_key(key, i);
      return true;
    }
  }
}

// A tensor as a key has no text of its own. An optimizer that was pickled whole has its parameters for keys, which state_dict() numbers;
// elsewhere the key's place is the number, and the tensor is listed too.
void Walker::append_key(Node key, std::uint32_t place) {
  label_.clear();
  const bool asked = kind_of(graph_, key) == Kind::call && work_budget_ > 0;
  const bool tensor = asked && is_tensor(graph_, key, rebuilt_);
  if (asked) spend_work();
  if (!tensor) {
    append_label(label_, graph_, key);
    return append_name(label_);
  }
  std::size_t above = stack_.size();
  while (above > 0 && stack_[above - 1].owner == kNoNode) --above;  // the frames of this dict
  const auto number = above < 2 ? std::nullopt : parameter_numbers_.find(stack_[above - 2].group.node, key);
  append_name(decimal(std::uint64_t{number.value_or(place)}));
  if (number || seen_[key] || kept_keys_[key] || name_budget_ < path_.size()) return;
  name_budget_ -= path_.size();
  kept_keys_[key] = true;
  tensor_keys_.push_back({key, concat(path_, ".key")});
}

// The next tensor that was met as a key only, with path_ as its name.
bool Walker::next_tensor_key(Node& key) {
  while (next_key_ < tensor_keys_.size()) {
    key = tensor_keys_[next_key_].key;
    path_ = std::move(tensor_keys_[next_key_++].name);
    origin_ = {kNoNode, kNoNode};
    if (!seen_[key]) return true;
  }
  return false;
}

bool Walker::skip_attribute(const Frame& frame, Node key, Node value) const {
  if (frame.group.kind == GroupKind::pairs) return false;
  const Kind kind = kind_of(graph_, value);
  if (frame.group.kind == GroupKind::members) return kind == Kind::none;
  const std::string_view name = is_text(kind_of(graph_, key)) ? graph_.text(key) : std::string_view();
  // What state_dict() and jit attach to every module: no values of the model.
  if (name == "_metadata" || name == "_is_full_backward_hook") return true;
  if (frame.group.kind == GroupKind::attributes) return false;
  if (name == "_parameters" || name == "_buffers" || name == "_modules" || name == "_non_persistent_buffers_set") return true;
  if (name == "_flat_weights" || name == "_flat_weights_names") return true;  // of recurrent layers: their parameters again
  // A module's own bookkeeping: hook tables that are nearly always empty.
  if (!name.starts_with('_')) return false;
  if (kind == Kind::none || (kind == Kind::boolean && !graph_.boolean(value))) return true;
  if (kind == Kind::dict || is_sequence(kind)) return graph_.length(value) == 0;
  return kind == Kind::call && graph_.pair_count(value) == 0 && graph_.length(value) == 0 && graph_.states(value).empty() &&
         length_of(graph_, graph_.args(value)) == 0;
}

// A file that is one tensor or one value has no name for it.
std::string_view Walker::name_or(std::string_view otherwise) const { return path_.empty() && stack_.empty() ? otherwise : path_; }

void Walker::append_name(std::string_view label) {
  if (!path_.empty()) path_ += '.';
  path_ += label;
}

void Walker::limit(std::string what) {
  // One finding for each limit, not for each place that reaches it: the text up to the first digit tells them apart.
  std::string kind = what.substr(0, what.find_first_of("0123456789"));
  if (std::ranges::find(told_limits_, kind) != told_limits_.end()) return;
  told_limits_.push_back(std::move(kind));
  Finding finding(Code::limit_exceeded, std::move(what));
  finding.where.member = pickle_.member;
  checkpoint_.add(std::move(finding));
}

void Walker::spend(std::uint64_t cost) { budget_ -= std::min(budget_, cost); }

// For what rebuilt_ cost. False when calls have been looked at for more than the file is worth: the rest are passed over.
bool Walker::spend_work() {
  spend(rebuilt_.cost / kBytesPerVisit);
  if (rebuilt_.cost < work_budget_) {
    work_budget_ -= rebuilt_.cost;
    return true;
  }
  work_budget_ = 0;
  limit("calls share so large arguments that the file's size does not warrant looking at all of them");
  return false;
}

// A container may be entered unless it is its own ancestor, too deep, or shared by more paths than the file is worth.
bool Walker::may_enter(Node node) {
  if (on_path_[node]) return false;
  if (stack_.size() >= limits_.walk_depth) {
    limit(concat("containers nested deeper than ", limits_.walk_depth, " are not followed"));
    return false;
  }
  if (shared_too_often(node)) return false;
  seen_[node] = true;
  return true;
}

bool Walker::shared_too_often(Node node) {
  if (!seen_[node] || budget_ > 0) return false;
  limit("shared containers would be listed under more names than the file has values; each further one is listed once");
  return true;
}

// The groups are walked in order, the parts last; the owner stays on the path until all are done.
void Walker::push(Node owner, std::span<const Group> groups, std::span<const Part> parts) {
  if (!may_enter(owner)) return;
  const auto path = static_cast<std::uint32_t>(path_.size());
  const std::size_t bottom = stack_.size();
  if (!parts.empty()) {
    const auto begin = static_cast<std::uint32_t>(parts_.size());
    parts_.insert(parts_.end(), parts.begin(), parts.end());
    stack_.push_back({.group = {GroupKind::parts, kNoNode}, .end = static_cast<std::uint32_t>(parts.size()), .path = path, .parts = begin});
  }
  for (std::size_t i = groups.size(); i-- > 0;) {
    const Node node = groups[i].node;
    if (node == kNoNode || (node != owner && shared_too_often(node))) continue;
    seen_[node] = true;
    stack_.push_back({.group = groups[i], .end = group_size(graph_, groups[i]), .path = path});
  }
  if (stack_.size() == bottom) return;
  stack_[bottom].owner = owner;
  on_path_[owner] = true;
}

Result<void> Walker::visit(Node node) {
  spend(1);
  const Kind kind = kind_of(graph_, node);
  switch (kind) {
    case Kind::list:
    case Kind::tuple:
    case Kind::set:
    case Kind::frozenset: visit_sequence(node); return {};
    case Kind::dict: {
      if (graph_.length(node) == 0) add_text(MetadataEntry::Kind::json, "{}");
      const std::array groups{Group{GroupKind::pairs, node}};
      push(node, groups, {});
      return {};
    }
    case Kind::call: return visit_call(node);
    case Kind::persistent: {
      const Node id = graph_.item(node, 0);
      const Node tag = item_at(graph_, id, 0);
      if (is_text(kind_of(graph_, tag)) && graph_.text(tag) == "reduce_package") {  // (tag, id, function, arguments): torch.package's own
        add_text(MetadataEntry::Kind::object, pickle::describe(graph_, item_at(graph_, id, 2)));
        return {};
      }
      const bool is_class = kind_of(graph_, tag) == Kind::global || (is_text(kind_of(graph_, tag)) && graph_.text(tag) == "module");
      if (!is_class) return note_tensor(node, table_.add_bare_storage(name_or("tensor"), node));
      add_text(MetadataEntry::Kind::object, qualified_name(graph_, node));
      return {};
    }
    case Kind::global: {
      const GlobalName name = global_name(graph_, node);
      const bool torch_value = name.module == "torch" && is_known_global(name);
      add_text(torch_value ? MetadataEntry::Kind::text : MetadataEntry::Kind::object, qualified_name(graph_, node));
      return {};
    }
    case Kind::bytes:
    case Kind::bytearray:
      add_text(MetadataEntry::Kind::object, concat(pickle::kind_name(kind), " of ", graph_.bytes(node).size()));
      return {};
    case Kind::extension:
    case Kind::buffer: add_text(MetadataEntry::Kind::object, pickle::kind_name(kind)); return {};
    default: add_plain(node); return {};
  }
}

void Walker::visit_sequence(Node node) {
  if (one_entry(node)) return;
  const std::array groups{Group{GroupKind::items, node}};
  push(node, groups, {});
}

// A list of plain values is one entry.
bool Walker::one_entry(Node sequence) {
  if (shared_too_often(sequence)) return true;
  const std::size_t length = graph_.length(sequence);
  std::size_t plain = 0;
  while (plain < length && is_plain(kind_of(graph_, graph_.item(sequence, plain)))) ++plain;
  spend(plain);
  if (plain < length) return false;
  seen_[sequence] = true;
  plain_.clear();
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < length && length <= kListedItems; ++i) {
    plain_.push_back(graph_.item(sequence, i));
    bytes += graph_.text(plain_.back()).size();
  }
  if (length <= kListedItems && bytes <= kListedBytes) add_text(MetadataEntry::Kind::json, json_list(graph_, plain_));
  else add_text(MetadataEntry::Kind::object, concat(pickle::kind_name(graph_.kind(sequence)), " of ", length));
  return true;
}

Result<void> Walker::visit_call(Node outer) {
  if (shared_too_often(outer) || work_budget_ == 0) return {};
  bool parameter = false;
  Node node = outer;
  std::vector<Group> groups;  // of the wrappers; nearly always none
  std::vector<Part> parts;
  for (unsigned i = 0;; ++i) {
    rebuild(graph_, node, rebuilt_);
    if (!spend_work()) return {};
    parameter |= rebuilt_.parameter;
    if (rebuilt_.form != Form::alias || rebuilt_.inner == kNoNode || i == kWrappers) break;
    groups.insert(groups.end(), rebuilt_.groups.begin(), rebuilt_.groups.end());
    parts.insert(parts.end(), rebuilt_.parts.begin(), rebuilt_.parts.end());
    node = rebuilt_.inner;
    if (graph_.kind(node) == Kind::call) continue;
    // Something plain in a wrapper: what the wrapper adds is of no use without a tensor.
    return visit(node);
  }
  rebuilt_.groups.insert(rebuilt_.groups.end(), groups.begin(), groups.end());
  rebuilt_.parts.insert(rebuilt_.parts.end(), parts.begin(), parts.end());
  ASSAY_CHECK(list_rebuilt(outer, node, parameter));
  seen_[outer] = true;
  return {};
}

Result<void> Walker::list_rebuilt(Node outer, Node node, bool parameter) {
  using EntryKind = MetadataEntry::Kind;
  const Rebuilt& r = rebuilt_;
  const EntryKind text_kind = r.is_object ? EntryKind::object : EntryKind::text;
  switch (r.form) {
    case Form::tensor: ASSAY_CHECK(note_tensor(outer, table_.add(name_or("tensor"), node, r.tensor, parameter))); break;
    case Form::array: ASSAY_CHECK(note_tensor(outer, table_.add_array(name_or("tensor"), node, r.array))); break;
    case Form::storage: ASSAY_CHECK(note_tensor(outer, table_.add_bare_storage(name_or("tensor"), node))); break;
    case Form::value: add_text(text_kind, r.text); break;
    case Form::number:
      if (r.scalar.kind == Kind::boolean) add_entry({.kind = EntryKind::boolean, .boolean = r.scalar.boolean});
      else if (r.scalar.kind == Kind::integer) add_entry({.kind = EntryKind::integer, .integer = r.scalar.integer});
      else add_entry({.kind = EntryKind::real, .real = r.scalar.real});
      break;
    case Form::container:
      if (r.groups.size() == 1 && r.parts.empty() && r.groups[0].kind == GroupKind::items && !r.is_object && one_entry(r.groups[0].node))
        return {};
      if (r.is_object) {
        add_text(EntryKind::object, r.text);
        count_distributed(r);
      }
      break;
    case Form::opaque:
    case Form::alias: add_text(EntryKind::object, r.text); break;
  }
  push(outer, r.groups, r.parts);
  return {};
}

Result<void> Walker::note_tensor(Node node, Result<std::uint32_t> index) {
  if (!index) return fail(std::move(index).error());
  name_budget_ -= std::min<std::uint64_t>(name_budget_, path_.size());
  checkpoint_.node_tensors.emplace_back(node, *index);
  origins_.push_back(origin_);
  return {};
}

void Walker::add_entry(MetadataEntry entry) {
  if (checkpoint_.metadata.size() >= kMetadataEntries) {
    limit(concat("more values than ", kMetadataEntries, " are not tensors; the rest are not listed"));
    return;
  }
  // A text may be shared by any number of names, each of which is shown with it.
  const std::uint64_t cost = path_.size() + entry.text.size();
  if (name_budget_ < cost) return limit(concat("names and their texts together exceed ", most_name_bytes(graph_), " bytes"));
  name_budget_ -= cost;
  entry.key = checkpoint_.arena().text(name_or("value"));
  checkpoint_.metadata.push_back(entry);
}

void Walker::add_text(MetadataEntry::Kind kind, std::string_view text) {
  const bool full = checkpoint_.metadata.size() >= kMetadataEntries || name_budget_ < path_.size() + text.size();
  add_entry({.kind = kind, .text = full ? text : checkpoint_.arena().text(text)});
}

void Walker::add_plain(Node node) {
  using EntryKind = MetadataEntry::Kind;
  switch (kind_of(graph_, node)) {
    case Kind::boolean: return add_entry({.kind = EntryKind::boolean, .boolean = graph_.boolean(node)});
    case Kind::integer: return add_entry({.kind = EntryKind::integer, .integer = graph_.integer(node)});
    case Kind::real: return add_entry({.kind = EntryKind::real, .real = graph_.real(node)});
    case Kind::big_integer: {
      const std::string digits = pickle::describe(graph_, node);
      return add_text(digits.starts_with('<') ? EntryKind::object : EntryKind::json, digits);
    }
    case Kind::text: {
      const std::string_view text = graph_.text(node);
      if (text.size() <= kTextBytes) return add_entry({.kind = EntryKind::text, .text = text});
      return add_text(EntryKind::object, concat("text of ", text.size(), " bytes"));
    }
    default: return add_entry({.kind = EntryKind::null});
  }
}

// A tensor of which other ranks have the rest: what is listed of it is this file's part.
void Walker::count_distributed(const Rebuilt& rebuilt) {
  if (!rebuilt.text.ends_with(".DTensor") && !rebuilt.text.ends_with(".ShardedTensor")) return;
  if (++distributed_ != 1) return;
  Node size = kNoNode;
  for (const Part& part : rebuilt.parts)
    if (part.label == "size") size = part.node;
  if (kind_of(graph_, size) == Kind::call) size = item_at(graph_, graph_.args(size), 0);
  first_distributed_ = concat(quote(path_), " is ", size == kNoNode ? "larger" : pickle::describe(graph_, size, 80), " in all");
}

void Walker::finish() {
  if (distributed_ != 0) {
    Finding finding(Code::opaque_object, concat("one rank's parts of ", counted(distributed_, "distributed tensor", "distributed tensors"),
                                                " are here; ", first_distributed_));
    finding.where.member = pickle_.member;
    finding.facts = {{"tensors", distributed_}};
    checkpoint_.add(std::move(finding));
  }
  sort_stable(checkpoint_.node_tensors);
  table_.resolve_quantizers();
  if (!pickle_.shared_storages) table_.note_unused_bytes();

  std::unordered_map<std::string_view, std::uint32_t> last;
  last.reserve(checkpoint_.tensors.size());
  std::vector<bool> replaced(checkpoint_.tensors.size());
  for (std::uint32_t i = 0; i < checkpoint_.tensors.size(); ++i) {
    const auto [at, fresh] = last.try_emplace(checkpoint_.tensors[i].name, i);
    if (fresh) continue;
    const std::uint32_t before = at->second;
    at->second = i;
    if (i < first_tensor_) continue;
    const Origin a = origins_[before], b = origins_[i];
    // The same key twice in one dict: Python keeps the last. Keys of different kinds, or other paths, are two values.
    replaced[before] = a.parent == b.parent && a.key != kNoNode && b.key != kNoNode && kind_of(graph_, a.key) == kind_of(graph_, b.key);
    Finding finding(Code::duplicate_name, concat("the name ", quote(at->first), " stands for more than one tensor",
                                                 replaced[before] ? "; the last one counts" : ""));
    finding.severity = Severity::warning;
    finding.where.tensor = std::string(at->first);
    checkpoint_.add(std::move(finding));
  }
  if (std::ranges::find(replaced, true) == replaced.end()) return;
  std::vector<std::uint32_t> moved(checkpoint_.tensors.size(), kNone);
  std::uint32_t kept = 0;
  for (std::uint32_t i = 0; i < checkpoint_.tensors.size(); ++i) {
    if (replaced[i]) continue;
    moved[i] = kept;
    checkpoint_.tensors[kept++] = checkpoint_.tensors[i];
  }
  checkpoint_.tensors.resize(kept);
  std::erase_if(checkpoint_.node_tensors, [&](const auto& pair) { return moved[pair.second] == kNone; });
  for (auto& [node, tensor] : checkpoint_.node_tensors) tensor = moved[tensor];
}

}  // namespace assay::formats::torch
