// SPDX-License-Identifier: Apache-2.0
// What programs that take a binary file for text leave of it, and what only looks so.
#include <gtest/gtest.h>

#include "assay/source.hpp"
#include "base/text.hpp"
#include "containers/line_ends.hpp"
#include "unit/containers/zip_builder.hpp"

namespace assay::testing {
namespace {

std::string words(const std::string& file) {
  const auto found = taken_for_text(*MemorySource::borrow(bytes_of(file)), Look::within);
  if (!found) return "failed";
  return found->value_or("");
}
bool tells(const std::string& file, std::string_view what) { return words(file).find(what) != std::string::npos; }

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) text.replace(at, from.size(), to);
  return text;
}

std::string archive() {
  ZipBuilder zip;
  Bytes data = noise(20000);
  append(data, bytes_of("\r\n and \r\n and \n and \r"));
  const Bytes bytes = zip.add(torch_member("a/data.pkl", noise(100))).add(torch_member("a/data/0", data)).build({.zip64_end = true});
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(TakenForText, WholeFilesAreNot) {
  EXPECT_EQ(words(archive()), "");
  EXPECT_EQ(words(""), "");
  EXPECT_EQ(words("text\r\nwith\r\nline\r\nends\r\nof\r\nDOS"), "");
}

TEST(TakenForText, ReturnsBeforeEachFeed) {
  const std::string whole = archive();
  EXPECT_TRUE(tells(replaced(replaced(whole, "\r\n", "\n"), "\n", "\r\n"), "has a carriage return before it that does not belong there"));
}

TEST(TakenForText, ReturnsThatAreGone) {
  const std::string whole = archive(), spoiled = replaced(whole, "\r\n", "\n");
  ASSERT_LT(spoiled.size(), whole.size());
  EXPECT_TRUE(tells(spoiled, std::to_string(whole.size() - spoiled.size()) + " bytes are missing before the archive's directory"));
  // Bytes that are missing for another reason: at the front, or with line ends left.
  EXPECT_EQ(words(spoiled.substr(50)), "");
  EXPECT_EQ(words(whole.substr(0, 500) + whole.substr(600)), "");
  EXPECT_EQ(words(spoiled.substr(0, 500) + spoiled.substr(9000)), "");  // more than there are line feeds
}

/// As torch.save wrote until 1.5, with `data` for its storages.
std::string stream(std::string_view data) {
  using std::string_view_literals::operator""sv;
  return concat("\x80\2\x8a\n\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.\x80\2M\xe9\3.\x80\2}q\0(X\x10\0\0\0protocol_versionq\1M\xe9\3"sv,
                "X\r\0\0\0little_endianq\2\x88u.\x80\2ctorch\nFloatStorage\nq\3."sv, data);
}

TEST(TakenForText, StreamsOfOldTorch) {
  std::string data;
  for (int i = 0; i < 20; ++i) data += "12\n\r34\r\n";
  const std::string whole = stream(data);
  EXPECT_EQ(words(whole), "");
  EXPECT_TRUE(tells(replaced(whole, "\r\n", "\n"), "20 times a line feed stands before a carriage return, and never behind one"));
  EXPECT_TRUE(tells(replaced(whole, "\r", ""), "its carriage returns are gone"));
  EXPECT_TRUE(tells(replaced(whole, "\r", "\n"), "line feeds stand for its carriage returns"));
  EXPECT_TRUE(tells(replaced(replaced(whole, "\r\n", "\n"), "\n", "\r\n"), "does not belong there"));
  // Few numbers, and a file that lost its end.
  EXPECT_EQ(words(stream("1\n\r2\n\r3")), "");
  EXPECT_EQ(words(whole.substr(0, whole.size() - 50)), "");
}

TEST(TakenForText, BytesThatAreNoUtf8) {
  std::string decoded;
  for (const char c : archive().substr(0, 3000)) decoded += static_cast<unsigned char>(c) < 0x80 ? std::string(1, c) : "\xef\xbf\xbd";
  EXPECT_TRUE(tells(decoded, "stand as U+FFFD"));
  EXPECT_EQ(words(decoded + archive()), "");
}

}  // namespace
}  // namespace assay::testing
