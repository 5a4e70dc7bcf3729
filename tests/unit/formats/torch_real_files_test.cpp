// SPDX-License-Identifier: Apache-2.0
// Every file that the real torch wrote, compared with what torch read back: names, types, shapes and each value's bits.
#include <algorithm>
#include <limits>
#include <map>

#include "unit/formats/torch_values.hpp"

namespace assay::test {
namespace {

class TorchRealFile : public testing::TestWithParam<ExpectedFile> {};

TEST_P(TorchRealFile, ReadsAsTorchDoes) {
  auto checkpoint = open_bytes(read_data(GetParam().name));
  ASSERT_TRUE(checkpoint) << checkpoint.error().what();
  EXPECT_TRUE(checkpoint->complete);
  EXPECT_FALSE(checkpoint->findings.any_at_least(Severity::warning)) << checkpoint->findings.list().front().message;
  EXPECT_EQ(checkpoint->tensors.size(), GetParam().tensors.size());
  expect_tensors(*checkpoint, GetParam(), "tensor");
}

INSTANTIATE_TEST_SUITE_P(Written, TorchRealFile, testing::ValuesIn(expected_files()), test_name);

class TorchSpecialFile : public testing::TestWithParam<ExpectedFile> {};

TEST_P(TorchSpecialFile, ReadsAsTorchDoes) {
  const auto files = open_path(std::string(ASSAY_TEST_DATA) + "/special/" + GetParam().name);
  ASSERT_TRUE(files);
  auto checkpoint = open(**files);
  ASSERT_TRUE(checkpoint) << checkpoint.error().what();
  EXPECT_TRUE(checkpoint->complete);
  EXPECT_FALSE(checkpoint->findings.any_at_least(Severity::warning)) << checkpoint->findings.list().front().message;
  std::string names;
  for (const Tensor& tensor : checkpoint->tensors) names += std::string(tensor.name) + ' ';
  EXPECT_EQ(checkpoint->tensors.size(), GetParam().tensors.size()) << names;
  expect_tensors(*checkpoint, GetParam(), "tensor");
}

INSTANTIATE_TEST_SUITE_P(Written, TorchSpecialFile, testing::ValuesIn(expected_files("special")), test_name);

TEST(TorchRealFiles, PartsOfDistributedTensorsAreToldApart) {
  for (const char* const name : {"dtensor.pt", "dtensor_legacy.pt", "sharded_tensor.pt"}) {
    const auto files = open_path(std::string(ASSAY_TEST_DATA) + "/special/" + name);
    const auto checkpoint = open(**files);
    ASSERT_TRUE(checkpoint);
    const auto& list = checkpoint->findings.list();
    ASSERT_EQ(list.size(), 1u) << name;
    const bool sharded = std::string_view(name).starts_with("sharded");
    EXPECT_EQ(list[0].message, sharded ? "one rank's parts of 1 distributed tensor are here; 'st' is (4, 3) in all"
                                       : "one rank's parts of 2 distributed tensors are here; 'w' is (2, 3) in all");
  }
}

TEST(TorchRealFiles, AreAllThere) { EXPECT_GE(expected_files().size(), 37u); }

std::map<std::string, MetadataEntry> metadata_of(const Checkpoint& checkpoint) {
  std::map<std::string, MetadataEntry> entries;
  for (const MetadataEntry& entry : checkpoint.metadata) entries[std::string(entry.key)] = entry;
  return entries;
}

TEST(TorchMetadata, PlainValuesAreListedByName) {
  auto checkpoint = open_bytes(read_data("nested.pt"));
  ASSERT_TRUE(checkpoint);
  auto entries = metadata_of(*checkpoint);
  EXPECT_EQ(entries["tuple.1"].integer, 5);
  EXPECT_EQ(entries["tuple.2"].text, "text");
  EXPECT_EQ(entries["numbers"].text, "[1, 2, 3]");
  EXPECT_EQ(entries["numbers"].kind, MetadataEntry::Kind::json);
  EXPECT_EQ(entries["long"].text, "list of 625");
  EXPECT_EQ(entries["big"].text, "1180591620717411303424");
  EXPECT_EQ(entries["complex"].text, "(1.0+2.0j)");
  EXPECT_EQ(entries["size"].text, "[2, 3]");
  EXPECT_EQ(entries["dtype"].text, "torch.float16");
  EXPECT_EQ(entries["device"].text, "cuda:1");
  EXPECT_EQ(entries["bytes"].text, "bytes of 2");
  EXPECT_EQ(entries["set"].text, "[1]");
  EXPECT_EQ(entries["nothing"].kind, MetadataEntry::Kind::null);
  EXPECT_TRUE(entries["flag"].boolean);
  EXPECT_EQ(entries["path"].text, "/a/b");
  EXPECT_EQ(entries["space"].text, "argparse.Namespace");
  EXPECT_EQ(entries["space.lr"].real, 0.01);
}

TEST(TorchMetadata, NumpyScalarsAreNumbers) {
  for (const char* const name : {"numpy.pt", "numpy_protocol5.pt", "numpy_deflated.pt"}) {
    SCOPED_TRACE(name);
    auto checkpoint = open_bytes(read_data(name));
    ASSERT_TRUE(checkpoint);
    auto entries = metadata_of(*checkpoint);
    EXPECT_EQ(entries["best"].real, 1.5);
    EXPECT_EQ(entries["count"].integer, -7);
    EXPECT_TRUE(entries["flag"].boolean);
    EXPECT_EQ(entries["half"].real, 0.5);
    EXPECT_EQ(entries["name"].text, "é");
    EXPECT_EQ(entries["texts"].text, "numpy.ndarray of U2 (2,)");
    EXPECT_EQ(entries["objects.1"].text, "x");
  }
}

TEST(TorchMetadata, QuantizersAndModules) {
  auto checkpoint = open_bytes(read_data("quantized.pt"));
  ASSERT_TRUE(checkpoint);
  auto entries = metadata_of(*checkpoint);
  EXPECT_EQ(entries["tensor.scale"].real, 0.5);
  EXPECT_EQ(entries["tensor.zero_point"].integer, 2);
  EXPECT_EQ(entries["channels.axis"].integer, 0);
  ASSERT_EQ(checkpoint->find("plain_zero")->quantizer, kNone);
  const Quantizer& whole = checkpoint->quantizers.at(checkpoint->find("tensor")->quantizer);
  EXPECT_EQ(whole.scheme, Quantizer::Scheme::per_tensor_affine);
  EXPECT_EQ(whole.scale, 0.5);
  EXPECT_EQ(whole.zero_point, 2);
  EXPECT_FALSE(checkpoint->findings.has(Code::oversized_storage)) << "torch allocates packed rows of whole bytes";
  const Quantizer& channels = checkpoint->quantizers.at(checkpoint->find("channels_last_axis")->quantizer);
  EXPECT_EQ(channels.axis, 1u);
  EXPECT_EQ(channels.scales.name, "channels_last_axis.scales");
  EXPECT_EQ(checkpoint->quantizers.at(checkpoint->find("four_bits")->quantizer).scheme,
            Quantizer::Scheme::per_channel_affine_float_qparams);
  auto module = open_bytes(read_data("module.pt"));
  ASSERT_TRUE(module);
  entries = metadata_of(*module);
  EXPECT_EQ(entries["fc.in_features"].integer, 3);
  EXPECT_EQ(entries["act"].text, "torch.nn.modules.activation.ReLU");
  EXPECT_EQ(entries["value"].text, "torch.nn.modules.container.Sequential");
}

TEST(TorchTensors, TiesFlagsAndPlaces) {
  auto views = open_bytes(read_data("views.pt"));
  ASSERT_TRUE(views);
  const Tensor& base = *views->find("base");
  const Tensor& transposed = *views->find("transposed");
  EXPECT_EQ(base.storage, transposed.storage);
  EXPECT_TRUE(base.contiguous());
  EXPECT_FALSE(transposed.contiguous());
  EXPECT_EQ(views->find("expanded")->stride_of(0), 0u);
  EXPECT_EQ(*views->file_offset(base) % 64, 0u);
  EXPECT_TRUE(views->findings.has(Code::oversized_storage));  // as_bytes is 2 of 6 elements
  auto special = open_bytes(read_data("special.pt"));
  ASSERT_TRUE(special);
  EXPECT_TRUE(special->find("parameter")->parameter);
  EXPECT_TRUE(special->find("marked")->parameter);
  EXPECT_FALSE(special->find("attribute")->parameter);
  EXPECT_EQ(special->find("parameter")->source_dtype, "torch.float32");
  auto conj = open_bytes(read_data("conj_neg.pt"));
  ASSERT_TRUE(conj);
  EXPECT_TRUE(conj->find("conj")->conj);
  EXPECT_TRUE(conj->find("neg")->neg);
  EXPECT_FALSE(conj->find("plain")->conj);
  auto script = open_bytes(read_data("script.pt"));
  ASSERT_TRUE(script);
  EXPECT_EQ(script->format, "torch-script");
}

TEST(TorchArchives, AreToldApartByContent) {
  constexpr std::pair<const char*, const char*> kFiles[] = {
      {"train.pt", "torch-zip"},
      {"script.pt", "torch-script"},
      {"frozen.pt", "torch-script"},
      {"package.pt", "torch-package"},
      {"packages.pt", "torch-package"},
      {"exported.pt2", "torch-export"},
      {"exported_2_6.pt2", "torch-export"},
      {"exported_2_6_deflated.pt2", "torch-export"},
  };
  for (const auto& [name, format] : kFiles) {
    SCOPED_TRACE(name);
    const auto source = std::make_shared<MemorySource>(read_data(name));
    SourceSet files("test", name);
    files.add(name, source);
    auto checkpoint = open(files);
    ASSERT_TRUE(checkpoint) << checkpoint.error().what();
    EXPECT_EQ(checkpoint->format, format);
    EXPECT_FALSE(checkpoint->findings.has(Code::extension_mismatch));
    EXPECT_NE(formats::find_format(checkpoint->format), nullptr);
  }
}

TEST(TorchArchives, TiesAndPlacesOfExportedPrograms) {
  auto program = open_bytes(read_data("exported.pt2"));
  ASSERT_TRUE(program);
  EXPECT_EQ(program->find("tied")->storage, program->find("fc.weight")->storage);
  EXPECT_TRUE(program->find("fc.weight")->parameter);
  EXPECT_FALSE(program->find("codes")->parameter);
  EXPECT_FALSE(program->find("turned")->contiguous());
  EXPECT_EQ(program->find("fc.weight")->source_dtype, "torch.float32");
  EXPECT_EQ(program->storages[program->find("tied")->storage].key, "exported/data/weights/weight_0");
  // Of a stored file within the file the bytes have a place in the outer one; of a deflated one they have not.
  auto old = open_bytes(read_data("exported_2_6.pt2"));
  ASSERT_TRUE(old);
  const auto offset = old->file_offset(*old->find("codes"));
  ASSERT_TRUE(offset);
  EXPECT_EQ(read_data("exported_2_6.pt2")[static_cast<std::size_t>(*offset) + 2], std::byte{1});
  auto deflated = open_bytes(read_data("exported_2_6_deflated.pt2"));
  ASSERT_TRUE(deflated);
  EXPECT_FALSE(deflated->file_offset(*deflated->find("codes")));
  auto packages = open_bytes(read_data("packages.pt"));
  ASSERT_TRUE(packages);
  EXPECT_EQ(packages->find("model.net.a")->storage, packages->find("model.sub.other.0")->storage);
  EXPECT_NE(packages->values, nullptr);
  EXPECT_FALSE(packages->findings.has(Code::oversized_storage)) << "what one pickle leaves another uses";
}

TEST(TorchArchives, RangesAreAskedForUntilTheListingIsWhole) {
  for (const char* const name : {"exported.pt2", "exported_2_6.pt2", "exported_2_6_deflated.pt2", "packages.pt", "frozen.pt"}) {
    SCOPED_TRACE(name);
    const auto bytes = read_data(name);
    auto whole = open_bytes(bytes);
    ASSERT_TRUE(whole);
    const auto source = std::make_shared<RangeSource>(bytes.size());
    SourceSet files("test", name);
    files.add(name, source);
    Result<Checkpoint> opened = open(files);
    for (int i = 0; i < 200 && !opened && opened.error().code() == Code::need_range; ++i) {
      const std::uint64_t offset = opened.error().where().offset.value_or(0);
      const std::uint64_t length = opened.error().where().length.value_or(1);
      ASSERT_LE(offset + length, bytes.size());
      const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(offset);
      source->add(offset, {begin, begin + static_cast<std::ptrdiff_t>(length)});
      opened = open(files);
    }
    ASSERT_TRUE(opened) << opened.error().what();
    ASSERT_EQ(opened->tensors.size(), whole->tensors.size());
    for (std::size_t i = 0; i < whole->tensors.size(); ++i) {
      EXPECT_EQ(opened->tensors[i].name, whole->tensors[i].name);
      EXPECT_EQ(opened->file_offset(opened->tensors[i]), whole->file_offset(whole->tensors[i]));
    }
  }
}

TEST(TorchTensors, NodesLeadToTensors) {
  auto checkpoint = open_bytes(read_data("views.pt"));
  ASSERT_TRUE(checkpoint);
  ASSERT_NE(checkpoint->values, nullptr);
  ASSERT_EQ(checkpoint->node_tensors.size(), checkpoint->tensors.size());
  EXPECT_TRUE(std::ranges::is_sorted(checkpoint->node_tensors));
  const pickle::Graph& graph = *checkpoint->values;
  const pickle::Node tied = graph.get(graph.root(), "tied");
  std::vector<std::string> names;
  for (const auto& [node, tensor] : checkpoint->node_tensors)
    if (node == tied) names.emplace_back(checkpoint->tensors[tensor].name);
  EXPECT_EQ(names, (std::vector<std::string>{"base", "tied"}));
}

}  // namespace
}  // namespace assay::test
