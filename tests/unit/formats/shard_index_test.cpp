// SPDX-License-Identifier: Apache-2.0
#include "formats/shard_index.hpp"

#include <gtest/gtest.h>

namespace assay {
namespace {

TEST(ShardIndex, FollowsEntriesOfOneFileAmongOthers) {
  const std::string text =
      R"({"metadata": {}, "weight_map": {"a.0": "x", "b.0": "y", "a.1": "x", "a.2": "x", "b.1": "y", "c": "z", "a.3": "x"}})";
  const auto index = formats::detail::scan_index({std::as_bytes(std::span(text)), 0});
  ASSERT_TRUE(index);
  const auto followed = [&](std::uint32_t file, std::initializer_list<std::string_view> names) {
    std::vector<Tensor> tensors;
    for (const std::string_view name : names) tensors.emplace_back().name = name;
    return formats::follow_index(*index, file, tensors);
  };
  EXPECT_EQ(followed(0, {"a.0", "a.1", "a.2", "a.3"}), (std::vector<std::uint32_t>{0, 2, 3, 6}));
  EXPECT_EQ(followed(0, {"a.0", "a.1", "a.2", "a.3", "a.4"}), (std::vector<std::uint32_t>{0, 2, 3, 6}));
  EXPECT_EQ(followed(0, {"a.0", "a.2", "a.1"}), (std::vector<std::uint32_t>{0}));
  EXPECT_EQ(followed(1, {"b.0", "b.1"}), (std::vector<std::uint32_t>{1, 4}));
  EXPECT_EQ(followed(1, {"b.00", "b.1"}), (std::vector<std::uint32_t>{}));
  EXPECT_EQ(followed(2, {}), (std::vector<std::uint32_t>{}));
}

}  // namespace
}  // namespace assay
