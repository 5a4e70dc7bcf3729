// SPDX-License-Identifier: Apache-2.0
// Legacy streams made by hand: lists of storages that do not fit the pickle, counts that lie, ends that come too early.
#include "unit/formats/formats_testing.hpp"
#include "unit/formats/torch_builder.hpp"

namespace assay::test {
namespace {

using assay::testing::message_of;
using assay::testing::open_file_named;

constexpr std::string_view kStart = "L119547037146038801333356L\n.I1001\n.(dVprotocol_version\nI1001\ns.";

/// A persistent id with view metadata, or None.
std::string legacy_id(std::string_view key, std::string_view numel, std::string_view view = "N", std::string_view type = "FloatStorage") {
  return "(" + text("storage") + global("torch", type) + text(key) + text("cpu") + "L" + std::string(numel) + "L\n" + std::string(view) +
         "tQ";
}

std::string keys(std::initializer_list<std::string_view> names) {
  std::string list = "(l";
  for (const std::string_view name : names) list += text(name) + "a";
  return list + ".";
}

std::string block(std::int64_t count, std::initializer_list<float> values) {
  std::string out(8 + 4 * values.size(), '\0');
  std::memcpy(out.data(), &count, 8);
  std::memcpy(out.data() + 8, std::data(values), 4 * values.size());
  return out;
}

View view_of(std::string_view key, std::string_view numel = "4") { return {.storage = legacy_id(key, numel)}; }

std::string stream(std::string_view object, std::string_view list, std::string_view data) {
  return std::string(kStart) + std::string(object) + "." + std::string(list) + std::string(data);
}

float first_value(const Checkpoint& checkpoint, std::string_view name) {
  const Tensor* const tensor = checkpoint.find(name);
  if (tensor == nullptr || !tensor->readable) return -1;
  auto reader = TensorReader::open(checkpoint, *tensor);
  double value = -2;
  if (!reader || !reader->read_f64(0, {&value, 1})) return -3;
  return static_cast<float>(value);
}

TEST(TorchLegacy, StoragesFollowInTheOrderOfTheList) {
  const std::string object = dict({{"a", tensor(view_of("1"))}, {"b", tensor(view_of("2"))}});
  const auto opened = open_file_named("m.pt", stream(object, keys({"2", "1"}), block(4, {1, 2, 3, 4}) + block(4, {5, 6, 7, 8})));
  ASSERT_TRUE(opened) << opened.error().what();
  EXPECT_TRUE(opened->complete);
  EXPECT_TRUE(opened->findings.empty()) << codes_of(*opened);
  EXPECT_EQ(first_value(*opened, "a"), 5);
  EXPECT_EQ(first_value(*opened, "b"), 1);
}

TEST(TorchLegacy, AViewStartsWhereItsMetadataSays) {
  const std::string view = "(" + text("9") + "L1L\nL2L\nt";
  const std::string object = dict({{"v", tensor({.storage = legacy_id("1", "4", view), .offset = "1", .size = tuple({"1"})})},
                                   {"past", tensor({.storage = legacy_id("1", "4", view), .offset = "1", .size = tuple({"2"})})}});
  const auto opened = open_file_named("m.pt", stream(object, keys({"1"}), block(4, {1, 2, 3, 4})));
  ASSERT_TRUE(opened);
  EXPECT_EQ(first_value(*opened, "v"), 3);
  EXPECT_FALSE(opened->find("past")->readable);
  EXPECT_TRUE(opened->findings.has(Code::out_of_storage));
}

TEST(TorchLegacy, AViewsKeyThatStandsForTwoPartsIsTold) {
  const auto id = [](std::string_view key, std::string_view offset) {
    return View{.storage = legacy_id(key, "4", "(" + text("v") + "L" + std::string(offset) + "L\nL2L\nt"), .size = tuple({"2"})};
  };
  const std::string list = keys({"1", "2"}), data = block(4, {1, 2, 3, 4}) + block(4, {5, 6, 7, 8});
  for (const auto& [other, told] : {std::pair{id("1", "0"), false}, {id("2", "0"), true}, {id("1", "1"), true}}) {
    const auto opened =
        open_file_named("m.pt", stream(dict({{"a", tensor(id("1", "0"))}, {"b", tensor(other)}, {"c", tensor(view_of("2"))}}), list, data));
    ASSERT_TRUE(opened);
    EXPECT_EQ(opened->findings.has(Code::malformed_tensor), told) << codes_of(*opened);
    EXPECT_TRUE(opened->complete);
  }
}

TEST(TorchLegacy, AListOfNumbersIsTold) {
  const auto opened = open_file_named("m.pt", stream(dict({{"a", tensor(view_of("1"))}}), "(lI1\na.", block(4, {1, 2, 3, 4})));
  ASSERT_TRUE(opened);
  EXPECT_EQ(first_value(*opened, "a"), 1);
  EXPECT_EQ(finding(*opened, Code::odd_header)->severity, Severity::warning);
}

TEST(TorchLegacy, AKeyThatIsNotListedIsNeverFilled) {
  const std::string object = dict({{"a", tensor(view_of("1"))}, {"b", tensor(view_of("2"))}});
  const auto opened = open_file_named("m.pt", stream(object, keys({"1"}), block(4, {1, 2, 3, 4})));
  ASSERT_TRUE(opened);
  EXPECT_FALSE(opened->complete);
  EXPECT_EQ(first_value(*opened, "a"), 1);
  EXPECT_FALSE(opened->find("b")->readable);
  EXPECT_EQ(message_of(opened, Code::missing_storage), "storage '2' is not in the file's list of storages");
}

// The packed kinds count bytes: the next storages have counts that would fit four bytes an element too.
TEST(TorchLegacy, PackedKindsCountBytes) {
  const std::string bytes = block(8, {1, 2});
  const auto qtensor = [](std::string_view type) {
    return global("torch._utils", "_rebuild_qtensor") + "(" + legacy_id("1", "8", "N", type) + "L0L\n" + tuple({"4", "4"}) +
           tuple({"4", "1"}) + "(" + global("torch", "per_tensor_affine") + "F1.0\nI0\ntI00\nNtR";
  };
  for (const std::string_view type : {"QUInt4x2Storage", "QUInt2x4Storage"}) {
    const std::string object = dict({{"q", qtensor(type)}, {"a", tensor(view_of("2"))}, {"b", tensor(view_of("3"))}});
    const auto opened =
        open_file_named("m.pt", stream(object, keys({"1", "2", "3"}), bytes + block(4, {5, 6, 7, 8}) + block(4, {9, 10, 11, 12})));
    ASSERT_TRUE(opened) << opened.error().what();
    EXPECT_TRUE(opened->complete) << codes_of(*opened);
    EXPECT_EQ(first_value(*opened, "a"), 5) << type;
    EXPECT_EQ(first_value(*opened, "b"), 9) << type;
  }
}

TEST(TorchLegacy, AKeyThatNothingUsesIsPassedOver) {
  const std::string object = dict({{"a", tensor(view_of("1"))}});
  for (const bool last : {false, true}) {
    const std::string data = last ? block(4, {1, 2, 3, 4}) + block(2, {8, 9}) : block(2, {8, 9}) + block(4, {1, 2, 3, 4});
    const auto opened = open_file_named("m.pt", stream(object, last ? keys({"1", "0"}) : keys({"0", "1"}), data));
    ASSERT_TRUE(opened);
    EXPECT_TRUE(opened->complete) << codes_of(*opened);
    EXPECT_EQ(first_value(*opened, "a"), 1);
    EXPECT_EQ(message_of(opened, Code::odd_header), "storage '0' is in the file, but nothing uses it; torch.load refuses that");
  }
  // Without anything that tells its size, what follows is lost, and said to be.
  const auto lost = open_file_named("m.pt", stream(object, keys({"0", "1"}), block(3, {8, 9}) + block(4, {1, 2, 3, 4})));
  ASSERT_TRUE(lost);
  EXPECT_FALSE(lost->find("a")->readable);
  EXPECT_TRUE(lost->findings.has(Code::bad_header));
}

TEST(TorchLegacy, ACountThatIsNotTheClaimedOneIsDamage) {
  const std::string object = dict({{"a", tensor(view_of("1"))}, {"b", tensor(view_of("2"))}});
  // The count lies, the data is as claimed: what follows is still found.
  auto opened = open_file_named("m.pt", stream(object, keys({"1", "2"}), block(3, {1, 2, 3, 4}) + block(4, {5, 6, 7, 8})));
  ASSERT_TRUE(opened);
  EXPECT_FALSE(opened->complete);
  EXPECT_EQ(message_of(opened, Code::storage_size_mismatch), "storage '1' has 3 elements, the pickle claims 4; torch.load refuses that");
  EXPECT_EQ(first_value(*opened, "b"), 5);
  // The data is as the count says, less than claimed.
  opened = open_file_named("m.pt", stream(object, keys({"1", "2"}), block(2, {1, 2}) + block(4, {5, 6, 7, 8})));
  ASSERT_TRUE(opened);
  EXPECT_FALSE(opened->find("a")->readable);
  EXPECT_EQ(first_value(*opened, "b"), 5);
  // A storage that is no whole number of elements: torch wrote a count that is too low.
  opened = open_file_named("m.pt", stream(object, keys({"1", "2"}), block(4, {1, 2, 3, 4}) + "xyz" + block(4, {5, 6, 7, 8})));
  ASSERT_TRUE(opened);
  EXPECT_EQ(first_value(*opened, "b"), 5);
  // Negative.
  opened = open_file_named("m.pt", stream(object, keys({"1", "2"}), block(-1, {1, 2, 3, 4}) + block(4, {5, 6, 7, 8})));
  ASSERT_TRUE(opened);
  EXPECT_EQ(message_of(opened, Code::bad_header), "storage '1' claims -1 elements");
  EXPECT_FALSE(opened->find("a")->readable || opened->find("b")->readable);
}

TEST(TorchLegacy, AnEarlyEndTellsWhatIsMissing) {
  const std::string object = dict({{"a", tensor(view_of("1"))},
                                   {"half", tensor({.storage = legacy_id("2", "4"), .size = tuple({"2"})})},
                                   {"b", tensor(view_of("2"))},
                                   {"c", tensor(view_of("3"))}});
  const auto opened = open_file_named("m.pt", stream(object, keys({"1", "2", "3"}), block(4, {1, 2, 3, 4}) + block(4, {5, 6, 7})));
  ASSERT_TRUE(opened);
  EXPECT_FALSE(opened->complete);
  EXPECT_EQ(first_value(*opened, "a"), 1);
  EXPECT_EQ(first_value(*opened, "half"), 5);
  EXPECT_FALSE(opened->find("b")->readable || opened->find("c")->readable);
  EXPECT_EQ(opened->findings.list().front().message,
            "the file ends 12 of 16 bytes into storage '2', 28 bytes are missing; 2 of 4 tensors are not whole: 'b', 'c'");
  EXPECT_EQ(opened->findings.list()[1].message, "the file ends 12 bytes into storage '2'; the tensor needs 16");
}

TEST(TorchLegacy, AnEndWithinTheObjectLosesMoreThanCanBeCounted) {
  const std::string object = dict({{"a", tensor(view_of("1"))}, {"b", tensor(view_of("2"))}});
  const std::string whole = stream(object, keys({"1", "2"}), block(4, {1, 2, 3, 4}) + block(4, {5, 6, 7, 8}));
  const auto opened = open_file_named("m.pt", whole.substr(0, std::string_view(kStart).size() + object.size() - 10));
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->findings.list().front().message,
            "the file ends within the object's pickle, at least 48 bytes are missing; 1 of 1 tensor is not whole: 'a'");
}

TEST(TorchLegacy, AnEndThatWasReservedAndNeverWritten) {
  const std::string object = dict({{"a", tensor(view_of("1"))}, {"b", tensor(view_of("2"))}, {"c", tensor(view_of("3"))}});
  const auto opened = open_file_named("m.pt", stream(object, keys({"1", "2", "3"}), block(4, {1, 2, 3, 4}) + std::string(8000, '\0')));
  ASSERT_TRUE(opened);
  EXPECT_EQ(first_value(*opened, "a"), 1);
  EXPECT_FALSE(opened->find("b")->readable || opened->find("c")->readable);
  EXPECT_EQ(
      opened->findings.list().front().message,
      "the file ends before storage '2', in zeros: its space was reserved and the rest never written; 2 of 3 tensors are not whole: 'b', 'c'");
  EXPECT_FALSE(opened->findings.has(Code::storage_size_mismatch) || opened->findings.has(Code::trailing_bytes)) << codes_of(*opened);
}

TEST(TorchLegacy, BytesBehindTheLastStorageAreTold) {
  const std::string object = dict({{"a", tensor(view_of("1"))}});
  const auto opened = open_file_named("m.pt", stream(object, keys({"1"}), block(4, {1, 2, 3, 4}) + "\n"));
  ASSERT_TRUE(opened);
  EXPECT_TRUE(opened->complete);
  EXPECT_EQ(message_of(opened, Code::trailing_bytes), "1 byte behind the last storage");
}

TEST(TorchLegacy, ModulesNameTheirClassByPersistentId) {
  const std::string type = "(" + text("module") + global("models.net", "Net") + text("net.py") + text("class Net") + "tQ";
  const std::string state = dict({{"_parameters", dict({{"w", tensor(view_of("1"))}})}, {"_buffers", "(d"}, {"_modules", "(d"}});
  const auto opened = open_file_named("m.pt", stream(type + "(t\x81" + state + "b", keys({"1"}), block(4, {1, 2, 3, 4})));
  ASSERT_TRUE(opened) << opened.error().what();
  EXPECT_EQ(first_value(*opened, "w"), 1);
}

TEST(TorchLegacy, BreaksBeforeTheObjectAreErrors) {
  EXPECT_EQ(assay::testing::error_code(open_file_named("m.pt", std::string(kStart.substr(0, 30)))), Code::truncated);
  EXPECT_EQ(assay::testing::error_code(open_file_named("m.pt", std::string(kStart.substr(0, 28)) + "R.")), Code::malformed_pickle);
  EXPECT_EQ(assay::testing::error_code(open_file_named("m.pt", std::string(kStart))), Code::truncated);
}

}  // namespace
}  // namespace assay::test
