// SPDX-License-Identifier: Apache-2.0
#include "report/fold.hpp"

#include <gtest/gtest.h>

#include <string>

namespace assay::report {
namespace {

std::string folded(std::size_t width, std::string_view text, std::size_t piece = 1000) {
  Writer out;
  Folder folder(width);
  for (; !text.empty(); text.remove_prefix(std::min(piece, text.size()))) folder.put(out, text.substr(0, piece));
  folder.finish(out);
  return std::string(out.text());
}

TEST(Fold, LinesThatFitStayAsTheyAre) {
  for (const std::string_view text : {"", "\n", "short\n", "no end", "  two\n\nthree\n"}) EXPECT_EQ(folded(20, text), text);
  EXPECT_EQ(folded(0, std::string(500, 'x') + " y\n"), std::string(500, 'x') + " y\n");
}

TEST(Fold, ContinuesBelowTheText) {
  EXPECT_EQ(folded(20, "  label  one two three four\n"), "  label  one two\n         three four\n");
  EXPECT_EQ(folded(20, "file: damage: the rest is lost\n"), "file: damage: the\n  rest is lost\n");
  EXPECT_EQ(folded(12, "a averyverylongword b\n"), "a\n  averyverylongword\n  b\n");
}

TEST(Fold, PiecesMakeNoDifference) {
  const std::string text = "  label  one two three four five six seven\nnext line of some words here\nlast";
  for (std::size_t piece = 1; piece < 12; ++piece) EXPECT_EQ(folded(20, text, piece), folded(20, text));
}

TEST(Fold, TonesTakeNoRoomAndPicturesStayWhole) {
  const std::string toned = "\x1b[31mred\x1b[0m and plain text\n";  // 18 columns
  EXPECT_EQ(folded(18, toned), toned);
  EXPECT_EQ(folded(10, toned), "\x1b[31mred\x1b[0m and\n  plain\n  text\n");
  const std::string picture = "\x1b_Gf=100;some words of data that go on\x1b\\\n";
  EXPECT_EQ(folded(10, picture), picture);
}

TEST(Fold, WideCharactersCountTwice) { EXPECT_EQ(folded(10, "重重重 重重重\n"), "重重重\n  重重重\n"); }

}  // namespace
}  // namespace assay::report
