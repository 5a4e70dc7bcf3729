// SPDX-License-Identifier: Apache-2.0
#include "analysis/select.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/text.hpp"
#include "model/naming.hpp"
#include "names_testing.hpp"

namespace assay::analysis {
namespace {

using Names = std::vector<std::string>;

Checkpoint sample() {
  Checkpoint checkpoint = checkpoint_of({});
  add_tensor(checkpoint, "model.layers.0.q_proj.weight", {8, 4}, DType::bf16);
  add_tensor(checkpoint, "model.layers.1.q_proj.weight", {8, 4}, DType::bf16);
  add_tensor(checkpoint, "model.layers.10.k_proj.bias", {8}, DType::f32);
  add_tensor(checkpoint, "model.layers.1.experts.3.w1", {16, 4}, DType::f8_e4m3);
  add_tensor(checkpoint, "lm_head.Weight", {100, 4}, DType::f16);
  add_tensor(checkpoint, "step", {}, DType::i64);
  checkpoint.tensors[4].readable = false;
  return checkpoint;
}

/// Where in sample() the filter holds, "0 1 4".
std::string held(std::string_view text) {
  const Checkpoint checkpoint = sample();
  const auto filter = Filter::parse(text);
  if (!filter) return filter.error().what();
  std::string out;
  for (std::size_t i = 0; i < checkpoint.tensors.size(); ++i)
    if (filter->match(checkpoint, checkpoint.tensors[i])) out += (out.empty() ? "" : " ") + std::to_string(i);
  return out;
}

TEST(Filter, MatchesNames) {
  EXPECT_EQ(held(""), "0 1 2 3 4 5");
  EXPECT_EQ(held("proj"), "0 1 2");
  EXPECT_EQ(held("weight"), "0 1 4");  // no capital: any case
  EXPECT_EQ(held("Weight"), "4");
  EXPECT_EQ(held("*.weight"), "0 1 4");
  EXPECT_EQ(held("model.*.w?"), "3");
  EXPECT_EQ(held("\"weight\""), "0 1");
  EXPECT_EQ(held("name:step"), "5");
}

TEST(Filter, CombinesTerms) {
  EXPECT_EQ(held("proj layers.1."), "1");
  EXPECT_EQ(held("proj -bias"), "0 1");
  EXPECT_EQ(held("q_proj|k_proj layer:1-10"), "1 2");
  EXPECT_EQ(held("bias | step"), "2 5");
  EXPECT_EQ(held("bias layer:0 | step"), "5");
  EXPECT_EQ(held("-layers | w1"), "3 4 5");
}

TEST(Filter, MatchesKeys) {
  EXPECT_EQ(held("dtype:bf16"), "0 1");
  EXPECT_EQ(held("dtype:F16,f32"), "2 4");
  EXPECT_EQ(held("dtype:f8*"), "3");
  EXPECT_EQ(held("shape:*,4"), "0 1 3 4");
  EXPECT_EQ(held("shape:8x4"), "0 1");
  EXPECT_EQ(held("shape:8"), "2");
  EXPECT_EQ(held("shape:[8,4]"), "0 1");
  EXPECT_EQ(held("shape:[]"), "5");
  EXPECT_EQ(held("shape:[8]|[]"), "2 5");
  for (const char* wrong : {"shape:scalar", "shape:8x", "shape:[8", "shape:8.5", "shape:x"})
    EXPECT_EQ(held(wrong), concat("filter: '", wrong, "' needs a shape, as in 4096x128, *x128 or [] for scalars"));
  EXPECT_EQ(held("ndim:0"), "5");
  EXPECT_EQ(held("ndim<2"), "2 5");
  EXPECT_EQ(held("layer:1"), "1 3");
  EXPECT_EQ(held("layer:0,10"), "0 2");
  // As people say it, and not the names that hold both words.
  EXPECT_EQ(held("layer 1"), "1 3");
  EXPECT_EQ(held("Layers 0-1 weight"), "0 1");
  EXPECT_EQ(held("-layer 1 layers"), "0 2");
  EXPECT_EQ(held("experts 3"), "3");
  EXPECT_EQ(held("layer | step"), held("layer|step")) << "a word alone is a word";
  EXPECT_EQ(held("layer k_proj"), "2");
  EXPECT_EQ(held("layer>=1"), "1 2 3");
  EXPECT_EQ(held("expert:3"), "3");
  EXPECT_EQ(held("readable:no"), "4");
  EXPECT_EQ(held("readable:false"), "4");
  EXPECT_EQ(held("readable:true"), "0 1 2 3 5");
  EXPECT_EQ(held("file:safetensors"), "0 1 2 3 4 5");
  EXPECT_EQ(held("file:*.pt"), "");
}

TEST(Filter, MatchesSectionsAsTheyAreCounted) {
  Checkpoint checkpoint = checkpoint_of({"model.w", "optimizer.state.0.exp_avg", "lr_scheduler.x", "ema.w"});
  checkpoint.sections = model::find_sections(checkpoint);
  const auto held_in = [&](std::string_view text) {
    const Filter filter = *Filter::parse(text);
    std::string out;
    for (const Tensor& tensor : checkpoint.tensors)
      if (filter.match(checkpoint, tensor)) out += concat(out.empty() ? "" : " ", tensor.name);
    return out;
  };
  EXPECT_EQ(held_in("section:model"), "model.w");
  EXPECT_EQ(held_in("section:optimizer,ema"), "optimizer.state.0.exp_avg ema.w");
  EXPECT_EQ(held_in("section:scheduler"), "lr_scheduler.x");
  EXPECT_EQ(held_in("-section:model -section:optimizer"), "lr_scheduler.x ema.w");
  // In a state dict alone a scheduler is a part of the model.
  checkpoint = checkpoint_of({"net.w", "sched.w"});
  checkpoint.tensors[0].name = "w";
  checkpoint.sections = model::find_sections(checkpoint);
  EXPECT_EQ(held_in("section:model"), "w sched.w");
}

TEST(Filter, TakesNoOperatorsOfOtherLanguages) {
  for (const char* text : {"v_proj OR q_proj", "not bias", "a and b", "a && b", "(v_proj", "(a | b) c", "! a"}) {
    const auto filter = Filter::parse(text);
    ASSERT_FALSE(filter) << text;
    EXPECT_NE(filter.error().what().find("is no operator"), std::string::npos) << filter.error().what();
    EXPECT_NE(filter.error().hint().find("space is and, | is or, - is not"), std::string::npos);
  }
  EXPECT_EQ(held("or"), "") << "alone it is a word";
  EXPECT_EQ(held("\"or\" proj"), "");
  EXPECT_EQ(held("not_there | step"), "5");
}

TEST(Filter, ComparesNumbersWithUnits) {
  EXPECT_EQ(held("numel>=64"), "3 4");
  EXPECT_EQ(held("params>0.3k"), "4");
  EXPECT_EQ(held("size>64"), "4");
  EXPECT_EQ(held("size>=64"), "0 1 3 4");
  EXPECT_EQ(held("size<0.0625k"), "2 5");
  EXPECT_EQ(held("size<=64B"), "0 1 2 3 5");
  EXPECT_EQ(held("size>1GiB"), "");
  EXPECT_EQ(held("numel:1"), "5");
  EXPECT_EQ(held("numel<0"), "");
  EXPECT_EQ(held("size>18446744073709551615"), "");
}

TEST(Filter, SaysWhatIsWrong) {
  for (const char* text : {"|",
                           "a |",
                           "| a",
                           "-",
                           "colour:red",
                           "size>big",
                           "size>",
                           "\"open",
                           "layer:x",
                           "layer:1-",
                           "nan>0",
                           "dtype>f32",
                           "readable:maybe",
                           "dtype:f32,,f16",
                           "a||b",
                           "\"a\"b",
                           "size>-1",
                           "size>99999999999999999999",
                           "size>1.x5G",
                           "size>.5G"}) {
    const auto filter = Filter::parse(text);
    ASSERT_FALSE(filter) << text;
    EXPECT_EQ(filter.error().code(), Code::usage) << text;
    EXPECT_FALSE(filter.error().hint().empty()) << text;
  }
}

TEST(Patterns, ChooseNamesPartsAndGlobs) {
  EXPECT_TRUE(pattern_matches("model.layers.1", "model.layers.1"));
  EXPECT_TRUE(pattern_matches("model.layers.1", "model.layers.1.w"));
  EXPECT_TRUE(pattern_matches("model.layers.", "model.layers.1.w"));
  EXPECT_FALSE(pattern_matches("model.layers.1", "model.layers.10.w"));
  EXPECT_FALSE(pattern_matches("model.layers.1", "model.layer"));
  EXPECT_TRUE(pattern_matches("*.w", "model.layers.1.w"));
  EXPECT_TRUE(pattern_matches("", ""));
  EXPECT_FALSE(pattern_matches("", "a"));
  EXPECT_TRUE(pattern_matches("a\\x1b", "a\x1b"));
  EXPECT_TRUE(pattern_matches("odd*name", "odd*name"));
}

TEST(Select, KeepsTheOrderAndNamesPatternsThatChooseNothing) {
  const Checkpoint checkpoint = sample();
  const std::uint32_t order[] = {5, 3, 1, 0};
  const std::string patterns[] = {"model.layers.1", "nothing", "step"};
  const Selection selection = select(checkpoint, order, patterns, {});
  EXPECT_EQ(selection.tensors, (std::vector<std::uint32_t>{5, 3, 1}));
  EXPECT_EQ(selection.unmatched, (Names{"nothing"}));
}

TEST(Select, ANameWithAStarIsItselfFirst) {
  const Checkpoint checkpoint = checkpoint_of({"a*", "ab", "a?"});
  const std::vector<std::uint32_t> order = {0, 1, 2};
  const auto chosen = [&](const std::string& pattern) { return select(checkpoint, order, std::vector<std::string>{pattern}, {}).tensors; };
  EXPECT_EQ(chosen("a*"), std::vector<std::uint32_t>{0});
  EXPECT_EQ(chosen("a?"), std::vector<std::uint32_t>{2});
  EXPECT_EQ(chosen("*"), order);
}

TEST(Select, FindsLayerAndExpertNumbers) {
  EXPECT_EQ(layer_of("model.layers.7.mlp.experts.3.w1"), 7u);
  EXPECT_EQ(expert_of("model.layers.7.mlp.experts.3.w1"), 3u);
  EXPECT_EQ(layer_of("transformer.h.11.attn"), 11u);
  EXPECT_EQ(layer_of("encoder.2.weight"), 2u);
  EXPECT_EQ(layer_of("lm_head.weight"), std::nullopt);
  EXPECT_EQ(expert_of("model.layers.7.mlp"), std::nullopt);
  EXPECT_EQ(layer_of("layers.99999999999999999999999.w"), std::nullopt);
}

TEST(NoSuchTensor, NamesTheNearest) {
  const Checkpoint checkpoint = sample();
  const Error part = no_such_tensor(checkpoint, "k_proj");
  EXPECT_EQ(part.code(), Code::no_such_tensor);
  EXPECT_NE(part.hint().find("'model.layers.10.k_proj.bias'"), std::string_view::npos);
  EXPECT_NE(no_such_tensor(checkpoint, "stop").hint().find("'step'"), std::string_view::npos);
  EXPECT_EQ(no_such_tensor(checkpoint, "zzzzzzzzzzzzzzzzzzzzzzzz").hint(), code_hint(Code::no_such_tensor));
}

TEST(NoSuchTensor, ASlipInAPartOfANameIsSeen) {
  const Checkpoint checkpoint = sample();
  EXPECT_EQ(no_such_tensor(checkpoint, "model.layer.0").hint(), "did you mean 'model.layers.0', 'model.layers.1' or 'model.layers.10'?");
  EXPECT_EQ(no_such_tensor(checkpoint, "k_porj.bias").hint(), "did you mean 'model.layers.10.k_proj.bias'?") << "the end of a name";
  EXPECT_EQ(no_such_tensor(checkpoint, "expert.3").hint(), "did you mean 'model.layers.1.experts.3.w1'?") << "its middle";
  EXPECT_EQ(no_such_tensor(checkpoint, "zz.a.b.c.d.e.f.g").hint(), code_hint(Code::no_such_tensor)) << "more words than any name";
}

}  // namespace
}  // namespace assay::analysis
