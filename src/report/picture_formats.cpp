// SPDX-License-Identifier: Apache-2.0
// PNG:   89 'PNG' 0d 0a 1a 0a, then chunks: length u32, type, data, CRC-32 of type and data; all big-endian.
//        IHDR width u32, height u32, bits 8, colour type 3, 0, 0, 0; PLTE rgb…; IDAT zlib of rows, each after a filter byte; IEND
// sixel: ESC P 0;1q "1;1;width;height, #n;2;r;g;b in per cent, then bands of six rows: #n and characters 3f + bits, $ back, - next
// kitty: ESC _ G keys ; base64 ESC \ in pieces of at most 4096;  iTerm2: ESC ] 1337 ; File=…:base64 BEL
#include <algorithm>
#include <array>
#include <span>

#include "base/text.hpp"
#include "containers/deflate.hpp"
#include "containers/inflate.hpp"
#include "report/canvas.hpp"

namespace assay::report {
namespace {

void put_u32(std::string& out, std::size_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(value >> shift & 0xff);
}

void put_chunk(std::string& out, std::string_view type, std::string_view data) {
  put_u32(out, data.size());
  const std::size_t begin = out.size();
  out += type;
  out += data;
  put_u32(out, crc32(std::as_bytes(std::span(out).subspan(begin))));
}

/// One colour's part of a band: runs of more than three equal characters are "!n" and the character.
void put_sixels(std::string& out, std::string_view characters) {
  for (std::size_t i = 0; i < characters.size();) {
    const std::size_t end = std::min(characters.find_first_not_of(characters[i], i), characters.size());
    if (end - i > 3) out += concat("!", end - i, characters[i]);
    else out += characters.substr(i, end - i);
    i = end;
  }
}

}  // namespace

std::string png_of(const Canvas& canvas) {
  const auto [width, height] = canvas.size();
  std::string out = "\x89PNG\r\n\x1a\n";
  std::string head;
  put_u32(head, width);
  put_u32(head, height);
  head += std::string_view("\x08\x03\x00\x00\x00", 5);
  put_chunk(out, "IHDR", head);
  std::string colours;
  for (const Rgb& c : canvas.palette()) colours += {static_cast<char>(c.r), static_cast<char>(c.g), static_cast<char>(c.b)};
  put_chunk(out, "PLTE", colours);
  std::vector<std::byte> rows;
  rows.reserve((width + 1) * height);
  for (std::size_t y = 0; y < height; ++y) {
    rows.push_back(std::byte{0});
    const auto row = std::as_bytes(std::span(canvas.pixels()).subspan(y * width, width));
    rows.insert(rows.end(), row.begin(), row.end());
  }
  const std::vector<std::byte> packed = zlib_packed(rows);
  put_chunk(out, "IDAT", {reinterpret_cast<const char*>(packed.data()), packed.size()});
  put_chunk(out, "IEND", "");
  return out;
}

std::string sixel_of(const Canvas& canvas) {
  constexpr std::size_t kBand = 6;
  const auto [width, height] = canvas.size();
  std::string out = concat("\x1bP0;1q\"1;1;", width, ";", height);
  const auto per_cent = [](std::uint8_t c) { return (c * 100 + 127) / 255; };
  for (std::size_t i = 0; i < canvas.palette().size(); ++i) {
    const Rgb& c = canvas.palette()[i];
    out += concat("#", i, ";2;", per_cent(c.r), ";", per_cent(c.g), ";", per_cent(c.b));
  }
  for (std::size_t top = 0; top < height; top += kBand) {
    const std::size_t rows = std::min(kBand, height - top);
    std::array<bool, kColours> used = {};
    for (std::size_t i = top * width; i < (top + rows) * width; ++i) used[canvas.pixels()[i]] = true;
    for (std::size_t colour = 0; colour < kColours; ++colour) {
      if (!used[colour]) continue;
      std::string line(width, '?');
      for (std::size_t x = 0; x < width; ++x) {
        unsigned bits = 0;
        for (std::size_t row = 0; row < rows; ++row)
          bits |= static_cast<unsigned>(canvas.pixels()[(top + row) * width + x] == colour) << row;
        line[x] = static_cast<char>('?' + bits);
      }
      out += concat("#", colour);
      put_sixels(out, line);
      out += '$';
    }
    out += '-';
  }
  return out + "\x1b\\";
}

std::string kitty_of(const Canvas& canvas) {
  constexpr std::size_t kPiece = 4096;
  const std::string text = base64(png_of(canvas));
  std::string out;
  for (std::size_t at = 0; at < text.size(); at += kPiece) {
    const bool more = text.size() - at > kPiece;
    out +=
        concat("\x1b_G", at == 0 ? "a=T,f=100,q=2," : "", "m=", more ? "1" : "0", ";", std::string_view(text).substr(at, kPiece), "\x1b\\");
  }
  return out;
}

std::string iterm_of(const Canvas& canvas) {
  const std::string png = png_of(canvas);
  return concat("\x1b]1337;File=inline=1;size=", png.size(), ";width=", canvas.size().width, "px;height=", canvas.size().height,
                "px;preserveAspectRatio=1:", base64(png), "\a");
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t n = std::min<std::size_t>(bytes.size() - i, 3);
    std::uint32_t three = 0;
    for (std::size_t k = 0; k < 3; ++k) three = three << 8 | (k < n ? static_cast<unsigned char>(bytes[i + k]) : 0u);
    for (std::size_t k = 0; k < 4; ++k) out += k <= n ? kLetters[three >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

}  // namespace assay::report
