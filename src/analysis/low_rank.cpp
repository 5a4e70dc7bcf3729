// SPDX-License-Identifier: Apache-2.0
#include "analysis/low_rank.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <vector>

#include "assay/values.hpp"
#include "base/sort.hpp"

namespace assay::analysis {
namespace {

constexpr std::size_t kSketch = RankEstimate::kMost + 8;  // columns of the random matrix
constexpr std::uint64_t kLeastSide = 32;
constexpr std::uint64_t kMostColumns = std::uint64_t{1} << 18;
constexpr std::uint64_t kBlock = 16384;  // elements read at a time, or one row
constexpr double kEnergy = 0.999;
constexpr std::uint64_t kSeed = 0x5eed0f5ce7c4e5;

using Matrix = std::array<std::array<double, kSketch>, kSketch>;

std::uint64_t next_random(std::uint64_t& state) {
  std::uint64_t z = state += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

/// Plus and minus one, kSketch of them for every column.
std::vector<float> random_signs(std::size_t columns) {
  std::vector<float> signs(columns * kSketch);
  std::uint64_t state = kSeed;
  for (std::size_t column = 0; column < columns; ++column) {
    const std::uint64_t bits = next_random(state);
    for (std::size_t k = 0; k < kSketch; ++k) signs[column * kSketch + k] = bits >> k & 1 ? 1.0f : -1.0f;
  }
  return signs;
}

/// Eigenvalues of a symmetric matrix, the largest first, by Jacobi's rotations.
std::array<double, kSketch> eigenvalues(Matrix m) {
  constexpr int kMostSweeps = 30;
  for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
    double off = 0, on = 0;
    for (std::size_t p = 0; p < kSketch; ++p) {
      on += m[p][p] * m[p][p];
      for (std::size_t q = p + 1; q < kSketch; ++q) off += m[p][q] * m[p][q];
    }
    if (off <= 1e-16 * on) break;  // shares of energy are wanted to a part in a thousand
    for (std::size_t p = 0; p < kSketch; ++p) {
      for (std::size_t q = p + 1; q < kSketch; ++q) {
        if (m[p][q] == 0) continue;
        const double theta = (m[q][q] - m[p][p]) / (2 * m[p][q]);
        const double t = (theta < 0 ? -1.0 : 1.0) / (std::abs(theta) + std::sqrt(theta * theta + 1));
        const double c = 1 / std::sqrt(t * t + 1), s = t * c;
        for (std::size_t k = 0; k < kSketch; ++k) {
          const double kp = m[k][p], kq = m[k][q];
          m[k][p] = c * kp - s * kq;
          m[k][q] = s * kp + c * kq;
        }
        for (std::size_t k = 0; k < kSketch; ++k) {
          const double pk = m[p][k], qk = m[q][k];
          m[p][k] = c * pk - s * qk;
          m[q][k] = s * pk + c * qk;
        }
      }
    }
  }
  std::array<double, kSketch> values;
  for (std::size_t i = 0; i < kSketch; ++i) values[i] = std::max(m[i][i], 0.0);
  sort_stable(values, std::ranges::greater());
  return values;
}

/// The Gram matrix of (B - A) times the signs, and which rows and columns differ.
class Sketch {
 public:
  explicit Sketch(std::size_t columns)
      : signs_(random_signs(columns)), delta_(columns), touched_(columns), some_a_(columns), some_b_(columns), energy_(columns) {}

  /// False once a difference is not finite.
  bool add_row(const double* a, const double* b) {
    double sum = 0;
    bool some_a = false, some_b = false;
    for (std::size_t j = 0; j < delta_.size(); ++j) {
      some_a |= a[j] != 0;
      some_b |= b[j] != 0;
      some_a_[j] |= static_cast<std::uint8_t>(a[j] != 0);
      some_b_[j] |= static_cast<std::uint8_t>(b[j] != 0);
      delta_[j] = static_cast<float>(b[j] - a[j]);
      sum += std::abs(static_cast<double>(delta_[j]));
    }
    if (!std::isfinite(sum)) return false;
    const std::uint64_t row = all_rows_++;
    if (some_a && !some_b) ++zero_rows_;
    if (sum == 0) return true;
    ++rows_;
    double energy = 0;
    std::array<float, kSketch> y{};
    for (std::size_t j = 0; j < delta_.size(); ++j) {
      const float d = delta_[j];
      if (d == 0) continue;
      touched_[j] = 1;
      const double square = static_cast<double>(d) * static_cast<double>(d);
      energy += square;
      energy_[j] += square;
      const float* signs = signs_.data() + j * kSketch;
      for (std::size_t k = 0; k < kSketch; ++k) y[k] += d * signs[k];
    }
    if (energy > most_row_) most_row_ = energy, main_row_ = row;
    for (std::size_t p = 0; p < kSketch; ++p)
      for (std::size_t q = p; q < kSketch; ++q) gram_[p][q] += static_cast<double>(y[p]) * static_cast<double>(y[q]);
    return true;
  }

  /// Ranks up to `most` are looked for.
  std::optional<RankEstimate> estimate(std::uint32_t most) const {
    RankEstimate made;
    made.rows = rows_;
    made.columns = static_cast<std::uint64_t>(std::ranges::count(touched_, 1));
    made.zero_rows = zero_rows_;
    for (std::size_t j = 0; j < touched_.size(); ++j) made.zero_columns += some_a_[j] != 0 && some_b_[j] == 0 ? 1 : 0;
    find_main(made);
    Matrix whole = gram_;
    for (std::size_t p = 0; p < kSketch; ++p)
      for (std::size_t q = 0; q < p; ++q) whole[p][q] = whole[q][p];
    const auto energies = eigenvalues(whole);
    double rest = 0;
    for (const double energy : energies) rest += energy;
    const double total = rest / kSketch;
    if (!std::isfinite(total) || total == 0) return std::nullopt;
    // What k directions leave over shows in the other columns alone, and so counts for kSketch / (kSketch - k) of itself.
    for (std::uint32_t k = 1; k <= most; ++k) {
      rest = std::max(rest - energies[k - 1], 0.0);
      made.captured = 1 - rest / static_cast<double>(kSketch - k) / total;
      if (made.captured < kEnergy) continue;
      made.rank = k;
      break;
    }
    return made;
  }

 private:
  void find_main(RankEstimate& made) const {
    constexpr double kMain = 0.99;
    double all = 0;
    for (const double energy : energy_) all += energy;
    const auto most = std::ranges::max_element(energy_);
    if (most_row_ >= kMain * all) made.main_row = main_row_;
    if (*most >= kMain * all) made.main_column = static_cast<std::uint64_t>(most - energy_.begin());
  }

  std::vector<float> signs_, delta_;
  std::vector<std::uint8_t> touched_, some_a_, some_b_;  // by column
  std::vector<double> energy_;                           // of the change, by column
  double most_row_ = 0;
  std::uint64_t rows_ = 0, all_rows_ = 0, main_row_ = 0, zero_rows_ = 0;
  Matrix gram_{};
};

}  // namespace

Work<std::optional<RankEstimate>> delta_rank(const Checkpoint& a, const Tensor& tensor_a, const Checkpoint& b, const Tensor& tensor_b,
                                             const Limits& limits) {
  const std::uint64_t rows = tensor_a.shape[0], columns = tensor_a.shape[1];
  if (std::min(rows, columns) < kLeastSide || columns > kMostColumns) co_return std::nullopt;
  ASSAY_TAKE(const TensorReader reader_a, TensorReader::open(a, tensor_a, limits));
  ASSAY_TAKE(const TensorReader reader_b, TensorReader::open(b, tensor_b, limits));
  const auto width = static_cast<std::size_t>(columns);
  const std::uint64_t together = std::max<std::uint64_t>(kBlock / columns, 1);
  std::vector<double> block_a(static_cast<std::size_t>(together) * width), block_b(block_a.size());
  Sketch sketch(width);
  for (std::uint64_t row = 0; row < rows; row += together) {
    const auto n = static_cast<std::size_t>(std::min(together, rows - row));
    ASSAY_READ(reader_a.read_f64(row * columns, std::span(block_a).first(n * width)));
    ASSAY_READ(reader_b.read_f64(row * columns, std::span(block_b).first(n * width)));
    for (std::size_t i = 0; i < n; ++i)
      if (!sketch.add_row(block_a.data() + i * width, block_b.data() + i * width)) co_return std::nullopt;
  }
  co_return sketch.estimate(static_cast<std::uint32_t>(std::min<std::uint64_t>(RankEstimate::kMost, std::min(rows, columns) / 4)));
}

}  // namespace assay::analysis
