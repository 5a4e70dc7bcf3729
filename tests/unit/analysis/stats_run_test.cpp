// SPDX-License-Identifier: Apache-2.0
// Many tensors at once: the same numbers whoever measures what, and what is known when not all is.
#include "analysis/stats_run.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <optional>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include "base/half.hpp"
#include "checkpoint_builder.hpp"

namespace assay::analysis {
namespace {

void expect_same(const Stats& a, const Stats& b) {
  EXPECT_EQ(a.measured, b.measured);
  EXPECT_EQ(a.min, b.min);
  EXPECT_EQ(a.max, b.max);
  EXPECT_EQ(a.mean, b.mean);
  EXPECT_EQ(a.std, b.std);
  EXPECT_EQ(a.l2, b.l2);
  EXPECT_EQ(a.skew, b.skew);
  EXPECT_EQ(a.kurtosis, b.kurtosis);
  EXPECT_EQ(a.zeros, b.zeros);
  EXPECT_EQ(a.near_zeros, b.near_zeros);
  EXPECT_EQ(a.nan, b.nan);
  EXPECT_EQ(a.subnormal, b.subnormal);
  EXPECT_EQ(a.distinct, b.distinct);
  EXPECT_EQ(a.quantiles, b.quantiles);
}

/// Tensors of many sizes, one of more than a unit.
struct Many {
  assay::testing::CheckpointBuilder builder;
  std::vector<const Tensor*> tensors;

  Many() {
    std::mt19937_64 random(31);
    std::normal_distribution<float> normal(0.01f, 0.02f);
    for (const std::size_t n : {2500000u, 3u, 0u, 40000u, 1100000u, 1u, 5000u, 70000u}) {
      std::vector<float> floats(n);
      std::vector<std::uint16_t> halves(n);
      for (std::size_t i = 0; i < n; ++i) {
        floats[i] = i % 1000 == 0 ? 0 : normal(random);
        halves[i] = f32_to_bf16(floats[i]);
      }
      builder.add("f", {n}, floats);
      builder.add_raw("b", DType::bf16, {n}, halves.data(), n * 2);
    }
    // Views: the left part of long rows and of short ones, and what is negated.
    for (const auto& [shape, stride] : {std::pair<std::vector<std::uint64_t>, std::vector<std::uint64_t>>{{600, 3000}, {4000, 1}},
                                        {{2000, 100}, {400, 1}},
                                        {{3, 200000}, {200000, 1}}}) {
      for (const std::size_t whole : {0u, 1u}) {
        Tensor view = builder.made.tensors[whole];
        view.shape = builder.made.arena().numbers(shape);
        view.stride = builder.made.arena().numbers(stride);
        view.numel = shape[0] * shape[1];
        view.storage_offset = 17;
        view.neg = shape[0] == 3;
        builder.made.tensors.push_back(view);
      }
    }
    for (const Tensor& tensor : builder.made.tensors) tensors.push_back(&tensor);
  }
};

/// A file that can be read, and for as long as is wanted seen in place.
class Reluctant final : public ByteSource {
 public:
  Reluctant(std::shared_ptr<ByteSource> file, const bool& in_place) : file_(std::move(file)), in_place_(&in_place) {}
  std::uint64_t size() const override { return file_->size(); }
  Result<void> read(std::uint64_t offset, std::span<std::byte> out) const override { return file_->read(offset, out); }
  std::optional<ByteView> mapped(std::uint64_t offset, std::uint64_t n) const override {
    return *in_place_ ? file_->mapped(offset, n) : std::nullopt;
  }

 private:
  std::shared_ptr<ByteSource> file_;
  const bool* in_place_;
};

TEST(StatsRun, ViewsAreMeasuredAsTheirCopies) {
  // Rows whose runs are long and short, whole vectors and not, and that begin anywhere.
  std::mt19937_64 random(32);
  std::normal_distribution<float> normal(0.5f, 0.02f);
  constexpr std::size_t kRow = 6000, kRows = 300;
  std::vector<float> floats(kRow * kRows);
  for (std::size_t i = 0; i < floats.size(); ++i) floats[i] = i % 5000 == 4999 ? NAN : i % 1000 == 7 ? 0 : normal(random);
  std::vector<std::uint16_t> halves;
  for (const float value : floats) halves.push_back(f32_to_bf16(value));
  for (const auto& [begin, length, step] :
       {std::tuple<std::size_t, std::size_t, std::size_t>{0, 4096, 1}, {7, 5000, 1}, {100, 256, 1}, {64, 64, 2}, {3, 100, 1}, {1, 33, 3}}) {
    assay::testing::CheckpointBuilder builder;
    std::vector<float> kept_floats;
    std::vector<std::uint16_t> kept_halves;
    for (std::size_t row = 0; row < kRows; row += step) {
      const auto from = static_cast<std::ptrdiff_t>(row * kRow + begin), to = from + static_cast<std::ptrdiff_t>(length);
      kept_floats.insert(kept_floats.end(), floats.begin() + from, floats.begin() + to);
      kept_halves.insert(kept_halves.end(), halves.begin() + from, halves.begin() + to);
    }
    builder.add("f", {floats.size()}, floats);
    builder.add_raw("b", DType::bf16, {halves.size()}, halves.data(), halves.size() * 2);
    builder.add("copy f", {kept_floats.size()}, kept_floats);
    builder.add_raw("copy b", DType::bf16, {kept_halves.size()}, kept_halves.data(), kept_halves.size() * 2);
    const std::vector<std::uint64_t> shape = {(kRows + step - 1) / step, length}, stride = {kRow * step, 1};
    for (const std::size_t whole : {0u, 1u}) {
      Tensor& view = builder.made.tensors[whole];
      view.shape = shape;
      view.stride = stride;
      view.numel = shape[0] * length;
      view.storage_offset = begin;
      for (const bool quantiles : {false, true}) {
        SCOPED_TRACE(::testing::Message() << dtype_name(view.dtype) << ' ' << begin << " + " << length << ", quantiles " << quantiles);
        expect_same(*tensor_stats(builder.made, view, {.quantiles = quantiles}),
                    *tensor_stats(builder.made, builder.made.tensors[whole + 2], {.quantiles = quantiles}));
      }
    }
  }
}

TEST(StatsRun, InPlaceOrReadGivesTheSameBits) {
  const Many mapped;
  for (const bool at_first : {false, true}) {
    Many read;
    bool in_place = at_first;
    for (CheckpointFile& file : read.builder.made.files) file.source = std::make_shared<Reluctant>(file.source, in_place);
    for (const bool quantiles : {false, true}) {
      in_place = at_first;
      StatsRun a(mapped.builder.made, mapped.tensors, 1, {.quantiles = quantiles}),
          b(read.builder.made, read.tensors, 1, {.quantiles = quantiles});
      in_place = false;
      EXPECT_TRUE(run_all(a) && run_all(b));
      EXPECT_EQ(b.bytes_done(), b.bytes());
      for (std::size_t i = 0; i < mapped.tensors.size(); ++i) {
        SCOPED_TRACE(::testing::Message() << "tensor " << i << ", in place at first: " << at_first << ", quantiles " << quantiles);
        const auto found = b.result(i);
        ASSERT_TRUE(found.has_value());
        EXPECT_TRUE(found->exact);
        expect_same(*a.result(i), *found);
      }
    }
  }
}

TEST(StatsRun, AnyNumberOfThreadsGivesTheSameBits) {
  const Many many;
  for (const bool quantiles : {true, false}) {
    std::vector<Stats> alone;
    for (const Tensor* tensor : many.tensors) alone.push_back(*tensor_stats(many.builder.made, *tensor, {.quantiles = quantiles}));
    for (const std::size_t workers : {1u, 2u, 5u}) {
      StatsRun run(many.builder.made, many.tensors, workers, {.quantiles = quantiles});
      EXPECT_TRUE(run_all(run));
      EXPECT_EQ(run.bytes_done(), run.bytes());
      for (std::size_t i = 0; i < many.tensors.size(); ++i) {
        SCOPED_TRACE(::testing::Message() << "tensor " << i << ", " << workers << " workers, quantiles " << quantiles);
        const auto result = run.result(i);
        ASSERT_TRUE(result.has_value());
        EXPECT_TRUE(result->exact);
        expect_same(*result, alone[i]);
      }
    }
  }
}

TEST(StatsRun, StepsMayBeTakenInAnyOrderByAnyWorker) {
  const Many many;
  StatsRun run(many.builder.made, many.tensors, 3);
  do {
    for (std::size_t step = run.steps(); step-- > 0;) run.run(step, step % 3);
  } while (run.next_round());
  for (std::size_t i = 0; i < many.tensors.size(); ++i) expect_same(*run.result(i), *tensor_stats(many.builder.made, *many.tensors[i]));
}

TEST(StatsRun, SaysWhatIsKnownWhenItIsEnded) {
  const Many many;
  StatsRun run(many.builder.made, many.tensors, 1, {.quantiles = false});
  int steps = 0;
  EXPECT_FALSE(run_all(run, [&] { return ++steps < 2; }));
  const Stats first = *run.result(0);  // 10 MB in three units
  EXPECT_FALSE(first.exact);
  EXPECT_EQ(first.measured, 2u << 20);
  EXPECT_NEAR(*first.mean, 0.01, 1e-3);
  const Stats later = *run.result(7);
  EXPECT_FALSE(later.exact);
  EXPECT_EQ(later.measured, 0u);
  EXPECT_FALSE(later.mean.has_value());
}

/// Ranges of a file that are given and taken back.
class Lent final : public ByteSource {
 public:
  explicit Lent(std::shared_ptr<ByteSource> whole) : whole_(std::move(whole)) { take_back(); }
  std::uint64_t size() const override { return whole_->size(); }
  Result<void> available(std::uint64_t offset, std::uint64_t n) const override { return lent_->available(offset, n); }
  Result<void> read(std::uint64_t offset, std::span<std::byte> out) const override { return lent_->read(offset, out); }
  std::optional<ByteView> mapped(std::uint64_t offset, std::uint64_t n) const override { return lent_->mapped(offset, n); }
  void lend(std::uint64_t offset, std::uint64_t n) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(n));
    ASSERT_TRUE(whole_->read(offset, bytes).has_value());
    lent_->add(offset, std::move(bytes));
    most = std::max(most, lent_->held());
  }
  void take_back() { lent_ = std::make_unique<RangeSource>(size()); }
  std::uint64_t most = 0;  ///< held at any time

 private:
  std::shared_ptr<ByteSource> whole_;
  std::unique_ptr<RangeSource> lent_;
};

TEST(StatsRun, AdvancesOverRangesThatComeAndGoToTheSameBits) {
  Many many;
  std::vector<std::complex<float>> pairs(700000);
  std::vector<std::int64_t> wide(600000);
  std::mt19937_64 random(5);
  for (auto& pair : pairs) pair = {static_cast<float>(random() % 1000) - 500, static_cast<float>(random() % 99)};
  for (auto& value : wide) value = static_cast<std::int64_t>(random() >> (random() % 60));
  many.builder.add_raw("c", DType::c64, {pairs.size()}, pairs.data(), pairs.size() * 8);
  many.builder.add_raw("i", DType::i64, {wide.size()}, wide.data(), wide.size() * 8);
  many.builder.add_raw("b", DType::i8, {8 * wide.size()}, wide.data(), wide.size() * 8);
  Checkpoint& checkpoint = many.builder.made;
  for (const StatsOptions& options : {StatsOptions{}, StatsOptions{.quantiles = false}}) {
    for (const Tensor& tensor : checkpoint.tensors) {
      SCOPED_TRACE(::testing::Message() << dtype_name(tensor.dtype) << " " << tensor.numel << ", quantiles " << options.quantiles);
      const Stats whole = *tensor_stats(checkpoint, tensor, options);
      auto& file = checkpoint.files[checkpoint.storages[tensor.storage].file];
      const auto kept = file.source;
      const auto lent = std::make_shared<Lent>(kept);
      file.source = lent;
      StatsRun run(checkpoint, {&tensor}, 1, options);
      EXPECT_GE(StatsRun::bytes_of(checkpoint, tensor, options), run.bytes());
      for (bool more = true; more;) {
        auto advanced = run.advance();
        if (advanced) {
          more = *advanced;
          lent->take_back();
        } else {
          // In two parts, so that some is there and some is not.
          const Where& where = advanced.error().where();
          ASSERT_EQ(advanced.error().code(), Code::need_range);
          lent->lend(*where.offset + *where.length / 2, *where.length - *where.length / 2);
          if (run.advance()) break;
          lent->lend(*where.offset, *where.length / 2);
        }
      }
      EXPECT_LE(lent->most, std::uint64_t{8} << 20);
      EXPECT_LE(run.bytes_done(), StatsRun::bytes_of(checkpoint, tensor, options));
      const auto result = run.result(0);
      file.source = kept;
      ASSERT_TRUE(result.has_value()) << result.error().what();
      EXPECT_TRUE(result->exact);
      expect_same(*result, whole);
    }
  }
}

TEST(StatsRun, ASampleSaysThatItIsOne) {
  assay::testing::CheckpointBuilder builder;
  constexpr std::size_t kNumel = std::size_t{9} << 20;
  std::vector<std::uint16_t> halves(kNumel, 0x3f80);
  builder.add_raw("large", DType::bf16, {kNumel}, halves.data(), kNumel * 2);
  builder.add_raw("small", DType::bf16, {1000}, halves.data(), 2000);
  StatsRun run(builder.made, {&builder.made.tensors[0], &builder.made.tensors[1]}, 2, {.quantiles = true, .sample = true});
  EXPECT_TRUE(run_all(run));
  const Stats large = *run.result(0), small = *run.result(1);
  EXPECT_FALSE(large.exact);
  EXPECT_EQ(large.numel, kNumel);
  EXPECT_EQ(large.measured, std::uint64_t{2} << 19);
  EXPECT_EQ(*large.mean, 1);
  EXPECT_TRUE(small.exact);
  EXPECT_EQ(small.measured, 1000u);
}

}  // namespace
}  // namespace assay::analysis
