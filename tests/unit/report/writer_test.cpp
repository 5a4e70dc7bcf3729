// SPDX-License-Identifier: Apache-2.0
#include "report/writer.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace assay::report {
namespace {

TEST(Writer, KeepsAllTextWithoutADrain) {
  Writer out;
  std::string expected;
  for (int i = 0; i < 5000; ++i) {
    out.put("abc");
    out.number(i);
    out.put(';');
    expected += "abc" + std::to_string(i) + ";";
  }
  out.repeat('-', 100000);
  expected.append(100000, '-');
  EXPECT_EQ(out.text(), expected);
}

TEST(Writer, HandsAllTextOnInOrderAndInLargePieces) {
  std::vector<std::string> pieces;
  Writer out([](void* state, std::string_view text) { static_cast<std::vector<std::string>*>(state)->emplace_back(text); }, &pieces);
  std::string expected;
  for (int i = 0; i < 100000; ++i) {
    out.number(i);
    out.put(' ');
    expected += std::to_string(i) + " ";
  }
  const std::string big(300000, 'x');
  out.put(big);
  expected += big;
  out.flush();
  std::string all;
  for (const std::string& piece : pieces) all += piece;
  EXPECT_EQ(all, expected);
  EXPECT_LT(pieces.size(), 20u);
  EXPECT_TRUE(out.text().empty());
}

TEST(Writer, WritesTheWidestNumbers) {
  Writer out;
  out.number(std::numeric_limits<std::uint64_t>::max());
  out.put(' ');
  out.number(std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(out.text(), "18446744073709551615 -9223372036854775808");
}

}  // namespace
}  // namespace assay::report
