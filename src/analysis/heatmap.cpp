// SPDX-License-Identifier: Apache-2.0
// The matrix is cut into bands (parts, for threads), a band into strips of row_step rows (one row of cells), a strip into blocks of
// columns. Within a block every row is folded into one number a column, elementwise, which compilers turn into vector code; only
// then columns are folded into cells. Values that are not finite are rare: a row that has one takes the slow way.
#include "analysis/heatmap.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <iterator>
#include <limits>

#include "base/sort.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "values/decode.hpp"

namespace assay::analysis {
namespace {

constexpr std::size_t kBlock = std::size_t{64} << 10;    // elements read at once, and columns of a block
constexpr std::uint64_t kStep = std::uint64_t{1} << 20;  // elements a step looks at
constexpr std::uint64_t kMostParts = 8;
constexpr std::uint64_t kLeastPart = std::uint64_t{1} << 20;  // elements that are worth a part of their own
constexpr std::uint64_t kMostCols = std::uint64_t{1} << 18;   // with a profile
constexpr std::uint64_t kMostRows = std::uint64_t{1} << 22;
constexpr std::uint64_t kPage = 4096;  // bytes; reading less than this apart is reading everything
constexpr std::size_t kLeastForMedian = 8;
constexpr std::uint64_t kLeastSquare = 64;  // cells along the shorter side that square ones must leave

constexpr std::string_view kPoolings[] = {"absmax", "mean", "rms", "zeros"};

/// One number a column of the block at hand.
template <class T>
struct Columns {
  std::vector<T> low, high;
  std::vector<double> sum, squares;
  std::vector<std::uint32_t> zeros;

  void reset(std::size_t n) {
    low.assign(n, std::numeric_limits<T>::infinity());
    high.assign(n, -std::numeric_limits<T>::infinity());
    sum.assign(n, 0);
    squares.assign(n, 0);
    zeros.assign(n, 0);
  }
  void add(std::size_t c, T x) {
    low[c] = std::min(low[c], x);
    high[c] = std::max(high[c], x);
    const double wide = x;
    sum[c] += wide;
    squares[c] += wide * wide;
    zeros[c] += x == 0;
  }
};

template <class T>
bool all_finite(const T* x, std::size_t n) {
  unsigned bad = 0;
  for (std::size_t i = 0; i < n; ++i) bad |= static_cast<unsigned>(!(std::abs(x[i]) <= std::numeric_limits<T>::max()));
  return bad == 0;
}

struct RowSums {
  double squares = 0;
  bool any = false;  // a value that is not 0
};

/// Folds a row of finite values into the columns; kSum and kZeros tell which of the dearer sums are wanted.
template <bool kSum, bool kZeros, class T>
RowSums fold_row(const T* __restrict x, std::size_t n, Columns<T>& to) {
  constexpr std::size_t kLanes = 8;
  T* __restrict const low = to.low.data();
  T* __restrict const high = to.high.data();
  double* __restrict const squares = to.squares.data();
  double* __restrict const sum = to.sum.data();
  std::uint32_t* __restrict const zeros = to.zeros.data();
  double lanes[kLanes] = {};
  unsigned any[kLanes] = {};
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (std::size_t k = 0; k < kLanes; ++k) {
      const T v = x[i + k];
      low[i + k] = v < low[i + k] ? v : low[i + k];
      high[i + k] = v > high[i + k] ? v : high[i + k];
      const double square = static_cast<double>(v) * static_cast<double>(v);
      squares[i + k] += square;
      lanes[k] += square;
      any[k] |= static_cast<unsigned>(v != 0);
      if constexpr (kSum) sum[i + k] += static_cast<double>(v);
      if constexpr (kZeros) zeros[i + k] += static_cast<std::uint32_t>(v == 0);
    }
  }
  RowSums row;
  for (std::size_t k = 0; k < kLanes; ++k) row.squares += lanes[k], row.any |= any[k] != 0;
  for (; i < n; ++i) {
    to.add(i, x[i]);
    row.squares += static_cast<double>(x[i]) * static_cast<double>(x[i]);
    row.any |= x[i] != 0;
  }
  return row;
}

/// What a cell has come to.
struct Cell {
  double low = std::numeric_limits<double>::infinity(), high = -std::numeric_limits<double>::infinity();
  double sum = 0, squares = 0;
  std::uint64_t zeros = 0, others = 0;  // others: not finite
  std::uint8_t marks = 0;
};

double pooled(const Cell& cell, Pooling pooling, std::uint64_t count) {
  if (cell.low > cell.high) return std::numeric_limits<double>::quiet_NaN();
  const auto n = static_cast<double>(count - cell.others);
  switch (pooling) {
    case Pooling::absmax: return cell.high >= -cell.low ? cell.high : cell.low;
    case Pooling::mean: return cell.sum / n;
    case Pooling::rms: return std::sqrt(cell.squares / n);
    case Pooling::zeros: return static_cast<double>(cell.zeros) / n;
  }
  return 0;
}

void finish_profile(Profile& profile, std::span<const double> squares, std::span<const std::uint8_t> alive, double count) {
  profile.rms.resize(squares.size());
  std::vector<double> sorted;
  for (std::size_t i = 0; i < squares.size(); ++i) {
    profile.rms[i] = static_cast<float>(std::sqrt(squares[i] / count));
    if (alive[i] != 0) {
      sorted.push_back(std::sqrt(squares[i] / count));
      continue;
    }
    if (count == 1) continue;  // a zero in a vector is no dead row
    ++profile.dead_count;
    if (profile.dead.size() < Profile::kMostNamed) profile.dead.push_back(i);
  }
  if (sorted.size() < kLeastForMedian) return;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::ranges::nth_element(sorted, middle);
  const double median = *middle;
  if (!(median > 0)) return;
  for (std::size_t i = 0; i < squares.size(); ++i)
    if (const double ratio = std::sqrt(squares[i] / count) / median; ratio >= Profile::kHot) profile.hot.push_back({i, ratio});
  sort_stable(profile.hot, std::ranges::greater(), &ProfileFinding::ratio);
  profile.hot_count = profile.hot.size();
  if (profile.hot.size() > Profile::kMostNamed) profile.hot.resize(Profile::kMostNamed);
}

}  // namespace

std::string_view pooling_name(Pooling pooling) { return kPoolings[static_cast<std::size_t>(pooling)]; }

std::optional<Pooling> pooling_from_name(std::string_view name) {
  const auto* found = std::ranges::find(kPoolings, name);
  if (found == std::end(kPoolings)) return std::nullopt;
  return static_cast<Pooling>(found - kPoolings);
}

namespace {

constexpr std::uint64_t kMostCells = std::uint64_t{1} << 26;

/// Steps and size of the grid; none of an empty matrix.
void set_grid(Heatmap& map, const HeatmapRequest& request) {
  if (map.source_rows == 0 || map.source_cols == 0) return;
  map.row_step = (map.source_rows - 1) / request.most_rows + 1;
  map.col_step = (map.source_cols - 1) / request.most_cols + 1;
  const std::uint64_t step = std::max(map.row_step, map.col_step);
  if (request.square && std::min(map.source_rows, map.source_cols) / step >= kLeastSquare) map.row_step = map.col_step = step;
  map.rows = (map.source_rows - 1) / map.row_step + 1;
  map.cols = (map.source_cols - 1) / map.col_step + 1;
}

template <class T>
T difference(T b, T a) {
  const bool same = b == a || (std::isnan(b) && std::isnan(a));
  return same ? T{0} : b - a;
}

bool is_wide(const Tensor& tensor) {
  const DTypeInfo& info = dtype_info(tensor.dtype);
  switch (info.id) {
    case DType::f32:
    case DType::c64:
    case DType::c32:
    case DType::bc32: return false;
    default: return tensor.quantizer == kNone && info.bits > 16;
  }
}

}  // namespace

struct HeatmapJob::State {
  struct Part {
    MatrixView view;
    std::optional<MatrixView> less;               // what is taken away
    std::uint64_t strips_end = 0;                 // rows of cells
    std::uint64_t strip = 0, block = 0, row = 0;  // where it stands; `block` counts columns, `row` rows within the strip
    bool fresh = true;                            // the columns are to be reset
    Columns<float> narrow;
    Columns<double> wide;
    std::vector<float> narrow_values;
    std::vector<double> wide_values;
    std::vector<float> narrow_less;
    std::vector<double> wide_less;
    std::vector<double> col_squares;  // of the profile
    std::vector<std::uint8_t> col_alive;
    std::uint64_t nan = 0, inf = 0;

    Part(MatrixView viewed, std::optional<MatrixView> taken_away) : view(std::move(viewed)), less(std::move(taken_away)) {}
    Result<void> read(std::uint64_t first, std::span<float> out) { return read(first, out, narrow_less); }
    Result<void> read(std::uint64_t first, std::span<double> out) { return read(first, out, wide_less); }

   private:
    template <class T>
    Result<void> read(std::uint64_t first, std::span<T> out, std::vector<T>& other) {
      ASSAY_CHECK(view.read(first, out));
      if (!less) return {};
      other.resize(out.size());
      ASSAY_CHECK(less->read(first, std::span<T>(other)));
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = difference(out[i], other[i]);
      return {};
    }
  };

  Heatmap map;  // without data
  std::vector<Cell> cells;
  std::vector<double> row_squares;
  std::vector<std::uint8_t> row_alive;
  bool wide = false;  // values that a float cannot hold
  bool rows_kept = false, cols_kept = false;
  unsigned element_bits = 0;
  std::vector<Part> parts;
  std::atomic<std::uint64_t> done = 0;

  std::uint64_t strip_rows(std::uint64_t strip) const { return std::min(map.row_step, map.source_rows - strip * map.row_step); }
  template <class T>
  Result<bool> advance(Part& part, Columns<T>& columns, std::vector<T>& values);
  template <class T>
  void take_row(Part& part, Columns<T>& columns, const T* x, std::size_t n);
  template <class T>
  void take_special(Part& part, Columns<T>& columns, std::uint64_t col, T x);
  template <class T>
  void fold_block(Part& part, const Columns<T>& columns, std::size_t n);
  template <class T>
  void end_row(Part& part, const Columns<T>& columns, std::size_t width);
  template <class T>
  Result<bool> sample_strip(Part& part, std::vector<T>& values);
  void count_special(Part& part, Cell& cell, double x);
};

void HeatmapJob::State::count_special(Part& part, Cell& cell, double x) {
  ++cell.others;
  cell.marks |= static_cast<std::uint8_t>(std::isnan(x) ? Heatmap::kNan : x > 0 ? Heatmap::kPosInf : Heatmap::kNegInf);
  ++(std::isnan(x) ? part.nan : part.inf);
}

template <class T>
void HeatmapJob::State::take_row(Part& part, Columns<T>& columns, const T* x, std::size_t n) {
  RowSums sums;
  if (!all_finite(x, n)) {
    for (std::size_t c = 0; c < n; ++c) {
      if (std::isfinite(x[c])) {
        columns.add(c, x[c]);
        sums.squares += static_cast<double>(x[c]) * static_cast<double>(x[c]);
      } else {
        count_special(part, cells[static_cast<std::size_t>(part.strip * map.cols + (part.block + c) / map.col_step)], x[c]);
        if (cols_kept) part.col_alive[static_cast<std::size_t>(part.block) + c] = 1;
      }
      sums.any |= x[c] != 0;
    }
  } else if (map.pooling == Pooling::mean) {
    sums = fold_row<true, false>(x, n, columns);
  } else if (map.pooling == Pooling::zeros) {
    sums = fold_row<false, true>(x, n, columns);
  } else {
    sums = fold_row<false, false>(x, n, columns);
  }
  if (!rows_kept) return;
  const auto row = static_cast<std::size_t>(part.strip * map.row_step + part.row);
  row_squares[row] += sums.squares;
  if (sums.any) row_alive[row] = 1;
}

template <class T>
void HeatmapJob::State::fold_block(Part& part, const Columns<T>& columns, std::size_t n) {
  for (std::size_t c = 0; c < n; ++c) {
    Cell& cell = cells[static_cast<std::size_t>(part.strip * map.cols + (part.block + c) / map.col_step)];
    cell.low = std::min(cell.low, static_cast<double>(columns.low[c]));
    cell.high = std::max(cell.high, static_cast<double>(columns.high[c]));
    cell.sum += columns.sum[c];
    cell.squares += columns.squares[c];
    cell.zeros += columns.zeros[c];
    if (!cols_kept) continue;
    part.col_squares[static_cast<std::size_t>(part.block) + c] += columns.squares[c];
    // A column of no finite value at all has the infinite bounds it began with; its specials have said that it is not dead.
    if (columns.high[c] >= columns.low[c] && (columns.low[c] != 0 || columns.high[c] != 0))
      part.col_alive[static_cast<std::size_t>(part.block) + c] = 1;
  }
}

/// After each row of a block: at the end of a strip its columns are folded, and the next block or strip begins.
template <class T>
void HeatmapJob::State::end_row(Part& part, const Columns<T>& columns, std::size_t width) {
  if (++part.row < strip_rows(part.strip)) return;
  fold_block(part, columns, width);
  part.fresh = true;
  part.row = 0;
  part.block += width;
  if (part.block < map.source_cols) return;
  part.block = 0;
  ++part.strip;
}

template <class T>
Result<bool> HeatmapJob::State::advance(Part& part, Columns<T>& columns, std::vector<T>& values) {
  for (std::uint64_t looked = 0; looked < kStep && part.strip < part.strips_end;) {
    const auto width = static_cast<std::size_t>(std::min<std::uint64_t>(kBlock, map.source_cols - part.block));
    const std::uint64_t row = part.strip * map.row_step + part.row, end = std::min(part.strips_end * map.row_step, map.source_rows);
    // Several rows at once where they stand side by side.
    const std::uint64_t at_once = width == map.source_cols ? std::clamp<std::uint64_t>(kBlock / width, 1, end - row) : 1;
    values.resize(static_cast<std::size_t>(at_once) * width);
    ASSAY_CHECK(part.read(row * map.source_cols + part.block, std::span<T>(values)));
    for (std::size_t at = 0; at < values.size(); at += width) {
      if (part.fresh) columns.reset(width);
      part.fresh = false;
      take_row(part, columns, values.data() + at, width);
      end_row(part, columns, width);
    }
    looked += values.size();
    done += values.size();
  }
  return part.strip == part.strips_end;
}

/// One row of cells from the elements in their middles. A row whose cells are closer than pages is read whole: it costs the same.
template <class T>
Result<bool> HeatmapJob::State::sample_strip(Part& part, std::vector<T>& values) {
  if (part.strip == part.strips_end) return true;
  const std::uint64_t first = (part.strip * map.row_step + strip_rows(part.strip) / 2) * map.source_cols;
  const bool row_at_once = map.col_step * element_bits < kPage * 8 && map.source_cols <= kBlock;
  const auto middle = [&](std::uint64_t col) {
    return col * map.col_step + std::min(map.col_step, map.source_cols - col * map.col_step) / 2;
  };
  values.resize(static_cast<std::size_t>(row_at_once ? map.source_cols : map.cols));
  if (row_at_once) {
    ASSAY_CHECK(part.read(first, std::span<T>(values)));
  } else {
    for (std::uint64_t col = 0; col < map.cols; ++col)
      ASSAY_CHECK(part.read(first + middle(col), std::span<T>(values).subspan(static_cast<std::size_t>(col), 1)));
  }
  for (std::uint64_t col = 0; col < map.cols; ++col) {
    const double x = static_cast<double>(values[static_cast<std::size_t>(row_at_once ? middle(col) : col)]);
    Cell& cell = cells[static_cast<std::size_t>(part.strip * map.cols + col)];
    cell = {};
    if (!std::isfinite(x)) count_special(part, cell, x);
    else cell.low = cell.high = cell.sum = x, cell.squares = x * x, cell.zeros = x == 0;
  }
  done += map.cols;
  ++part.strip;
  return part.strip == part.strips_end;
}

HeatmapJob::HeatmapJob(std::unique_ptr<State> state) : state_(std::move(state)) {}
HeatmapJob::HeatmapJob(HeatmapJob&&) noexcept = default;
HeatmapJob& HeatmapJob::operator=(HeatmapJob&&) noexcept = default;
HeatmapJob::~HeatmapJob() = default;

Result<HeatmapJob> HeatmapJob::make(const Checkpoint& checkpoint, const Tensor& tensor, const HeatmapRequest& request,
                                    const Limits& limits) {
  return make(Subject{checkpoint, tensor}, nullptr, request, limits);
}

Result<HeatmapJob> HeatmapJob::make_difference(const Checkpoint& checkpoint_a, const Tensor& a, const Checkpoint& checkpoint_b,
                                               const Tensor& b, const HeatmapRequest& request, const Limits& limits) {
  if (!std::ranges::equal(a.shape, b.shape))
    return fail(Error(Code::bad_shape, concat("shapes ", bracketed(a.shape), " and ", bracketed(b.shape), " have no difference"))
                    .of_tensor(a.name));
  const Subject less{checkpoint_a, a};
  return make(Subject{checkpoint_b, b}, &less, request, limits);
}

Result<HeatmapJob> HeatmapJob::make(Subject subject, const Subject* less, const HeatmapRequest& request, const Limits& limits) {
  const Tensor& tensor = subject.tensor;
  if (request.most_rows == 0 || request.most_cols == 0) return fail(Code::usage, "a grid without cells");
  const std::vector<AxisRange> slice = request.slice.empty() ? whole(tensor.shape) : request.slice;
  auto state = std::make_unique<State>();
  Heatmap& map = state->map;
  const auto add_part = [&]() -> Result<void> {
    ASSAY_TRY(MatrixView view, MatrixView::make(subject.checkpoint, tensor, slice, request.axes, limits));
    std::optional<MatrixView> other;
    if (less != nullptr) {
      ASSAY_TRY(other, MatrixView::make(less->checkpoint, less->tensor, slice, request.axes, limits));
    }
    state->parts.emplace_back(std::move(view), std::move(other));
    return {};
  };
  ASSAY_CHECK(add_part());
  map.pooling = request.pooling;
  map.exact = !request.sample;
  map.source_rows = state->parts[0].view.rows();
  map.source_cols = state->parts[0].view.cols();
  set_grid(map, request);
  if (map.rows > 0 && map.cols > kMostCells / map.rows)
    return fail(Error(Code::limit_exceeded, concat("a grid of ", map.rows, " × ", map.cols, " cells is more than ", kMostCells))
                    .of_tensor(tensor.name));
  state->cells.resize(static_cast<std::size_t>(map.rows * map.cols));
  state->element_bits = dtype_bits(tensor.dtype);
  state->wide = is_wide(tensor) || (less != nullptr && is_wide(less->tensor));
  state->rows_kept = map.exact && map.rows > 0 && map.source_rows <= kMostRows;
  state->cols_kept = map.exact && map.rows > 0 && map.source_cols <= kMostCols;
  if (state->rows_kept) {
    state->row_squares.resize(static_cast<std::size_t>(map.source_rows));
    state->row_alive.resize(static_cast<std::size_t>(map.source_rows));
  }

  // Of a compressed storage every reader would inflate its own copy.
  const auto produced = [](const Subject& s) { return s.checkpoint.storages[s.tensor.storage].producer != nullptr; };
  const bool whole_parts = !map.exact || produced(subject) || (less != nullptr && produced(*less));
  const std::uint64_t most = whole_parts ? 1 : std::min(kMostParts, std::max<std::uint64_t>(map.rows, 1));
  const std::uint64_t parts = std::clamp<std::uint64_t>(map.source_rows * map.source_cols / kLeastPart, 1, most);
  while (state->parts.size() < parts) ASSAY_CHECK(add_part());
  for (std::uint64_t p = 0; p < parts; ++p) {
    State::Part& part = state->parts[static_cast<std::size_t>(p)];
    part.strip = map.rows * p / parts;
    part.strips_end = map.rows * (p + 1) / parts;
    if (!state->cols_kept) continue;
    part.col_squares.resize(static_cast<std::size_t>(map.source_cols));
    part.col_alive.resize(static_cast<std::size_t>(map.source_cols));
  }
  return HeatmapJob(std::move(state));
}

std::size_t HeatmapJob::parts() const { return state_->parts.size(); }
std::uint64_t HeatmapJob::done() const { return state_->done; }
std::uint64_t HeatmapJob::total() const {
  const Heatmap& map = state_->map;
  return map.exact ? map.source_rows * map.source_cols : map.rows * map.cols;
}
const MatrixView& HeatmapJob::view() const { return state_->parts[0].view; }

Result<bool> HeatmapJob::advance(std::size_t p) {
  State& state = *state_;
  State::Part& part = state.parts[p];
  if (!state.map.exact) return state.wide ? state.sample_strip(part, part.wide_values) : state.sample_strip(part, part.narrow_values);
  return state.wide ? state.advance(part, part.wide, part.wide_values) : state.advance(part, part.narrow, part.narrow_values);
}

Heatmap HeatmapJob::finish() const {
  const State& state = *state_;
  Heatmap map = state.map;
  map.data.reserve(state.cells.size());
  map.marks.reserve(state.cells.size());
  for (std::uint64_t r = 0; r < map.rows; ++r)
    for (std::uint64_t c = 0; c < map.cols; ++c) {
      const Cell& cell = state.cells[static_cast<std::size_t>(r * map.cols + c)];
      const std::uint64_t count = map.exact ? state.strip_rows(r) * std::min(map.col_step, map.source_cols - c * map.col_step) : 1;
      map.data.push_back(pooled(cell, map.pooling, count));
      map.marks.push_back(cell.marks);
      if (std::abs(map.data.back()) > map.absmax) map.absmax = std::abs(map.data.back());
    }
  for (const State::Part& part : state.parts) map.nan += part.nan, map.inf += part.inf;
  if (state.rows_kept) finish_profile(map.row_profile, state.row_squares, state.row_alive, static_cast<double>(map.source_cols));
  if (!state.cols_kept) return map;
  std::vector<double> squares(static_cast<std::size_t>(map.source_cols));
  std::vector<std::uint8_t> alive(squares.size());
  for (const State::Part& part : state.parts)
    for (std::size_t c = 0; c < squares.size(); ++c) squares[c] += part.col_squares[c], alive[c] |= part.col_alive[c];
  finish_profile(map.col_profile, squares, alive, static_cast<double>(map.source_rows));
  return map;
}

}  // namespace assay::analysis
