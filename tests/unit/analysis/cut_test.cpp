// SPDX-License-Identifier: Apache-2.0
// Ends that are lost, and ends that were reserved and never written.
#include "analysis/cut.hpp"

#include <gtest/gtest.h>

#include "checkpoint_builder.hpp"

namespace assay::analysis {
namespace {

/// A file of tensors of 4096 bytes each, whose last `zeros` bytes are 0; the others are not.
Checkpoint file_of(std::size_t tensors, std::size_t zeros) {
  constexpr std::size_t kSize = 4096;
  std::vector<std::byte> bytes(tensors * kSize, std::byte{0x3c});
  std::fill(bytes.end() - static_cast<std::ptrdiff_t>(zeros), bytes.end(), std::byte{0});
  Checkpoint checkpoint;
  checkpoint.files.push_back({"model.safetensors", bytes.size(), std::make_shared<MemorySource>(std::move(bytes))});
  for (std::size_t i = 0; i < tensors; ++i) {
    Storage& storage = checkpoint.storages.emplace_back();
    storage.offset = i * kSize;
    storage.nbytes = kSize;
    Tensor& tensor = checkpoint.tensors.emplace_back();
    tensor.name = checkpoint.arena().text("t" + std::to_string(i));
    tensor.dtype = DType::f32;
    tensor.shape = checkpoint.arena().numbers(std::vector<std::uint64_t>{kSize / 4});
    tensor.numel = kSize / 4;
    tensor.storage = static_cast<std::uint32_t>(i);
  }
  return checkpoint;
}

std::vector<Finding> zero_tails(const Checkpoint& checkpoint) {
  std::vector<Finding> findings;
  EXPECT_TRUE(find_zero_tails(checkpoint, findings).go_on().has_value());
  return findings;
}

TEST(ZeroTail, FromTheMidstOfATensorIsToldWithItsPlace) {
  const auto found = zero_tails(file_of(200, 150 * 4096 + 1000));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].code, Code::zero_tail);
  EXPECT_EQ(found[0].severity, Severity::warning);
  EXPECT_EQ(
      found[0].message,
      "from byte 203,800 on the file holds zeros only, 615,400 of 819,200 bytes: from within 't49', and all of 150 tensors behind it");
  EXPECT_EQ(found[0].where.offset, 203800u);
}

TEST(ZeroTail, MostOfTheLastTensorIsEnough) {
  const Checkpoint checkpoint = file_of(3, 4096);  // all of the last tensor: it may be so by design
  EXPECT_TRUE(zero_tails(checkpoint).empty());
  EXPECT_EQ(zero_tails(file_of(3, 4096 + 512)).size(), 1u);
  Checkpoint one = file_of(1, 0);
  std::vector<std::byte> bytes(1 << 16, std::byte{1});
  std::fill(bytes.begin() + (1 << 15), bytes.end(), std::byte{0});
  one.files[0] = {"m", bytes.size(), std::make_shared<MemorySource>(bytes)};
  one.storages[0].nbytes = bytes.size();
  EXPECT_EQ(zero_tails(one).size(), 1u);
}

TEST(ZeroTail, RowsOfPaddingAndWholeTensorsAreLeftAlone) {
  EXPECT_TRUE(zero_tails(file_of(20, 0)).empty());
  EXPECT_TRUE(zero_tails(file_of(20, 900)).empty());        // padding of the last tensor
  EXPECT_TRUE(zero_tails(file_of(20, 10 * 4096)).empty());  // whole tensors
}

/// Counts what is read.
class CountingSource final : public ByteSource {
 public:
  CountingSource(std::shared_ptr<ByteSource> source, std::uint64_t& bytes) : source_(std::move(source)), bytes_(bytes) {}
  std::uint64_t size() const override { return source_->size(); }
  Result<void> read(std::uint64_t offset, std::span<std::byte> out) const override {
    bytes_ += out.size();
    return source_->read(offset, out);
  }

 private:
  std::shared_ptr<ByteSource> source_;
  std::uint64_t& bytes_;
};

TEST(ZeroTail, AFewPagesTellOfALongOne) {
  for (const std::size_t zeros : {150 * 4096 + 1000, 199 * 4096 + 3000, 4096 + 4095, 64 * 4096 + 1, 128 * 4096 + 512}) {
    Checkpoint checkpoint = file_of(200, zeros);
    const auto exact = zero_tails(checkpoint);
    std::uint64_t bytes = 0;
    checkpoint.files[0].source = std::make_shared<CountingSource>(checkpoint.files[0].source, bytes);
    std::vector<Finding> likely;
    ASSERT_TRUE(suspect_zero_tails(checkpoint, likely));
    ASSERT_EQ(likely.size(), exact.size()) << zeros;
    ASSERT_EQ(likely.size(), 1u) << zeros;
    EXPECT_EQ(likely[0].where.offset, exact[0].where.offset) << zeros;
    EXPECT_NE(likely[0].message.find("seems to hold zeros only"), std::string::npos);
    EXPECT_EQ(likely[0].facts.back().key, "sampled");
    EXPECT_LT(bytes, 20u * 4096);
  }
  Checkpoint fine = file_of(200, 0);
  std::uint64_t bytes = 0;
  fine.files[0].source = std::make_shared<CountingSource>(fine.files[0].source, bytes);
  std::vector<Finding> none;
  ASSERT_TRUE(suspect_zero_tails(fine, none));
  EXPECT_TRUE(none.empty());
  EXPECT_EQ(bytes, 4096u) << "one page where the file ends otherwise";
}

TEST(ZeroTail, AMissingRangeIsNoVerdict) {
  Checkpoint checkpoint = file_of(3, 0);
  checkpoint.files[0].source = std::make_shared<RangeSource>(3 * 4096);
  std::vector<Finding> findings;
  const auto found = find_zero_tails(checkpoint, findings).go_on();
  ASSERT_FALSE(found.has_value());
  EXPECT_EQ(found.error().code(), Code::need_range);
}

TEST(Cuts, OneFindingStandsForThoseOfItsTensors) {
  Checkpoint checkpoint = file_of(2, 0);
  checkpoint.add(Finding(Code::truncated, "the file ends", {}, {{"missing", std::uint64_t{70}}, {"at_least", true}}));
  checkpoint.add(Finding(Code::truncated, "of a tensor", {.tensor = "t1"}));
  checkpoint.add(Finding(Code::missing_storage, "of a tensor", {.tensor = "t1"}));
  checkpoint.add(Finding(Code::bad_shape, "of a tensor", {.tensor = "t1"}));
  checkpoint.add(Finding(Code::truncated, "of another file", {.file = "other", .tensor = "t1"}));
  std::vector<bool> told;
  for (const Finding& finding : checkpoint.findings.list()) told.push_back(told_with_cut(checkpoint.findings, finding));
  EXPECT_EQ(told, (std::vector<bool>{false, true, true, false, false}));
  const auto list = cuts(checkpoint);
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0].file, "model.safetensors");
  EXPECT_EQ(list[0].size, 8192u);
  EXPECT_EQ(list[0].missing, 70u);
  EXPECT_TRUE(list[0].at_least);
  EXPECT_FALSE(list[0].ends_in_zeros);
}

}  // namespace
}  // namespace assay::analysis
