// SPDX-License-Identifier: Apache-2.0
#include "analysis/tree.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "names_testing.hpp"

namespace assay::analysis {
namespace {

std::vector<std::string> ordered(const Checkpoint& checkpoint) {
  std::vector<std::string> names;
  for (const std::uint32_t t : NameTree(checkpoint.tensors).natural_order()) names.emplace_back(checkpoint.tensors[t].name);
  return names;
}

/// "label ×times present/of(missing|only) tensors" per node, two spaces a level.
std::vector<std::string> drawn(const Checkpoint& checkpoint) {
  const Outline outline = analysis::outline(checkpoint, summarize(checkpoint), NameTree(checkpoint.tensors));
  std::vector<std::string> lines;
  std::vector<std::uint32_t> todo(outline.nodes[0].children.rbegin(), outline.nodes[0].children.rend());
  while (!todo.empty()) {
    const OutlineNode& node = outline.nodes[todo.back()];
    todo.pop_back();
    todo.insert(todo.end(), node.children.rbegin(), node.children.rend());
    std::string line(2 * (node.depth - 1), ' ');
    line += node.label;
    if (node.times > 1) line += concat(" x", node.times);
    if (node.present != node.of) line += concat(" ", node.present, "/", node.of, " ", node.noun);
    for (const std::string& place : node.missing) line += concat(" -", place);
    for (const std::string& place : node.only) line += concat(" +", place);
    line += concat(" [", node.tensors, "]");
    lines.push_back(line);
  }
  return lines;
}

using Lines = std::vector<std::string>;

TEST(NameTree, OrdersNamesNaturally) {
  EXPECT_EQ(ordered(checkpoint_of({"l.10.w", "l.2.w", "l.1.w", "a", "l.10.b"})), (Lines{"a", "l.1.w", "l.2.w", "l.10.b", "l.10.w"}));
}

TEST(NameTree, KeepsEveryTensorWhateverItsName) {
  const std::string deep(60000, '.'), deeper = deep + "x";
  const Checkpoint checkpoint = checkpoint_of({"", ".", "..", "a", "a.", ".a", "a.b", "a-b", "a", deep, deeper, "b.a", "a.b"});
  const auto names = ordered(checkpoint);
  EXPECT_EQ(names.size(), checkpoint.tensors.size());
  Lines sorted = names, all;
  for (const Tensor& tensor : checkpoint.tensors) all.emplace_back(tensor.name);
  std::ranges::sort(sorted);
  std::ranges::sort(all);
  EXPECT_EQ(sorted, all);
}

TEST(NameTree, FindsNodesInAnyOrderOfTheFile) {
  // Rising, falling and mixed orders of siblings go different ways through the builder.
  Checkpoint checkpoint = checkpoint_of({});
  for (int round = 0; round < 3; ++round)
    for (int i = 0; i < 400; ++i) {
      const int a = round == 0 ? i : round == 1 ? 399 - i : i * 7 % 400;
      add_tensor(checkpoint, concat("m.", a, ".x.", round, "w"));
      add_tensor(checkpoint, concat("m.", a, ".y"));
    }
  const NameTree tree(checkpoint.tensors);
  EXPECT_EQ(tree.nodes().size(), 1u + 1 + 400 * (1 + 1 + 3 + 1));
  const auto names = ordered(checkpoint);
  ASSERT_EQ(names.size(), 2400u);
  EXPECT_TRUE(std::ranges::is_sorted(names, natural_less));
}

// What is nearly in order takes another way than the tree; both must agree, ties in file order.
TEST(NameTree, TheShortWayToTheOrderIsTheTreesOwn) {
  const std::string_view labels[] = {"", "a", "ab", "a b", "a-b", "1", "01", "10", "2", "x9", "x10", "x1", "2x", "x0", "x09"};
  Lines names;
  for (const std::string_view a : labels) {
    names.emplace_back(a);
    for (const std::string_view b : labels) {
      names.push_back(concat(a, ".", b));
      for (const std::string_view c : labels) names.push_back(concat(a, ".", b, ".", c));
    }
  }
  Checkpoint all = checkpoint_of({});
  for (const std::string& name : names) add_tensor(all, name);
  for (const std::uint32_t t : NameTree(all.tensors).natural_order()) names[t].clear(), names.emplace_back(all.tensors[t].name);
  names.erase(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(names.size() / 2));
  for (std::size_t i = 2; i < names.size(); i += 3) std::swap(names[i], names[i - 2]);
  Checkpoint nearly = checkpoint_of({});
  for (const std::string& name : names) add_tensor(nearly, name);
  add_tensor(nearly, names.back());
  EXPECT_EQ(natural_order(nearly.tensors), NameTree(nearly.tensors).natural_order());
}

TEST(NameTree, GrowsWithTheTensorsNotWithTheDots) {
  Checkpoint checkpoint = checkpoint_of({});
  std::string dots(5000, '.');
  for (int i = 0; i < 1000; ++i) {
    dots[static_cast<std::size_t>(i)] = 'x';
    add_tensor(checkpoint, dots);
  }
  EXPECT_LE(NameTree(checkpoint.tensors).nodes().size(), 9u * 1000 + 1000 + NameTree::kDepth);
}

TEST(Outline, CollapsesEqualLayers) {
  Checkpoint checkpoint = checkpoint_of({"embed"});
  for (int i = 0; i < 12; ++i) {
    add_tensor(checkpoint, concat("layers.", i, ".q.weight"), {4, 4});
    add_tensor(checkpoint, concat("layers.", i, ".norm"), {4});
  }
  EXPECT_EQ(drawn(checkpoint), (Lines{"embed [1]", "layers x12 [24]", "  norm [12]", "  q [12]", "    weight [12]"}));
}

TEST(Outline, NamesTheLayerThatLacksSomething) {
  Checkpoint checkpoint = checkpoint_of({});
  for (int i = 0; i < 32; ++i)
    for (const char* name : {"q", "k", "v", "k_norm"})
      if (i != 31 || name != std::string_view("k_norm")) add_tensor(checkpoint, concat("layers.", i, ".", name));
  EXPECT_EQ(drawn(checkpoint), (Lines{"layers x32 [127]", "  k [32]", "  k_norm 31/32 layers -31 [31]", "  q [32]", "  v [32]"}));
}

TEST(Outline, NamesTheLayerThatHasSomethingMore) {
  Checkpoint checkpoint = checkpoint_of({});
  for (int i = 0; i < 8; ++i)
    for (const char* name : {"a", "b", "c"})
      if (i == 3 || name != std::string_view("c")) add_tensor(checkpoint, concat("h.", i, ".", name));
  EXPECT_EQ(drawn(checkpoint), (Lines{"h x8 [17]", "  a [8]", "  b [8]", "  c 1/8 h +3 [1]"}));
}

TEST(Outline, SplitsOffLayersOfAnotherStructure) {
  Checkpoint checkpoint = checkpoint_of({});
  for (int i = 0; i < 10; ++i) {
    add_tensor(checkpoint, concat("layers.", i, ".attn"));
    for (int e = 0; i >= 2 && e < 4; ++e) add_tensor(checkpoint, concat("layers.", i, ".experts.", e, ".w"));
    if (i < 2) add_tensor(checkpoint, concat("layers.", i, ".mlp"), {64});
  }
  EXPECT_EQ(drawn(checkpoint), (Lines{"layers [44]", "  0,1 x2 [4]", "    attn [2]", "    mlp [2]", "  2-9 x8 [40]", "    attn [8]",
                                      "    experts x4 [32]", "      w [32]"}));
}

TEST(Outline, NamesTheExpertThatIsMissing) {
  Checkpoint checkpoint = checkpoint_of({});
  for (int i = 0; i < 4; ++i)
    for (int e = 0; e < 8; ++e) {
      add_tensor(checkpoint, concat("layers.", i, ".experts.", e, ".w1"));
      if (i != 3 || e != 5) add_tensor(checkpoint, concat("layers.", i, ".experts.", e, ".w2"));
    }
  EXPECT_EQ(drawn(checkpoint), (Lines{"layers x4 [63]", "  experts x8 [63]", "    w1 [32]", "    w2 31/32 experts -3.5 [31]"}));

  Checkpoint whole_expert = checkpoint_of({});
  for (int i = 0; i < 4; ++i)
    for (int e = 0; e < 8; ++e)
      if (i != 2 || e != 7) add_tensor(whole_expert, concat("layers.", i, ".experts.", e, ".w"));
  EXPECT_EQ(drawn(whole_expert), (Lines{"layers x4 [31]", "  experts x8 31/32 experts -2.7 [31]", "    w [31]"}));
}

/// Repeats that hold the same are looked at once, also where some places are to be named.
TEST(Outline, NamesAFewOfVeryMany) {
  Checkpoint checkpoint = checkpoint_of({});
  for (int layer = 0; layer < 40; ++layer)
    for (int expert = 0; expert < 30; ++expert)
      for (const char* part : {"w1", "w2"}) {
        if ((layer == 7 && expert == 29) || (layer == 31 && expert == 3)) continue;
        if (expert == 12 && layer >= 20 && layer < 23 && part[1] == '2') continue;
        add_tensor(checkpoint, concat("layers.", layer, ".experts.", expert, ".", part));
      }
  EXPECT_EQ(drawn(checkpoint), (Lines{"layers x40 [2393]", "  experts x30 1198/1200 experts -7.29 -31.3 [2393]", "    w1 [1198]",
                                      "    w2 1195/1198 experts -20.12 -21.12 -22.12 [1195]"}));
}

TEST(Outline, SumsSharesThatDifferAmongEqualShapes) {
  Checkpoint checkpoint = checkpoint_of({});
  for (int i = 0; i < 50; ++i) add_tensor(checkpoint, concat("blocks.", i, ".w"));
  for (std::size_t i = 20; i < 35; ++i) checkpoint.tensors[i].storage = checkpoint.tensors[3].storage;  // tied: counted once
  const Summary summary = summarize(checkpoint);
  const Outline outline = analysis::outline(checkpoint, summary, NameTree(checkpoint.tensors));
  EXPECT_EQ(outline.nodes[0].tensors, 50u);
  EXPECT_EQ(outline.nodes[0].parameters, summary.parameters);
  EXPECT_EQ(outline.nodes[0].bytes, summary.tensor_bytes);
  EXPECT_EQ(summary.ties.size(), 15u);
}

TEST(Outline, TellsDtypesAndShapesApart) {
  Checkpoint checkpoint = checkpoint_of({});
  for (int i = 0; i < 6; ++i) {
    for (const char* name : {"a", "b", "c"}) add_tensor(checkpoint, concat("layers.", i, ".", name));
    add_tensor(checkpoint, concat("layers.", i, ".d"), {2}, i == 4 ? DType::f16 : DType::f32);
  }
  EXPECT_EQ(drawn(checkpoint),
            (Lines{"layers x6 [24]", "  a [6]", "  b [6]", "  c [6]", "  d 5/6 layers -4 [5]", "  d 1/6 layers +4 [1]"}));
}

TEST(Outline, LeavesASequenceOfDifferentModulesAlone) {
  Checkpoint checkpoint = checkpoint_of({});
  add_tensor(checkpoint, "net.0.weight", {10, 5});
  add_tensor(checkpoint, "net.2.weight", {20, 10});
  add_tensor(checkpoint, "net.4.weight", {1, 20});
  EXPECT_EQ(drawn(checkpoint), (Lines{"net [3]", "  0 [1]", "    weight [1]", "  2 [1]", "    weight [1]", "  4 [1]", "    weight [1]"}));
}

TEST(Outline, CountsWhatIsSharedOnce) {
  Checkpoint checkpoint = checkpoint_of({"a.w"});
  Tensor tie = checkpoint.tensors[0];
  tie.name = "b.w";
  checkpoint.tensors.push_back(tie);
  const Outline outline = analysis::outline(checkpoint, summarize(checkpoint), NameTree(checkpoint.tensors));
  EXPECT_EQ(outline.nodes[0].tensors, 2u);
  EXPECT_EQ(outline.nodes[0].parameters, 2u);
  EXPECT_EQ(outline.nodes[0].bytes, 8u);
}

TEST(Outline, PathsStandForTheirRepeats) {
  Checkpoint checkpoint = checkpoint_of({});
  for (int i = 0; i < 3; ++i)
    for (int e = 0; e < 2; ++e) add_tensor(checkpoint, concat("m.layers.", i, ".experts.", e, ".w"));
  const Outline outline = analysis::outline(checkpoint, summarize(checkpoint), NameTree(checkpoint.tensors));
  EXPECT_EQ(outline.path(static_cast<std::uint32_t>(outline.nodes.size() - 1)), "m.layers.*.experts.*.w");
}

TEST(Outline, HoldsForManyStrangeNames) {
  Checkpoint checkpoint = checkpoint_of({"", ".", "0", "0.0", "0.0.0", "1", "1.1", "01", "1.0.0", "00.1", "999999999999.a", "5.", ".5"});
  const Outline outline = analysis::outline(checkpoint, summarize(checkpoint), NameTree(checkpoint.tensors));
  EXPECT_EQ(outline.nodes[0].tensors, checkpoint.tensors.size());
}

}  // namespace
}  // namespace assay::analysis
