// SPDX-License-Identifier: Apache-2.0
// The archive around the pickle: roots, records, cuts, and hosts that hold only some ranges.
#include "unit/formats/torch_builder.hpp"

namespace assay::test {
namespace {

std::string good() { return dict({{"w", tensor()}}) + "."; }

std::string error_of(const Result<Checkpoint>& result) { return result ? "opened" : std::string(code_name(result.error().code())); }

TEST(TorchArchive, RootsOfEveryKind) {
  for (const char* const root : {"archive", "model.v1.2", "with space", "data.pkl", "ünï"}) {
    auto checkpoint = open_bytes(archive_of(good(), root).build_torch());
    ASSERT_TRUE(checkpoint) << root;
    EXPECT_TRUE(checkpoint->findings.empty()) << root << ": " << codes_of(*checkpoint);
    EXPECT_EQ(checkpoint->storages[0].key, std::string(root) + "/data/0");
  }
  auto deeper = open_bytes(archive_of(good(), "a/b").build_torch());
  ASSERT_TRUE(deeper);
  EXPECT_TRUE(deeper->find("w")->readable);
  EXPECT_EQ(finding(*deeper, Code::odd_name)->severity, Severity::warning);
  ZipBuilder upper;
  upper.add("A/DATA.PKL", bytes_of(good())).add("A/DATA/0", numbers_1_to_4());
  auto checkpoint = open_bytes(upper.build());
  ASSERT_TRUE(checkpoint);
  EXPECT_TRUE(checkpoint->find("w")->readable);
  ZipBuilder bare;
  bare.add("data.pkl", bytes_of(good())).add("data/0", numbers_1_to_4());
  auto rootless = open_bytes(bare.build());
  ASSERT_TRUE(rootless);
  EXPECT_TRUE(rootless->find("w")->readable);
}

TEST(TorchArchive, RecordsOutsideOfTheRootAreSaid) {
  for (const char* const stray : {"__MACOSX/x", "/etc/x", "Archive/x", "archive"}) {
    auto checkpoint = open_bytes(archive_of(good()).add(stray, bytes_of("x")).build_torch());
    ASSERT_TRUE(checkpoint);
    ASSERT_NE(finding(*checkpoint, Code::odd_name), nullptr) << stray;
    EXPECT_EQ(finding(*checkpoint, Code::odd_name)->severity, Severity::warning);
    EXPECT_EQ(finding(*checkpoint, Code::odd_name)->where.member, stray);
    EXPECT_TRUE(checkpoint->complete);
  }
  EXPECT_FALSE(open_bytes(archive_of(good()).add("archive/", {}).build_torch())->findings.has(Code::odd_name));
}

TEST(TorchArchive, APickleThatIsNotWhatWasWrittenIsSaid) {
  for (const std::uint32_t crc : {0u, 1u}) {  // 0: not computed
    ZipBuilder zip;
    zip.add({.name = "a/data.pkl", .data = bytes_of(good()), .crc = crc}).add("a/data/0", numbers_1_to_4());
    auto checkpoint = open_bytes(zip.build());
    ASSERT_TRUE(checkpoint);
    EXPECT_TRUE(checkpoint->find("w")->readable);
    EXPECT_EQ(checkpoint->complete, crc == 0);
    EXPECT_EQ(finding(*checkpoint, Code::crc_mismatch) != nullptr, crc != 0);
  }
}

TEST(TorchArchive, OtherPlacesOfStorages) {
  for (const char* const record : {"archive/tensors/0", "archive/.data/0.storage"}) {
    ZipBuilder zip;
    zip.add("archive/data.pkl", bytes_of(good())).add(record, numbers_1_to_4());
    auto checkpoint = open_bytes(zip.build());
    ASSERT_TRUE(checkpoint);
    EXPECT_TRUE(checkpoint->find("w")->readable) << record;
  }
}

TEST(TorchArchive, OtherArchivesAreToldApart) {
  ZipBuilder zip;
  zip.add("readme.txt", bytes_of("x")).add("weights/model.safetensors", bytes_of("y"));
  auto other = open_bytes(zip.build());
  ASSERT_EQ(error_of(other), "zip-without-checkpoint");
  EXPECT_NE(other.error().what().find("readme.txt"), std::string::npos);
  EXPECT_NE(other.error().hint().find("weights/model.safetensors"), std::string_view::npos);
}

TEST(TorchArchive, ByteOrder) {
  const auto with = [](std::string_view order) {
    ZipBuilder zip = archive_of(good());
    zip.add("archive/byteorder", bytes_of(order));
    return open_bytes(zip.build());
  };
  EXPECT_FALSE(with("little")->storages[0].big_endian);
  EXPECT_TRUE(with("big")->storages[0].big_endian);
  EXPECT_TRUE(with("big")->complete);
  for (const char* const junk : {"Big", "little\n", "", "middle"}) {
    auto checkpoint = with(junk);
    ASSERT_TRUE(checkpoint);
    EXPECT_TRUE(checkpoint->findings.has(Code::bad_byteorder)) << junk;
    EXPECT_FALSE(checkpoint->complete);
    EXPECT_TRUE(checkpoint->find("w")->readable);
  }
}

TEST(TorchArchive, Versions) {
  const auto with = [](std::string_view version) {
    ZipBuilder zip;
    zip.add("archive/data.pkl", bytes_of(good())).add("archive/data/0", numbers_1_to_4()).add("archive/version", bytes_of(version));
    return open_bytes(zip.build());
  };
  for (const char* const fine : {"3", "3\n", " 3", "3abc", "10"}) EXPECT_FALSE(with(fine)->findings.has(Code::bad_version)) << fine;
  for (const char* const odd : {"0", "11", "-1", "", "x", "99999999999999999999999"})
    EXPECT_TRUE(with(odd)->findings.has(Code::bad_version)) << odd;
  EXPECT_TRUE(with("11")->complete);
  ZipBuilder none;
  const auto checkpoint = open_bytes(none.add("archive/data.pkl", bytes_of(good())).add("archive/data/0", numbers_1_to_4()).build());
  ASSERT_NE(finding(*checkpoint, Code::bad_version), nullptr);
  EXPECT_EQ(finding(*checkpoint, Code::bad_version)->message, "the archive has no record 'version'; torch.load refuses it");
  EXPECT_TRUE(checkpoint->complete);
}

TEST(TorchArchive, ABrokenPickleShowsWhatCameBefore) {
  const std::string first = text("a") + tensor() + "s";
  auto cut = open_bytes(archive_of("(d" + first + text("b") + "ctorch._ut").build_torch());
  ASSERT_TRUE(cut);
  EXPECT_EQ(names_of(*cut), std::vector<std::string>{"a"});
  EXPECT_TRUE(cut->find("a")->readable);
  EXPECT_FALSE(cut->complete);
  ASSERT_TRUE(cut->findings.has(Code::malformed_pickle)) << codes_of(*cut);
  EXPECT_EQ(finding(*cut, Code::malformed_pickle)->where.member, "archive/data.pkl");
  EXPECT_EQ(error_of(open_bytes(archive_of("").build_torch())), "malformed-pickle");
  EXPECT_EQ(error_of(open_bytes(archive_of("\xff\xff").build_torch())), "malformed-pickle");
}

TEST(TorchArchive, BytesBehindThePickleAreNoted) {
  auto junk = open_bytes(archive_of(good() + std::string("\0\0\0", 3)).build_torch());
  ASSERT_TRUE(junk);
  EXPECT_EQ(finding(*junk, Code::unparsed_bytes)->severity, Severity::note);
  auto second = open_bytes(archive_of(good() + "I1\n.").build_torch());
  ASSERT_TRUE(second);
  EXPECT_TRUE(second->findings.has(Code::extra_pickle));
}

TEST(TorchArchive, NoTensorsIsSaid) {
  auto checkpoint = open_pickle("(d" + text("epoch") + "I3\ns");
  ASSERT_TRUE(checkpoint);
  EXPECT_TRUE(checkpoint->findings.has(Code::no_tensors));
  EXPECT_EQ(metadata(*checkpoint, "epoch")->integer, 3);
}

TEST(TorchArchive, AHalfWrittenFileKeepsItsWholeTensors) {
  ZipBuilder zip = archive_of(dict({{"w", tensor()}, {"late", tensor({.storage = storage("1", "100"), .size = tuple({"100"})})}}) + ".");
  zip.add(testing::torch_member("archive/data/1", std::vector<std::byte>(400)));
  auto bytes = zip.build_torch();
  bytes.resize(zip.data_offsets.back() + 100);
  auto checkpoint = open_bytes(bytes);
  ASSERT_TRUE(checkpoint) << checkpoint.error().what();
  EXPECT_FALSE(checkpoint->complete);
  EXPECT_TRUE(checkpoint->find("w")->readable);
  EXPECT_FALSE(checkpoint->find("late")->readable);
  const Finding& first = checkpoint->findings.list().front();
  EXPECT_EQ(first.message,
            "the file ends 100 bytes into record 'archive/data/1', at least 300 bytes are missing; 1 of 2 tensors is not whole: 'late'");
  EXPECT_EQ(first.where.offset, bytes.size());
  EXPECT_EQ(std::get<std::uint64_t>(first.facts[0].value), 300u);
}

TEST(TorchArchive, APickleCutByTheFilesEndStillShowsNames) {
  ZipBuilder zip;
  const std::string pickle = "(d" + text("w") + tensor() + "s" + text("v") + tensor() + "s.";
  zip.add(testing::torch_member("archive/data.pkl", bytes_of(pickle)));
  auto bytes = zip.build_torch();
  bytes.resize(zip.data_offsets[0] + pickle.size() - 10);
  auto checkpoint = open_bytes(bytes);
  ASSERT_TRUE(checkpoint) << checkpoint.error().what();
  EXPECT_EQ(names_of(*checkpoint)[0], "w");
  EXPECT_FALSE(checkpoint->find("w")->readable);
  EXPECT_TRUE(checkpoint->findings.has(Code::truncated));
}

// A host that fetches ranges gets a bounded number of requests however many storages there are, and the same answer.
TEST(TorchArchive, RangesAreAskedForSparingly) {
  std::string pickle = "(d";
  for (int i = 0; i < 300; ++i) pickle += text("w" + std::to_string(i)) + tensor({.storage = storage(std::to_string(i))}) + "s";
  ZipBuilder zip;
  zip.add(testing::torch_member("archive/data.pkl", bytes_of(pickle + ".")));
  for (int i = 0; i < 300; ++i) {
    auto data = numbers_1_to_4();
    data.resize(i == 7 ? 0 : 16);
    zip.add(testing::torch_member("archive/data/" + std::to_string(i), data));
  }
  const auto bytes = zip.build_torch();
  const auto source = std::make_shared<RangeSource>(bytes.size());
  SourceSet files("test", "x.pt");
  files.add("x.pt", source);
  int fetches = 0;
  for (;; ++fetches) {
    ASSERT_LT(fetches, 12);
    auto checkpoint = formats::open_torch_zip({files, "x.pt", source, {}});
    if (!checkpoint) {
      ASSERT_EQ(error_of(checkpoint), "need-range");
      const std::uint64_t offset = *checkpoint.error().where().offset, length = *checkpoint.error().where().length;
      ASSERT_LE(length, bytes.size() - offset);
      source->add(offset,
                  {bytes.begin() + static_cast<std::ptrdiff_t>(offset), bytes.begin() + static_cast<std::ptrdiff_t>(offset + length)});
      continue;
    }
    auto whole = open_bytes(bytes);
    ASSERT_TRUE(whole);
    ASSERT_EQ(checkpoint->storages.size(), whole->storages.size());
    for (std::size_t i = 0; i < whole->storages.size(); ++i) EXPECT_EQ(checkpoint->storages[i].offset, whole->storages[i].offset) << i;
    EXPECT_EQ(checkpoint->tensors.size(), 300u);
    break;
  }
}

TEST(TorchArchive, Probe) {
  const auto score = [](const std::vector<std::byte>& bytes) {
    const ByteView all(bytes, 0);
    return formats::probe_torch_zip({"x.pt", bytes.size(), all, all}).score;
  };
  EXPECT_EQ(score(archive_of(good()).build_torch()), 100);
  ZipBuilder other;
  other.add("x.txt", bytes_of("x"));
  EXPECT_EQ(score(other.build()), 50);
  auto prefixed = bytes_of("#!/bin/sh\n");
  const auto archive = archive_of(good()).build_torch();
  prefixed.insert(prefixed.end(), archive.begin(), archive.end());
  EXPECT_EQ(score(prefixed), 40);
  EXPECT_EQ(score(bytes_of("\x80\x02}.")), 0);
}

}  // namespace
}  // namespace assay::test
