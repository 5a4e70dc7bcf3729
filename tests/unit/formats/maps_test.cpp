// SPDX-License-Identifier: Apache-2.0
// The map of every written file, and of files made by hand: what belongs to whom, and what to nobody.
#include "formats/maps.hpp"

#include <filesystem>

#include "unit/formats/formats_testing.hpp"
#include "unit/formats/torch_builder.hpp"

namespace assay::testing {
namespace {

using model::ByteMap;
using model::Part;
using model::PartKind;

struct Opened {
  std::unique_ptr<SourceSet> files;
  Checkpoint checkpoint;
  std::vector<ByteMap> maps;
};

Opened map_of(const Files& files, const std::string& primary) {
  Opened opened;
  opened.files = std::make_unique<SourceSet>("set", primary);
  for (const auto& [name, content] : files) opened.files->add(name, std::make_shared<MemorySource>(bytes_of(content)));
  auto checkpoint = open(*opened.files);
  EXPECT_TRUE(checkpoint) << checkpoint.error().what();
  opened.checkpoint = *std::move(checkpoint);
  auto maps = model::map_bytes(*opened.files, opened.checkpoint);
  EXPECT_TRUE(maps);
  opened.maps = *std::move(maps);
  for (const ByteMap& map : opened.maps) {
    std::uint64_t at = 0;
    for (const Part& part : map.parts) {
      EXPECT_EQ(part.offset, at);
      EXPECT_GT(part.length, 0u);
      at = part.end();
    }
    EXPECT_EQ(at, map.size);
  }
  return opened;
}

std::string told(const ByteMap& map) {
  std::string out;
  for (const Part& part : map.parts) out += concat(part.offset, '+', part.length, ' ', part_kind_name(part.kind), ' ', part.name, '\n');
  return out;
}

std::string text_of(const Bytes& bytes) {
  std::string text;
  for (const std::byte b : bytes) text += static_cast<char>(b);
  return text;
}

TEST(Maps, EveryByteOfWhatRealWritersWroteHasAnOwner) {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(ASSAY_TEST_DATA)) {
    const std::string name = entry.path().filename().string();
    if (!entry.is_regular_file() || name.ends_with(".json") || name.ends_with(".md") || name == "cut.safetensors") continue;
    SCOPED_TRACE(entry.path().string());
    const auto bytes = test::read_data(name, std::filesystem::relative(entry.path().parent_path(), ASSAY_TEST_DATA).string());
    auto checkpoint = open_file_named(name, text_of(bytes));
    if (!checkpoint) continue;
    const Opened opened = map_of({{name, text_of(bytes)}}, name);
    ASSERT_EQ(opened.maps.size(), 1u);
    EXPECT_TRUE(opened.maps[0].described);
    EXPECT_EQ(opened.maps[0].unowned(), 0u) << told(opened.maps[0]);
    EXPECT_EQ(opened.maps[0].overlap_count, 0u);
    ++files;
    // Each plain element stands in a part that tensors look at.
    for (const Tensor& tensor : opened.checkpoint.tensors) {
      const auto offset = opened.checkpoint.file_offset(tensor);
      if (!offset || !tensor.readable || tensor.numel == 0) continue;
      ASSERT_NE(opened.maps[0].at(*offset), nullptr);
      EXPECT_EQ(opened.maps[0].at(*offset)->kind, PartKind::tensor) << tensor.name;
    }
  }
  EXPECT_GT(files, 60u);
}

TEST(Maps, EveryByteOfWrittenSetsHasAnOwner) {
  std::size_t sets = 0;
  for (const char* parent : {"dist", "deepspeed"}) {
    for (const auto& entry : std::filesystem::directory_iterator(std::string(ASSAY_TEST_DATA) + "/" + parent)) {
      if (!entry.is_directory()) continue;
      SCOPED_TRACE(entry.path().string());
      const auto files = open_path(entry.path().string());
      ASSERT_TRUE(files);
      const auto checkpoint = open(**files);
      if (!checkpoint) continue;
      const auto maps = model::map_bytes(**files, *checkpoint);
      ASSERT_TRUE(maps);
      EXPECT_EQ(maps->size(), checkpoint->files.size());
      for (const ByteMap& map : *maps) EXPECT_EQ(map.unowned(), 0u) << map.file << '\n' << told(map);
      ++sets;
    }
  }
  EXPECT_GE(sets, 5u);
}

TEST(Maps, Safetensors) {
  const std::string header = "{" + entry("a", "U8", "3", 0, 3) + "," + entry("b", "U8", "2", 5, 7) + "}  ";
  const Opened opened = map_of({{"x.safetensors", safetensors(header, 10)}}, "x.safetensors");
  const std::uint64_t data = 8 + header.size();
  EXPECT_EQ(told(opened.maps[0]),
            concat("0+8 header header length\n8+", header.size() - 2, " header header JSON\n", data - 2, "+2 padding header blanks\n", data,
                   "+3 tensor a\n", data + 3, "+2 gap \n", data + 5, "+2 tensor b\n", data + 7, "+3 trailing \n"));
}

TEST(Maps, AZipToTheLastByte) {
  ZipBuilder zip;
  zip.add(torch_member("r/data.pkl", bytes_of(test::dict({{"w", test::tensor()}}) + ".")));
  zip.add(torch_member("r/data/0", test::numbers_1_to_4()));
  zip.add({.name = "r/note", .data = bytes_of("hello"), .descriptor = true, .descriptor_wide = true});
  std::string file = text_of(zip.build({.zip64_end = true, .comment = "bye"}));
  const std::size_t end = file.size();
  file += "??";
  const Opened opened = map_of({{"x.pt", file}}, "x.pt");
  const ByteMap& map = opened.maps[0];
  EXPECT_EQ(map.unowned(), 2u);
  EXPECT_EQ(map.at(end)->kind, PartKind::trailing);
  EXPECT_EQ(map.at(end - 1)->name, "end record");
  EXPECT_EQ(map.at(zip.directory_offset)->kind, PartKind::directory);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(map.at(zip.header_offsets[i])->kind, PartKind::local_header);
    EXPECT_EQ(map.at(zip.header_offsets[i])->offset, zip.header_offsets[i]);
    EXPECT_EQ(map.at(zip.data_offsets[i])->offset, zip.data_offsets[i]);
  }
  EXPECT_EQ(map.at(zip.data_offsets[0] - 1)->kind, PartKind::padding);
  EXPECT_EQ(map.at(zip.data_offsets[1])->name, "w");
  EXPECT_EQ(map.at(zip.data_offsets[1])->length, 16u);
  EXPECT_EQ(map.at(zip.data_offsets[1] + 16)->kind, PartKind::descriptor);
  EXPECT_EQ(map.at(zip.data_offsets[1] + 16)->length, 16u);
  EXPECT_EQ(map.at(zip.data_offsets[2])->kind, PartKind::member);
  EXPECT_EQ(map.at(zip.data_offsets[2] + 5)->length, 24u);
}

TEST(Maps, BytesBeforeAnArchiveAndBetweenItsMembersAreNobodys) {
  ZipBuilder zip;
  zip.add("r/data.pkl", bytes_of(test::dict({{"w", test::tensor()}}) + "."));
  zip.add("r/data/0", test::numbers_1_to_4());
  const std::string plain = text_of(zip.build());
  const Opened opened = map_of({{"x.pt", "junk" + plain}}, "x.pt");
  EXPECT_EQ(opened.maps[0].parts[0].kind, PartKind::leading);
  EXPECT_EQ(opened.maps[0].parts[0].length, 4u);
  EXPECT_EQ(opened.maps[0].unowned(), 4u);
}

TEST(Maps, EachFileOfASetHasItsMap) {
  const auto shard = [](std::string_view name) { return safetensors("{" + entry(name, "U8", "2", 0, 2) + "}", 2); };
  const Files files = {
      {"model-00001-of-00002.safetensors", shard("a")},
      {"model-00002-of-00002.safetensors", shard("b") + "x"},
      {"model.safetensors.index.json",
       R"({"metadata":{"total_size":4},"weight_map":{"a":"model-00001-of-00002.safetensors","b":"model-00002-of-00002.safetensors"}})"}};
  const Opened opened = map_of(files, "");
  ASSERT_EQ(opened.maps.size(), 2u);
  EXPECT_EQ(opened.maps[0].file, "model-00001-of-00002.safetensors");
  EXPECT_EQ(opened.maps[0].unowned(), 0u);
  EXPECT_EQ(opened.maps[0].parts.back().name, "a");
  EXPECT_EQ(opened.maps[1].file, "model-00002-of-00002.safetensors");
  EXPECT_EQ(opened.maps[1].parts.back().kind, PartKind::trailing);
}

TEST(Maps, ADamagedFileIsMappedAsFarAsItGoes) {
  ZipBuilder zip;
  zip.add(torch_member("r/data.pkl", bytes_of(test::dict({{"w", test::tensor()}}) + ".")));
  zip.add(torch_member("r/data/0", test::numbers_1_to_4()));
  const std::string whole = text_of(zip.build_torch());
  for (std::size_t size = zip.data_offsets[1]; size < whole.size(); ++size) {
    SCOPED_TRACE(size);
    if (!open_file_named("x.pt", whole.substr(0, size))) continue;
    const Opened opened = map_of({{"x.pt", whole.substr(0, size)}}, "x.pt");
    EXPECT_EQ(opened.maps.size(), 1u);
  }
}

}  // namespace
}  // namespace assay::testing
