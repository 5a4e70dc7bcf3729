// SPDX-License-Identifier: Apache-2.0
// A tensor as a grid of few enough cells to look at: each stands for row_step × col_step elements, pooled.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "analysis/matrix_view.hpp"

namespace assay::analysis {

enum class Pooling : std::uint8_t {
  absmax,  ///< the value of the largest magnitude, with its sign: a lone outlier stays visible
  mean,
  rms,    ///< root of the mean square
  zeros,  ///< share of zeros, 0 to 1
};
std::string_view pooling_name(Pooling pooling);
std::optional<Pooling> pooling_from_name(std::string_view name);
/// True where the values of cells have a sign.
inline bool is_signed(Pooling pooling) { return pooling == Pooling::absmax || pooling == Pooling::mean; }

struct HeatmapRequest {
  Pooling pooling = Pooling::absmax;
  std::uint64_t most_rows = 1024, most_cols = 1024;  ///< of the grid; both at least 1
  bool square = false;                               ///< the same step both ways, where that leaves enough cells either way
  bool sample = false;                               ///< one element a cell, from its middle: touches only these
  std::vector<AxisRange> slice;                      ///< one range an axis; empty for everything
  MatrixAxes axes;
};

/// What is odd about one row or column of elements, by its root mean square.
struct ProfileFinding {
  std::uint64_t index;  ///< row or column of the matrix
  double ratio;         ///< its rms over the median of those that are not all zero
};

/// The rms of every row, or every column, of the matrix. Empty where there are too many to keep, or none were read in full.
struct Profile {
  std::vector<float> rms;
  std::vector<std::uint64_t> dead;  ///< all zero; the first kMostNamed of them
  std::uint64_t dead_count = 0;
  std::vector<ProfileFinding> hot;  ///< from the hottest: at least kHot times the median; at most kMostNamed
  std::uint64_t hot_count = 0;
  static constexpr std::size_t kMostNamed = 64;
  static constexpr double kHot = 6;
};

struct Heatmap {
  enum Mark : std::uint8_t { kNan = 1, kPosInf = 2, kNegInf = 4 };

  Pooling pooling = Pooling::absmax;
  bool exact = true;                               ///< false when sampled
  std::uint64_t source_rows = 0, source_cols = 0;  ///< of the matrix
  std::uint64_t row_step = 1, col_step = 1;        ///< elements a cell spans; the last ones may span fewer
  std::uint64_t rows = 0, cols = 0;                ///< of the grid
  std::vector<double> data;                        ///< row-major; over finite values, NaN where a cell has none
  std::vector<std::uint8_t> marks;                 ///< what is not finite in a cell: Marks added
  double absmax = 0;                               ///< the largest magnitude in `data`
  std::uint64_t nan = 0, inf = 0;                  ///< elements
  Profile row_profile, col_profile;
};

/// Makes a Heatmap step by step, so that a host may feed bytes, show progress or stop between steps. Memory: the grid, a few blocks
/// of 64 Ki elements a part, and 16 bytes a column. The same bits however the parts are spread over threads.
class HeatmapJob {
 public:
  /// Reads nothing but, where a quantizer is per channel, its scales. The Checkpoint must outlive the job.
  static Result<HeatmapJob> make(const Checkpoint& checkpoint, const Tensor& tensor, const HeatmapRequest& request,
                                 const Limits& limits = {});
  /// The same for b - a, position by position; where both are the same NaN or infinity the difference is 0. Fails with `bad-shape`
  /// where the shapes differ.
  static Result<HeatmapJob> make_difference(const Checkpoint& checkpoint_a, const Tensor& a, const Checkpoint& checkpoint_b,
                                            const Tensor& b, const HeatmapRequest& request, const Limits& limits = {});
  HeatmapJob(HeatmapJob&&) noexcept;
  HeatmapJob& operator=(HeatmapJob&&) noexcept;
  ~HeatmapJob();

  /// Bands of rows that may be measured at once, each by one thread at a time.
  std::size_t parts() const;
  /// The next step of a part, about a million elements; true when it was the last. After an error, `need-range` for one,
  /// the step may be tried again.
  Result<bool> advance(std::size_t part);
  /// Elements that have been looked at, and all there are to look at.
  std::uint64_t done() const;
  std::uint64_t total() const;
  const MatrixView& view() const;
  /// The grid as far as it has been measured. Precondition for the whole: every part is done.
  Heatmap finish() const;

 private:
  struct State;
  /// A tensor and where it is.
  struct Subject {
    const Checkpoint& checkpoint;
    const Tensor& tensor;
  };
  static Result<HeatmapJob> make(Subject subject, const Subject* less, const HeatmapRequest& request, const Limits& limits);
  explicit HeatmapJob(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace assay::analysis
