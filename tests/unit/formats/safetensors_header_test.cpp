// SPDX-License-Identifier: Apache-2.0
// The scanner and the exact reader must agree; every damaged file must be answered.
#include "formats/safetensors_header.hpp"

#include <gtest/gtest.h>

#include <random>

#include "base/arena.hpp"
#include "formats/name_table.hpp"
#include "unit/formats/formats_testing.hpp"

namespace assay::testing {
namespace {

constexpr std::uint64_t kFileSize = 1000;

std::string lay_out(std::string_view header, bool scan, bool& took) {
  Checkpoint checkpoint;
  Arena arena;
  const Limits limits;
  const ByteView view(std::as_bytes(std::span(header)), 8);
  formats::safetensors::Layout layout(8 + header.size(), std::max<std::uint64_t>(kFileSize, 8 + header.size()), 0);
  if (scan) {
    took = formats::safetensors::scan_header(view, arena, limits, layout);
    if (!took) return {};
  } else {
    const auto parsed = formats::safetensors::parse_header(view, arena, limits, layout);
    took = parsed.has_value();
    if (!parsed) return std::string(code_name(parsed.error().code()));
  }
  layout.finish(checkpoint);
  return describe(checkpoint);
}

/// True when the scanner took the header; then the exact reader must have said the same.
bool agree(std::string_view header) {
  bool scanned = false, parsed = false;
  const std::string by_scan = lay_out(header, true, scanned);
  const std::string by_parse = lay_out(header, false, parsed);
  if (!scanned) return false;
  EXPECT_EQ(by_scan, by_parse) << header;
  return true;
}

std::string sample_header() {
  return "{\"__metadata__\":{\"format\":\"pt\",\"a b\":\"\"}," + entry("model.layers.0.weight", "F32", "2,3", 0, 24) + "," +
         entry("s", "BF16", "", 24, 26) + "," + entry("z", "Q9", "0", 26, 26) + "," + entry("model.layers.0.bias", "U8", "5", 20, 25) +
         "," + entry("s", "I64", "4,4", 26, 154) + "}   ";
}

TEST(SafetensorsHeader, TheScannerTakesTheReferenceSpelling) {
  EXPECT_TRUE(agree(sample_header()));
  EXPECT_TRUE(agree("{}"));
  EXPECT_TRUE(agree("{\"__metadata__\":{}}"));
  EXPECT_TRUE(agree("{" + entry("w", "F32", "18446744073709551,7,1", 9000000000000000000u, 9999999999999999999u) + "}"));
}

TEST(SafetensorsHeader, TheScannerLeavesTheRest) {
  const std::string e = entry("w", "U8", "1", 0, 1);
  for (const std::string& header :
       {" {" + e + "}", "{ " + e + "}", "{" + e + ",}", "{" + e, "{" + e + "}x", "{" + e + "}" + std::string(1, '\0'),
        "{" + entry("\\n", "U8", "1", 0, 1) + "}", "{" + entry("\xc3\xa9", "U8", "1", 0, 1) + "}",
        "{" + entry("\x7f", "U8", "1", 0, 1) + "}", "{" + entry("w", "U8", "01", 0, 1) + "}", "{" + entry("w", "U8", "-1", 0, 1) + "}",
        "{" + entry("w", "U8", "1.0", 0, 1) + "}", "{" + entry("w", "U8", "10000000000000000000", 0, 1) + "}",
        std::string("{\"__metadata__\":null}"), std::string("{\"__metadata__\":{},\"__metadata__\":{}}"), std::string("")})
    EXPECT_FALSE(agree(header)) << header;
}

TEST(SafetensorsHeader, BothAgreeOnNumbersOfAnyLength) {
  std::mt19937_64 random(3);
  for (int digits = 1; digits <= 19; ++digits)
    for (int round = 0; round < 20; ++round) {
      std::string number(1, static_cast<char>('1' + random() % 9));
      while (number.size() < static_cast<std::size_t>(digits)) number += static_cast<char>('0' + random() % 10);
      EXPECT_TRUE(agree("{\"w\":{\"dtype\":\"U8\",\"shape\":[" + number + "],\"data_offsets\":[0," + number + "]}}")) << number;
      number[random() % number.size()] = "/:;?p\xb0"[random() % 6];  // next to the digits
      EXPECT_FALSE(agree("{\"w\":{\"dtype\":\"U8\",\"shape\":[" + number + "],\"data_offsets\":[0,1]}}")) << number;
    }
}

TEST(SafetensorsHeader, BothAgreeOnMutatedHeaders) {
  const std::string header = sample_header();
  constexpr std::string_view kAlphabet = "{}[]\",:0123456789-.eE \\\n\tabwU\x7f\x80\xff";
  std::mt19937 random(7);
  int taken = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string mutant = header;
    for (unsigned edits = 1 + random() % 3; edits > 0; --edits) {
      const std::size_t at = random() % mutant.size();
      const char c = kAlphabet[random() % kAlphabet.size()];
      switch (random() % 4) {
        case 0: mutant[at] = c; break;
        case 1: mutant.insert(at, 1, c); break;
        case 2: mutant.erase(at, 1); break;
        default: mutant.insert(at, mutant.substr(random() % mutant.size(), random() % 80)); break;
      }
    }
    taken += agree(mutant);
  }
  EXPECT_GT(taken, 1000);  // else the comparison says little
}

TEST(SafetensorsHeader, RandomHeadersOfTheReferenceSpellingAreTaken) {
  std::mt19937 random(11);
  constexpr std::string_view kTypes[] = {"F32", "BF16", "U8", "F4", "I64", "C64", "X"};
  for (int round = 0; round < 300; ++round) {
    std::string header = "{";
    for (unsigned i = 0, n = random() % 200; i < n; ++i) {
      std::string name(random() % 40, 'x');
      for (char& c : name) c = static_cast<char>('a' + random() % 26);
      std::string shape;
      for (unsigned d = random() % 5; d > 0; --d) shape += concat(shape.empty() ? "" : ",", random() % 5);
      const std::uint64_t begin = random() % 800;
      header += concat(i ? "," : "", entry(name, kTypes[random() % std::size(kTypes)], shape, begin, begin + random() % 100));
    }
    EXPECT_TRUE(agree(header + "}"));
  }
}

TEST(SafetensorsHeader, TruncatedAnywhereAndFlippedAnywhereIsAnswered) {
  const std::string file = safetensors(sample_header(), 154);
  for (std::size_t n = 0; n < file.size(); ++n) {
    const auto opened = open_file_named("model.safetensors", std::string_view(file).substr(0, n));
    if (!opened) continue;
    EXPECT_FALSE(opened->complete) << n;
  }
  for (std::size_t i = 0; i < file.size(); ++i) {
    for (const unsigned flip : {0x01u, 0x80u, 0xffu, 0x20u}) {
      std::string mutant = file;
      mutant[i] = static_cast<char>(static_cast<unsigned char>(mutant[i]) ^ flip);
      const auto opened = open_file_named("model.safetensors", mutant);
      if (!opened) continue;
      for (const Tensor& tensor : opened->tensors) {
        if (!tensor.readable || tensor.storage == kNone) continue;
        const Storage& storage = opened->storages[tensor.storage];
        ASSERT_LE(storage.offset + storage.nbytes, mutant.size());
        ASSERT_EQ(tensor.nbytes(), storage.nbytes);
      }
    }
  }
}

TEST(SafetensorsHeader, RangesLeadToTheSameCheckpointAndTouchTheHeaderOnly) {
  std::string header = "{";
  for (int i = 0; i < 500; ++i)
    header += concat(i ? "," : "", entry(concat("t", i), "U8", "1000", std::uint64_t(i) * 1000, std::uint64_t(i + 1) * 1000));
  const std::string file = safetensors(header + "}", 500'000);
  const auto whole = open_file_named("m.safetensors", file);
  ASSERT_TRUE(whole);

  const auto source = std::make_shared<RangeSource>(file.size());
  SourceSet set("set", "m.safetensors");
  set.add("m.safetensors", source);
  auto opened = open(set);
  int rounds = 0;
  for (; !opened && rounds < 10; ++rounds) {
    ASSERT_EQ(opened.error().code(), Code::need_range) << opened.error().what();
    const Where where = opened.error().where();
    ASSERT_LE(*where.offset + *where.length, std::max<std::size_t>(header.size() + 9, 4096));
    source->add(*where.offset, bytes_of(std::string_view(file).substr(*where.offset, *where.length)));
    opened = open(set);
  }
  EXPECT_LE(rounds, 3);
  EXPECT_EQ(describe(opened), describe(whole));
}

TEST(NameTable, FindsEqualNamesAlsoWhenTheirHashesCollide) {
  // Far more names than its first size, among them every tenth twice.
  std::vector<std::string> names;
  for (int i = 0; i < 20000; ++i) names.push_back(concat("layer.", i % 10 == 9 ? i - 1 : i, ".weight"));
  formats::NameTable table;
  const auto name_of = [&](std::uint32_t i) { return std::string_view(names[i]); };
  for (std::uint32_t i = 0; i < names.size(); ++i) EXPECT_EQ(table.insert(names[i], i, name_of), i % 10 == 9 ? i - 1 : kNone);
  EXPECT_EQ(table.find("layer.17.weight", name_of), 17u);
  EXPECT_EQ(table.find("layer.x", name_of), kNone);

  // One tag for all, as a hostile file might manage: the table turns into a tree.
  formats::NameTable forced;
  for (std::uint32_t i = 0; i < 5000; ++i) EXPECT_EQ(forced.insert(names[i], 42u, i, name_of), i % 10 == 9 ? i - 1 : kNone) << i;
  EXPECT_EQ(forced.find("layer.17.weight", name_of), 17u);
}

}  // namespace
}  // namespace assay::testing
