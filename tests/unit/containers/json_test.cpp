// SPDX-License-Identifier: Apache-2.0
#include "containers/json.hpp"

#include <gtest/gtest.h>

#include <string>

#include "base/text.hpp"

namespace assay::json {
namespace {

/// Writes the events down: "{ k:a n:1 }".
class Log final : public Handler {
 public:
  bool null() override { return put("null"); }
  bool boolean(bool value) override { return put(value ? "true" : "false"); }
  bool number(std::string_view text) override { return put("n:", text); }
  bool string(std::string_view text) override { return text == "stop" ? stop(Code::bad_shape, "told to stop") : put("s:", text); }
  bool key(std::string_view text) override { return put("k:", text); }
  bool start_object() override { return put("{"); }
  bool end_object() override { return put("}"); }
  bool start_array() override { return put("["); }
  bool end_array() override { return put("]"); }
  std::string events;
  std::vector<std::uint64_t> offsets;

 private:
  bool put(std::string_view a, std::string_view b = {}) {
    events += concat(events.empty() ? "" : " ", a, b);
    offsets.push_back(offset);
    return true;
  }
};

ByteView view(std::string_view text, std::uint64_t offset = 0) { return {std::as_bytes(std::span(text)), offset}; }

std::string events(std::string_view text) {
  Log log;
  const auto parsed = parse(view(text), log, Limits{});
  return parsed ? log.events : concat("error: ", parsed.error().what());
}

Error error_of(std::string_view text, std::uint64_t offset = 0) {
  Log log;
  auto parsed = parse(view(text, offset), log, Limits{});
  EXPECT_FALSE(parsed) << text;
  return parsed ? Error(Code::internal) : std::move(parsed).error();
}

TEST(Json, GivesEveryEventInOrder) {
  EXPECT_EQ(events(R"( {"a":[1,-2.5e3,true,false,null],"b":{"c":"d"}} )"), "{ k:a [ n:1 n:-2.5e3 true false null ] k:b { k:c s:d } }");
  EXPECT_EQ(events("[]"), "[ ]");
  EXPECT_EQ(events("12"), "n:12");
}

TEST(Json, KeepsDuplicateKeysAndLongNumbers) {
  EXPECT_EQ(events(R"({"a":1,"a":2})"), "{ k:a n:1 k:a n:2 }");
  EXPECT_EQ(events("[123456789012345678901234567890123456789012345678901234567890]"),
            "[ n:123456789012345678901234567890123456789012345678901234567890 ]");
}

TEST(Json, UnescapesAndKeepsNul) {
  using std::string_literals::operator""s;
  EXPECT_EQ(events(R"(["\u0041\n\"\\\/\ud83e\udde0"])"), "[ s:A\n\"\\/\xf0\x9f\xa7\xa0 ]");
  EXPECT_EQ(events(R"(["a\u0000b"])"), "[ s:a\0b ]"s);
}

TEST(Json, OffsetsAreAbsoluteEnds) {
  Log log;
  ASSERT_TRUE(parse(view(R"({"ab":"c"})", 100), log, Limits{}));
  EXPECT_EQ(log.offsets, (std::vector<std::uint64_t>{101, 105, 109, 110}));
}

TEST(Json, StopsBehindTheValue) {
  Log log;
  const auto parsed = parse(view("  {} tail"), log, Limits{});
  ASSERT_TRUE(parsed);
  EXPECT_EQ(*parsed, 4u);
}

TEST(Json, RefusesWhatIsNotJson) {
  for (const char* text : {"",
                           " ",
                           "{",
                           "}",
                           "{\"a\"}",
                           "{\"a\":}",
                           "{\"a\":1,}",
                           "[1,]",
                           "[1 2]",
                           "{a:1}",
                           "{'a':1}",
                           "01",
                           "-",
                           "1.",
                           ".5",
                           "1e",
                           "+1",
                           "NaN",
                           "tru",
                           "\"a",
                           "\"\t\"",
                           "\"\\x\"",
                           "\"\\u12\"",
                           "\"\\ud800\"",
                           "\"\\ud800\\u0041\"",
                           "\"\\udc00\"",
                           "\"\x80\"",
                           "\"\xc0\xaf\"",
                           "\"\xed\xa0\x80\"",
                           "\"\xf5\x80\x80\x80\"",
                           "//c\n1"}) {
    Log log;
    const auto parsed = parse(view(text), log, Limits{});
    // "01" is a zero and a rest, which the caller judges.
    if (std::string_view(text) == "01") {
      ASSERT_TRUE(parsed);
      EXPECT_EQ(*parsed, 1u);
      continue;
    }
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code(), Code::bad_header) << text;
    EXPECT_TRUE(parsed.error().where().offset) << text;
  }
}

TEST(Json, ErrorsNameTheirPlace) {
  EXPECT_EQ(error_of("{\"a\":1 \"b\":2}", 1000).where().offset, 1007u);
  EXPECT_EQ(error_of(R"(["a","stop"])", 10).where().offset, 21u);
  EXPECT_EQ(error_of(R"(["stop"])").code(), Code::bad_shape);
}

TEST(Json, DepthIsBounded) {
  Limits limits;
  limits.json_depth = 10;
  Log log;
  EXPECT_TRUE(parse(view(std::string(10, '[') + std::string(10, ']')), log, limits));
  const auto parsed = parse(view(std::string(11, '[') + std::string(11, ']')), log, limits);
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().code(), Code::limit_exceeded);
  EXPECT_EQ(parsed.error().where().offset, 10u);
  EXPECT_EQ(error_of(std::string(2'000'000, '[')).code(), Code::limit_exceeded);
}

TEST(Json, NumbersAreExactOrRefused) {
  EXPECT_EQ(to_u64("0"), 0u);
  EXPECT_EQ(to_u64("18446744073709551615"), 18446744073709551615u);
  for (const char* text : {"18446744073709551616", "-1", "1.0", "1e3", ""}) EXPECT_FALSE(to_u64(text)) << text;
  EXPECT_EQ(to_i64("-9223372036854775808"), std::numeric_limits<std::int64_t>::min());
  EXPECT_FALSE(to_i64("9223372036854775808"));
  EXPECT_EQ(to_f64("1.3e10"), 1.3e10);
  EXPECT_EQ(to_f64("0.1"), 0.1);
}

}  // namespace
}  // namespace assay::json
