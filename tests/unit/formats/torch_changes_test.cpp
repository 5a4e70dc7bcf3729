// SPDX-License-Identifier: Apache-2.0
// Tensors that a file changes after it made them: what is shown is what torch.load gives, or the change is told.
#include "unit/formats/torch_builder.hpp"

namespace assay::test {
namespace {

/// Storage "0" holds 1 to 4, storage "1" 4 to 1.
Result<Checkpoint> open_two(const std::string& pickle) {
  ZipBuilder zip = archive_of(pickle + ".");
  std::vector<std::byte> numbers = numbers_1_to_4(), turned;
  for (std::size_t i = 4; i-- > 0;)
    turned.insert(turned.end(), numbers.begin() + static_cast<std::ptrdiff_t>(4 * i),
                  numbers.begin() + static_cast<std::ptrdiff_t>(4 * i + 4));
  zip.add(assay::testing::torch_member("archive/data/1", turned));
  return open_bytes(zip.build_torch());
}

std::string other() { return tensor({.storage = storage("1")}); }
/// (storage 1, offset 1, size (2,), stride (2,)), and the BUILD that sets it: elements 3 and 1.
std::string set_other() { return "(" + storage("1") + "L1L\n" + tuple({"2"}) + tuple({"2"}) + "tb"; }
std::string parameter(const std::string& inner) {
  return global("torch._utils", "_rebuild_parameter") + "(" + inner + "I00\n" + global("collections", "OrderedDict") + "(tRtR";
}
std::string with_state(const std::string& state) {
  return global("torch._utils", "_rebuild_parameter_with_state") + "(" + tensor() + "I00\n" + global("collections", "OrderedDict") + "(tR" +
         state + "tR";
}

TEST(TorchChanges, BuildExchangesTheStorage) {
  const std::string v3 = tensor_v3({.storage = storage("0", "16", "UntypedStorage")}, "float32");
  for (const std::string& made :
       {tensor() + set_other(), parameter(tensor()) + set_other(), v3 + set_other(), parameter(v3) + set_other(),
        tensor() + "(" + storage() + "L0L\n" + tuple({"1"}) + tuple({"1"}) + "tb" + set_other(),
        global("torch", "FloatTensor") + "(tR" + "(" + storage() + "L0L\n" + tuple({"4"}) + tuple({"1"}) + "tb" + set_other()}) {
    auto checkpoint = open_two(dict({{"w", made}}));
    ASSERT_TRUE(checkpoint) << made;
    const Tensor* const w = checkpoint->find("w");
    ASSERT_NE(w, nullptr) << made;
    EXPECT_EQ(w->dtype, DType::f32) << made;
    EXPECT_EQ(checkpoint->storages[w->storage].key, "archive/data/1") << made;
    EXPECT_EQ(std::vector<std::uint64_t>(w->shape.begin(), w->shape.end()), (std::vector<std::uint64_t>{2})) << made;
    EXPECT_EQ(w->storage_offset, 1u) << made;
    EXPECT_EQ(w->stride_of(0), 2u) << made;
    EXPECT_TRUE(checkpoint->complete) << codes_of(*checkpoint);
  }
}

TEST(TorchChanges, DataIsExchanged) {
  const std::string five = "(" + other() + "N" + global("collections", "OrderedDict") + "(tRI00\nI00\ntb";
  const std::string data = dict({{"data", other()}});
  const std::string from_type = global("torch._tensor", "_rebuild_from_type_v2") + "(" + global("torch._utils", "_rebuild_tensor_v2") +
                                global("torch", "Tensor") + "(" + storage() + "L0L\n" + tuple({"4"}) + tuple({"1"}) + "I00\n" +
                                global("collections", "OrderedDict") + "(tRt" + data + "tR";
  for (const std::string& made : {tensor() + five, with_state(data), with_state("(N" + data + "t"), from_type}) {
    auto checkpoint = open_two(dict({{"w", made}}));
    ASSERT_TRUE(checkpoint) << made;
    const Tensor* const w = checkpoint->find("w");
    ASSERT_NE(w, nullptr) << made;
    EXPECT_EQ(checkpoint->storages[w->storage].key, "archive/data/1") << made;
    EXPECT_TRUE(checkpoint->complete) << codes_of(*checkpoint);
  }
}

TEST(TorchChanges, WhatIsNotFollowedIsDamage) {
  const std::string item = "L0L\nF9\ns";
  const struct {
    std::string pickle, says;
  } kCases[] = {{dict({{"w", tensor() + item}}), "a tensor is changed"},
                {tensor() + item + "0" + dict({{"w", tensor()}}), "a tensor is changed"},  // one that nothing refers to
                {dict({{"w", tensor({.storage = storage() + item})}}), "a storage is changed"},
                {dict({{"w", with_state(dict({{"real", other()}}))}}), "a tensor is changed"}};
  for (const auto& [pickle, says] : kCases) {
    auto checkpoint = open_two(pickle);
    ASSERT_TRUE(checkpoint) << pickle;
    ASSERT_NE(finding(*checkpoint, Code::malformed_tensor), nullptr) << pickle;
    EXPECT_TRUE(finding(*checkpoint, Code::malformed_tensor)->message.starts_with(says));
    EXPECT_TRUE(finding(*checkpoint, Code::malformed_tensor)->where.offset);
    EXPECT_FALSE(checkpoint->complete);
  }
  // What writers do.
  const std::string items = global("collections", "OrderedDict") + "(tR" + text("w") + tensor() + "s";
  EXPECT_TRUE(open_two(items)->complete);
  EXPECT_TRUE(open_two(dict({{"w", with_state(dict({{"note", text("x")}, {"grad", other()}}))}}))->complete);
  EXPECT_TRUE(open_two(dict({{"w", tensor() + "(I00\nN" + global("collections", "OrderedDict") + "(tRtb"}}))->complete);
}

}  // namespace
}  // namespace assay::test
