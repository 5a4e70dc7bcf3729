// SPDX-License-Identifier: Apache-2.0
// Distributed checkpoints: those that torch's ranks wrote, compared with what torch reads back, and those that nobody should have written.
#include <map>

#include "unit/formats/formats_testing.hpp"
#include "unit/formats/torch_values.hpp"

namespace assay::testing {
namespace {

using test::ExpectedFile;

std::vector<std::string> names_in(const FileSet& set) {
  std::vector<std::string> names;
  const auto entries = set.list();
  EXPECT_TRUE(entries);
  if (entries)
    for (const FileSet::Entry& entry : *entries) names.push_back(entry.name);
  return names;
}

std::unique_ptr<FileSet> written(const std::string& folder, const std::string& file = "") {
  auto set = open_path(std::string(ASSAY_TEST_DATA) + "/dist/" + folder + (file.empty() ? "" : "/" + file));
  EXPECT_TRUE(set);
  return set ? *std::move(set) : nullptr;
}

class DcpWritten : public ::testing::TestWithParam<ExpectedFile> {};

TEST_P(DcpWritten, ReadsAsTorchDoes) {
  const auto set = written(GetParam().name);
  auto checkpoint = open(*set);
  ASSERT_TRUE(checkpoint) << checkpoint.error().what();
  EXPECT_EQ(checkpoint->format, "torch-dcp");
  EXPECT_TRUE(checkpoint->complete);
  // Ranks that do not wait for each other write replicas several times.
  const bool each = GetParam().name == "each_rank";
  EXPECT_EQ(message_of(checkpoint, Code::duplicate_tensor),
            each ? "several ranks hold the same parts of 5 tensors; those of the first rank count" : "");
  EXPECT_EQ(checkpoint->findings.list().size(), each ? 1u : 0u) << describe(*checkpoint);
  std::size_t tensors = 0;
  for (const auto& expected : GetParam().tensors) tensors += !expected.name.empty();
  EXPECT_EQ(checkpoint->tensors.size(), tensors);
  test::expect_tensors(*checkpoint, GetParam(), "tensor");
}

TEST_P(DcpWritten, AnyOfItsFilesOpensTheWhole) {
  const auto folder = written(GetParam().name);
  const auto whole = open(*folder);
  ASSERT_TRUE(whole);
  for (const std::string& name : names_in(*folder)) EXPECT_EQ(describe(open(*written(GetParam().name, name))), describe(whole)) << name;
}

std::string dcp_name(const ::testing::TestParamInfo<ExpectedFile>& info) { return info.param.name; }
TEST(Dcp, ARankWhoseFilesAreMissingLeavesHoles) {
  const auto set = written("each_rank");
  Files files;
  for (const std::string& name : names_in(*set)) {
    if (name.starts_with("__2")) continue;
    const auto bytes = test::read_data("each_rank/" + name, "dist");
    files.push_back({name, std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size())});
  }
  const auto opened = open_files(files, "");
  ASSERT_TRUE(opened) << describe(opened);
  EXPECT_FALSE(opened->complete);
  EXPECT_TRUE(opened->findings.has(Code::gap)) << describe(opened);
  EXPECT_FALSE(opened->find("grid")->readable);
  EXPECT_TRUE(opened->find("plain")->readable);
}

INSTANTIATE_TEST_SUITE_P(Dist, DcpWritten, ::testing::ValuesIn(test::expected_files("dist")), dcp_name);

TEST(Dcp, ValuesAreMetadata) {
  const auto checkpoint = open(*written("train"));
  ASSERT_TRUE(checkpoint);
  std::string text;
  for (const MetadataEntry& entry : checkpoint->metadata)
    text += concat(entry.key, '=', entry.text, entry.kind == MetadataEntry::Kind::integer ? decimal(entry.integer) : "", ' ');
  EXPECT_EQ(text, "optim.param_groups.0.lr= optim.param_groups.0.betas=[0.9, 0.999] epoch=3 name=run list.1=5 ");
}

TEST(Dcp, AFileWithoutItsMetadataIsListedByItself) {
  const auto bytes = test::read_data("sharded/__1_0.distcp", "dist");
  const auto alone = open_files({{"__1_0.distcp", std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size())}}, "__1_0.distcp");
  ASSERT_TRUE(alone) << describe(alone);
  EXPECT_EQ(alone->format, "torch-dcp");
  EXPECT_GE(alone->tensors.size(), 4u);
  EXPECT_EQ(alone->tensors[0].name, "bytes at 0");
  EXPECT_TRUE(alone->complete);
  EXPECT_TRUE(alone->findings.has(Code::missing_shard));
  for (const Tensor& tensor : alone->tensors) EXPECT_TRUE(TensorReader::open(*alone, tensor));
}

std::vector<double> values_of(const Checkpoint& checkpoint, const std::string& name) {
  const Tensor* const tensor = checkpoint.find(name);
  if (tensor == nullptr) return {};
  std::vector<double> values(static_cast<std::size_t>(tensor->numel));
  const auto reader = TensorReader::open(checkpoint, *tensor);
  if (!reader || !reader->read_f64(0, values)) return {};
  return values;
}

/// The written folder with some files left out or changed.
Result<Checkpoint> changed(const std::string& folder, const std::map<std::string, std::string>& changes) {
  const auto set = written(folder);
  Files files;
  for (const std::string& name : names_in(*set)) {
    const auto bytes = test::read_data(folder + "/" + name, "dist");
    std::string content(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    const auto change = changes.find(name);
    if (change == changes.end()) files.push_back({name, content});
    else if (change->second != "absent") files.push_back({name, content.substr(0, std::stoul(change->second))});
  }
  return open_files(files, "");
}

TEST(Dcp, AMissingFileNamesItsTensors) {
  const auto opened = changed("sharded", {{"__0_0.distcp", "absent"}});
  ASSERT_TRUE(opened) << describe(opened);
  EXPECT_FALSE(opened->complete);
  // Torch deals replicas out anew each time; these four have a chunk on every rank.
  for (const char* name : {"grid", "both", "few", "cube"}) EXPECT_FALSE(opened->find(name)->readable) << name;
  const std::size_t lost = static_cast<std::size_t>(std::ranges::count(opened->tensors, false, &Tensor::readable));
  EXPECT_LT(lost, opened->tensors.size());
  EXPECT_TRUE(message_of(opened, Code::missing_shard).starts_with(concat("'__0_0.distcp' is not there; ", lost, " tensors are lost: '")));
  std::size_t named = 0;
  for (const Finding& finding : opened->findings.list()) named += finding.code == Code::missing_shard && !finding.where.tensor.empty();
  EXPECT_EQ(named, lost);
  for (const Tensor& tensor : opened->tensors)
    EXPECT_EQ(values_of(*opened, std::string(tensor.name)).size(), tensor.readable ? tensor.numel : 0) << tensor.name;
  EXPECT_EQ(opened->find("rows")->numel, 30u);
}

TEST(Dcp, ACutFileKeepsWhatIsWhole) {
  const auto opened = changed("train", {{"__0_0.distcp", "20000"}});
  ASSERT_TRUE(opened) << describe(opened);
  EXPECT_FALSE(opened->complete);
  EXPECT_TRUE(opened->findings.has(Code::truncated)) << describe(opened);
  EXPECT_TRUE(opened->find("model.w")->readable);
  EXPECT_FALSE(opened->find("rng.state")->readable);
}

TEST(Dcp, EveryCutAndEveryFlippedByteOfTheMetadataEnds) {
  const auto bytes = test::read_data("one_safetensors/.metadata", "dist");
  const auto data = test::read_data("one_safetensors/__0_0.distcp", "dist");
  const std::string file(reinterpret_cast<const char*>(data.data()), data.size());
  const std::string good(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const auto read_all = [&](const std::string& metadata) {
    const auto opened = open_files({{".metadata", metadata}, {"__0_0.distcp", file}}, "");
    if (!opened) return;
    for (const Tensor& tensor : opened->tensors) {
      if (tensor.numel > 1000) continue;
      std::vector<double> values(static_cast<std::size_t>(tensor.numel));
      if (const auto reader = TensorReader::open(*opened, tensor)) (void)reader->read_f64(0, values);
    }
  };
  for (std::size_t i = 0; i < good.size(); ++i) {
    read_all(good.substr(0, i));
    for (const unsigned flip : {1u, 0x80u, 0xffu}) {
      std::string bad = good;
      bad[i] = static_cast<char>(static_cast<unsigned char>(bad[i]) ^ flip);
      read_all(bad);
    }
  }
}

// A .metadata by hand: protocol 2, as short as the classes allow.
class MetadataText {
 public:
  struct Box {
    std::vector<int> offsets, sizes;
    std::string file = "a.distcp";
  };
  MetadataText& tensor(const std::string& name, std::vector<int> size, std::vector<Box> boxes) {
    std::string chunks = "](";
    for (const Box& box : boxes) {
      chunks += object("ChunkStorageMetadata", text("offsets") + list(box.offsets) + text("sizes") + list(box.sizes));
      const std::string index = object("MetadataIndex", text("fqn") + text(name) + text("offset") + list(box.offsets));
      places_ +=
          index + object("_StorageInfo", text("relative_path") + text(box.file) + text("offset") + number(0) + text("length") + number(4));
    }
    const std::string properties = "ctorch.distributed.checkpoint.metadata\nTensorProperties\n)\x81(ctorch\nfloat32\nNtb";
    entries_ += text(name) + object("TensorStorageMetadata",
                                    text("properties") + properties + text("size") + list(size) + text("chunks") + chunks + "e");
    return *this;
  }
  std::string bytes() const {
    return "\x80\x02" +
           object("Metadata", text("state_dict_metadata") + "}(" + entries_ + "u" + text("storage_data") + "}(" + places_ + "u") + ".";
  }

 private:
  static std::string number(int n) { return concat("I", n, "\n"); }
  static std::string text(const std::string& t) { return concat("X", static_cast<char>(t.size()), std::string_view("\0\0\0", 3), t); }
  static std::string list(const std::vector<int>& numbers) {
    std::string out = "(";
    for (const int n : numbers) out += number(n);
    return out + "t";
  }
  static std::string object(const std::string& name, const std::string& pairs) {
    return concat("ctorch.distributed.checkpoint.metadata\n", name, "\n)\x81}(", pairs, "ub");
  }
  std::string entries_, places_;
};

std::string floats(const std::string& name, const std::string& shape, std::initializer_list<float> values) {
  std::string file = safetensors(concat('{', entry(name, "F32", shape, 0, 4 * values.size()), '}'), 0);
  for (const float value : values) {
    char bytes[4];
    std::memcpy(bytes, &value, 4);
    file.append(bytes, 4);
  }
  return file;
}

const std::string kA = floats("w", "2,2", {1, 2, 3, 4}), kB = floats("w", "2,2", {5, 6, 7, 8});

TEST(Dcp, ColumnsOfTwoFilesAreJoined) {
  const auto opened =
      open_files({{".metadata", MetadataText().tensor("w", {2, 4}, {{{0, 0}, {2, 2}}, {{0, 2}, {2, 2}, "b.distcp"}}).bytes()},
                  {"a.distcp", kA},
                  {"b.distcp", kB}},
                 "");
  ASSERT_TRUE(opened) << describe(opened);
  EXPECT_TRUE(opened->findings.empty()) << describe(opened);
  EXPECT_EQ(values_of(*opened, "w"), (std::vector<double>{1, 2, 5, 6, 3, 4, 7, 8}));
}

TEST(Dcp, AHoleIsNamedWithItsBytes) {
  const auto opened =
      open_files({{".metadata", MetadataText().tensor("w", {2, 5}, {{{0, 0}, {2, 2}}, {{0, 3}, {2, 2}, "b.distcp"}}).bytes()},
                  {"a.distcp", kA},
                  {"b.distcp", kB}},
                 "");
  ASSERT_TRUE(opened) << describe(opened);
  EXPECT_EQ(message_of(opened, Code::gap), "2 elements (8 bytes) of 'w' are in no chunk");
  EXPECT_EQ(find(*opened, Code::gap)->where.tensor, "w");
  EXPECT_FALSE(opened->tensors[0].readable);
  EXPECT_FALSE(opened->complete);
}

TEST(Dcp, OverlapsAreNamedAndTheFirstChunkCounts) {
  const auto opened =
      open_files({{".metadata", MetadataText().tensor("w", {3, 2}, {{{1, 0}, {2, 2}}, {{0, 0}, {2, 2}, "b.distcp"}}).bytes()},
                  {"a.distcp", kA},
                  {"b.distcp", kB}},
                 "");
  ASSERT_TRUE(opened) << describe(opened);
  EXPECT_EQ(message_of(opened, Code::overlap), "2 elements (8 bytes) of 'w' are in more than one chunk; the first counts");
  EXPECT_EQ(values_of(*opened, "w"), (std::vector<double>{5, 6, 1, 2, 3, 4}));
}

TEST(Dcp, TheSameBoxTwiceIsAReplica) {
  const auto opened =
      open_files({{".metadata", MetadataText().tensor("w", {2, 2}, {{{0, 0}, {2, 2}}, {{0, 0}, {2, 2}}}).bytes()}, {"a.distcp", kA}}, "");
  ASSERT_TRUE(opened) << describe(opened);
  ASSERT_NE(find(*opened, Code::overlap), nullptr);
  EXPECT_EQ(find(*opened, Code::overlap)->severity, Severity::warning);
  EXPECT_TRUE(opened->complete);
  EXPECT_EQ(values_of(*opened, "w"), (std::vector<double>{1, 2, 3, 4}));
}

TEST(Dcp, BadChunksAreRefused) {
  const auto one = [](MetadataText::Box box, std::vector<int> size = {2, 2}) {
    return open_files({{".metadata", MetadataText().tensor("w", std::move(size), {std::move(box)}).bytes()}, {"a.distcp", kA}}, "");
  };
  EXPECT_EQ(message_of(one({{1, 0}, {2, 2}}), Code::malformed_tensor), "a chunk at [1, 0] of sizes [2, 2] leaves the shape [2, 2]");
  EXPECT_NE(message_of(one({{0, 0}, {-1, 2}}), Code::bad_shape), "");
  EXPECT_NE(message_of(one({{0}, {2}}), Code::malformed_tensor), "");
  EXPECT_NE(message_of(one({{0, 0}, {2, 2}, "../a.distcp"}), Code::path_escapes), "");
  EXPECT_NE(message_of(one({{0, 0}, {2, 2}, "none.distcp"}), Code::missing_shard), "");
  EXPECT_NE(
      message_of(one({{0, 0, 0, 0, 0}, {65536, 65536, 65536, 65536, 65536}}, {65536, 65536, 65536, 65536, 65536}), Code::shape_overflow),
      "");
}

TEST(Dcp, AChunkOfAnotherShapeFailsWhenItIsRead) {
  const auto opened = open_files({{".metadata", MetadataText().tensor("w", {4}, {{{0}, {4}}}).bytes()}, {"a.distcp", kA}}, "");
  ASSERT_TRUE(opened) << describe(opened);
  ASSERT_TRUE(opened->tensors[0].readable);
  const auto reader = TensorReader::open(*opened, opened->tensors[0]);
  ASSERT_TRUE(reader);
  std::vector<double> values(4);
  const auto read = reader->read_f64(0, values);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code(), Code::size_mismatch);
  EXPECT_EQ(read.error().where().file, "a.distcp");
  EXPECT_EQ(read.error().where().tensor, "w");
}

TEST(Dcp, MetadataOfPlainDictsIsUnderstood) {
  const auto text = [](const std::string& t) { return concat("X", static_cast<char>(t.size()), std::string_view("\0\0\0", 3), t); };
  const std::string chunk = "}(" + text("offsets") + "(I0\nt" + text("sizes") + "(I4\ntu";
  const std::string entry = "}(" + text("properties") + "}(" + text("dtype") + "ctorch\nfloat32\nu" + text("size") + "(I4\nt" +
                            text("chunks") + "](" + chunk + "eu";
  const std::string place = "}(" + text("relative_path") + text("a.distcp") + text("offset") + "I0\n" + text("length") + "I4\nu";
  const std::string metadata =
      "\x80\x02}(" + text("state_dict_metadata") + "}(" + text("w") + entry + "u" + text("storage_data") + "}(" + text("w") + place + "uu.";
  const auto opened = open_files({{".metadata", metadata}, {"a.distcp", floats("w", "4", {1, 2, 3, 4})}}, "");
  ASSERT_TRUE(opened) << describe(opened);
  EXPECT_EQ(opened->format, "torch-dcp");
  EXPECT_EQ(values_of(*opened, "w"), (std::vector<double>{1, 2, 3, 4}));
}

// A few megabytes would otherwise become gigabytes: every tensor has its own copy of the list of chunks.
TEST(Dcp, ChunksThatManyTensorsShareAreNotListedForEach) {
  constexpr int kMany = 3000;
  const auto text = [](const std::string& t) { return concat("X", static_cast<char>(t.size()), std::string_view("\0\0\0", 3), t); };
  std::string chunks = "](";
  for (int i = 0; i < kMany; ++i) chunks += "}(" + text("offsets") + "(I" + std::to_string(i) + "\nt" + text("sizes") + "(I1\ntu";
  std::string metadata = "\x80\x02}(" + text("state_dict_metadata") + "}(";
  for (int i = 0; i < kMany; ++i)
    metadata += text("w" + std::to_string(i)) + "}(" + text("properties") + "}(" + text("dtype") + "ctorch\nfloat32\nu" + text("size") +
                "(I3000\nt" + text("chunks") + (i == 0 ? chunks + "ep0\n" : "g0\n") + "u";
  const auto opened = open_files({{".metadata", metadata + "u" + text("storage_data") + "}u."}}, "");
  ASSERT_TRUE(opened) << describe(opened);
  EXPECT_EQ(opened->tensors.size(), std::size_t{kMany}) << describe(opened);
  EXPECT_TRUE(opened->findings.has(Code::limit_exceeded)) << describe(opened);
  EXPECT_FALSE(opened->complete);
}

TEST(Dcp, RanksThatAreMissingAreTold) {
  const auto opened = changed("huggingface", {{"shard-00002-model-00001-of-00001.safetensors", "absent"}});
  ASSERT_TRUE(opened) << describe(opened);
  EXPECT_EQ(message_of(opened, Code::missing_shard), "1 of 4 ranks wrote no file that is here; the first of them is 2");
  EXPECT_FALSE(opened->complete);
}

}  // namespace
}  // namespace assay::testing
