// SPDX-License-Identifier: Apache-2.0
#include "report/units.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

namespace assay::report {
namespace {

constexpr Style kPlain{};
constexpr Style kAscii{.unicode = false};

TEST(Bytes, HaveThreeDigitsAndABinaryUnit) {
  EXPECT_EQ(bytes_text(kPlain, 0), "0 B");
  EXPECT_EQ(bytes_text(kPlain, 1023), "1023 B");
  EXPECT_EQ(bytes_text(kPlain, 1024), "1 KiB");
  EXPECT_EQ(bytes_text(kPlain, 1536), "1.5 KiB");
  EXPECT_EQ(bytes_text(kPlain, 7936), "7.75 KiB");
  EXPECT_EQ(bytes_text(kPlain, 33 * 1024 + 200), "33.2 KiB");
  EXPECT_EQ(bytes_text(kPlain, 1002ull << 20), "1002 MiB");
  EXPECT_EQ(bytes_text(kPlain, (1ull << 20) - 1), "1 MiB");  // never "1024 KiB"
  EXPECT_EQ(bytes_text(kPlain, std::numeric_limits<std::uint64_t>::max()), "16 EiB");
  EXPECT_EQ(bytes_text(Style{.exact_bytes = true}, 4976698592), "4976698592");
}

TEST(Counts, HaveThreeDigitsAndALetter) {
  EXPECT_EQ(count_text(0), "0");
  EXPECT_EQ(count_text(999), "999");
  EXPECT_EQ(count_text(1000), "1 K");
  EXPECT_EQ(count_text(3968), "3.97 K");
  EXPECT_EQ(count_text(525336576), "525 M");
  EXPECT_EQ(count_text(7241732096), "7.24 B");
  EXPECT_EQ(count_text(999999), "1 M");  // never "1000 K"
  EXPECT_EQ(count_text(1200000000000), "1.2 T");
}

TEST(Shares, DoNotCallAPartTheWhole) {
  EXPECT_EQ(share_text(1, 2), "50 %");
  EXPECT_EQ(share_text(1, 8), "12.5 %");
  EXPECT_EQ(share_text(2, 2), "100 %");
  EXPECT_EQ(share_text(999999, 1000000), "99.99 %");
  EXPECT_EQ(share_text(9957, 10000), "99.57 %");
  EXPECT_EQ(share_text(1, 1000000), "< 0.01 %");
  EXPECT_EQ(share_text(0, 5), "0 %");
  EXPECT_EQ(share_text(0, 0), "");
}

TEST(Shapes, AreShownAndSpelt) {
  const std::vector<std::uint64_t> shape = {2, 3, 4};
  EXPECT_EQ(shape_text(kPlain, shape), "2×3×4");
  EXPECT_EQ(shape_text(kAscii, shape), "2x3x4");
  EXPECT_EQ(shape_word(shape), "2x3x4");
  EXPECT_EQ(shape_word({}), "scalar");
}

TEST(Bars, AreFilledInEighths) {
  EXPECT_EQ(bar(kPlain, 1, 1, 3), "███");
  EXPECT_EQ(bar(kPlain, 1, 2, 3), "█▌");
  EXPECT_EQ(bar(kAscii, 1, 2, 4), "##");
  EXPECT_EQ(bar(kPlain, 0, 2, 3), "");
  EXPECT_EQ(bar(kPlain, 9, 2, 3), "███");
}

TEST(Width, CountsColumnsNotBytes) {
  EXPECT_EQ(display_width("abc"), 3u);
  EXPECT_EQ(display_width("層.重"), 5u);
  EXPECT_EQ(display_width("e\u0301"), 1u);
  EXPECT_EQ(display_width("🧠"), 2u);
  EXPECT_EQ(display_width("×"), 1u);
}

TEST(Shortened, KeepsMoreOfTheEnd) {
  EXPECT_EQ(shortened(kPlain, "model.layers.0.weight", 30), "model.layers.0.weight");
  EXPECT_EQ(shortened(kPlain, "model.layers.0.weight", 13), "mode…0.weight");
  EXPECT_EQ(shortened(kAscii, "model.layers.0.weight", 13), "mod....weight");
  EXPECT_EQ(clipped(kPlain, "model.layers", 6), "model…");
  EXPECT_EQ(clipped(kPlain, "model", 1), "m");
}

TEST(Shortened, NeverPassesTheWidth) {
  for (const char* text : {"model.layers.0.weight", "層層層層層層層", "a層b層c層d層", "🧠🧠🧠"})
    for (std::size_t width = 0; width < 16; ++width) {
      EXPECT_LE(display_width(shortened(kPlain, text, width)), width) << text;
      EXPECT_LE(display_width(shortened(kAscii, text, width)), width) << text;
      EXPECT_LE(display_width(clipped(kPlain, text, width)), width) << text;
    }
}

TEST(Names, AreSafeToPrint) {
  EXPECT_EQ(shown_name(kPlain, "a.b"), "a.b");
  EXPECT_EQ(shown_name(kPlain, ""), "''");
  EXPECT_EQ(shown_name(kPlain, "\x1b[31m"), "\\x1b[31m");
  EXPECT_EQ(shown_name(kPlain, "層"), "層");
  EXPECT_EQ(shown_name(kAscii, "層"), "\\u{5c64}");
  EXPECT_TRUE(is_plain("a b"));
  EXPECT_FALSE(is_plain(""));
  EXPECT_FALSE(is_plain("a\\b"));
  EXPECT_FALSE(is_plain("é"));
}

TEST(ShortNumbers, HaveFourDigits) {
  EXPECT_EQ(short_number(0.016123456), "0.01612");
  EXPECT_EQ(short_number(-12.6), "-12.6");
  EXPECT_EQ(short_number(1.23456e-7), "1.235e-07");
  EXPECT_EQ(short_number(std::numeric_limits<double>::quiet_NaN()), "NaN");
}

TEST(Names, KeepTheirNumbersWhenCut) {
  const Style style{.unicode = true};
  const auto cut = [&](std::string_view name, std::size_t width) {
    const std::string text = shortened_name(style, name, width);
    EXPECT_LE(display_width(text), width) << text;
    return text;
  };
  EXPECT_EQ(cut("model.layers.12.self_attn.q_proj.weight", 20), "…12…q_proj.weight");
  EXPECT_EQ(cut("model.layers.12.self_attn.q_proj.weight", 30), "…12.self_attn.q_proj.weight");
  EXPECT_EQ(cut("model.layers.0.mlp.experts.31.w1.weight", 20), "…0…31.w1.weight");
  EXPECT_EQ(cut("model.layers.0.mlp.experts.31.gate_proj.weight", 18), "…0.31…_proj.weight");
  EXPECT_EQ(cut("model.layers.12.w", 30), "model.layers.12.w");
  EXPECT_EQ(cut("a_name_without_numbers.weight", 13), shortened(style, "a_name_without_numbers.weight", 13));
  EXPECT_EQ(cut("1.2.3.4.5.6.7.8.9.10.11.12.x.weight", 9), shortened(style, "1.2.3.4.5.6.7.8.9.10.11.12.x.weight", 9));
  for (std::size_t width = 1; width < 40; ++width)
    for (const char* name : {"model.layers.123456.mlp.experts.31.12345678901", "abcdefghijk.123456789", "12345678901234567890",
                             "1.2.3.4.5.6.7.8", "..1..2..3........"})
      cut(name, width);
}

}  // namespace
}  // namespace assay::report
