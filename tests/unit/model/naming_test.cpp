// SPDX-License-Identifier: Apache-2.0
#include "model/naming.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <sstream>

#include "base/text.hpp"

namespace assay::model {
namespace {

/// One tensor of 8 bytes a name, each on its own storage.
Checkpoint checkpoint_of(std::initializer_list<std::string_view> names) {
  Checkpoint checkpoint;
  for (const std::string_view name : names) {
    Tensor tensor;
    tensor.name = name;
    tensor.numel = 2;
    tensor.dtype = DType::f32;
    tensor.storage = static_cast<std::uint32_t>(checkpoint.storages.size());
    checkpoint.storages.emplace_back().nbytes = 8;
    checkpoint.tensors.push_back(tensor);
  }
  return checkpoint;
}

/// "model 2/16 ema 1/8"
std::string text_of(const Checkpoint& checkpoint) {
  std::ostringstream out;
  for (const Section& section : find_sections(checkpoint)) out << section.name << ' ' << section.tensors << '/' << section.bytes << ' ';
  return out.str();
}
std::string sections(std::initializer_list<std::string_view> names) { return text_of(checkpoint_of(names)); }

TEST(Sections, AStateDictIsAllModel) {
  EXPECT_EQ(sections({}), "");
  EXPECT_EQ(sections({"w"}), "model 1/8 ");
  EXPECT_EQ(sections({"conv.weight", "noise_scheduler.betas", "random.w", "scaler.mean"}), "model 4/32 ");
  EXPECT_EQ(sections({"model.layers.0.w", "lm_head.weight"}), "model 2/16 ");
  EXPECT_EQ(sections({"schema.w", "demand.w", "remap.w"}), "model 3/24 ") << "\"ema\" must be a word";
}

TEST(Sections, TrainingCheckpointsComeApart) {
  EXPECT_EQ(sections({"model.w", "optimizer.state.0.exp_avg", "optimizer.state.0.step", "rng_state"}),
            "model 1/8 optimizer 2/16 other 1/8 ");
  EXPECT_EQ(sections({"state_dict.w", "optimizer_states.0.state.0.exp_avg", "callbacks.best", "lr_schedulers.0.x", "loops.a.b"}),
            "model 1/8 optimizer 1/8 scheduler 1/8 callbacks 1/8 other 1/8 ");
  EXPECT_EQ(sections({"netG.w", "netG_ema.w", "optimizerG.state.0.exp_avg", "D_optim.state.0.exp_avg"}),
            "model 1/8 optimizer 2/16 ema 1/8 ");
  EXPECT_EQ(sections({"model_ema.w", "state_dict.model_ema.w", "state_dict.model.w", "netEMA.w", "shadow_params.0"}),
            "model 1/8 ema 4/32 ");
  EXPECT_EQ(sections({"state.0.exp_avg", "state.1.exp_avg"}), "optimizer 2/16 ");
  EXPECT_EQ(sections({"state.w"}), "model 1/8 ");
  Checkpoint by_name = checkpoint_of({"state.layer.w.exp_avg"});
  by_name.metadata.push_back({.key = "param_groups.0.lr"});
  EXPECT_EQ(text_of(by_name), "optimizer 1/8 ");
}

TEST(Sections, StoragesCountWhereTheyAreFirstMet) {
  Checkpoint checkpoint = checkpoint_of({"model.w", "ema.w", "ema.own", "optimizer.state.0.meta"});
  checkpoint.tensors[1].storage = 0;
  checkpoint.tensors[3].storage = kNone;
  checkpoint.storages[2].nbytes = 100;
  EXPECT_EQ(text_of(checkpoint), "model 1/8 optimizer 1/0 ema 2/100 ");
  checkpoint.storages[0].nbytes = ~std::uint64_t{0};
  checkpoint.tensors[2].name = "model.b";
  EXPECT_EQ(find_sections(checkpoint)[0].bytes, ~std::uint64_t{0}) << "a sum beyond 64 bits stays where it is";
}

TEST(Wrappers, AreTakenOutOfNames) {
  EXPECT_EQ(without_wrappers("module.layer.weight"), "layer.weight");
  EXPECT_EQ(without_wrappers("module._orig_mod._fsdp_wrapped_module.layer.bias"), "layer.bias");
  EXPECT_EQ(without_wrappers("layers.0._checkpoint_wrapped_module.mlp.w"), "layers.0.mlp.w");
  EXPECT_EQ(without_wrappers("state_dict.module.w"), "state_dict.w");
  EXPECT_EQ(without_wrappers("model_ema.module.w"), "model_ema.w");
  EXPECT_EQ(without_wrappers("_forward_module.module.w"), "w");
  EXPECT_EQ(without_wrappers("encoder.module.w"), "encoder.module.w") << "may be the model's own";
  EXPECT_EQ(without_wrappers("module.module.w"), "w");
  EXPECT_EQ(without_wrappers("modules.w"), "modules.w");
  EXPECT_EQ(without_wrappers("module"), "module") << "the tensor's own name";
  EXPECT_EQ(without_wrappers("a..b."), "a..b.");
  EXPECT_EQ(without_wrappers(""), "");
}

TEST(Wrappers, AreNotedOnceWithTheirCount) {
  Checkpoint plain = checkpoint_of({"layer.w", "encoder.module.w"});
  note_wrappers(plain);
  EXPECT_TRUE(plain.findings.empty());
  Checkpoint wrapped = checkpoint_of({"module._orig_mod.layer.w", "layer.b", "module.c"});
  note_wrappers(wrapped);
  ASSERT_EQ(wrapped.findings.list().size(), 1u);
  const Finding& note = wrapped.findings.list()[0];
  EXPECT_EQ(note.code, Code::wrapper_prefix);
  EXPECT_EQ(note.severity, Severity::note);
  EXPECT_NE(note.message.find("2 of 3 names"), std::string::npos) << note.message;
  EXPECT_EQ(std::get<std::uint64_t>(note.facts[0].value), 2u);
  EXPECT_EQ(std::get<std::vector<std::string>>(note.facts[1].value), (std::vector<std::string>{"module.", "_orig_mod."}));
  EXPECT_EQ(std::get<std::string>(note.facts[3].value), "layer.w");
  EXPECT_TRUE(wrapped.complete);
}

TEST(Wrappers, AreSeenWhereverTheyStandInNamesOfAnyLength) {
  for (std::size_t before = 1; before < 40; ++before)
    for (std::size_t behind = 1; behind < 40; ++behind) {
      const std::string front(before, 'm'), rest(behind, 'o');
      const std::string wrapped = concat(front, "._orig_mod.", rest), own = concat(front, ".", rest, "._orig_mod"),
                        plain = concat(front, rest, ".", front);
      Checkpoint checkpoint = checkpoint_of({wrapped, own, plain});
      note_wrappers(checkpoint);
      ASSERT_EQ(checkpoint.findings.list().size(), 1u) << before << ' ' << behind;
      EXPECT_NE(checkpoint.findings.list()[0].message.find("1 of 3 names"), std::string::npos) << before << ' ' << behind;
    }
}

}  // namespace
}  // namespace assay::model
