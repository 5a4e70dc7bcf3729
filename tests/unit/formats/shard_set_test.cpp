// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "formats/shard_index.hpp"
#include "formats/shard_names.hpp"
#include "formats/write.hpp"
#include "unit/formats/formats_testing.hpp"

namespace assay::testing {
namespace {

constexpr const char* kFirst = "model-00001-of-00002.safetensors";
constexpr const char* kSecond = "model-00002-of-00002.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";

/// A shard of tensors of four bytes each, all of the value `fill`.
std::string shard(std::initializer_list<std::string_view> names, char fill = 1) {
  std::string header = "{";
  std::uint64_t end = 0;
  for (const std::string_view name : names) {
    header += concat(end ? "," : "", entry(name, "F32", "1", end, end + 4));
    end += 4;
  }
  header += '}';
  header.resize((header.size() + 7) / 8 * 8, ' ');
  std::string file = safetensors(header, 0);
  return file.append(end, fill);
}

std::string index(std::initializer_list<std::pair<std::string_view, std::string_view>> map, std::string_view metadata = "") {
  std::string out = concat("{\"metadata\": {", metadata, "}, \"weight_map\": {");
  for (bool first = true; const auto& [tensor, file] : map)
    out += concat(std::exchange(first, false) ? "" : ", ", '"', tensor, "\": \"", file, '"');
  return out + "}}";
}

std::vector<std::string> names_of(const Result<Checkpoint>& result) {
  std::vector<std::string> names;
  if (result)
    for (const Tensor& tensor : result->tensors) names.emplace_back(tensor.name);
  return names;
}

using Names = std::vector<std::string>;
const std::string kGoodIndex = index({{"a", kFirst}, {"b", kSecond}}, "\"total_size\": 8");

TEST(ShardSet, FolderIndexAndAnyShardOpenTheSame) {
  const Files files{{kFirst, shard({"a"})}, {kSecond, shard({"b"})}, {kIndex, kGoodIndex}};
  const auto folder = open_files(files, "");
  ASSERT_TRUE(folder) << describe(folder);
  EXPECT_EQ(folder->format, "safetensors-sharded");
  EXPECT_TRUE(folder->complete);
  EXPECT_TRUE(folder->findings.empty()) << describe(folder);
  EXPECT_EQ(names_of(folder), (Names{"a", "b"}));
  EXPECT_EQ(folder->files.size(), 2u);
  EXPECT_EQ(folder->file_of(folder->tensors[1])->name, kSecond);
  for (const char* primary : {kFirst, kSecond, kIndex}) EXPECT_EQ(describe(open_files(files, primary)), describe(folder)) << primary;
}

/// Makes each file anew when it is opened, as a folder does: nothing may be looked at behind its source's back.
class FreshFiles final : public FileSet {
 public:
  explicit FreshFiles(Files files) : files_(std::move(files)) {}
  const std::string& label() const override { return name_; }
  const std::string& primary() const override { return name_; }
  Result<std::vector<Entry>> list() const override {
    std::vector<Entry> entries;
    for (const auto& [name, content] : files_) entries.push_back({name, content.size()});
    return entries;
  }
  Result<std::shared_ptr<ByteSource>> open(std::string_view name) const override {
    for (const auto& [own, content] : files_)
      if (own == name) return std::make_shared<MemorySource>(bytes_of(content));
    return fail(Code::no_such_file, "not there");
  }

 private:
  Files files_;
  std::string name_;
};

TEST(ShardSet, ALargeIndexIsReadInPlaceAndOutlivesItsFile) {
  std::string map, header = "{";
  constexpr int kTensors = 6000;
  for (int i = 0; i < kTensors; ++i) {
    const std::string name = concat("model.layers.", i % 3, ".experts.", i, ".weight");
    map += concat(i ? ",\n    " : "", '"', name, "\": \"", kFirst, '"');
    header += concat(i ? "," : "", entry(name, "U8", "1", static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(i) + 1));
  }
  map += concat(",\n    \"lost\": \"", kFirst, '"');
  const std::string text = concat("{\"metadata\": {}, \"weight_map\": {", map, "}}");
  ASSERT_GT(text.size(), 256u << 10);
  const auto opened = open(FreshFiles({{kIndex, text}, {kFirst, safetensors(header + "}", kTensors)}}), {});
  ASSERT_TRUE(opened) << describe(opened);
  EXPECT_EQ(opened->tensors.size(), static_cast<std::size_t>(kTensors));
  ASSERT_EQ(opened->findings.list().size(), 1u) << describe(opened);
  EXPECT_EQ(message_of(opened, Code::wrong_shard),
            "the index maps 'lost' to 'model-00001-of-00002.safetensors', which lacks it; no shard holds it");
}

TEST(ShardSet, AMissingShardNamesItsTensorsAndBytes) {
  const auto opened = open_files({{kFirst, shard({"a"})}, {kIndex, kGoodIndex}}, "");
  ASSERT_TRUE(opened);
  EXPECT_FALSE(opened->complete);
  EXPECT_EQ(message_of(opened, Code::missing_shard), "'model-00002-of-00002.safetensors' is not there; 1 tensor is lost (4 bytes): 'b'");
  EXPECT_EQ(names_of(opened), (Names{"a"}));
  EXPECT_EQ(message_of(opened, Code::total_size_mismatch), "");
}

TEST(ShardSet, NothingThereIsAnError) {
  EXPECT_EQ(error_code(open_files({{kIndex, kGoodIndex}}, "")), Code::missing_shard);
  EXPECT_EQ(error_code(open_files({{kIndex, kGoodIndex}}, kIndex)), Code::missing_shard);
}

TEST(ShardSet, AnIndexIsNoShard) {
  const char* other = "other.safetensors.index.json";
  const std::string loop = index({{"a", other}, {"b", kFirst}});
  const Files files{{kFirst, shard({"b"})}, {kIndex, loop}, {other, index({{"a", kIndex}})}};
  const auto opened = open_files(files, kIndex);
  ASSERT_TRUE(opened) << describe(opened);
  EXPECT_FALSE(opened->complete);
  EXPECT_EQ(names_of(opened), (Names{"b"}));
  EXPECT_NE(message_of(opened, Code::bad_shard).find("an index of shards"), std::string::npos) << describe(opened);
  for (const char* primary : {kIndex, ""})
    EXPECT_EQ(error_code(open_files({{kIndex, index({{"a", kIndex}})}}, primary)), Code::json_document) << primary;
  // The same under the names that weights have.
  for (const char* name : {"model.safetensors", "pytorch_model.bin", kFirst})
    EXPECT_EQ(error_code(open_files({{name, index({{"a", name}})}}, name)), Code::json_document) << name;
}

TEST(ShardSet, NumbersAloneMakeASet) {
  const Files files{{"model-00001-of-00003.safetensors", shard({"a"})}, {"model-00003-of-00003.safetensors", shard({"c"})}};
  for (const char* primary : {"", "model-00003-of-00003.safetensors"}) {
    const auto opened = open_files(files, primary);
    ASSERT_TRUE(opened);
    EXPECT_FALSE(opened->complete);
    EXPECT_EQ(message_of(opened, Code::missing_shard), "'model-00002-of-00003.safetensors' is not there; the names promise 3 files");
    EXPECT_EQ(names_of(opened), (Names{"a", "c"}));
  }
  // A part without siblings is opened by itself, and is whole.
  const auto alone = open_files({files[0]}, files[0].first);
  ASSERT_TRUE(alone);
  EXPECT_EQ(alone->format, "safetensors");
  EXPECT_TRUE(alone->complete);
  EXPECT_EQ(message_of(alone, Code::missing_shard), "part 1 of 3; the other parts are not beside it");
}

TEST(ShardSet, ManyMissingPartsAreSummedUp) {
  const auto opened = open_files({{"m-00001-of-99999.safetensors", shard({"a"})}, {"m-00002-of-99999.safetensors", shard({"b"})}}, "");
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->findings.list().back().message, "99997 of 99999 files are not there");
  EXPECT_LT(opened->findings.list().size(), 30u);
  EXPECT_NE(message_of(open_files({{"m-00001-of-999999.safetensors", shard({"a"})}, {"m-00002-of-999999.safetensors", shard({"b"})}}, ""),
                       Code::limit_exceeded),
            "");
}

TEST(ShardSet, ATensorInAnotherShardThanPromised) {
  const auto moved = open_files(
      {{kFirst, shard({"a", "b"})}, {kSecond, shard({"c"})}, {kIndex, index({{"a", kFirst}, {"b", kSecond}, {"c", kSecond}})}}, "");
  EXPECT_EQ(message_of(moved, Code::wrong_shard),
            "the index maps 'b' to 'model-00002-of-00002.safetensors', which lacks it; it is in 'model-00001-of-00002.safetensors'");
  EXPECT_EQ(names_of(moved), (Names{"a", "b", "c"}));
  const auto nowhere = open_files({{kFirst, shard({"a"})}, {kSecond, shard({"x"})}, {kIndex, kGoodIndex}}, "");
  EXPECT_EQ(message_of(nowhere, Code::wrong_shard),
            "the index maps 'b' to 'model-00002-of-00002.safetensors', which lacks it; no shard holds it");
  EXPECT_FALSE(nowhere->complete);
  // 'x' is there all the same, with a note.
  EXPECT_EQ(names_of(nowhere), (Names{"a", "x"}));
  EXPECT_EQ(find(*nowhere, Code::stale_index)->severity, Severity::note);
}

TEST(ShardSet, CopiesCountOnceAndTheIndexDecides) {
  const std::string map = index({{"a", kSecond}, {"b", kSecond}});
  const auto differ = open_files(
      {{kFirst, shard({"a"}, 1)}, {kSecond, shard({"a", "b"}, 2)}, {kIndex, index({{"a", kSecond}, {"b", kSecond}, {"z", kFirst}})}}, "");
  ASSERT_TRUE(differ);
  EXPECT_EQ(names_of(differ), (Names{"a", "b"}));
  EXPECT_EQ(differ->file_of(differ->tensors[0])->name, kSecond);
  EXPECT_EQ(differ->storages.size(), 2u);
  EXPECT_EQ(message_of(differ, Code::duplicate_tensor),
            "'a' is in 'model-00002-of-00002.safetensors', which counts, and in 'model-00001-of-00002.safetensors'; the copies differ in "
            "their bytes");

  const auto same = open_files({{kFirst, shard({"a"})}, {kSecond, shard({"a", "b"})}}, "");  // without an index the first counts
  ASSERT_TRUE(same);
  EXPECT_TRUE(same->complete);
  EXPECT_EQ(names_of(same), (Names{"a", "b"}));
  EXPECT_EQ(same->file_of(same->tensors[0])->name, kFirst);
  EXPECT_NE(message_of(same, Code::duplicate_tensor).find("hold the same bytes"), std::string::npos);

  const std::string other_shape = safetensors("{" + entry("a", "U8", "2", 0, 2) + "}", 2);
  const auto shapes = open_files({{kFirst, shard({"a"})}, {kSecond, other_shape}}, "");
  EXPECT_NE(message_of(shapes, Code::duplicate_tensor).find("the copies differ: F32 [1] and U8 [2]"), std::string::npos)
      << describe(shapes);
}

TEST(ShardSet, TotalSizeIsRecomputed) {
  const Files shards{{kFirst, shard({"a"})}, {kSecond, shard({"b"})}};
  const auto with = [&](std::string_view total) {
    Files files = shards;
    files.emplace_back(kIndex, index({{"a", kFirst}, {"b", kSecond}}, concat("\"total_size\": ", total)));
    return message_of(open_files(files, ""), Code::total_size_mismatch);
  };
  EXPECT_EQ(with("333312"), "the index says 333,312 bytes in all, the tensors have 8");
  EXPECT_EQ(with("8"), "");
  EXPECT_EQ(with("8.0"), "");
  EXPECT_NE(with("1.3e10"), "");
  EXPECT_NE(with("-1"), "");
  EXPECT_EQ(with("8, \"total_parameters\": 2"), "");
  EXPECT_EQ(with("8, \"total_parameters\": 333312"), "the index says 333,312 parameters in all, the tensors have 2 elements");
  EXPECT_EQ(with("8.0, \"total_parameters\": 2.5e9"), "the index says 2,500,000,000 parameters in all, the tensors have 2 elements");
}

TEST(ShardSet, AShardOfAnotherSaveIsNamed) {
  const auto part = [](int first, std::string_view dtype, std::string_view shape, std::uint64_t size) {
    std::string header;
    for (std::uint64_t i = 0; i < 2; ++i)
      header += concat(i ? "," : "", entry(concat("layers.", first + static_cast<int>(i), ".w"), dtype, shape, i * size, (i + 1) * size));
    return safetensors("{" + header + "}", 2 * size);
  };
  const std::string names[] = {"model-00001-of-00003.safetensors", "model-00002-of-00003.safetensors", "model-00003-of-00003.safetensors"};
  const auto with = [&](const std::string& second) {
    return open_files({{names[0], part(0, "F32", "4,4", 64)},
                       {names[1], second},
                       {names[2], part(4, "F32", "4,4", 64)},
                       {kIndex, index({{"layers.0.w", names[0]},
                                       {"layers.1.w", names[0]},
                                       {"layers.2.w", names[1]},
                                       {"layers.3.w", names[1]},
                                       {"layers.4.w", names[2]},
                                       {"layers.5.w", names[2]}},
                                      "\"total_size\": 384")}},
                      "");
  };
  EXPECT_EQ(message_of(with(part(2, "F32", "4,4", 64)), Code::wrong_shard), "");
  EXPECT_EQ(message_of(with(part(2, "BF16", "4,4", 32)), Code::wrong_shard),
            concat(quote(names[1]), " is of another save than the other files: 'layers.#.w' is BF16 [4, 4], elsewhere F32 [4, 4]"));
  EXPECT_EQ(message_of(with(part(2, "F32", "2,4", 32)), Code::wrong_shard),
            concat(quote(names[1]), " is of another save than the other files: 'layers.#.w' is F32 [2, 4], elsewhere F32 [4, 4]"));
}

TEST(ShardSet, AStaleIndexYieldsToTheFileThatHoldsAll) {
  const Files files{{"model.safetensors", shard({"a", "b"})}, {kIndex, kGoodIndex}};
  const auto opened = open_files(files, "");
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->format, "safetensors");
  EXPECT_TRUE(opened->complete);
  EXPECT_EQ(message_of(opened, Code::stale_index),
            "'model.safetensors.index.json' names 2 files that are not there; 'model.safetensors' holds all 2 tensors");
  // One that lacks a tensor stands in for what it has.
  const auto some = open_files({{"model.safetensors", shard({"a"})}, {kIndex, kGoodIndex}}, "");
  EXPECT_EQ(names_of(some), (Names{"a"}));
  EXPECT_FALSE(some->complete);
  EXPECT_EQ(message_of(some, Code::missing_shard),
            "'model.safetensors.index.json' names 2 files that are not there; 'model.safetensors' holds 1 of its 2 tensors, without 'b'");
  EXPECT_EQ(error_code(open_files({{"model.safetensors", shard({"z"})}, {kIndex, kGoodIndex}}, "")), Code::missing_shard);
}

TEST(ShardSet, APartThatTheIndexDoesNotNameBelongsToTheSet) {
  const auto forgotten =
      open_files({{kFirst, shard({"a"})}, {kSecond, shard({"b", "c"})}, {kIndex, index({{"a", kFirst}}, "\"total_size\": 12")}}, "");
  EXPECT_EQ(names_of(forgotten), (Names{"a", "b", "c"}));
  EXPECT_TRUE(forgotten->complete);
  EXPECT_EQ(describe(forgotten).find("stray"), std::string::npos);
  const Finding* told = find(*forgotten, Code::stale_index);
  ASSERT_NE(told, nullptr);
  EXPECT_EQ(told->severity, Severity::warning);
  EXPECT_EQ(told->message,
            concat("the index does not list the 2 tensors of '", kSecond, "': 'b', 'c'; loaders that follow it do not open that file"));
  // What the index seeks in the wrong place is found there.
  const auto elsewhere = open_files({{kFirst, shard({"a"})}, {kSecond, shard({"b"})}, {kIndex, index({{"a", kFirst}, {"b", kFirst}})}}, "");
  EXPECT_EQ(message_of(elsewhere, Code::wrong_shard),
            concat("the index maps 'b' to '", kFirst, "', which lacks it; it is in '", kSecond, "'"));
  // Parts of another set stay strays.
  const auto other =
      open_files({{kFirst, shard({"a"})}, {"model-00002-of-00003.safetensors", shard({"b"})}, {kIndex, index({{"a", kFirst}})}}, "");
  EXPECT_EQ(names_of(other), (Names{"a"}));
  EXPECT_NE(message_of(other, Code::stray_file), "");
}

TEST(ShardSet, PathsInTheIndexMayBeginWithTheFolderItself) {
  const auto opened = open_files(
      {{kFirst, shard({"a"})}, {kSecond, shard({"b"})}, {kIndex, index({{"a", concat("./", kFirst)}, {"b", concat("././", kSecond)}})}},
      "");
  EXPECT_TRUE(opened->findings.empty()) << describe(opened);
  EXPECT_EQ(opened->files[0].name, kFirst);
}

TEST(ShardSet, IndexesThatAreNoneAreToldByWhatTheyAre) {
  const std::string pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:" + std::string(64, 'a') + "\nsize 123\n";
  const auto opened = open_files({{kFirst, shard({"a"})}, {kSecond, shard({"b"})}, {kIndex, pointer}}, "");
  EXPECT_EQ(names_of(opened), (Names{"a", "b"}));
  EXPECT_NE(message_of(opened, Code::git_lfs_pointer).find("Git LFS pointer"), std::string::npos) << describe(opened);
  EXPECT_TRUE(opened->complete);
  const auto empty = open_files({{kFirst, shard({"a"})}, {kSecond, shard({"b"})}, {kIndex, index({})}}, "");
  EXPECT_EQ(names_of(empty), (Names{"a", "b"}));
  EXPECT_EQ(message_of(empty, Code::bad_header),
            concat("the index '", kIndex, "' cannot be read: the index names no tensors; ", code_hint(Code::bad_header)));
}

TEST(ShardSet, PathsThatLeaveTheFolderAreRefused) {
  for (const char* path :
       {"../x.safetensors", "/etc/x.safetensors", "a/../../x.safetensors", "c:x.safetensors", "a\\\\..\\\\x.safetensors"}) {
    const auto opened = open_files({{kFirst, shard({"a"})}, {kIndex, index({{"a", kFirst}, {"b", path}})}}, "");
    ASSERT_TRUE(opened) << path;
    EXPECT_FALSE(opened->complete);
    EXPECT_NE(message_of(opened, Code::path_escapes), "") << path;
    EXPECT_EQ(error_code(open_files({{kFirst, shard({"a"})}, {kIndex, index({{"a", path}})}}, "")), Code::path_escapes) << path;
  }
}

TEST(ShardSet, ABrokenShardIsNamedByWhatItIs) {
  const std::string pointer =
      concat("version https://", "git-lfs.example/spec/v1\noid sha256:", std::string(64, 'a'), "\nsize 4265380512\n");
  const auto opened = open_files({{kFirst, shard({"a"})}, {kSecond, pointer}, {kIndex, kGoodIndex}}, "");
  ASSERT_TRUE(opened);
  EXPECT_FALSE(opened->complete);
  const std::string message = message_of(opened, Code::bad_shard);
  EXPECT_NE(message.find("Git LFS pointer, the real file is 4,265,380,512 bytes"), std::string::npos) << message;
  EXPECT_NE(message.find("1 tensor is lost (4 bytes): 'b'"), std::string::npos) << message;
  // When all are, the set fails as its shards do.
  const auto none = open_files({{kFirst, pointer}, {kSecond, pointer}, {kIndex, kGoodIndex}}, "");
  EXPECT_EQ(error_code(none), Code::git_lfs_pointer);
  EXPECT_EQ(none.error().hint(), "run: git lfs pull");
}

TEST(ShardSet, DamageInAShardIsTheSetsDamage) {
  const std::string whole = shard({"b"});
  const auto opened = open_files({{kFirst, shard({"a"})}, {kSecond, whole.substr(0, whole.size() - 1)}, {kIndex, kGoodIndex}}, "");
  ASSERT_TRUE(opened);
  EXPECT_FALSE(opened->complete);
  EXPECT_EQ(find(*opened, Code::truncated)->where.file, kSecond);
  EXPECT_TRUE(opened->find("a")->readable);
  EXPECT_FALSE(opened->find("b")->readable);
}

TEST(ShardSet, FoldersChooseAndNeverAddUp) {
  const std::string one = shard({"a"});
  EXPECT_EQ(open_files({{"x.safetensors", one}, {"README.md", "hi"}, {"training_args.bin", "x"}}, "")->findings.list().size(), 0u);
  const auto both = open_files(
      {{"pytorch_model.bin", "x"}, {"consolidated.safetensors", one}, {"model.safetensors", one}, {"._model.safetensors", "x"}}, "");
  ASSERT_TRUE(both) << describe(both);
  EXPECT_EQ(both->files[0].name, "model.safetensors");
  EXPECT_EQ(both->tensors.size(), 1u);
  EXPECT_EQ(both->findings.counts().at(Code::stray_file), 2u);
  EXPECT_EQ(find(*both, Code::apple_double)->severity, Severity::note);
  EXPECT_TRUE(both->complete);
  // A single file is opened whatever its name; a model before its variants.
  EXPECT_TRUE(open_files({{"blob", one}}, ""));
  EXPECT_EQ(describe(open_files({{"config.json", "{}"}}, "")), "error unknown-format no weights in this folder; it holds 'config.json' @0");
  EXPECT_EQ(open_files({{"model.fp16.safetensors", one}, {"model.safetensors", one}}, "")->files[0].name, "model.safetensors");
  const auto none = open_files({{"a.txt", "x"}, {"b.txt", "y"}}, "");
  EXPECT_EQ(describe(none), "error unknown-format no weights in this folder; it holds 'a.txt', 'b.txt' @0");
  EXPECT_EQ(describe(open_files({}, "")), "error unknown-format an empty folder @0");
  const auto orbax = open_files({{"manifest.ocdbt", "x"}, {"_METADATA", "{}"}}, "");
  EXPECT_EQ(orbax.error().hint(), "an Orbax checkpoint of JAX; convert it with orbax");
  // Many strays are one finding.
  Files many{{"model.safetensors", one}};
  for (int i = 0; i < 30; ++i) many.emplace_back(concat("lora", i, ".safetensors"), one);
  EXPECT_EQ(open_files(many, "")->findings.list().size(), 1u);
}

TEST(ShardSet, AnUnreadableIndexIsAWarningWhereTheNumbersSuffice) {
  const auto opened = open_files({{kFirst, shard({"a"})}, {kSecond, shard({"b"})}, {kIndex, "{\"weight_map\": 3}"}}, "");
  ASSERT_TRUE(opened) << describe(opened);
  EXPECT_TRUE(opened->complete);
  EXPECT_EQ(find(*opened, Code::bad_header)->severity, Severity::warning);
  EXPECT_EQ(names_of(opened), (Names{"a", "b"}));
  EXPECT_EQ(error_code(open_files({{kFirst, shard({"a"})}, {kIndex, "{\"weight_map\": 3}"}}, kIndex)), Code::bad_header);
}

TEST(ShardSet, TorchShardsMergeToo) {
  const std::vector<std::byte> data(4);
  const auto file = [&](const char* name) {
    const formats::TensorToWrite tensor{name, DType::f32, {1}, data};
    const auto written = formats::write_torch_zip(std::span(&tensor, 1), "archive");
    return written ? std::string(reinterpret_cast<const char*>(written->data()), written->size()) : std::string();
  };
  const char* first = "pytorch_model-00001-of-00002.bin";
  const char* second = "pytorch_model-00002-of-00002.bin";
  const auto opened = open_files({{first, file("a")},
                                  {second, file("b")},
                                  {"pytorch_model.bin.index.json", index({{"a", first}, {"b", second}}, "\"total_size\": 8")}},
                                 "");
  ASSERT_TRUE(opened) << describe(opened);
  EXPECT_EQ(opened->format, "torch-sharded");
  EXPECT_EQ(names_of(opened), (Names{"a", "b"}));
  EXPECT_TRUE(opened->findings.empty()) << describe(opened);
}

TEST(ShardSet, RangesLeadToTheSameSet) {
  const Files files{{kFirst, shard({"a"})}, {kSecond, shard({"b", "a"})}, {kIndex, kGoodIndex}};
  SourceSet set("set", "");
  std::map<std::string, std::shared_ptr<RangeSource>> sources;
  for (const auto& [name, content] : files) {
    sources[name] = std::make_shared<RangeSource>(content.size());
    set.add(name, sources[name]);
  }
  auto opened = open(set);
  for (int rounds = 0; !opened && rounds < 30; ++rounds) {
    ASSERT_EQ(opened.error().code(), Code::need_range) << opened.error().what();
    const Where where = opened.error().where();
    ASSERT_TRUE(sources.contains(where.file)) << where.file;
    const auto& content = std::ranges::find(files, where.file, &std::pair<std::string, std::string>::first)->second;
    sources[where.file]->add(*where.offset, bytes_of(std::string_view(content).substr(*where.offset, *where.length)));
    opened = open(set);
  }
  EXPECT_EQ(describe(opened), describe(open_files(files, "")));
}

TEST(ShardSet, AnyNumberOfThreadsGivesTheSame) {
  Files files;
  std::string map;
  const auto name = [](int i) { return concat("model-000", i < 10 ? "0" : "", i, "-of-00020.safetensors"); };
  for (int i = 1; i <= 20; ++i) {
    const std::string own = concat("l.", i, ".a"), second = concat("l.", i, ".b"), moved = concat("m.", i % 7);
    std::string file = shard({own, second, moved});  // the m. are in several shards
    if (i == 5) file.resize(file.size() - 5);
    if (i == 9) file = "not weights";
    if (i != 13) files.push_back({name(i), std::move(file)});
    // Promised in another order than they stand in, some elsewhere, some twice.
    map += concat(map.empty() ? "" : ", ", '"', second, "\": \"", name(i == 3 ? 4 : i), "\", \"", own, "\": \"", name(i), "\"");
    if (i % 6 == 0) map += concat(", \"", moved, "\": \"", name(i), "\"");
  }
  files.push_back({kIndex, concat("{\"metadata\": {\"total_size\": 200}, \"weight_map\": {", map, "}}")});
  const auto one = open_files(files, "", {.threads = 1});
  ASSERT_TRUE(one) << describe(one);
  EXPECT_TRUE(one->findings.has(Code::bad_shard));
  EXPECT_TRUE(one->findings.has(Code::missing_shard));
  EXPECT_TRUE(one->findings.has(Code::wrong_shard));
  EXPECT_TRUE(one->findings.has(Code::duplicate_tensor));
  for (const std::uint32_t threads : {2u, 3u, 8u, 64u})
    EXPECT_EQ(describe(open_files(files, "", {.threads = threads})), describe(one)) << threads;
}

TEST(ShardIndex, ScannerAndExactReaderAgree) {
  const auto text_of = [](const formats::ShardIndex& index) {
    std::string out = index.total_size ? concat(static_cast<std::int64_t>(*index.total_size)) : "none";
    for (const auto& entry : index.entries) out += concat(' ', quote(entry.tensor), '@', quote(index.files[entry.file]), '>', entry.next);
    return out;
  };
  const std::string good =
      "{\n  \"metadata\": {\"total_size\": 24, \"kind\": \"x\"},\n  \"weight_map\": {\n    \"a\": \"f1\", \"b\": \"f2\", \"c\": \"f1\"\n  "
      "}\n}\n";
  ASSERT_TRUE(formats::detail::scan_index({std::as_bytes(std::span(good)), 0}));
  std::mt19937 random(3);
  constexpr std::string_view kAlphabet = "{}[]\",: 0a\\\n.e-\x7f\x80";
  int taken = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string mutant = good;
    for (unsigned edits = random() % 3; edits > 0; --edits) {
      const std::size_t at = random() % mutant.size();
      if (random() % 2) mutant[at] = kAlphabet[random() % kAlphabet.size()];
      else mutant.erase(at, 1 + random() % 3);
    }
    const ByteView view(std::as_bytes(std::span(mutant)), 0);
    const auto scanned = formats::detail::scan_index(view);
    const auto parsed = formats::detail::parse_index(view, Limits{});
    if (!scanned) continue;
    ++taken;
    ASSERT_TRUE(parsed) << mutant << parsed.error().what();
    EXPECT_EQ(text_of(*scanned), text_of(*parsed)) << mutant;
  }
  EXPECT_GT(taken, 5000);
}

TEST(ShardNames, NumbersOfParts) {
  const auto name = formats::numbered_name("model.fp16-00001-of-00002.safetensors");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->stem, "model.fp16-");
  EXPECT_EQ(name->parts, 2u);
  EXPECT_EQ(name->name_of(2), "model.fp16-00002-of-00002.safetensors");
  EXPECT_TRUE(formats::numbered_name("model_00002-of-00072.safetensors"));
  for (const char* text : {"model-1-of-2.safetensors", "model-00003-of-00002.safetensors", "model-00000-of-00002.safetensors",
                           "00001-of-00002.bin", "model-00001-of-00002", "m-0000001-of-00002.bin"})
    EXPECT_FALSE(formats::numbered_name(text)) << text;
}

}  // namespace
}  // namespace assay::testing
