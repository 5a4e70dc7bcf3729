// SPDX-License-Identifier: Apache-2.0
// Tensors whose numbers cannot be right are listed, refused with the right code, and never hide the others.
#include <ostream>

#include "unit/formats/torch_builder.hpp"

namespace assay::test {
namespace {

struct Bounds {
  const char* name;
  View view;
  const char* code;  // "" when the tensor is good
};

void PrintTo(const Bounds& bounds, std::ostream* out) { *out << bounds.name; }

class TorchBounds : public ::testing::TestWithParam<Bounds> {};

TEST_P(TorchBounds, RefusesOnlyWhatReachesOutside) {
  auto checkpoint = open_pickle(dict({{"w", tensor(GetParam().view)}, {"ok", tensor()}}));
  ASSERT_TRUE(checkpoint) << checkpoint.error().what();
  ASSERT_EQ(names_of(*checkpoint), (std::vector<std::string>{"w", "ok"}));
  EXPECT_TRUE(checkpoint->find("ok")->readable);
  const bool good = std::string_view(GetParam().code).empty();
  EXPECT_EQ(checkpoint->find("w")->readable, good) << codes_of(*checkpoint);
  EXPECT_EQ(checkpoint->complete, good);
  if (good) return;
  const Finding* const found = finding(*checkpoint, *code_from_name(GetParam().code));
  ASSERT_NE(found, nullptr) << codes_of(*checkpoint);
  EXPECT_EQ(found->where.tensor, "w");
  EXPECT_EQ(found->where.member, "archive/data.pkl");
}

INSTANTIATE_TEST_SUITE_P(
    Views, TorchBounds,
    ::testing::Values(
        Bounds{"whole", {}, ""}, Bounds{"last_element", {.offset = "3", .size = tuple({"1"})}, ""},
        Bounds{"one_past", {.offset = "4", .size = tuple({"1"})}, "out-of-storage"},
        Bounds{"slice_past", {.offset = "2"}, "out-of-storage"},
        Bounds{"stride_past", {.size = tuple({"2"}), .stride = tuple({"4"})}, "out-of-storage"},
        Bounds{"stride_fits", {.size = tuple({"2"}), .stride = tuple({"3"})}, ""},
        Bounds{"expanded", {.size = tuple({"1099511627776", "4"}), .stride = tuple({"0", "1"})}, ""},
        Bounds{"overlapping", {.size = tuple({"3", "2"}), .stride = tuple({"1", "1"})}, ""},
        Bounds{"scalar", {.offset = "3", .size = "(t", .stride = "(t"}, ""},
        Bounds{"empty_with_any_offset", {.offset = "100", .size = tuple({"2", "0"}), .stride = tuple({"1", "1"})}, ""},
        Bounds{"no_stride", {.size = tuple({"2", "2"}), .stride = "N"}, ""}, Bounds{"lists", {.size = "(L4L\nl", .stride = "(L1L\nl"}, ""},
        Bounds{"torch_size", {.size = global("torch", "Size") + "(" + tuple({"4"}) + "tR"}, ""},
        Bounds{"product_overflows", {.size = tuple({"4294967296", "4294967296"}), .stride = tuple({"0", "0"})}, "shape-overflow"},
        Bounds{"bits_overflow", {.size = tuple({"4611686018427387905"}), .stride = tuple({"0"})}, "shape-overflow"},
        Bounds{"reach_overflows", {.size = tuple({"4"}), .stride = tuple({"9223372036854775807"})}, "out-of-storage"},
        Bounds{"offset_huge", {.offset = "9223372036854775807"}, "out-of-storage"},
        Bounds{"size_negative", {.size = tuple({"-1"})}, "bad-shape"}, Bounds{"stride_negative", {.stride = tuple({"-1"})}, "bad-stride"},
        Bounds{"offset_negative", {.offset = "-8"}, "bad-stride"},
        Bounds{"size_beyond_64_bits", {.size = tuple({"99999999999999999999"})}, "bad-shape"},
        Bounds{"size_is_text", {.size = text("4")}, "malformed-tensor"}, Bounds{"size_missing", {.size = "N"}, "malformed-tensor"},
        Bounds{"ranks_differ", {.size = tuple({"2", "2"})}, "malformed-tensor"},
        Bounds{"storage_is_text", {.storage = text("0")}, "malformed-tensor"},
        Bounds{"id_is_not_storage", {.storage = "(" + text("module") + "tQ"}, "malformed-tensor"},
        Bounds{"id_without_numel",
               {.storage = "(" + text("storage") + global("torch", "FloatStorage") + text("0") + "tQ"},
               "malformed-tensor"},
        Bounds{"numel_negative", {.storage = storage("0", "-4")}, "malformed-tensor"},
        Bounds{"missing_record", {.storage = storage("9")}, "missing-storage"},
        Bounds{"key_is_no_path", {.storage = storage("../version")}, "missing-storage"},
        Bounds{"empty_key", {.storage = storage("")}, "missing-storage"},
        Bounds{"claims_more_than_stored", {.storage = storage("0", "1000"), .size = tuple({"10"})}, "storage-size-mismatch"},
        Bounds{"claims_beyond_64_bits", {.storage = storage("0", "9223372036854775807"), .size = tuple({"10"})}, "storage-size-mismatch"}),
    [](const auto& info) { return info.param.name; });

TEST(TorchBounds, RankIsLimited) {
  std::string size = "(", stride = "(";
  for (int i = 0; i < 65; ++i) size += "L1L\n", stride += "L1L\n";
  auto checkpoint = open_pickle(dict({{"w", tensor({.size = size + "t", .stride = stride + "t"})}}));
  ASSERT_TRUE(checkpoint);
  EXPECT_FALSE(checkpoint->tensors[0].readable);
  EXPECT_TRUE(checkpoint->findings.has(Code::limit_exceeded));
}

TEST(TorchStorages, AClaimThatNoTensorNeedsIsDamageToo) {
  auto more = open_pickle(dict({{"w", tensor({.storage = storage("0", "1000")})}}));
  ASSERT_TRUE(more);
  EXPECT_FALSE(more->complete);
  EXPECT_TRUE(more->find("w")->readable);
  ASSERT_NE(finding(*more, Code::storage_size_mismatch), nullptr);
  EXPECT_EQ(finding(*more, Code::storage_size_mismatch)->severity, Severity::damage);
  auto empty = open_pickle(dict({{"w", tensor({.storage = storage("0", "1000"), .size = tuple({"0"})})}}));
  EXPECT_TRUE(empty->findings.has(Code::storage_size_mismatch));
  auto less = open_pickle(dict({{"w", tensor({.storage = storage("0", "2"), .size = tuple({"2"})})}}));
  ASSERT_TRUE(less);
  EXPECT_EQ(finding(*less, Code::storage_size_mismatch)->severity, Severity::warning);
  EXPECT_EQ(finding(*less, Code::storage_size_mismatch)->where.offset, less->storages[0].offset);
  EXPECT_TRUE(less->complete);
  EXPECT_EQ(finding(*less, Code::oversized_storage)->message, "'w' uses 8 of 16 stored bytes");
}

TEST(TorchStorages, EachIdKeepsItsOwnClass) {
  auto checkpoint = open_pickle(dict({{"f", tensor()}, {"i", tensor({.storage = storage("0", "4", "IntStorage")})}}));
  ASSERT_TRUE(checkpoint);
  EXPECT_EQ(checkpoint->find("f")->dtype, DType::f32);
  EXPECT_EQ(checkpoint->find("i")->dtype, DType::i32);
  EXPECT_EQ(checkpoint->find("f")->storage, checkpoint->find("i")->storage);
  EXPECT_EQ(checkpoint->storages.size(), 1u);
  // Which torch does not see: it makes F32 of both.
  ASSERT_NE(finding(*checkpoint, Code::malformed_tensor), nullptr);
  EXPECT_EQ(finding(*checkpoint, Code::malformed_tensor)->severity, Severity::warning);
  EXPECT_TRUE(checkpoint->complete);
  const std::string untyped = tensor_v3({.storage = storage("0", "16", "UntypedStorage")}, "int32");
  EXPECT_FALSE(open_pickle(dict({{"f", tensor()}, {"i", untyped}}))->findings.has(Code::malformed_tensor));
  EXPECT_TRUE(open_pickle(dict({{"i", untyped}, {"f", tensor()}}))->findings.has(Code::malformed_tensor));
}

TEST(TorchStorages, MetaTensorsAreNotDamage) {
  ZipBuilder zip = archive_of(dict({{"m", tensor({.storage = storage("1", "4", "FloatStorage", "meta")})}}) + ".");
  zip.add("archive/data/1", {});
  auto checkpoint = open_bytes(zip.build());
  ASSERT_TRUE(checkpoint);
  EXPECT_TRUE(checkpoint->complete);
  EXPECT_FALSE(checkpoint->find("m")->readable);
  EXPECT_EQ(checkpoint->find("m")->storage, kNone);
  EXPECT_EQ(finding(*checkpoint, Code::missing_storage)->severity, Severity::note);
}

TEST(TorchStorages, UnreadableMembersRefuseTheirTensorsOnly) {
  for (const auto& [flags, method, code] :
       {std::tuple<std::uint16_t, std::uint16_t, Code>{1, 0, Code::encrypted_member}, {0, 14, Code::unsupported_compression}}) {
    ZipBuilder zip = archive_of(dict({{"w", tensor({.storage = storage("1")})}, {"ok", tensor()}}) + ".");
    zip.add({.name = "archive/data/1", .data = numbers_1_to_4(), .method = method, .flags = flags});
    auto checkpoint = open_bytes(zip.build());
    ASSERT_TRUE(checkpoint);
    EXPECT_FALSE(checkpoint->find("w")->readable);
    EXPECT_TRUE(checkpoint->find("ok")->readable);
    ASSERT_NE(finding(*checkpoint, code), nullptr) << codes_of(*checkpoint);
    EXPECT_EQ(finding(*checkpoint, code)->where.member, "archive/data/1");
  }
}

TEST(TorchPackedTypes, FourBitPairsCountValues) {
  const View bytes{.storage = storage("0", "16", "UntypedStorage"), .offset = "2", .size = tuple({"2", "3"}), .stride = tuple({"4", "1"})};
  auto checkpoint = open_pickle(dict({{"a", tensor_v3(bytes, "float4_e2m1fn_x2")}}));
  ASSERT_TRUE(checkpoint);
  const Tensor& a = checkpoint->tensors[0];
  EXPECT_TRUE(a.readable);
  EXPECT_EQ(std::vector(a.shape.begin(), a.shape.end()), (std::vector<std::uint64_t>{2, 6}));
  EXPECT_EQ(std::vector(a.stride.begin(), a.stride.end()), (std::vector<std::uint64_t>{8, 1}));
  EXPECT_EQ(a.storage_offset, 4u);
  EXPECT_EQ(a.nbytes(), 6u);

  View edge = bytes;
  edge.size = edge.stride = "(t";
  auto scalar = open_pickle(dict({{"a", tensor_v3(edge, "float4_e2m1fn_x2")}}));
  ASSERT_TRUE(scalar);
  EXPECT_EQ(std::vector(scalar->tensors[0].shape.begin(), scalar->tensors[0].shape.end()), (std::vector<std::uint64_t>{2}));
  edge.size = tuple({"3"});
  edge.stride = tuple({"2"});
  auto gaps = open_pickle(dict({{"a", tensor_v3(edge, "float4_e2m1fn_x2")}}));
  ASSERT_TRUE(gaps);
  EXPECT_TRUE(gaps->tensors[0].readable) << codes_of(*gaps);
  EXPECT_EQ(std::vector(gaps->tensors[0].shape.begin(), gaps->tensors[0].shape.end()), (std::vector<std::uint64_t>{3, 2}));
  EXPECT_EQ(std::vector(gaps->tensors[0].stride.begin(), gaps->tensors[0].stride.end()), (std::vector<std::uint64_t>{4, 1}));

  // Of a transposed matrix the pairs stand in the first dimension, as kernels take it.
  edge.size = tuple({"3", "2"});
  edge.stride = tuple({"1", "4"});
  auto turned = open_pickle(dict({{"a", tensor_v3(edge, "float4_e2m1fn_x2")}}));
  ASSERT_TRUE(turned);
  EXPECT_TRUE(turned->tensors[0].readable) << codes_of(*turned);
  EXPECT_EQ(std::vector(turned->tensors[0].shape.begin(), turned->tensors[0].shape.end()), (std::vector<std::uint64_t>{6, 2}));
  EXPECT_EQ(std::vector(turned->tensors[0].stride.begin(), turned->tensors[0].stride.end()), (std::vector<std::uint64_t>{1, 8}));
}

TEST(TorchPackedTypes, QuantizedValuesStandSideBySide) {
  const std::string view = "L0L\n" + tuple({"3", "5"}) + tuple({"5", "1"});
  const std::string quantizer = "(" + global("torch", "per_tensor_affine") + "F0.5\nI0\nt";
  auto checkpoint = open_pickle(dict(
      {{"q", global("torch._utils", "_rebuild_qtensor") + "(" + storage("0", "9", "QUInt4x2Storage") + view + quantizer + "I00\nNtR"}}));
  ASSERT_TRUE(checkpoint);
  const Tensor& q = checkpoint->tensors[0];
  EXPECT_TRUE(q.readable) << codes_of(*checkpoint);
  EXPECT_EQ(std::vector(q.shape.begin(), q.shape.end()), (std::vector<std::uint64_t>{3, 5}));
  EXPECT_TRUE(q.contiguous());
}

std::string quantized(std::string_view quantizer) {
  return global("torch._utils", "_rebuild_qtensor") + "(" + storage("0", "16", "QInt8Storage") + "L0L\n" + tuple({"2", "3"}) +
         tuple({"3", "1"}) + std::string(quantizer) + "I00\nNtR";
}
std::string channels(std::string_view scales, std::string_view zero_points, std::string_view axis) {
  return "(" + global("torch", "per_channel_affine") + std::string(scales) + std::string(zero_points) + "L" + std::string(axis) + "L\nt";
}

TEST(TorchQuantizers, ListsOfNumbersServeAsChannels) {
  // The bytes of 1.0 and 2.0: 0 0 128 63, 0 0 0 64, as signed bytes.
  auto checkpoint = open_pickle(dict({{"q", quantized(channels("(lF0.5\naF2\na", "(lI1\naI-3\na", "0"))}}));
  ASSERT_TRUE(checkpoint);
  const Tensor& q = checkpoint->tensors[0];
  ASSERT_TRUE(q.readable) << codes_of(*checkpoint);
  ASSERT_NE(q.quantizer, kNone);
  EXPECT_EQ(checkpoint->quantizers[q.quantizer].scheme, Quantizer::Scheme::per_channel_affine);
  auto reader = TensorReader::open(*checkpoint, q);
  ASSERT_TRUE(reader) << reader.error().what();
  std::vector<double> values(6);
  ASSERT_TRUE(reader->read_f64(0, values));
  EXPECT_EQ(values, (std::vector<double>{-0.5, -0.5, -64.5, 132, 6, 6}));
  std::vector<std::int64_t> stored(6);
  ASSERT_TRUE(reader->read_i64(0, stored));
  EXPECT_EQ(stored, (std::vector<std::int64_t>{0, 0, -128, 63, 0, 0}));
}

TEST(TorchQuantizers, WrongOnesAreRefusedAndTheRestIsListed) {
  const std::string per_tensor = "(" + global("torch", "per_tensor_affine");
  for (const std::string& wrong : {
           channels("(lF1\na", "(lI0\naI0\na", "0"),       // one scale for two channels
           channels("(lF1\naF1\na", "(lI0\naI0\na", "2"),  // no such axis
           channels("(lF1\naF1\na", "(lI0\naI0\na", "-1"),
           channels("(lF1\naNa", "(lI0\naI0\na", "0"),  // None is no scale
           channels("N", "N", "0"),
           per_tensor + "NI0\nt",
           per_tensor + "F1\nF0.5\nt",
           per_tensor + "F1\nt",
           "(" + global("torch", "per_planet") + "F1\nI0\nt",
           std::string("N"),
       }) {
    SCOPED_TRACE(wrong);
    auto checkpoint = open_pickle(dict({{"q", quantized(wrong)}, {"ok", tensor()}}));
    ASSERT_TRUE(checkpoint);
    EXPECT_FALSE(checkpoint->find("q")->readable);
    EXPECT_TRUE(checkpoint->find("ok")->readable);
    EXPECT_TRUE(checkpoint->findings.has(Code::malformed_tensor)) << codes_of(*checkpoint);
    EXPECT_FALSE(checkpoint->complete);
  }
}

TEST(TorchQuantizers, AQuantizerThatUsesItselfEnds) {
  // The scales are quantised too.
  const std::string inner = quantized("(" + global("torch", "per_tensor_affine") + "F1\nI0\nt");
  auto checkpoint = open_pickle(dict({{"q", quantized(channels(inner, inner, "0"))}}));
  ASSERT_TRUE(checkpoint);
  EXPECT_FALSE(checkpoint->find("q")->readable);
  EXPECT_TRUE(checkpoint->find("q.scales")->readable);
}

TEST(TorchPackedTypes, UnknownDtypeNamesAreKept) {
  auto checkpoint = open_pickle(dict({{"a", tensor_v3({.storage = storage("0", "16", "UntypedStorage")}, "float3_new")}}));
  ASSERT_TRUE(checkpoint);
  EXPECT_EQ(checkpoint->tensors[0].source_dtype, "float3_new");
  EXPECT_FALSE(checkpoint->tensors[0].readable);
  EXPECT_EQ(finding(*checkpoint, Code::unknown_dtype)->severity, Severity::warning);
  auto storage_class = open_pickle(dict({{"a", tensor({.storage = storage("0", "4", "NewStorage")})}}));
  ASSERT_TRUE(storage_class);
  EXPECT_EQ(storage_class->tensors[0].source_dtype, "NewStorage");
  EXPECT_FALSE(storage_class->tensors[0].readable);
}

}  // namespace
}  // namespace assay::test
