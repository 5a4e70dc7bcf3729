// SPDX-License-Identifier: Apache-2.0
// Slices against what numpy gives for the same text (numpy 2.4: np.arange(10)[…].tolist()).
#include "analysis/slice.hpp"

#include <gtest/gtest.h>

namespace assay::analysis {
namespace {

using Numbers = std::vector<std::uint64_t>;

Numbers indices(const AxisRange& range) {
  Numbers all;
  for (std::uint64_t i = 0; i < range.count; ++i) all.push_back(range.at(i));
  return all;
}

Numbers of_ten(std::string_view text) {
  const Numbers shape = {10};
  const auto ranges = parse_slice(text, shape);
  EXPECT_TRUE(ranges.has_value()) << text;
  return ranges ? indices((*ranges)[0]) : Numbers{99};
}

TEST(Slice, EqualsNumpy) {
  EXPECT_EQ(of_ten("2:5"), (Numbers{2, 3, 4}));
  EXPECT_EQ(of_ten(":3"), (Numbers{0, 1, 2}));
  EXPECT_EQ(of_ten("[ 7 : ]"), (Numbers{7, 8, 9}));
  EXPECT_EQ(of_ten("::4"), (Numbers{0, 4, 8}));
  EXPECT_EQ(of_ten("-3:"), (Numbers{7, 8, 9}));
  EXPECT_EQ(of_ten("::-3"), (Numbers{9, 6, 3, 0}));
  EXPECT_EQ(of_ten("8:2:-2"), (Numbers{8, 6, 4}));
  EXPECT_EQ(of_ten("-1:-4:-1"), (Numbers{9, 8, 7}));
  EXPECT_EQ(of_ten("3:-20:-1"), (Numbers{3, 2, 1, 0}));
  EXPECT_EQ(of_ten("-20:3"), (Numbers{0, 1, 2}));
  EXPECT_EQ(of_ten("5:100"), (Numbers{5, 6, 7, 8, 9}));
  EXPECT_EQ(of_ten("5:2"), Numbers{});
  EXPECT_EQ(of_ten("20:30"), Numbers{});
  EXPECT_EQ(of_ten("2:5:-1"), Numbers{});
  EXPECT_EQ(of_ten("0:10:9223372036854775807"), Numbers{0});
  EXPECT_EQ(of_ten("9:0:-9223372036854775808"), Numbers{9});
  EXPECT_EQ(of_ten("-1"), Numbers{9});
  EXPECT_EQ(of_ten(""), of_ten(":"));
}

TEST(Slice, SeveralAxes) {
  const Numbers shape = {4, 5, 6};
  const auto ranges = parse_slice("[..., 1, ::2]", shape);
  ASSERT_TRUE(ranges.has_value());
  EXPECT_EQ((*ranges)[0].count, 4u);
  EXPECT_TRUE((*ranges)[1].single);
  EXPECT_EQ(indices((*ranges)[2]), (Numbers{0, 2, 4}));
  EXPECT_EQ(slice_text(*ranges, shape), "[:, 1, 0:5:2]");
  const auto front = parse_slice("-1,", shape);
  ASSERT_TRUE(front.has_value());
  EXPECT_EQ((*front)[0].first, 3u);
  EXPECT_EQ((*front)[2].count, 6u);
  EXPECT_EQ(slice_text(whole(shape), shape), "");
  const auto back = parse_slice("[::-1, 3:0:-1]", shape);
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(slice_text(*back, shape), "[3::-1, 3:0:-1]");
}

TEST(Slice, SaysWhatIsWrong) {
  const Numbers shape = {4, 5};
  const auto why = [&](std::string_view text) {
    const auto ranges = parse_slice(text, shape);
    EXPECT_FALSE(ranges.has_value()) << text;
    return ranges ? std::string() : ranges.error().what();
  };
  EXPECT_EQ(why("7"), "slice '7': index 7 is outside dimension 0, which has 4");
  EXPECT_EQ(why("0, -6"), "slice '0, -6': index -6 is outside dimension 1, which has 5");
  EXPECT_EQ(why("1,2,3"), "slice '1,2,3': 3 indices for 2 dimensions");
  EXPECT_EQ(why("::0"), "slice '::0': a step of 0 leads nowhere");
  EXPECT_EQ(why("[1"), "slice '[1': a bracket has no partner");
  EXPECT_EQ(why("["), "slice '[': a bracket has no partner");
  EXPECT_EQ(why("..., ..."), "slice '..., ...': '...' may stand once");
  EXPECT_EQ(why("a:3"), "slice 'a:3': 'a' is no whole number");
  EXPECT_EQ(why("1:2:3:4"), "slice '1:2:3:4': '1:2:3:4' has more than two colons");
  EXPECT_EQ(why("x"), "slice 'x': 'x' is neither an index nor a range");
  EXPECT_EQ(why(",1"), "slice ',1': an index is missing");
  EXPECT_EQ(why("99999999999999999999"), "slice '99999999999999999999': '99999999999999999999' is neither an index nor a range");
}

}  // namespace
}  // namespace assay::analysis
