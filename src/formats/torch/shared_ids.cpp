// SPDX-License-Identifier: Apache-2.0
#include "formats/torch/shared_ids.hpp"

#include <string_view>
#include <unordered_map>

#include "base/text.hpp"
#include "formats/torch/storage_id.hpp"

namespace assay::formats::torch {

namespace {

constexpr std::size_t kZipItems = 5, kLegacyItems = 6;  // of a persistent id

/// What a view's key stands for.
struct Part {
  std::string_view key;  // of the storage
  std::uint64_t offset = 0, numel = 0;
  bool operator==(const Part&) const = default;
};

class Notes {
 public:
  Notes(Checkpoint& checkpoint, const PickleInfo& pickle) : checkpoint_(checkpoint), pickle_(pickle), graph_(*pickle.graph) {}

  void look_at(const pickle::Event& event) {
    const auto id = read_storage_id(graph_, event.node, checkpoint_.arena());
    if (!id) return;
    const Node pid = graph_.item(event.node, 0);
    const std::size_t items = graph_.length(pid), wanted = checkpoint_.format == "torch-zip" ? kZipItems : kLegacyItems;
    if (kind_of(graph_, pid) == Kind::tuple && items != wanted)
      tell(event, concat("the id of storage ", quote(id->key, 80), " has ", items, " items, not ", wanted, "; torch.load refuses that"));
    const std::string_view first = classes_.try_emplace(id->key, id->class_name).first->second;
    if (first != id->class_name && !id->untyped)
      tell(event, concat("storage ", quote(id->key, 80), " is of class ", escape(id->class_name, 80), " here and was of class ",
                         escape(first, 80), " before; torch.load takes the first for all"));
    const Node view = item_at(graph_, item_at(graph_, pid, 5), 0);
    if (!id->view_numel || !is_text(kind_of(graph_, view))) return;
    const Part part{id->key, id->view_offset, *id->view_numel};
    if (parts_.try_emplace(graph_.text(view), part).first->second != part)
      tell(event, concat("view ", quote(graph_.text(view), 80),
                         " of a storage stood for another part before; torch.load takes the first for all"));
  }

 private:
  void tell(const pickle::Event& event, std::string what) {
    Finding finding(Code::malformed_tensor, std::move(what));
    finding.severity = Severity::warning;
    finding.where = place_of(pickle_, event);
    checkpoint_.add(std::move(finding));
  }

  Checkpoint& checkpoint_;
  const PickleInfo& pickle_;
  const Graph& graph_;
  std::unordered_map<std::string_view, std::string_view> classes_;  // by key, the first that is named
  std::unordered_map<std::string_view, Part> parts_;                // by a view's key
};

/// Whether there is nothing to look at: as many ids as storages, so that each has a key of its own, and none in a length that torch
/// refuses.
bool are_plain(const PickleInfo& pickle, std::size_t storages) {
  std::size_t ids = 0;
  for (const pickle::Event& event : pickle.graph->events()) {
    if (event.kind != pickle::EventKind::persistent) continue;
    if (++ids > storages || length_of(*pickle.graph, pickle.graph->item(event.node, 0)) != kZipItems) return false;
  }
  return ids == storages;
}

}  // namespace

void note_shared_ids(Checkpoint& checkpoint, const PickleInfo& pickle, std::size_t storages) {
  const bool zip = checkpoint.format == "torch-zip";
  if (!zip && checkpoint.format != "torch-legacy") return;
  if (zip && are_plain(pickle, storages)) return;
  Notes notes(checkpoint, pickle);
  for (const pickle::Event& event : pickle.graph->events())
    if (event.kind == pickle::EventKind::persistent) notes.look_at(event);
}

}  // namespace assay::formats::torch
