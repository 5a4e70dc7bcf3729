// SPDX-License-Identifier: Apache-2.0
#include "report/json_writer.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "base/text.hpp"

namespace assay::report {
namespace {

std::string json_text(std::string_view text) {
  Writer out;
  write_json_text(out, text);
  return std::string(out.text());
}

template <class T>
std::string number_text(T value) {
  Writer out;
  JsonWriter(out).number(value);
  return std::string(out.text());
}

TEST(JsonText, EscapesWhatJsonMustNotHold) {
  EXPECT_EQ(json_text("model.weight"), R"("model.weight")");
  EXPECT_EQ(json_text(""), R"("")");
  EXPECT_EQ(json_text("a\"b\\c\n\t\r\b\f"), R"("a\"b\\c\n\t\r\b\f")");
  EXPECT_EQ(json_text(std::string_view("\0\x1b\x7f", 3)), R"("\u0000\u001b\u007f")");
  EXPECT_EQ(json_text("層.é"), "\"層.é\"");
}

TEST(JsonText, WritesByNumberWhatTurnsATerminalsTextAbout) {
  EXPECT_EQ(json_text("a\u202eb"), R"("a\u202eb")");
  EXPECT_EQ(json_text("\u0085\u200b層"), "\"\\u0085\\u200b層\"");
  EXPECT_EQ(json_text("x\U000e0041y"), R"("x\udb40\udc41y")");
}

TEST(JsonText, NeverHoldsBytesThatAreNotUtf8) {
  EXPECT_EQ(json_text("\xff"), R"("\\xff")");
  EXPECT_EQ(json_text("a\xc3"), R"("a\\xc3")");
  EXPECT_EQ(json_text("\xed\xa0\x80"), R"("\\xed\\xa0\\x80")");  // a lone surrogate
  EXPECT_EQ(json_text("é\x80\"\x01"), "\"é\\\\x80\\\"\\u0001\"");
  // With a bad byte in it, a backslash is doubled, so that these two stay two.
  EXPECT_NE(json_text("\\xff\x80"), json_text("\xff\x80"));
  for (int byte = 0; byte < 256; ++byte)
    for (int other = 0; other < 256; ++other) {
      const char both[] = {static_cast<char>(byte), static_cast<char>(other)};
      EXPECT_TRUE(valid_utf8(json_text({both, 2})));
    }
}

TEST(JsonNumber, IsTheShortestTextThatReadsBack) {
  EXPECT_EQ(number_text(0.1f), "0.1");
  EXPECT_EQ(number_text(0.1), "0.1");
  EXPECT_EQ(number_text(16777216.0f), "16777216");
  EXPECT_EQ(number_text(1e300), "1e+300");
  EXPECT_EQ(number_text(std::numeric_limits<float>::denorm_min()), "1e-45");
  EXPECT_EQ(number_text(0.0), "0");
  EXPECT_EQ(number_text(-0.0f), "-0.0");
}

TEST(JsonNumber, IsAStringWhenNotFinite) {
  EXPECT_EQ(number_text(std::nan("")), "\"NaN\"");
  EXPECT_EQ(number_text(std::numeric_limits<float>::infinity()), "\"Infinity\"");
  EXPECT_EQ(number_text(-std::numeric_limits<double>::infinity()), "\"-Infinity\"");
}

TEST(JsonWriter, WritesNestedValuesOnOneLine) {
  Writer out;
  JsonWriter json(out);
  json.begin_object();
  json.key("a").begin_array();
  json.integer(1);
  json.null();
  json.boolean(true);
  json.begin_object();
  json.end_object();
  json.end_array();
  json.key("b").text("x");
  const std::uint64_t shape[] = {2, 3};
  json.key("c").numbers(shape);
  json.end_object();
  EXPECT_EQ(out.text(), "{\"a\": [1, null, true, {}], \"b\": \"x\", \"c\": [2, 3]}\n");
}

TEST(JsonWriter, PutsTheOuterLevelsOnLines) {
  Writer out;
  JsonWriter json(out, 2);
  json.begin_object();
  json.key("empty").begin_array();
  json.end_array();
  json.key("rows").begin_array();
  for (int i = 0; i < 2; ++i) {
    json.begin_object();
    json.key("i").integer(i);
    json.end_object();
  }
  json.end_array();
  json.end_object();
  EXPECT_EQ(out.text(), "{\n  \"empty\": [],\n  \"rows\": [\n    {\"i\": 0},\n    {\"i\": 1}\n  ]\n}\n");
}

TEST(JsonWriter, DoesNotRecurse) {
  Writer out;
  JsonWriter json(out);
  constexpr int kDepth = 300000;
  for (int i = 0; i < kDepth; ++i) json.begin_array();
  for (int i = 0; i < kDepth; ++i) json.end_array();
  EXPECT_EQ(out.text().size(), 2u * kDepth + 1);
}

}  // namespace
}  // namespace assay::report
