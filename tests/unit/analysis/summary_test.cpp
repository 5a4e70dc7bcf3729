// SPDX-License-Identifier: Apache-2.0
#include "analysis/summary.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "names_testing.hpp"

namespace assay::analysis {
namespace {

TEST(Summary, CountsTensorsElementsAndBytes) {
  Checkpoint checkpoint = checkpoint_of({});
  add_tensor(checkpoint, "a", {2, 3}, DType::f32);
  add_tensor(checkpoint, "b", {4}, DType::bf16);
  add_tensor(checkpoint, "s", {}, DType::f32);
  add_tensor(checkpoint, "e", {0, 7}, DType::f32);
  const Summary summary = summarize(checkpoint);
  EXPECT_EQ(summary.tensor_count, 4u);
  EXPECT_EQ(summary.parameters, 11u);
  EXPECT_EQ(summary.elements, 11u);
  EXPECT_EQ(summary.tensor_bytes, 36u);
  EXPECT_EQ(summary.file_size, 1000u);
  ASSERT_EQ(summary.dtypes.size(), 2u);
  EXPECT_EQ(summary.dtypes[0].dtype, DType::f32);  // the most bytes first
  EXPECT_EQ(summary.dtypes[0].tensors, 3u);
  EXPECT_EQ(summary.dtypes[0].elements, 7u);
  EXPECT_EQ(summary.dtypes[0].bytes, 28u);
}

TEST(Summary, CountsTiesOnce) {
  Checkpoint checkpoint = checkpoint_of({});
  add_tensor(checkpoint, "embed", {2, 2});
  Tensor tie = checkpoint.tensors[0];
  tie.name = "head";
  checkpoint.tensors.push_back(tie);
  Summary summary = summarize(checkpoint);
  EXPECT_EQ(summary.parameters, 4u);
  EXPECT_EQ(summary.elements, 4u);
  EXPECT_EQ(summary.tensor_bytes, 16u);
  EXPECT_EQ(summary.shares[1].parameters, 0u);
  EXPECT_EQ(summary.shares[1].bytes, 0u);
  // The same view with its strides spelt out is the same tie; another view of the same bytes is not.
  const std::uint64_t row_major[] = {2, 1}, transposed[] = {1, 2};
  checkpoint.tensors[1].stride = row_major;
  EXPECT_EQ(summarize(checkpoint).parameters, 4u);
  checkpoint.tensors[1].stride = transposed;
  EXPECT_EQ(summarize(checkpoint).parameters, 8u);
  EXPECT_EQ(summarize(checkpoint).elements, 4u);
}

TEST(Summary, CountsExpandedDimensionsOnce) {
  Checkpoint checkpoint = checkpoint_of({});
  Tensor& tensor = add_tensor(checkpoint, "huge", {1});
  const std::uint64_t shape[] = {1 << 20, 1 << 20}, stride[] = {0, 0}, rows[] = {0, 1};
  tensor.shape = shape;
  tensor.stride = stride;
  tensor.numel = std::uint64_t{1} << 40;
  EXPECT_EQ(summarize(checkpoint).parameters, 1u);
  EXPECT_EQ(summarize(checkpoint).elements, 1u);
  tensor.stride = rows;
  EXPECT_EQ(summarize(checkpoint).parameters, 1u << 20);
}

TEST(Summary, CountsSubByteElementsOfAStorage) {
  Checkpoint checkpoint = checkpoint_of({});
  add_tensor(checkpoint, "f4", {16}, DType::f4);
  add_tensor(checkpoint, "f6", {8}, DType::f6_e2m3);
  const Summary summary = summarize(checkpoint);
  EXPECT_EQ(summary.tensor_bytes, 14u);
  EXPECT_EQ(summary.elements, 24u);
}

TEST(Summary, StaysAtTheLargestNumber) {
  Checkpoint checkpoint = checkpoint_of({"a", "b"});
  for (Tensor& tensor : checkpoint.tensors) {
    tensor.numel = std::numeric_limits<std::uint64_t>::max();
    tensor.readable = false;
  }
  for (Storage& storage : checkpoint.storages) storage.nbytes = std::numeric_limits<std::uint64_t>::max();
  const Summary summary = summarize(checkpoint);
  EXPECT_EQ(summary.parameters, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(summary.tensor_bytes, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(summary.unreadable, 2u);
}

TEST(Summary, TensorsWithoutDataHaveNoBytes) {
  Checkpoint checkpoint = checkpoint_of({"meta"});
  checkpoint.tensors[0].storage = kNone;
  const Summary summary = summarize(checkpoint);
  EXPECT_EQ(summary.parameters, 2u);
  EXPECT_EQ(summary.elements, 0u);
  EXPECT_EQ(summary.tensor_bytes, 0u);
}

TEST(Summary, AnUnknownDtypeHasTheBytesThatTheFileTells) {
  Checkpoint checkpoint = checkpoint_of({"odd", "plain"});
  checkpoint.tensors[0].dtype = DType::unknown;
  checkpoint.storages[checkpoint.tensors[0].storage].nbytes = 18;
  EXPECT_EQ(tensor_bytes(checkpoint, checkpoint.tensors[0]), 18u);
  EXPECT_EQ(tensor_bytes(checkpoint, checkpoint.tensors[1]), checkpoint.tensors[1].nbytes());
  checkpoint.tensors[0].storage = kNone;
  EXPECT_EQ(tensor_bytes(checkpoint, checkpoint.tensors[0]), 0u);
}

}  // namespace
}  // namespace assay::analysis
