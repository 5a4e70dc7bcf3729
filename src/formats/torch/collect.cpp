// SPDX-License-Identifier: Apache-2.0
#include "formats/torch/collect.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <unordered_set>

#include "base/arena.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "formats/torch/changes.hpp"
#include "formats/torch/shared_ids.hpp"
#include "formats/torch/walker.hpp"

namespace assay::formats::torch {

namespace {
constexpr std::size_t kNamedImports = 1000;
}

Result<void> collect(Checkpoint& checkpoint, const PickleInfo& pickle, Node root, StorageSource& storages, const Limits& limits,
                     std::string_view prefix) {
  checkpoint.arena().keep(pickle.graph);  // names of metadata and storages point into it
  checkpoint.values = pickle.graph;
  if (root == kNoNode) return {};
  const std::size_t storages_before = checkpoint.storages.size();
  Walker walker(checkpoint, pickle, storages, limits, prefix);
  ASSAY_CHECK(walker.walk(root));
  walker.finish();
  note_changes(checkpoint, pickle);
  note_shared_ids(checkpoint, pickle, checkpoint.storages.size() - storages_before);
  return {};
}

Where place_of(const PickleInfo& pickle, const pickle::Event& event) {
  Where where{.member = std::string(pickle.member)};
  if (!pickle.in_file.empty()) where.offset = event.offset;
  return where;
}

void note_foreign_imports(Checkpoint& checkpoint, const PickleInfo& pickle) {
  const Graph& graph = *pickle.graph;
  // Files without a memo import the same few names over and over.
  std::unordered_set<std::string> seen;
  std::array<GlobalName, 4> before;
  std::size_t oldest = 0;
  for (const pickle::Event& event : graph.events()) {
    if (event.kind != pickle::EventKind::import_) continue;
    const GlobalName name = global_name(graph, event.node);
    if (std::ranges::any_of(before, [&](const GlobalName& other) { return name.name == other.name && name.module == other.module; }))
      continue;
    before[oldest++ % before.size()] = name;
    if (is_known_global(name) || !seen.insert(concat(name.module, " ", name.name)).second) continue;
    if (seen.size() > kNamedImports) return;
    Finding finding(Code::opaque_object, concat("holds ", escape(name.module, 200), ".", escape(name.name, 200),
                                                ", whose code is not run; its parts are listed"));
    finding.where = place_of(pickle, event);
    finding.facts.push_back({"name", concat(name.module, ".", name.name)});
    checkpoint.add(std::move(finding));
  }
}

}  // namespace assay::formats::torch
