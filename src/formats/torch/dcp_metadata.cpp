// SPDX-License-Identifier: Apache-2.0
#include "formats/torch/dcp_metadata.hpp"

#include <algorithm>
#include <iterator>
#include <tuple>

#include "base/sort.hpp"
#include "base/text.hpp"
#include "base/try.hpp"

namespace assay::formats::torch {

namespace {

// Objects, lists and texts may be shared, so what looks at one of them looks at few of its parts; what is listed is counted.
constexpr std::size_t kAttributes = 64;
constexpr std::size_t kPathBytes = 4096;
constexpr std::size_t kTransformBytes = 80;

/// The class of an object, without its module.
std::string_view class_of(const Graph& graph, Node n) {
  return kind_of(graph, n) == Kind::call ? global_name(graph, graph.callable(n)).name : std::string_view();
}

/// An attribute that BUILD set, or the item of a dict that stands for the object; kNoNode when there is none.
Node attribute(const Graph& graph, Node object, std::string_view name) {
  if (object == kNoNode) return kNoNode;
  const auto few = [&](Node dict) { return kind_of(graph, dict) == Kind::dict && graph.pair_count(dict) <= kAttributes; };
  if (graph.kind(object) == Kind::dict) return few(object) ? graph.get(object, name) : kNoNode;
  Node found = kNoNode;
  const auto states = graph.states(object);
  for (const Node state : states.first(std::min(states.size(), kAttributes))) {
    if (!few(state)) continue;
    const Node value = graph.get(state, name);
    if (value != kNoNode) found = value;
  }
  return found;
}

/// The numbers of a torch.Size, tuple or list.
Result<std::vector<std::uint64_t>> sizes_of(const Graph& graph, Node n, std::string_view what, const Limits& limits) {
  if (class_of(graph, n) == "Size") n = item_at(graph, graph.args(n), 0);
  if (!is_sequence(kind_of(graph, n))) return fail(Code::malformed_tensor, concat(what, " is no list of sizes"));
  if (graph.length(n) > limits.rank)
    return fail(Code::limit_exceeded, concat(what, " has ", graph.length(n), " dimensions, the limit is ", limits.rank));
  std::vector<std::uint64_t> sizes;
  for (std::size_t i = 0; i < graph.length(n); ++i) {
    const auto value = integer_of(graph, graph.item(n, i));
    if (!value || *value < 0)
      return fail(Code::bad_shape,
                  concat(what, " holds ", pickle::describe(graph, graph.item(n, i), 40), ", which is no size in elements"));
    sizes.push_back(static_cast<std::uint64_t>(*value));
  }
  return sizes;
}

/// `left` is how many numbers of chunks may still be listed.
Result<void> read_tensor(const Graph& graph, Node n, const Limits& limits, std::uint64_t& left, DcpEntry& entry) {
  const Node properties = attribute(graph, n, "properties");
  Node dtype = attribute(graph, properties, "dtype");
  if (dtype == kNoNode && properties != kNoNode)
    if (const auto states = graph.states(properties); !states.empty()) dtype = item_at(graph, states.back(), 0);
  const GlobalName name = global_name(graph, dtype);
  entry.dtype = dtype_from_torch(name.name).value_or(DType::unknown);
  entry.dtype_text = name.name;
  ASSAY_TRY(entry.shape, sizes_of(graph, attribute(graph, n, "size"), "size", limits));
  const Node chunks = attribute(graph, n, "chunks");
  const std::uint64_t numbers = length_of(graph, chunks) * (1 + std::uint64_t{entry.shape.size()});
  if (numbers > left)
    return fail(Code::limit_exceeded, concat("its ", graph.length(chunks), " chunks and those before are more than a pickle of ",
                                             graph.node_count(), " values has"));
  left -= numbers;
  for (std::size_t i = 0; i < length_of(graph, chunks); ++i) {
    const Node chunk = graph.item(chunks, i);
    DcpBox box;
    ASSAY_TRY(box.offsets, sizes_of(graph, attribute(graph, chunk, "offsets"), "a chunk's offsets", limits));
    ASSAY_TRY(box.sizes, sizes_of(graph, attribute(graph, chunk, "sizes"), "a chunk's sizes", limits));
    if (box.offsets.size() != entry.shape.size() || box.sizes.size() != entry.shape.size())
      return fail(Code::malformed_tensor, concat("a chunk has ", box.sizes.size(), " dimensions, the tensor ", entry.shape.size()));
    entry.chunks.push_back(std::move(box));
  }
  if (name.name.empty()) return fail(Code::bad_dtype, "its dtype is not a name");
  return {};
}

std::string transforms_of(const Graph& graph, Node list) {
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(length_of(graph, list), 8); ++i) {
    const Node item = graph.item(list, i);
    text += concat(text.empty() ? "" : ", ", is_text(kind_of(graph, item)) ? graph.text(item).substr(0, kTransformBytes) : "?");
  }
  return text;
}

/// Places without offsets stand before the others.
const std::vector<std::uint64_t>* offsets_of(const DcpPlace& place) { return place.offsets ? &*place.offsets : nullptr; }
bool before(const std::vector<std::uint64_t>* a, const std::vector<std::uint64_t>* b) { return b != nullptr && (a == nullptr || *a < *b); }

void read_places(const Graph& graph, Node table, const Limits& limits, DcpMetadata& out) {
  std::unordered_set<std::string_view> seen;
  for (std::size_t i = 0; i < (table == kNoNode ? 0 : graph.pair_count(table)); ++i) {
    const Node key = graph.key(table, i), value = graph.value(table, i);
    const Node name = kind_of(graph, key) == Kind::text ? key : attribute(graph, key, "fqn");
    const Node path = attribute(graph, value, "relative_path");
    const auto offset = integer_of(graph, attribute(graph, value, "offset")), length = integer_of(graph, attribute(graph, value, "length"));
    if (kind_of(graph, name) != Kind::text || kind_of(graph, path) != Kind::text || !offset || !length || *offset < 0 || *length < 0)
      continue;
    if (graph.text(path).size() > kPathBytes || graph.text(name).size() > limits.name_bytes) continue;
    DcpPlace place;
    place.file = graph.text(path);
    place.offset = static_cast<std::uint64_t>(*offset);
    place.length = static_cast<std::uint64_t>(*length);
    place.transform = transforms_of(graph, attribute(graph, value, "transform_descriptors"));
    if (const Node offsets = attribute(graph, key, "offset"); kind_of(graph, offsets) != Kind::none)
      if (auto numbers = sizes_of(graph, offsets, "an index's offset", limits)) place.offsets = *std::move(numbers);
    if (seen.insert(place.file).second) out.files.push_back(place.file);
    out.places[graph.text(name)].push_back(std::move(place));
  }
  // Of two places for one chunk the first counts.
  for (auto& [name, list] : out.places) sort_stable(list, before, offsets_of);
}

}  // namespace

const DcpPlace* DcpMetadata::find(std::string_view name, const std::vector<std::uint64_t>* offsets) const {
  const auto found = places.find(name);
  if (found == places.end()) return nullptr;
  const auto at = std::ranges::lower_bound(found->second, offsets, before, offsets_of);
  if (at != found->second.end() && !before(offsets, offsets_of(*at))) return &*at;
  // A tensor in one piece may be indexed without its offset.
  return found->second.size() == 1 && !found->second[0].offsets ? &found->second[0] : nullptr;
}

void merge(DcpMetadata& into, DcpMetadata from, std::unordered_set<std::string_view>& twice) {
  std::unordered_map<std::string_view, std::size_t> known;
  for (std::size_t i = 0; i < into.entries.size(); ++i) known.emplace(into.entries[i].name, i);
  for (DcpEntry& entry : from.entries) {
    const auto [at, fresh] = known.try_emplace(entry.name, into.entries.size());
    if (fresh) {
      into.entries.push_back(std::move(entry));
      continue;
    }
    DcpEntry& first = into.entries[at->second];
    if (!entry.tensor || !first.tensor || first.fault) continue;
    if (entry.dtype != first.dtype || entry.shape != first.shape) {
      first.fault =
          Error(Code::size_mismatch, concat("one rank says shape ", bracketed(first.shape), ", another ", bracketed(entry.shape)));
      continue;
    }
    const auto box = [](const DcpBox& b) { return std::tie(b.offsets, b.sizes); };
    std::vector<DcpBox> sorted = first.chunks;
    sort_stable(sorted, {}, box);
    bool copy = false;
    for (DcpBox& chunk : entry.chunks) {
      if (std::ranges::binary_search(sorted, box(chunk), {}, box)) copy = true;
      else first.chunks.push_back(std::move(chunk));
    }
    if (copy) twice.insert(entry.name);
  }
  for (auto& [name, list] : from.places) {
    auto& all = into.places[name];
    all.insert(all.end(), std::make_move_iterator(list.begin()), std::make_move_iterator(list.end()));
    sort_stable(all, before, offsets_of);
  }
  for (const std::string_view file : from.files)
    if (std::ranges::find(into.files, file) == into.files.end()) into.files.push_back(file);
}

bool is_dcp_metadata(ByteView head) {
  const std::string_view text = head.text();
  if (!text.starts_with('\x80')) return false;
  if (text.substr(0, 64).find("state_dict_metadata") != std::string_view::npos) return true;  // without the classes
  const std::size_t module = text.find("checkpoint.metadata");
  return module != std::string_view::npos && module < 200 && text.find("torch.distributed") < module &&
         text.find("Metadata", module) != std::string_view::npos;
}

Result<DcpMetadata> read_dcp_metadata(const Graph& graph, const Limits& limits) {
  const Node root = graph.salvage_root();
  const Node table = attribute(graph, root, "state_dict_metadata");
  const bool metadata = class_of(graph, root) == "Metadata" || kind_of(graph, root) == Kind::dict;
  if (!metadata || kind_of(graph, table) != Kind::dict)
    return fail(Code::malformed_pickle, "the object is not the Metadata of a distributed checkpoint");
  DcpMetadata out;
  std::uint64_t left = std::uint64_t{4} * graph.node_count();  // a chunk is several values, of which tensors of one shape share some
  for (std::size_t i = 0; i < graph.pair_count(table); ++i) {
    const Node value = graph.value(table, i);
    DcpEntry entry;
    entry.name = graph.text(graph.key(table, i));
    if (entry.name.size() > limits.name_bytes)
      return fail(Code::limit_exceeded, concat("a name of ", entry.name.size(), " bytes exceeds the limit of ", limits.name_bytes));
    entry.tensor = class_of(graph, value) == "TensorStorageMetadata" || attribute(graph, value, "chunks") != kNoNode;
    if (entry.tensor) {
      if (auto read = read_tensor(graph, value, limits, left, entry); !read) entry.fault = std::move(read).error();
    }
    out.entries.push_back(std::move(entry));
  }
  read_places(graph, attribute(graph, root, "storage_data"), limits, out);
  return out;
}

}  // namespace assay::formats::torch
