// SPDX-License-Identifier: Apache-2.0
// msgpack as Flax writes it is data; what is wrong with one, what other programs hide in it, and what its bytes are besides, is told.
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "scan_helpers.hpp"

namespace assay::scan {
namespace {

using namespace assay::testing;

std::string key(std::string_view text) { return static_cast<char>(0xa0 + text.size()) + std::string(text); }
std::string big(std::uint64_t value, int n) {
  std::string out;
  for (int i = n; i-- > 0;) out += static_cast<char>(value >> (8 * i));
  return out;
}
std::string bytes(std::string_view content) { return "\xc6" + big(content.size(), 4) + std::string(content); }
std::string extension(int type, std::string_view content) {
  return "\xc9" + big(content.size(), 4) + static_cast<char>(type) + std::string(content);
}
std::string array(std::string_view data) { return extension(1, "\x93\x92\x10\x10" + key("float32") + bytes(data)); }
std::string map(std::initializer_list<std::pair<std::string_view, std::string>> entries) {
  std::string out(1, static_cast<char>(0x80 + entries.size()));
  for (const auto& [name, value] : entries) out += key(name) + value;
  return out;
}
const std::string kModel = map({{"params", map({{"kernel", array(std::string(1024, '\x3f'))}, {"bias", array(std::string(64, '\0'))}})},
                                {"step", "\xcd\x03\xe8"s},
                                {"lr", "\xcb" + std::string(8, '\1')},
                                {"seen", "\xdc\0\2\xc0\xc3"s},
                                {"scale", extension(2, "ab")},
                                {"more", "\xde\0\0"s}});

TEST(ScanMsgpack, OfFlaxIsClean) {
  const Report report = scan_text(kModel);
  EXPECT_EQ(report.verdict, Verdict::clean);
  EXPECT_EQ(report.status, Status::complete);
  ASSERT_FALSE(report.members.empty());
  EXPECT_EQ(report.members[0].kind, "msgpack");
  EXPECT_TRUE(report.findings.empty());
}

TEST(ScanMsgpack, CutAnywhereIsNeverComplete) {
  for (std::size_t n = 1; n < kModel.size(); ++n) {
    const MemorySource source(bytes_of(std::string_view(kModel).substr(0, n)));
    const auto report = scan_file(source, "flax_model.msgpack", {});
    ASSERT_TRUE(report.has_value());
    EXPECT_NE(report->status, Status::complete) << n;
    EXPECT_NE(report->verdict, Verdict::dangerous) << n;
  }
}

TEST(ScanMsgpack, PicklesInPlainBytesAreTold) {
  const Report report = scan_text(map({{"nd", "\xc3"s}, {"type", key("O")}, {"data", bytes(std::string(40, 'x') + kEvil)}}));
  EXPECT_EQ(report.verdict, Verdict::dangerous);
}

TEST(ScanMsgpack, WhatFollowsItIsLookedAt) {
  const Report report = scan_text(kModel + kEvil);
  EXPECT_EQ(report.verdict, Verdict::dangerous);
  EXPECT_EQ(report.status, Status::malformed);
  EXPECT_TRUE(report.findings.has(Code::trailing_bytes));
  ZipBuilder zip = torch_zip(kEvil);
  EXPECT_EQ(scan_text(kModel + text_of(zip.build())).verdict, Verdict::dangerous);
}

TEST(ScanMsgpack, ExtensionsOfOtherProgramsAreNotUnderstood) {
  const Report report = scan_text(map({{"params", extension(5, "abc")}}));
  EXPECT_EQ(report.verdict, Verdict::clean);
  EXPECT_EQ(report.status, Status::incomplete);
}

TEST(ScanMsgpack, DepthIsBounded) {
  const std::string deep = map({{"params", std::string(5000, '\x91') + "\xc0"}});
  EXPECT_NE(scan_text(deep).status, Status::complete);
}

TEST(ScanMsgpack, APickleThatBeginsLikeItIsNoMsgpackOnly) {
  // LONG1 of 0xa6 bytes and then a call: a map of ten entries to msgpack, and it is not even a whole one.
  const std::string pickle = "\x8a\xa6" + std::string("params") + std::string(0xa6 - 6, '\0') + "0" + call_of("os", "system") + ".";
  EXPECT_EQ(scan_text(pickle).verdict, Verdict::dangerous);
}

}  // namespace
}  // namespace assay::scan
