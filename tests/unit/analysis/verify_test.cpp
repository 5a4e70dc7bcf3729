// SPDX-License-Identifier: Apache-2.0
// One pass in blocks of any size gives what a plain loop over everything gives; each check can fail.
#include "analysis/verify/verify.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "analysis/stats.hpp"
#include "base/text.hpp"
#include "containers/inflate.hpp"
#include "unit/analysis/checkpoint_builder.hpp"
#include "unit/containers/tar_builder.hpp"
#include "unit/containers/zip_builder.hpp"
#include "values/decode.hpp"

namespace assay::analysis {
namespace {

using testing::Bytes;
using testing::bytes_of;
using testing::CheckpointBuilder;
using testing::ZipBuilder;

Bytes random_bytes(std::size_t n, std::uint32_t seed) {
  std::mt19937 random(seed);
  Bytes bytes(n);
  // Half of the bytes are those that zeros, infinities and NaN are made of.
  constexpr unsigned char kTelling[] = {0, 0, 0, 0x80, 0x7f, 0xff, 0x7c, 0xfc, 0xf8, 0x01};
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() % 2 ? random() : kTelling[random() % sizeof kTelling]);
  return bytes;
}

TEST(CountValues, AsDecodingEachElementCounts) {
  const Bytes bytes = random_bytes(16 * 1000 + 3, 1);
  for (int id = 1; id <= static_cast<int>(DType::bits16); ++id) {
    const auto dtype = static_cast<DType>(id);
    const values::Decoder& row = values::decoder(dtype);
    if (row.raw_size == 0 || dtype_bits(dtype) % 8 != 0) continue;
    SCOPED_TRACE(std::string(dtype_name(dtype)));
    const std::size_t n = 1000;
    std::vector<double> reals(n * row.reals);
    row.to_f64(bytes.data() + 3, reals.size(), reals.data());
    ValueCounts expected;
    for (const double x : reals) {
      expected.zeros += x == 0;
      expected.nan += std::isnan(x);
      expected.pos_inf += x == std::numeric_limits<double>::infinity();
      expected.neg_inf += x == -std::numeric_limits<double>::infinity();
    }
    const ValueCounts counted = count_values(dtype, bytes.data() + 3, n);
    EXPECT_EQ(counted.zeros, expected.zeros);
    EXPECT_EQ(counted.nan, expected.nan);
    EXPECT_EQ(counted.pos_inf, expected.pos_inf);
    EXPECT_EQ(counted.neg_inf, expected.neg_inf);
  }
}

TEST(JoinCrc32, IsTheCrcOfBothPieces) {
  const Bytes bytes = random_bytes(5000, 2);
  const std::span<const std::byte> all(bytes);
  for (const std::size_t cut : {0, 1, 2, 63, 64, 65, 1000, 4095, 4999, 5000})
    EXPECT_EQ(join_crc32(crc32(all.first(cut)), crc32(all.subspan(cut)), bytes.size() - cut), testing::slow_crc32(bytes)) << cut;
}

/// Reads and folds everything on this thread.
Pass run(const Checkpoint& checkpoint, std::uint64_t block_bytes, bool values = true) {
  auto pass = Pass::plan(checkpoint, {.values = values, .block_bytes = block_bytes});
  EXPECT_TRUE(pass);
  std::vector<Pass::Partials> partials;
  for (std::size_t i = 0; i < pass->blocks().size(); ++i) {
    const auto bytes = pass->read(i);
    EXPECT_TRUE(bytes);
    partials.push_back(pass->check(i, bytes->view()));
  }
  for (const auto& partial : partials) pass->fold(partial);
  for (std::size_t i = 0; i < pass->jobs(); ++i) EXPECT_TRUE(pass->run_job(i).has_value());
  return *std::move(pass);
}

/// One file of bytes with tensors over it, at odd places and on top of each other.
struct Odd {
  Odd() {
    const Bytes bytes = random_bytes(4096, 3);
    made.files.push_back({"f", bytes.size(), std::make_shared<MemorySource>(bytes)});
    const std::pair<DType, unsigned> kinds[] = {{DType::f32, 300},  {DType::f64, 200}, {DType::bf16, 500},
                                                {DType::c128, 100}, {DType::i64, 64},  {DType::f8_e4m3, 700},
                                                {DType::f16, 1},    {DType::u8, 4000}, {DType::f4, 64}};
    std::uint64_t at = 1;
    for (const auto& [dtype, numel] : kinds) {
      Storage storage;
      storage.offset = at;
      storage.nbytes = 4096 - at;
      made.storages.push_back(storage);
      Tensor tensor;
      tensor.name = made.arena().text(dtype_name(dtype));
      tensor.dtype = dtype;
      const std::uint64_t shape[] = {numel};
      tensor.shape = made.arena().numbers(shape);
      tensor.numel = numel;
      tensor.storage = static_cast<std::uint32_t>(made.storages.size() - 1);
      made.tensors.push_back(tensor);
      at += 13;
    }
  }
  Checkpoint made;
};

TEST(Pass, CountsTheSameForBlocksOfAnySize) {
  const Odd odd;
  for (const std::uint64_t size : {16, 17, 100, 1024, 4095, 4096, 1 << 20}) {
    SCOPED_TRACE(size);
    const Pass pass = run(odd.made, size);
    ASSERT_EQ(pass.tensors().size(), odd.made.tensors.size());
    for (const TensorCheck& check : pass.tensors()) {
      const auto stats = tensor_stats(odd.made, odd.made.tensors[check.tensor]);
      ASSERT_TRUE(stats);
      EXPECT_EQ(check.counts.zeros, stats->zeros) << odd.made.tensors[check.tensor].name;
      EXPECT_EQ(check.counts.nan, stats->nan) << odd.made.tensors[check.tensor].name;
      EXPECT_EQ(check.counts.pos_inf, stats->pos_inf);
      EXPECT_EQ(check.counts.neg_inf, stats->neg_inf);
    }
  }
}

TEST(Pass, WholeFilesComeWithoutHolesAndOthersOnlyWhereNeeded) {
  Odd odd;
  auto whole = Pass::plan(odd.made, {.whole = {true}, .block_bytes = 1000});
  ASSERT_TRUE(whole);
  std::uint64_t at = 0;
  for (const Pass::Block& block : whole->blocks()) {
    EXPECT_EQ(block.offset, at);
    at += block.length;
  }
  EXPECT_EQ(at, 4096u);
  auto nothing = Pass::plan(odd.made, {.block_bytes = 1000});
  ASSERT_TRUE(nothing);
  EXPECT_TRUE(nothing->blocks().empty());
}

Checkpoint zip_of(ZipBuilder& zip, bool tensor = false) {
  Checkpoint made;
  made.format = "torch-zip";
  made.container = "zip";
  const Bytes bytes = zip.build();
  made.files.push_back({"x.pt", bytes.size(), std::make_shared<MemorySource>(bytes)});
  if (!tensor) return made;
  Storage storage;
  storage.offset = zip.data_offsets[0];
  storage.nbytes = 8;
  made.storages.push_back(storage);
  Tensor w;
  w.name = "w";
  w.dtype = DType::u8;
  w.numel = 8;
  w.storage = 0;
  made.tensors.push_back(w);
  return made;
}

const Check& only(const std::vector<Check>& checks, std::string_view name) {
  for (const Check& check : checks)
    if (check.name == name) return check;
  ADD_FAILURE() << name;
  return checks.front();
}

Check crc_check(const Checkpoint& checkpoint, Findings& findings, std::uint64_t block = 100) {
  const auto checks = check_contents(checkpoint, run(checkpoint, block, false), false, findings);
  EXPECT_TRUE(checks);
  return only(*checks, "crc-32");
}

TEST(Crc, StoredAndDeflatedMembersMatch) {
  ZipBuilder zip;
  const Bytes data = testing::noise(3000);
  zip.add("a", data).add("b", bytes_of("")).add("c", bytes_of("hello"));
  zip.add({.name = "d", .data = testing::deflate_stored(data), .size = data.size(), .crc = testing::slow_crc32(data), .method = 8});
  Findings findings;
  for (const std::uint64_t block : {1, 64, 1000, 1 << 20}) {
    const Check check = crc_check(zip_of(zip), findings, block);
    EXPECT_EQ(check.verdict, CheckVerdict::pass) << check.detail;
    EXPECT_EQ(check.detail, "4 members match");
  }
  EXPECT_TRUE(findings.empty());
}

TEST(Crc, AWrongOneNamesTheMemberAndItsTensors) {
  ZipBuilder zip;
  zip.add({.name = "archive/data/0", .data = bytes_of("12345678"), .crc = 0x1234}).add("b", bytes_of("fine"));
  Findings findings;
  const Checkpoint checkpoint = zip_of(zip, true);
  const Check check = crc_check(checkpoint, findings);
  EXPECT_EQ(check.verdict, CheckVerdict::fail);
  EXPECT_NE(check.detail.find("'archive/data/0'"), std::string::npos) << check.detail;
  EXPECT_NE(check.detail.find("damaged: 'w'"), std::string::npos) << check.detail;
  ASSERT_EQ(findings.list().size(), 1u);
  EXPECT_EQ(findings.list()[0].code, Code::crc_mismatch);
  EXPECT_EQ(findings.list()[0].where.offset, zip.data_offsets[0]);
}

TEST(Crc, ZeroInTheDirectoryIsUnknownAndSaidSo) {
  ZipBuilder zip;
  zip.add({.name = "a", .data = bytes_of("x"), .crc = 0}).add({.name = "b", .data = bytes_of("y"), .crc = 0});
  Findings findings;
  const Check none = crc_check(zip_of(zip), findings);
  EXPECT_EQ(none.verdict, CheckVerdict::skip);
  EXPECT_NE(none.detail.find("0 in the directory"), std::string::npos);
  zip.add("c", bytes_of("z"));
  const Check some = crc_check(zip_of(zip), findings);
  EXPECT_EQ(some.verdict, CheckVerdict::pass);
  EXPECT_EQ(some.detail, "1 member matches, 2 without a check sum (0 in the directory)");
}

TEST(Crc, AMemberThatCannotBeReadIsWrong) {
  ZipBuilder zip;
  zip.add({.name = "a", .data = bytes_of("no deflate"), .size = 20, .method = 8});
  Findings findings;
  EXPECT_EQ(crc_check(zip_of(zip), findings).verdict, CheckVerdict::fail);
  ASSERT_EQ(findings.list().size(), 1u);
  EXPECT_EQ(findings.list()[0].where.member, "a");
}

TEST(Values, NanInfinitiesAndZeros) {
  CheckpointBuilder builder;
  builder.add_random("model.a.weight", {4, 4});
  builder.add("model.bias", {4}, {0, 0, 0, 0});
  const auto verdict = [&](Findings& findings) {
    const auto checks = check_contents(builder.made, run(builder.made, 8), true, findings);
    EXPECT_TRUE(checks);
    return only(*checks, "values");
  };
  Findings fine, bad;
  EXPECT_EQ(verdict(fine).verdict, CheckVerdict::pass);
  builder.add("model.b.weight", {2, 2}, {0, 0, 0, 0});
  builder.add("model.c.weight", {2, 2}, {1, NAN, INFINITY, 2});
  const Check check = verdict(bad);
  EXPECT_EQ(check.verdict, CheckVerdict::fail);
  EXPECT_EQ(check.wrong.size(), 3u);
  for (const Code code : {Code::nan, Code::inf, Code::all_zero}) EXPECT_TRUE(bad.has(code));
}

Check config_check(const std::vector<std::string>& names, const std::vector<std::uint64_t>& embedding, std::uint64_t layers,
                   std::uint64_t hidden, std::uint64_t vocab) {
  CheckpointBuilder builder;
  for (const std::string& name : names) builder.add_random(name, {2});
  builder.add_random("model.embed_tokens.weight", embedding);
  ModelConfig config;
  config.file = "config.json";
  config.layers = {layers, "num_hidden_layers"};
  config.hidden_size = {hidden, "hidden_size"};
  config.vocab_size = {vocab, "vocab_size"};
  return check_config(builder.made, config);
}

TEST(Shards, AnIndexThatCannotBeReadIsWrong) {
  CheckpointBuilder builder;
  builder.add_random("w", {2});
  Finding index(Code::bad_header, "the index cannot be read");
  index.severity = Severity::warning;
  builder.made.add(std::move(index));
  Findings findings;
  const auto checks = check_headers(builder.made, {}, {}, findings, {});
  ASSERT_TRUE(checks);
  const auto shards = std::ranges::find(*checks, "shards", &Check::name);
  ASSERT_NE(shards, checks->end());
  EXPECT_EQ(shards->verdict, CheckVerdict::fail);
  EXPECT_EQ(shards->detail, "the index cannot be read");
}

TEST(Paths, MembersThatLeaveTheFolderAreAWarning) {
  ZipBuilder zip;
  zip.add("a/data.pkl", bytes_of("}.")).add("../b", bytes_of("x")).add("/c", bytes_of("y"));
  const Checkpoint checkpoint = zip_of(zip);
  Findings findings;
  ASSERT_TRUE(check_headers(checkpoint, {}, {}, findings, {}));
  ASSERT_EQ(findings.counts().at(Code::path_escapes), 2u);
  const Finding& first = findings.list()[0];
  EXPECT_EQ(first.code, Code::path_escapes);
  EXPECT_EQ(first.severity, Severity::warning);
  EXPECT_EQ(first.message, "member '../b' has a name that leaves the archive's folder");
  EXPECT_EQ(first.where.offset, zip.header_offsets[1]);
}

TEST(Paths, OfATarToo) {
  Checkpoint checkpoint;
  checkpoint.container = "tar";
  checkpoint.files.push_back({"f", 0, std::make_shared<MemorySource>(testing::TarBuilder().file("x", "text").link("l", "../../y").end())});
  Findings findings;
  ASSERT_TRUE(check_headers(checkpoint, {}, {}, findings, {}));
  EXPECT_EQ(findings.counts().at(Code::path_escapes), 1u);
}

TEST(Config, LayersWidthAndVocabulary) {
  const std::vector<std::string> two = {"model.layers.0.w", "model.layers.1.w", "model.layers.1.experts.7.w"};
  EXPECT_EQ(config_check(two, {10, 4}, 2, 4, 10).verdict, CheckVerdict::pass);
  EXPECT_EQ(config_check(two, {16, 4}, 2, 4, 10).verdict, CheckVerdict::pass);  // padded
  EXPECT_EQ(config_check(two, {10, 4}, 3, 4, 10).detail, "config.json says num_hidden_layers 3, 'model.layers' has 2");
  EXPECT_EQ(config_check(two, {10, 4}, 2, 8, 10).verdict, CheckVerdict::fail);
  EXPECT_EQ(config_check(two, {9, 4}, 2, 4, 10).verdict, CheckVerdict::fail);
  EXPECT_EQ(config_check(two, {9, 8}, 1, 4, 10).wrong.size(), 2u);
  EXPECT_EQ(check_config(Checkpoint(), ModelConfig()).verdict, CheckVerdict::skip);
}

constexpr std::string_view kDigest = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

TEST(Digests, Lists) {
  const auto sums = read_sums(
      concat(kDigest, "  a b.pt\n", kDigest, " *./sub/c\r\nnot a line\n\n", lowered(kDigest).substr(1), "  short\nSHA256 (d) = ", kDigest));
  ASSERT_EQ(sums.size(), 3u);
  EXPECT_EQ(sums[0].name, "a b.pt");
  EXPECT_EQ(sums[1].name, "sub/c");
  EXPECT_EQ(sums[2].name, "d");
  EXPECT_EQ(sums[2].sha256, kDigest);
}

TEST(Digests, LfsPointers) {
  const auto pointer = read_lfs_pointer(concat("version https://git-lfs.github.com/spec/v1\noid sha256:", kDigest, "\nsize 123\n"));
  ASSERT_TRUE(pointer);
  EXPECT_EQ(pointer->sha256, kDigest);
  EXPECT_EQ(pointer->size, 123u);
  EXPECT_FALSE(read_lfs_pointer("version https://git-lfs.github.com/spec/v1\nsize 123\n"));
  EXPECT_FALSE(read_lfs_pointer(""));
}

TEST(Digests, BothDigestAndSizeMustBeRight) {
  const Expected expected{0, std::string(kDigest), "somebody", 5};
  EXPECT_EQ(check_digest(expected, "f", 5, kDigest).verdict, CheckVerdict::pass);
  EXPECT_EQ(check_digest(expected, "f", 6, kDigest).verdict, CheckVerdict::fail);
  EXPECT_EQ(check_digest(expected, "f", 6, std::string(64, '0')).wrong.size(), 2u);
  EXPECT_FALSE(is_sha256(kDigest.substr(1)));
  EXPECT_FALSE(is_sha256(std::string(64, 'g')));
}

}  // namespace
}  // namespace assay::analysis
