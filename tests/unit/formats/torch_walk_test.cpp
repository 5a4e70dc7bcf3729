// SPDX-License-Identifier: Apache-2.0
// Names and the walk: objects of any class, shared and endless containers, keys that come twice.
#include <chrono>

#include "unit/formats/torch_builder.hpp"

namespace assay::test {
namespace {

std::string object(std::string_view module, std::string_view name, const std::string& state) {
  return global(module, name) + "(t\x81" + state + "b";
}

TEST(TorchWalk, ObjectsShowTheirAttributes) {
  auto checkpoint = open_pickle(dict({{"a", object("my.pkg", "Thing", dict({{"w", tensor()}, {"n", "I7\n"}}))},
                                      {"slots", object("my.pkg", "Slots", "(N" + dict({{"w", tensor()}}) + "t")},
                                      {"odd", object("my.pkg", "Odd", "(" + tensor() + "I3\nI4\nt")},
                                      {"args", global("my.pkg", "make") + "(" + tensor() + "I1\ntR"},
                                      {"point", global("my.pkg", "Point") + "(I1\nI2\nt\x81"}}));
  ASSERT_TRUE(checkpoint);
  EXPECT_EQ(names_of(*checkpoint), (std::vector<std::string>{"a.w", "slots.w", "odd.0", "args.0"}));
  EXPECT_EQ(metadata(*checkpoint, "a")->text, "my.pkg.Thing");
  EXPECT_EQ(metadata(*checkpoint, "a.n")->integer, 7);
  EXPECT_EQ(metadata(*checkpoint, "point")->text, "my.pkg.Point(1, 2)");
  EXPECT_TRUE(checkpoint->complete);
}

TEST(TorchWalk, ModulesNameTensorsAsStateDictDoes) {
  const auto module = [](const std::string& parameters, const std::string& buffers, const std::string& modules,
                         const std::string& more = "") {
    return object("models.net", "Net",
                  "(d" + text("training") + "I01\ns" + text("_parameters") + parameters + "s" + text("_buffers") + buffers + "s" +
                      text("_backward_hooks") + global("collections", "OrderedDict") + "(tRs" + text("_modules") + modules + "s" + more);
  };
  const std::string inner = module(dict({{"weight", tensor()}, {"bias", "N"}}), dict({{"mean", tensor()}}), "(d");
  auto checkpoint =
      open_pickle(module(dict({{"scale", tensor()}}), "(d", dict({{"fc", inner}, {"gone", "N"}}), text("extra") + tensor() + "s"));
  ASSERT_TRUE(checkpoint);
  EXPECT_EQ(names_of(*checkpoint), (std::vector<std::string>{"scale", "fc.weight", "fc.mean", "extra"}));
  EXPECT_FALSE(metadata(*checkpoint, "fc.bias"));
  EXPECT_FALSE(metadata(*checkpoint, "_backward_hooks"));
  EXPECT_EQ(metadata(*checkpoint, "fc")->text, "models.net.Net");
  EXPECT_TRUE(metadata(*checkpoint, "training")->boolean);
}

TEST(TorchWalk, ForeignClassesAreNamedOnce) {
  auto checkpoint = open_pickle(dict({{"a", object("my.pkg", "Thing", "(d")},
                                      {"b", object("my.pkg", "Thing", "(d")},
                                      {"c", global("os", "system") + "(" + text("true") + "tR"},
                                      {"w", tensor()}}));
  ASSERT_TRUE(checkpoint);
  std::vector<std::string> messages;
  for (const Finding& found : checkpoint->findings.list()) {
    EXPECT_EQ(found.code, Code::opaque_object);
    EXPECT_EQ(found.severity, Severity::note);
    messages.push_back(found.message);
  }
  ASSERT_EQ(messages.size(), 2u);
  EXPECT_TRUE(messages[0].starts_with("holds my.pkg.Thing"));
  EXPECT_TRUE(messages[1].starts_with("holds os.system"));
  EXPECT_EQ(metadata(*checkpoint, "c")->text, "os.system('true')");
}

TEST(TorchWalk, CyclesAreCut) {
  auto checkpoint = open_pickle("(dp0\n" + text("self") + "g0\ns" + text("list") + "(lp1\ng1\nag0\nas" + text("w") + tensor() + "s");
  ASSERT_TRUE(checkpoint);
  EXPECT_EQ(names_of(*checkpoint), std::vector<std::string>{"w"});
  EXPECT_TRUE(checkpoint->complete);
}

TEST(TorchWalk, SharedContainersAreListedUnderBothNames) {
  auto checkpoint = open_pickle("(d" + text("a") + "(lp1\n" + tensor() + "as" + text("b") + "g1\ns");
  ASSERT_TRUE(checkpoint);
  EXPECT_EQ(names_of(*checkpoint), (std::vector<std::string>{"a.0", "b.0"}));
}

// 10^30 paths to one tensor; the listing costs what the file does.
TEST(TorchWalk, ManyPathsAreNotFollowed) {
  std::string pickle = "(lp0\n" + tensor() + "a";
  for (int level = 1; level <= 30; ++level) {
    pickle += "(lp" + std::to_string(level) + "\n";
    for (int i = 0; i < 10; ++i) pickle += "g" + std::to_string(level - 1) + "\na";
  }
  const auto begin = std::chrono::steady_clock::now();
  auto checkpoint = open_pickle(pickle);
  const auto took = std::chrono::steady_clock::now() - begin;
  ASSERT_TRUE(checkpoint);
  EXPECT_FALSE(checkpoint->tensors.empty());
  EXPECT_LT(checkpoint->tensors.size(), 200'000u);
  EXPECT_TRUE(checkpoint->findings.has(Code::limit_exceeded));
  EXPECT_LT(took, std::chrono::seconds(20));
}

// Many objects with one enormous state: each is new, the state is not.
TEST(TorchWalk, OneStateOfManyObjectsIsWalkedOnce) {
  std::string pickle = "(d" + text("s") + "(dp1\n";
  for (int i = 0; i < 20'000; ++i) pickle += text("k" + std::to_string(i)) + "I1\ns";
  pickle += "s" + text("o") + "(lp2\n";
  for (int i = 0; i < 20'000; ++i) pickle += global("m", "C") + "(t\x81g1\nba";
  auto checkpoint = open_pickle(pickle + "s" + text("w") + tensor() + "s");
  ASSERT_TRUE(checkpoint);
  EXPECT_EQ(names_of(*checkpoint), std::vector<std::string>{"w"});
  EXPECT_LE(checkpoint->metadata.size(), 100'000u);
  EXPECT_TRUE(checkpoint->findings.has(Code::limit_exceeded));
}

TEST(TorchWalk, DepthIsLimited) {
  std::string pickle = "(d" + text("w") + tensor() + "s" + text("deep");
  for (int i = 0; i < 50'000; ++i) pickle += "(l";
  for (int i = 0; i < 49'999; ++i) pickle += "a";
  auto checkpoint = open_pickle(pickle + "s");
  ASSERT_TRUE(checkpoint);
  EXPECT_EQ(names_of(*checkpoint), std::vector<std::string>{"w"});
  EXPECT_TRUE(checkpoint->findings.has(Code::limit_exceeded));
}

TEST(TorchWalk, LongNamesAreRefusedNotCopied) {
  Limits limits;
  limits.name_bytes = 100;
  const std::string pickle = dict({{std::string(200, 'x'), tensor()}, {"w", tensor()}}) + ".";
  auto checkpoint = open_bytes(archive_of(pickle).build_torch(), limits);
  ASSERT_TRUE(checkpoint);
  EXPECT_EQ(names_of(*checkpoint), std::vector<std::string>{"w"});
  EXPECT_TRUE(checkpoint->findings.has(Code::limit_exceeded));
}

TEST(TorchWalk, TheLastOfTwoEqualKeysCounts) {
  auto checkpoint = open_pickle(dict({{"w", tensor({.size = tuple({"1"})})}, {"v", tensor()}, {"w", tensor({.size = tuple({"2"})})}}));
  ASSERT_TRUE(checkpoint);
  EXPECT_EQ(names_of(*checkpoint), (std::vector<std::string>{"v", "w"}));
  EXPECT_EQ(checkpoint->find("w")->shape[0], 2u);
  EXPECT_EQ(finding(*checkpoint, Code::duplicate_name)->severity, Severity::warning);
  for (const auto& [node, tensor] : checkpoint->node_tensors) EXPECT_LT(tensor, 2u);
}

TEST(TorchWalk, KeysOfBytesAreNamedByThem) {
  // Protocol 2 has no bytes and writes a call that makes them.
  const std::string bytes = global("_codecs", "encode") + "(" + text("key") + text("latin1") + "tR";
  auto checkpoint = open_pickle("(d" + bytes + tensor() + "s");
  ASSERT_TRUE(checkpoint);
  EXPECT_EQ(names_of(*checkpoint), (std::vector<std::string>{"key"}));
}

TEST(TorchWalk, OneNameByTwoPathsKeepsBoth) {
  auto checkpoint = open_pickle(dict({{"a.b", tensor()}, {"a", dict({{"b", tensor()}})}}));
  ASSERT_TRUE(checkpoint);
  EXPECT_EQ(names_of(*checkpoint), (std::vector<std::string>{"a.b", "a.b"}));
  EXPECT_TRUE(checkpoint->findings.has(Code::duplicate_name));
  // 1 and "1" are two keys of one dict.
  auto keys = open_pickle("(d" + text("1") + tensor() + "sI1\n" + tensor() + "s");
  ASSERT_TRUE(keys);
  EXPECT_EQ(names_of(*keys), (std::vector<std::string>{"1", "1"}));
}

TEST(TorchWalk, TensorsAsKeysAreNumberedAndListed) {
  const std::string parameter = global("torch._utils", "_rebuild_parameter") + "(" + tensor() + "I01\nNtR";
  auto checkpoint = open_pickle("(d" + parameter + tensor() + "s" + tensor() + dict({{"m", tensor()}}) + "s" + text("w") + tensor() + "s");
  ASSERT_TRUE(checkpoint);
  EXPECT_EQ(names_of(*checkpoint), (std::vector<std::string>{"0", "1.m", "w", "0.key", "1.key"}));
  EXPECT_TRUE(checkpoint->tensors[3].parameter);
  EXPECT_FALSE(checkpoint->findings.any_at_least(Severity::note));
}

TEST(TorchWalk, StateOfAnOptimizerIsNumberedAsInItsGroups) {
  // {state: {b: {m}, a: {m}}, param_groups: [{params: [a]}, {params: [a, b]}]}
  const std::string keep_a = tensor() + "p1\n0", keep_b = tensor() + "p2\n0";
  const std::string state = "(dg2\n" + dict({{"m", tensor()}}) + "sg1\n" + dict({{"m", tensor()}}) + "s";
  const std::string groups = "(l" + dict({{"params", "(lg1\na"}}) + "a" + dict({{"params", "(lg1\nag2\na"}}) + "a";
  auto checkpoint = open_pickle(keep_a + keep_b + dict({{"state", state}, {"param_groups", groups}}));
  ASSERT_TRUE(checkpoint);
  EXPECT_EQ(names_of(*checkpoint), (std::vector<std::string>{"state.1.m", "state.0.m", "param_groups.0.params.0", "param_groups.1.params.0",
                                                             "param_groups.1.params.1"}));
}

TEST(TorchWalk, QuantisedModulesNameWhatTheirTuplesHold) {
  const std::string fourteen = "(I1\nI1\nNNNNI00\nNI1\n" + text("zeros") + tensor() + tensor() + "F0.5\nI3\nI00\nt";
  const std::string packed = global("torch", "ScriptObject") + "(t\x81((" + tensor() + tensor() + "t" + text("__torch__.Packed") + "tb";
  const std::string embedding = global("torch", "ScriptObject") + "(t\x81((I1\n(l" + tensor() + "a(l(lt" + text("__torch__.Table") + "tb";
  auto checkpoint = open_pickle(dict({{"conv", object("torch.ao.nn.intrinsic.quantized.modules.conv_relu", "ConvReLU2d", fourteen)},
                                      {"other", object("torch.ao.nn.quantized.modules.conv", "Linear", "(I1\n" + tensor() + "t")},
                                      {"linear", packed},
                                      {"table", embedding}}));
  ASSERT_TRUE(checkpoint);
  EXPECT_EQ(names_of(*checkpoint), (std::vector<std::string>{"conv.weight", "conv.bias", "other.1", "linear.0", "linear.1", "table"}));
  EXPECT_EQ(metadata(*checkpoint, "conv.zero_point")->integer, 3);
  EXPECT_EQ(metadata(*checkpoint, "conv.padding_mode")->text, "zeros");
  EXPECT_EQ(metadata(*checkpoint, "linear")->text, "__torch__.Packed");
}

// Each call is new, what it is given is not: looking at all of it for each would take hours for a file of a megabyte.
TEST(TorchWalk, WhatManyCallsShareIsNotLookedAtForEach) {
  constexpr int kMany = 60'000;
  const auto repeated = [](std::string_view piece) {
    std::string out;
    for (int i = 0; i < kMany; ++i) out += piece;
    return out;
  };
  const std::string nones = "(" + repeated("N") + "tp0\n0", texts = "(" + repeated("V\n") + "tp0\n0";
  const std::string letters = text(std::string(kMany * 4, 'a')) + "p0\n0";
  std::string pairs = "(d";
  for (int i = 0; i < kMany; ++i) pairs += text("_" + std::to_string(i)) + "Ns";
  const std::string members = pairs + text("_parameters") + "(ds" + text("_modules") + "(dsp0\n0";
  pairs += "p0\n0";
  const auto list = [&](const std::string& call) { return "(" + repeated(call) + "l"; };
  const struct {
    std::string what, pickle;
  } kCases[] = {
      {"plain arguments", nones + list("cm\nC\ng0\nR")},
      {"arguments of keys", texts + "(" + repeated("cpathlib\nPosixPath\ng0\nRN") + "d"},
      {"parts of paths", texts + list("cpathlib\nPosixPath\ng0\nR")},
      {"metadata of tensors", pairs + list("ctorch._utils\n_rebuild_tensor_v2\n(NNNNNNg0\ntR")},
      {"attributes of parameters", pairs + list("ctorch._utils\n_rebuild_parameter_with_state\n(NNNg0\ntR")},
      {"parts of jagged tensors", pairs + list("ctorch.nested._internal.nested_tensor\n_rebuild_njt\n(g0\ntR")},
      {"state of modules", members + list("cm\nC\n(t\x81g0\nb")},
      {"states of one object", "cm\nC\n(t\x81" + repeated("Nb") + "p0\n0" + list("g0\n")},
      {"texts", letters + list("ctorch\ndevice\n(g0\ntR")},
  };
  for (const auto& [what, pickle] : kCases) {
    SCOPED_TRACE(what);
    const auto begin = std::chrono::steady_clock::now();
    const auto checkpoint = open_pickle(pickle);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
    ASSERT_TRUE(checkpoint);
    EXPECT_TRUE(checkpoint->findings.has(Code::limit_exceeded));
  }
}

TEST(TorchWalk, LongTextsInStorageIdsAreRefused) {
  auto checkpoint = open_pickle(dict({{"key", tensor({.storage = storage(std::string(5000, '1'))})},
                                      {"class", tensor({.storage = storage("0", "4", std::string(5000, 'c'))})},
                                      {"place", tensor({.storage = storage("0", "4", "FloatStorage", std::string(5000, 'p'))})},
                                      {"w", tensor()}}));
  ASSERT_TRUE(checkpoint);
  for (const Tensor& tensor : checkpoint->tensors) EXPECT_EQ(tensor.readable, tensor.name == "w") << tensor.name;
  EXPECT_EQ(finding(*checkpoint, Code::malformed_tensor)->message, "a text of 5000 bytes in a storage's id; at most 4096 make sense");
}

TEST(TorchWalk, AccessoriesOfTensors) {
  const std::string meta = global("torch._utils", "_rebuild_meta_tensor_no_storage") + "(" + global("torch", "float16") +
                           tuple({"2", "3"}) + tuple({"3", "1"}) + "I00\ntR";
  const std::string xla =
      global("torch._utils", "_rebuild_xla_tensor") + "(" + tensor() + global("torch", "float32") + text("xla:0") + "I00\ntR";
  const std::string nested = global("torch._utils", "_rebuild_nested_tensor") + "(" + tensor() + tensor() + tensor() + tensor() + "tR";
  const std::string jit =
      global("torch._utils", "_rebuild_sparse_tensor") + "(I1\n" + tuple({"2", "2"}) + "I00\n" + tensor() + tensor() + "NtR";
  auto checkpoint = open_pickle(dict({{"meta", meta},
                                      {"xla", xla},
                                      {"nested", nested},
                                      {"jit", jit},
                                      {"buried", global("os", "_rebuild_tensor_v2") + "(" + tensor() + "tR"}}));
  ASSERT_TRUE(checkpoint);
  EXPECT_EQ(names_of(*checkpoint), (std::vector<std::string>{"meta", "xla", "nested.values", "nested.sizes", "nested.strides",
                                                             "nested.storage_offsets", "jit.indices", "jit.values", "buried.0"}));
  EXPECT_EQ(checkpoint->find("meta")->dtype, DType::f16);
  EXPECT_FALSE(checkpoint->find("meta")->readable);
  EXPECT_TRUE(checkpoint->complete);
  EXPECT_EQ(metadata(*checkpoint, "jit.size")->text, "[2, 2]");
}

// A tensor in two of each of forty lists within each other: a billion names from a few hundred bytes.
TEST(TorchWalk, NamesThatSharedListsMakeAreBounded) {
  std::string pickle = tensor() + "p0\n0";
  for (int i = 0; i < 40; ++i) pickle += "(lg" + std::to_string(i) + "\nag" + std::to_string(i) + "\nap" + std::to_string(i + 1) + "\n0";
  auto checkpoint = open_pickle(pickle + "g40\n");
  ASSERT_TRUE(checkpoint);
  EXPECT_TRUE(checkpoint->findings.has(Code::limit_exceeded)) << codes_of(*checkpoint);
  EXPECT_GT(checkpoint->tensors.size(), 1000u);
  EXPECT_LT(checkpoint->tensors.size(), 25'000u);
}

}  // namespace
}  // namespace assay::test
