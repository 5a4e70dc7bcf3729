// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "assay/source.hpp"
#include "temp_folder.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> names_of(const FileSet& set) {
  std::vector<std::string> names;
  const auto entries = set.list();
  if (!entries) return {std::string(code_name(entries.error().code()))};
  for (const FileSet::Entry& entry : *entries) names.push_back(entry.name + (entry.folder ? "/" : ""));
  return names;
}

std::string content_of(const FileSet& set, std::string_view name) {
  const auto source = set.open(name);
  if (!source) return std::string(code_name(source.error().code()));
  return std::string((*source)->fetch(0, (*source)->size())->view().text());
}

TEST(OpenPath, AFileIsThePrimaryWithItsNeighbours) {
  const TempFolder folder;
  folder.write("model.index.json", "index");
  folder.write("shard-1", "one");
  folder.write("sub/shard-2", "two");
  const auto set = open_path(folder / "model.index.json");
  ASSERT_TRUE(set.has_value());
  EXPECT_EQ((*set)->label(), folder / "model.index.json");
  EXPECT_EQ((*set)->primary(), "model.index.json");
  EXPECT_EQ(content_of(**set, "model.index.json"), "index");
  EXPECT_EQ(content_of(**set, "shard-1"), "one");
  EXPECT_EQ(content_of(**set, "sub/shard-2"), "two");
  EXPECT_EQ(content_of(**set, "shard-3"), "no-such-file");
}

TEST(OpenPath, AFolderIsASetWithoutAPrimary) {
  const TempFolder folder;
  folder.write("b", "bb");
  folder.write(".hidden", "");
  folder.write("a/inside", "");
  folder.write("グ", "");
  fs::create_symlink("nowhere", folder / "dangling");
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  for (const std::string& path : {folder.path(), folder.path() + "/"}) {
    const auto set = open_path(path);
    ASSERT_TRUE(set.has_value());
    EXPECT_EQ((*set)->primary(), "");
    EXPECT_EQ(names_of(**set), (std::vector<std::string>{".hidden", "a/", "b", "dangling", "グ"}));
    EXPECT_EQ((*(*set)->list())[2].size, 2u);
    EXPECT_EQ(content_of(**set, "b"), "bb");
    EXPECT_EQ(content_of(**set, "dangling"), "dangling-link");
    EXPECT_EQ(content_of(**set, "pipe"), "not-seekable");
    EXPECT_EQ(content_of(**set, "a"), "io-error") << "a folder is no file";
  }
}

TEST(OpenPath, NamesThatLeaveTheSetAreRefused) {
  const TempFolder folder;
  folder.write("outside", "secret");
  const std::string primary = folder.write("set/primary", "x");
  for (const std::string& path : {primary, folder / "set"}) {
    const auto set = open_path(path);
    for (const std::string& name : {std::string("../outside"), folder / "outside", std::string("x/../../outside"),
                                    std::string("..\\outside"), std::string("C:outside"), std::string("primary\0", 8), std::string()})
      EXPECT_EQ(content_of(**set, name), "path-escapes") << name;
  }
}

TEST(OpenPath, LinksMayLeadOutside) {
  const TempFolder folder;
  folder.write("blobs/abc", "weights");
  fs::create_directories(folder / "snapshot");
  fs::create_symlink("../blobs/abc", folder / "snapshot/model.safetensors");
  const auto set = open_path(folder / "snapshot/model.safetensors");
  EXPECT_EQ(content_of(**set, "model.safetensors"), "weights");
  EXPECT_EQ(names_of(**set), (std::vector<std::string>{"model.safetensors"})) << "the neighbours are those of the link";
}

TEST(OpenPath, ThePrimaryMayBeCalledAnything) {
  const TempFolder folder;
  const auto set = open_path(folder.write("C:\\odd\n.pt", "x"));
  EXPECT_EQ(content_of(**set, (*set)->primary()), "x");
}

TEST(OpenPath, SaysWhatIsMissing) {
  const TempFolder folder;
  fs::create_symlink("gone", folder / "link");
  EXPECT_EQ(open_path(folder / "absent").error().code(), Code::no_such_file);
  EXPECT_EQ(open_path(folder / "link").error().code(), Code::dangling_link);
  EXPECT_EQ(open_path(folder / "link/").error().code(), Code::dangling_link);
  EXPECT_EQ(open_path("").error().code(), Code::no_such_file);
  EXPECT_EQ(open_path(std::string("a\0b", 3)).error().code(), Code::no_such_file);
}

TEST(OpenPath, APathWithoutAFolderMeansTheCurrentOne) {
  const TempFolder folder;
  folder.write("model.pt", "x");
  folder.write("config.json", "{}");
  const fs::path before = fs::current_path();
  fs::current_path(folder.path());
  const auto set = open_path("model.pt");
  EXPECT_EQ(content_of(**set, "config.json"), "{}");
  EXPECT_EQ(content_of(**set, "model.pt"), "x");
  fs::current_path(before);
}

}  // namespace
}  // namespace assay
