// SPDX-License-Identifier: Apache-2.0
#include "base/text.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

namespace assay {
namespace {

using namespace std::string_view_literals;

TEST(Escape, PrintableTextStays) {
  EXPECT_EQ(escape("model.layers.0.weight"), "model.layers.0.weight");
  EXPECT_EQ(escape("グラフ.重み é 🙂"), "グラフ.重み é 🙂");
  EXPECT_EQ(escape(""), "");
}

TEST(Escape, ControlCharactersAreShown) {
  EXPECT_EQ(escape("a\nb\tc\rd\0e\x7f\\"sv), "a\\nb\\tc\\rd\\0e\\x7f\\\\");
  EXPECT_EQ(escape("\x1b[31mred\x1b]0;title\x07"), "\\x1b[31mred\\x1b]0;title\\x07");
  EXPECT_EQ(escape("\u009b31m"), "\\u009b31m") << "a C1 control starts a terminal sequence too";
}

TEST(Escape, WhatHidesOrTurnsTextIsShown) {
  EXPECT_EQ(escape("\u202egpj.exe"), "\\u202egpj.exe");
  EXPECT_EQ(escape("a\u200bb\ufeff\u2066\u2028"), "a\\u200bb\\ufeff\\u2066\\u2028");
  EXPECT_EQ(escape("\U000e0041"), "\\U000e0041");
}

TEST(Escape, InvalidUtf8IsShownByteByByte) {
  EXPECT_EQ(escape("\xff\xfe"), "\\xff\\xfe");
  EXPECT_EQ(escape("\xc0\xaf"), "\\xc0\\xaf") << "overlong";
  EXPECT_EQ(escape("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "surrogate";
  EXPECT_EQ(escape("a\xe3\x81"), "a\\xe3\\x81") << "cut short";
  EXPECT_EQ(escape("\xe3\x81z"), "\\xe3\\x81z");
}

// Whatever the bytes, the result is plain to print, and different names stay different.
TEST(Escape, AnyTwoBytesGiveDistinctPrintableText) {
  std::vector<std::string> escaped;
  for (int a = 0; a < 256; ++a)
    for (int b = 0; b < 256; ++b) {
      escaped.push_back(escape(std::string{static_cast<char>(a), static_cast<char>(b)}));
      const std::string& text = escaped.back();
      ASSERT_TRUE(valid_utf8(text));
      ASSERT_TRUE(std::none_of(text.begin(), text.end(), [](char c) { return (c >= 0 && c < 0x20) || c == 0x7f; }));
    }
  std::sort(escaped.begin(), escaped.end());
  EXPECT_EQ(std::adjacent_find(escaped.begin(), escaped.end()), escaped.end());
}

TEST(Escape, CutKeepsWholeCharactersAndTheLimit) {
  EXPECT_EQ(escape("abcdef", 6), "abcdef");
  EXPECT_EQ(escape("abcdefg", 6), "abc…");
  EXPECT_EQ(escape("ab\x1b"
                   "cdef",
                   8),
            "ab…")
      << "no half of an escape";
  EXPECT_EQ(escape("éééé", 7), "éé…");
  EXPECT_EQ(escape("abcdef", 2), "");
  const std::string name = "a\x1bé\u202e\xff\nb";
  for (std::size_t limit = 0; limit < 40; ++limit) {
    const std::string cut = escape(name, limit);
    EXPECT_LE(cut.size(), limit);
    EXPECT_TRUE(valid_utf8(cut));
    EXPECT_EQ(cut == escape(name), limit >= escape(name).size());
  }
}

TEST(Quote, EscapesItsOwnQuotes) {
  EXPECT_EQ(quote("a.b"), "'a.b'");
  EXPECT_EQ(quote("it's\n"), "'it\\'s\\n'");
  EXPECT_EQ(quote("a\nb", 10), "'a\\nb'") << "escaped once";
  EXPECT_EQ(quote("größer", 6), "'gr…'") << "cut between characters, the sign that stands for the rest counts";
}

TEST(Numbers, AsText) {
  EXPECT_EQ(decimal(std::numeric_limits<std::uint64_t>::max()), "18446744073709551615");
  EXPECT_EQ(decimal(std::numeric_limits<std::int64_t>::min()), "-9223372036854775808");
  EXPECT_EQ(hex(0x1f40), "0x1f40");
  EXPECT_EQ(hex(std::numeric_limits<std::uint64_t>::max()), "0xffffffffffffffff");
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(1234567), "1,234,567");
  EXPECT_EQ(bracketed(std::vector<std::uint64_t>{}), "[]");
  EXPECT_EQ(bracketed(std::vector<std::uint64_t>{2, 3}), "[2, 3]");
  EXPECT_EQ(counted(1, "file", "files"), "1 file");
  EXPECT_EQ(counted(0, "file", "files"), "0 files");
  EXPECT_EQ(concat("dim ", 3, ' ', -1, " of ", std::uint8_t{200}), "dim 3 -1 of 200");
}

TEST(Utf8, FindsTheFirstBadByte) {
  EXPECT_EQ(first_invalid_utf8(""), std::string_view::npos);
  EXPECT_EQ(first_invalid_utf8("plain ascii, longer than a word"), std::string_view::npos);
  EXPECT_EQ(first_invalid_utf8("01234567890123\xff"), 14u);
  EXPECT_EQ(first_invalid_utf8("\xf4\x8f\xbf\xbf"), std::string_view::npos) << "U+10FFFF";
  EXPECT_EQ(first_invalid_utf8("\xf4\x90\x80\x80"), 0u) << "beyond U+10FFFF";
  EXPECT_EQ(first_invalid_utf8("\xe0\x9f\xbf"), 0u) << "overlong";
  EXPECT_EQ(first_invalid_utf8("\xf0\x8f\xbf\xbf"), 0u) << "overlong";
  EXPECT_EQ(first_invalid_utf8("a\xc3"), 1u) << "cut short";
  EXPECT_EQ(first_invalid_utf8("ab\x80"), 2u) << "lone continuation";
}

TEST(Utf8, EveryCodePointIsValidExceptSurrogates) {
  for (std::uint32_t code_point = 0; code_point <= 0x10ffff; ++code_point) {
    std::string text;
    append_utf8(text, code_point);
    const bool surrogate = code_point >= 0xd800 && code_point <= 0xdfff;
    ASSERT_EQ(valid_utf8(text), !surrogate) << code_point;
    ASSERT_EQ(text.size(), code_point < 0x80 ? 1u : code_point < 0x800 ? 2u : code_point < 0x10000 ? 3u : 4u);
  }
}

TEST(Case, AsciiOnly) {
  EXPECT_EQ(lowered("Model-É.PT"), "model-É.pt");
  EXPECT_TRUE(equals_ignoring_case("GGUF", "gguf"));
  EXPECT_FALSE(equals_ignoring_case("GGUF", "ggu"));
  EXPECT_TRUE(starts_with_ignoring_case("<!DOCTYPE html>", "<!doctype"));
  EXPECT_FALSE(starts_with_ignoring_case("<!", "<!doctype"));
}

TEST(NaturalLess, NumbersCompareAsNumbers) {
  EXPECT_TRUE(natural_less("layer.2", "layer.10"));
  EXPECT_FALSE(natural_less("layer.10", "layer.2"));
  EXPECT_TRUE(natural_less("layer.2.weight", "layer.10.bias"));
  EXPECT_TRUE(natural_less("a", "a0"));
  EXPECT_TRUE(natural_less("x9", "x10y"));
  EXPECT_TRUE(natural_less("x12", "x123"));
  EXPECT_TRUE(natural_less("model-99999999999999999999", "model-100000000000000000000")) << "longer than 64 bits";
  EXPECT_TRUE(natural_less("a01b1", "a1b2")) << "leading zeros matter last";
  EXPECT_TRUE(natural_less("a01", "a1") != natural_less("a1", "a01"));
  EXPECT_TRUE(natural_less("layers.0123456789.a", "layers.0123456789.b"));
  EXPECT_TRUE(natural_less("z", "\xc3\xa9")) << "bytes are unsigned";
}

TEST(NaturalLess, IsATotalOrder) {
  std::vector<std::string> texts = {""};
  for (std::size_t at = 0; at < texts.size(); ++at)
    if (texts[at].size() < 3)
      for (const char c : "01a-"sv) texts.push_back(texts[at] + c);
  for (const auto& a : texts)
    for (const auto& b : texts) {
      ASSERT_EQ(natural_less(a, b) + natural_less(b, a), a != b) << a << ' ' << b;
      for (const auto& c : texts)
        ASSERT_TRUE(!natural_less(a, b) || !natural_less(b, c) || natural_less(a, c)) << a << ' ' << b << ' ' << c;
    }
}

TEST(GlobMatch, StarsAndQuestionMarks) {
  EXPECT_TRUE(glob_match("*.weight", "layer.0.weight"));
  EXPECT_TRUE(glob_match("*", ""));
  EXPECT_TRUE(glob_match("layers.*.q*.weight", "layers.12.q_proj.weight"));
  EXPECT_FALSE(glob_match("layers.*.weight", "layers.0.bias"));
  EXPECT_TRUE(glob_match("a?c", "abc"));
  EXPECT_FALSE(glob_match("a?c", "ac"));
  EXPECT_TRUE(glob_match("?", "é")) << "one character, not one byte";
  EXPECT_FALSE(glob_match("*??", "重"));
  EXPECT_TRUE(glob_match("[0].x", "[0].x")) << "brackets mean themselves";
  EXPECT_FALSE(glob_match("", "a"));
  EXPECT_TRUE(glob_match("", ""));
}

TEST(GlobMatch, ManyStarsStayQuick) {
  std::string pattern;
  for (int i = 0; i < 50; ++i) pattern += "*a";
  EXPECT_FALSE(glob_match(pattern + "b", std::string(5000, 'a')));
}

TEST(Nearest, ClosestFirst) {
  const std::string_view names[] = {"lm_head.weight", "model.norm.weight", "model.embed.weight", "x"};
  EXPECT_EQ(nearest("model.norn.weight", names), (std::vector{"model.norm.weight"sv, "model.embed.weight"sv}));
  EXPECT_EQ(nearest("model.nrm.weigth", names, 1), (std::vector{"model.norm.weight"sv}));
  EXPECT_EQ(nearest("lm_head", names), (std::vector{"lm_head.weight"sv})) << "a part of a name";
  EXPECT_TRUE(nearest("something quite different", names).empty());
  EXPECT_TRUE(nearest("y", names).empty()) << "nothing shared";
  EXPECT_TRUE(nearest("lm_head", names, 0).empty());
}

TEST(Nearest, KeepsTheBestAndTheirOrder) {
  const std::string_view names[] = {"abcdefXY", "abcdefgX", "abcdefgh", "abcdXfgX", "abcdefgY"};
  EXPECT_EQ(nearest("abcdefgh", names, 3), (std::vector{"abcdefgh"sv, "abcdefgX"sv, "abcdefgY"sv}));
}

// The band of the distance table must never hide the true distance: compare with the plain definition.
TEST(Nearest, AgreesWithPlainEditDistance) {
  const auto distance = [](std::string_view a, std::string_view b) {
    std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
    for (std::size_t i = 0; i <= a.size(); ++i)
      for (std::size_t j = 0; j <= b.size(); ++j)
        d[i][j] = i == 0 ? j : j == 0 ? i : std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
    return d[a.size()][b.size()];
  };
  std::uint32_t seed = 1;
  const auto random_text = [&](std::size_t n) {
    std::string text(n, 'a');
    for (char& c : text) seed = seed * 1664525 + 1013904223, c = static_cast<char>('a' + (seed >> 24) % 3);
    return text;
  };
  for (int i = 0; i < 3000; ++i) {
    const std::string a = random_text(6 + i % 7), b = random_text(6 + i / 7 % 7);
    if (a.find(b) != std::string::npos || b.find(a) != std::string::npos) continue;
    const std::string_view names[] = {b};
    const bool close = distance(a, b) <= std::max(a.size(), b.size()) / 3;
    ASSERT_EQ(nearest(a, names).size(), close ? 1u : 0u) << a << ' ' << b;
  }
}

TEST(Text, ListsOfNamesSayHowManyAreLeftOut) {
  const std::vector<std::string> names{"a", "b'", "c\n"};
  EXPECT_EQ(name_list(names, 5), "'a', 'b\\'', 'c\\n'");
  EXPECT_EQ(name_list(names, 2), "'a', 'b\\'' and 1 more");
  EXPECT_EQ(name_list(names, 3, 1234), "'a', 'b\\'', 'c\\n' and 1,231 more") << "few are kept of many";
  EXPECT_EQ(name_list({}, 3), "");
  const std::vector<std::string> longs{std::string(300, 'x')};
  EXPECT_EQ(name_list(longs, 1).size(), 102u);
}

}  // namespace
}  // namespace assay
