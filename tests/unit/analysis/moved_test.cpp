// SPDX-License-Identifier: Apache-2.0
#include "analysis/moved.hpp"

#include <gtest/gtest.h>

#include <string>

#include "checkpoint_builder.hpp"

namespace assay::analysis {
namespace {

using testing::CheckpointBuilder;

TEST(Moved, FindsWhatTookThePlaceOfATensor) {
  CheckpointBuilder a, b;
  std::vector<std::vector<float>> values;
  std::vector<TensorPair> pairs;
  for (std::uint32_t i = 0; i < 6; ++i) {
    values.push_back(a.random({100, 60}));
    a.add("t" + std::to_string(i), {100, 60}, values[i]);
    pairs.push_back({i, i});
  }
  a.add_random("other", {60, 100});
  pairs.push_back({6, 6});
  for (float& value : values[1]) value = value * 2 + 0.01f;  // trained on, and still itself
  const std::size_t from[] = {0, 2, 1, 1, 4};                // 1 and 2 exchanged, 3 a copy of 1
  for (std::size_t i = 0; i < 5; ++i) b.add("t" + std::to_string(i), {100, 60}, values[from[i]]);
  for (int i = 0; i < 10; ++i) b.random({100, 60});  // both builders count alike
  b.add_random("t5", {100, 60});
  b.add("other", {60, 100}, values[1]);  // of another shape: not compared
  const auto like = find_moved(a.made, b.made, pairs, {false, true, true, true, false, true, true});
  EXPECT_EQ(like, (std::vector<std::uint32_t>{kNone, 2, 1, 1, kNone, kNone, kNone}));
}

TEST(Moved, WhatCannotBeReadIsLikeNothing) {
  CheckpointBuilder a, b;
  for (const char* name : {"x", "y"}) a.add_random(name, {64, 64}), b.add(name, {64, 64}, std::vector<float>(64 * 64));
  b.made.tensors[1].readable = false;
  EXPECT_EQ(find_moved(a.made, b.made, std::vector<TensorPair>{{0, 0}, {1, 1}}, {true, true}), (std::vector<std::uint32_t>{kNone, kNone}));
}

}  // namespace
}  // namespace assay::analysis
