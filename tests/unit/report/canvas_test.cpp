// SPDX-License-Identifier: Apache-2.0
// Pictures taken apart again: PNG by its chunks and zlib, sixel by drawing it, base64 by RFC 4648's own examples.
#include "report/canvas.hpp"

#include <gtest/gtest.h>

#include <charconv>

#include "base/endian.hpp"
#include "containers/inflate.hpp"
#include "containers/inflate_stream.hpp"

namespace assay::report {
namespace {

Canvas sample() {
  Canvas canvas({7, 13}, {{0, 0, 0}, {255, 0, 0}, {0, 128, 255}});
  canvas.fill({1, 2}, {3, 4}, 1);
  canvas.fill({5, 8}, {100, 100}, 2);  // cut at the edges
  canvas.fill({7, 0}, {1, 1}, 2);      // outside
  canvas.text({0, 5}, "I", 1, 2);
  return canvas;
}

std::uint32_t u32(std::string_view text, std::size_t at) { return load_be<std::uint32_t>(std::as_bytes(std::span(text)).data() + at); }

TEST(Canvas, DrawsAndCuts) {
  const Canvas canvas = sample();
  const auto at = [&](std::size_t x, std::size_t y) { return canvas.pixels()[y * 7 + x]; };
  EXPECT_EQ(at(1, 2), 1);
  EXPECT_EQ(at(0, 2), 0);
  EXPECT_EQ(at(4, 3), 0);
  EXPECT_EQ(at(6, 12), 2);
  EXPECT_EQ(at(2, 6), 2);  // the stem of the I
  EXPECT_EQ(at(1, 5), 2);  // its serif
  EXPECT_EQ(at(1, 7), 0);
}

TEST(Canvas, PngHoldsThePixels) {
  const Canvas canvas = sample();
  const std::string png = png_of(canvas);
  ASSERT_EQ(png.substr(0, 8), "\x89PNG\r\n\x1a\n");
  std::string packed, types;
  for (std::size_t at = 8; at < png.size();) {
    const std::size_t n = u32(png, at);
    const std::string_view type = std::string_view(png).substr(at + 4, 4), data = std::string_view(png).substr(at + 8, n);
    EXPECT_EQ(crc32(std::as_bytes(std::span(png)).subspan(at + 4, n + 4)), u32(png, at + 8 + n)) << type;
    types += type;
    if (type == "IHDR") {
      EXPECT_EQ(u32(data, 0), 7u);
      EXPECT_EQ(u32(data, 4), 13u);
      EXPECT_EQ(data.substr(8), std::string_view("\x08\x03\0\0\0", 5));
    }
    if (type == "PLTE") {
      EXPECT_EQ(data, std::string_view("\0\0\0\xff\0\0\0\x80\xff", 9));
    }
    if (type == "IDAT") packed += data;
    at += n + 12;
  }
  EXPECT_EQ(types, "IHDRPLTEIDATIEND");
  const Inflated rows = inflate_zlib(ByteView(std::as_bytes(std::span(packed)), 0), 1 << 20);
  EXPECT_FALSE(rows.broken.has_value());
  ASSERT_EQ(rows.bytes.size(), 8u * 13);
  for (std::size_t y = 0; y < 13; ++y) {
    EXPECT_EQ(rows.bytes[y * 8], std::byte{0});
    for (std::size_t x = 0; x < 7; ++x) EXPECT_EQ(static_cast<std::uint8_t>(rows.bytes[y * 8 + 1 + x]), canvas.pixels()[y * 7 + x]);
  }
}

TEST(Canvas, SixelDrawsThePixels) {
  const Canvas canvas = sample();
  const std::string text = sixel_of(canvas);
  const std::string begin = "\x1bP0;1q\"1;1;7;13";
  ASSERT_TRUE(text.starts_with(begin));
  ASSERT_TRUE(text.ends_with("\x1b\\"));
  EXPECT_NE(text.find("#1;2;100;0;0"), std::string::npos);
  std::vector<int> drawn(7 * 13, -1);
  std::size_t x = 0, band = 0, repeat = 1;
  int colour = 0;
  for (std::size_t i = begin.size(); i + 2 < text.size(); ++i) {
    const auto number = [&] {
      std::size_t n = 0;
      const auto [end, error] = std::from_chars(text.data() + i + 1, text.data() + text.size(), n);
      i = static_cast<std::size_t>(end - text.data()) - 1;
      return n;
    };
    if (text[i] == '#') {
      colour = static_cast<int>(number());
      while (text[i + 1] == ';') ++i, number();
    } else if (text[i] == '!') {
      repeat = number();
    } else if (text[i] == '$') {
      x = 0;
    } else if (text[i] == '-') {
      x = 0, band += 6;
    } else {
      for (; repeat > 0; --repeat, ++x)
        for (std::size_t row = 0; row < 6; ++row)
          if ((text[i] - '?') >> row & 1) drawn.at((band + row) * 7 + x) = colour;
      repeat = 1;
    }
  }
  EXPECT_EQ(drawn, std::vector<int>(canvas.pixels().begin(), canvas.pixels().end()));
}

TEST(Canvas, Base64) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(base64("\xff\xfe\xfd"), "//79");
}

TEST(Canvas, PiecesForKitty) {
  Canvas canvas({300, 300}, {{0, 0, 0}, {9, 9, 9}});
  std::uint32_t seed = 1;
  for (std::size_t i = 0; i < 90000; ++i)
    canvas.fill({i % 300, i / 300}, {1, 1}, static_cast<std::uint8_t>((seed = seed * 1664525 + 1013904223) >> 31));
  const std::string text = kitty_of(canvas);
  EXPECT_TRUE(text.starts_with("\x1b_Ga=T,f=100,q=2,m=1;"));
  std::string all;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t data = text.find(';', at) + 1, end = text.find("\x1b\\", at);
    ASSERT_LE(end - data, 4096u);
    EXPECT_EQ(text[data - 2], end + 2 < text.size() ? '1' : '0');
    all += text.substr(data, end - data);
    at = end + 2;
  }
  EXPECT_EQ(all, base64(png_of(canvas)));
  EXPECT_NE(iterm_of(canvas).find(all), std::string::npos);
}

}  // namespace
}  // namespace assay::report
