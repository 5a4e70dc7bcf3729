// SPDX-License-Identifier: Apache-2.0
#include "analysis/match.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <string>
#include <vector>

namespace assay::analysis {
namespace {

struct Named {
  std::string name;
  std::vector<std::uint64_t> shape = {4};
  float value = 0;  ///< of every element
};

/// A checkpoint of F32 tensors.
struct Model {
  Checkpoint checkpoint;
  std::deque<Named> names;

  explicit Model(const std::vector<Named>& tensors) : names(tensors.begin(), tensors.end()) {
    std::vector<std::byte> bytes;
    for (const Named& named : names) {
      Tensor tensor;
      tensor.name = named.name;
      tensor.dtype = DType::f32;
      tensor.shape = named.shape;
      tensor.numel = 1;
      for (const std::uint64_t size : named.shape) tensor.numel *= size;
      tensor.storage = 0;
      tensor.storage_offset = bytes.size() / 4;
      for (std::uint64_t i = 0; i < tensor.numel; ++i) {
        std::byte code[4];
        std::memcpy(code, &named.value, sizeof code);
        bytes.insert(bytes.end(), code, code + 4);
      }
      checkpoint.tensors.push_back(tensor);
    }
    Storage storage;
    storage.nbytes = bytes.size();
    checkpoint.storages.push_back(storage);
    checkpoint.files.push_back({"file", bytes.size(), std::make_shared<MemorySource>(std::move(bytes))});
  }
};

std::vector<Named> named(const std::vector<std::string>& names) {
  std::vector<Named> tensors;
  for (const std::string& name : names) tensors.push_back({.name = name});
  return tensors;
}

using Pairs = std::vector<std::pair<std::string, std::string>>;
Pairs pairs_of(const Matching& matching, const Model& a, const Model& b, MatchKind kind) {
  Pairs pairs;
  for (const TensorPair& pair : matching.pairs)
    if (pair.kind == kind) pairs.emplace_back(a.checkpoint.tensors[pair.a].name, b.checkpoint.tensors[pair.b].name);
  return pairs;
}

Pairs by_prefix(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  const Model x(named(a)), y(named(b));
  return pairs_of(match_names(x.checkpoint, y.checkpoint), x, y, MatchKind::prefix);
}

TEST(Match, EqualNamesInNaturalOrder) {
  const Model a(named({"w.10", "w.2", "x"})), b(named({"w.2", "y", "w.10"}));
  const Matching matching = match_names(a.checkpoint, b.checkpoint);
  EXPECT_EQ(pairs_of(matching, a, b, MatchKind::name), (Pairs{{"w.2", "w.2"}, {"w.10", "w.10"}}));
  EXPECT_EQ(matching.only_a, std::vector<std::uint32_t>{2});
  EXPECT_EQ(matching.only_b, std::vector<std::uint32_t>{1});
}

TEST(Match, WrappersAreLookedThrough) {
  EXPECT_EQ(by_prefix({"layer.0.w"}, {"module._orig_mod.layer.0._fsdp_wrapped_module.w"}),
            (Pairs{{"layer.0.w", "module._orig_mod.layer.0._fsdp_wrapped_module.w"}}));
  EXPECT_EQ(by_prefix({"state_dict.model.w", "epoch.w"}, {"w"}), (Pairs{{"state_dict.model.w", "w"}}));
}

TEST(Match, EqualNamesComeBeforeStrippedOnes) {
  const Model a(named({"model.w", "w"})), b(named({"w"}));
  const Matching matching = match_names(a.checkpoint, b.checkpoint);
  EXPECT_EQ(pairs_of(matching, a, b, MatchKind::name), (Pairs{{"w", "w"}}));
  EXPECT_EQ(matching.only_a, std::vector<std::uint32_t>{0});
}

TEST(Match, AmbiguousNamesAreNotGuessed) { EXPECT_TRUE(by_prefix({"model.w", "net.w"}, {"w"}).empty()); }

TEST(Match, APrefixThatTheNamesShareIsFound) {
  EXPECT_EQ(by_prefix({"backbone.trunk.a", "backbone.trunk.b", "head.a"}, {"a", "b"}),
            (Pairs{{"backbone.trunk.a", "a"}, {"backbone.trunk.b", "b"}}));
  EXPECT_EQ(by_prefix({"a", "b"}, {"student.a", "student.b"}), (Pairs{{"a", "student.a"}, {"b", "student.b"}}));
  // Two that fit equally well are no answer, and neither is one whose shapes say otherwise.
  EXPECT_TRUE(by_prefix({"encoder.a", "decoder.a"}, {"a"}).empty());
  const Model x({{.name = "encoder.a", .shape = {8}}}), y(named({"a"}));
  EXPECT_TRUE(match_names(x.checkpoint, y.checkpoint).pairs.empty());
}

TEST(Match, OtherLayersAreNotTakenForEachOther) {
  EXPECT_TRUE(by_prefix({"layers.3.w", "layers.3.b"}, {"layers.4.w", "layers.4.b"}).empty());
}

TEST(Match, PlainNamesKeepTheirLastComponent) {
  EXPECT_EQ(plain_name("module._orig_mod.model.x", false), "model.x");
  EXPECT_EQ(plain_name("module._orig_mod.model.x", true), "x");
  EXPECT_EQ(plain_name("model.module", true), "module");
  EXPECT_EQ(plain_name("a.module.w", true), "a.module.w");
  EXPECT_EQ(plain_name("", true), "");
}

TEST(Match, PrefixesAreWhatTheCommonEndLeaves) {
  EXPECT_EQ(prefixes_of("module.a.w", "a.w"), (Prefixes{"module.", ""}));
  EXPECT_EQ(prefixes_of("x.a.w", "y.z.a.w"), (Prefixes{"x.", "y.z."}));
  EXPECT_EQ(prefixes_of("a", "a"), (Prefixes{"", ""}));
  EXPECT_EQ(prefixes_of("aw", "w"), (Prefixes{"aw", "w"}));
}

std::vector<std::optional<ContentHash>> hashes_of(const Model& model, const std::vector<std::uint32_t>& tensors) {
  std::vector<std::optional<ContentHash>> hashes;
  for (const std::uint32_t t : tensors) {
    auto hash = content_hash(model.checkpoint, model.checkpoint.tensors[t]);
    EXPECT_TRUE(hash.has_value());
    hashes.push_back(*hash);
  }
  return hashes;
}

TEST(Match, ContentFindsRenamedTensors) {
  const Model a({{"p", {4}, 1}, {"q", {4}, 2}, {"r", {2, 2}, 1}, {"s", {3}, 1}}),
      b({{"x", {2, 2}, 1}, {"y", {4}, 2}, {"z", {4}, 7}, {"v", {4}, 1}});
  Matching matching = match_names(a.checkpoint, b.checkpoint);
  const ContentCandidates candidates = content_candidates(matching, a.checkpoint, b.checkpoint);
  EXPECT_EQ(candidates.a.size(), 3u);  // nothing of B has the shape of s
  match_by_content(matching, candidates, hashes_of(a, candidates.a), hashes_of(b, candidates.b));
  Pairs pairs = pairs_of(matching, a, b, MatchKind::content);
  std::ranges::sort(pairs);
  EXPECT_EQ(pairs, (Pairs{{"p", "v"}, {"q", "y"}, {"r", "x"}}));
  EXPECT_EQ(matching.only_a, std::vector<std::uint32_t>{3});
  EXPECT_EQ(matching.only_b, std::vector<std::uint32_t>{2});
}

TEST(Match, HashesDependOnEveryElementAndItsPlace) {
  std::vector<ContentHash> seen;
  for (const std::uint64_t size : {1u, 7u, 8u, 9u, 33u})
    for (std::uint64_t place = 0; place < size; ++place) {
      Model model({{"w", {size}, 0}});
      std::vector<std::byte> bytes(size * 4);
      bytes[place * 4 + place % 4] = std::byte{1};
      model.checkpoint.files[0].source = std::make_shared<MemorySource>(std::move(bytes));
      seen.push_back(*content_hash(model.checkpoint, model.checkpoint.tensors[0]));
    }
  std::ranges::sort(seen);
  EXPECT_EQ(std::ranges::adjacent_find(seen), seen.end());
}

}  // namespace
}  // namespace assay::analysis
