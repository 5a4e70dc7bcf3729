// SPDX-License-Identifier: Apache-2.0
// The slice is itself a strided view of the storage: it becomes a Tensor of its own, axes in the matrix's order, which a
// TensorReader then reads. Negative steps are read forwards and turned around; a quantizer per channel is applied here, because its
// axis may have been cut or moved.
#include "analysis/matrix_view.hpp"

#include <algorithm>
#include <cstdlib>

#include "base/text.hpp"
#include "base/try.hpp"
#include "values/blocks.hpp"
#include "values/dequantise.hpp"

namespace assay::analysis {
namespace {

Result<void> check_axis(const Tensor& tensor, std::span<const AxisRange> slice, std::optional<std::size_t> axis, std::string_view what) {
  if (!axis) return {};
  if (*axis >= tensor.shape.size())
    return fail(Error(Code::usage, concat("there is no axis ", *axis, " for the ", what, " of ",
                                          counted(tensor.shape.size(), "dimension", "dimensions")))
                    .of_tensor(tensor.name));
  if (slice[*axis].single)
    return fail(Error(Code::usage, concat("axis ", *axis, " cannot be the ", what, ": the slice takes a single index of it"))
                    .of_tensor(tensor.name));
  return {};
}

Result<std::vector<double>> all_numbers(const Checkpoint& checkpoint, const Tensor& tensor, const Limits& limits) {
  ASSAY_TRY(const TensorReader reader, TensorReader::open(checkpoint, tensor, limits));
  std::vector<double> numbers;
  ASSAY_CHECK(values::for_each_block(reader, [&](std::uint64_t, std::span<const double> block) -> Result<void> {
    numbers.insert(numbers.end(), block.begin(), block.end());
    return {};
  }));
  return numbers;
}

Result<void> read_values(const TensorReader& reader, std::uint64_t first, std::span<double> out) { return reader.read_f64(first, out); }
Result<void> read_values(const TensorReader& reader, std::uint64_t first, std::span<float> out) { return reader.read_f32(first, out); }

}  // namespace

Result<MatrixView> MatrixView::make(const Checkpoint& checkpoint, const Tensor& tensor, std::span<const AxisRange> slice, MatrixAxes axes,
                                    const Limits& limits) {
  // Checks shape, strides and storage once and for all: every slice of what is within bounds is too.
  ASSAY_CHECK(TensorReader::open(checkpoint, tensor, limits));
  if (slice.size() != tensor.shape.size()) return fail(Code::internal, "a slice of another shape");
  ASSAY_CHECK(check_axis(tensor, slice, axes.rows, "rows"));
  ASSAY_CHECK(check_axis(tensor, slice, axes.cols, "columns"));
  if (axes.rows && axes.rows == axes.cols)
    return fail(Error(Code::usage, "rows and columns cannot be the same axis").of_tensor(tensor.name));

  MatrixView view;
  view.slice_.assign(slice.begin(), slice.end());
  for (std::size_t i = 0; i < slice.size(); ++i)
    if (!slice[i].single && axes.rows != i && axes.cols != i) view.row_axes_.push_back(i);
  if (axes.cols) {
    view.cols_axis_ = axes.cols;
  } else if (!view.row_axes_.empty()) {
    view.cols_axis_ = view.row_axes_.back();
    view.row_axes_.pop_back();
  }
  if (axes.rows) view.row_axes_.push_back(*axes.rows);

  view.dims_ = std::make_unique<std::uint64_t[]>(2 * slice.size());
  view.tensor_ = std::make_unique<Tensor>(tensor);
  Tensor& made = *view.tensor_;
  std::size_t n = 0;
  made.numel = 1;
  const auto add_axis = [&](std::size_t axis) {
    const AxisRange& range = slice[axis];
    view.dims_[n] = range.count;
    view.dims_[slice.size() + n] = tensor.stride_of(axis) * static_cast<std::uint64_t>(std::abs(range.step));
    if (range.step < 0) view.reversed_ = true;
    made.numel *= range.count;
    ++n;
  };
  for (const std::size_t axis : view.row_axes_) add_axis(axis), view.rows_ *= slice[axis].count;
  if (view.cols_axis_) add_axis(*view.cols_axis_), view.cols_ = slice[*view.cols_axis_].count;
  made.shape = {view.dims_.get(), n};
  made.stride = {view.dims_.get() + slice.size(), n};
  if (made.numel > 0)
    for (std::size_t i = 0; i < slice.size(); ++i)
      made.storage_offset += (slice[i].step < 0 ? slice[i].at(slice[i].count - 1) : slice[i].first) * tensor.stride_of(i);

  if (tensor.quantizer != kNone) {
    const Quantizer& quantizer = checkpoint.quantizers[tensor.quantizer];
    view.quantised_ = true;
    if (quantizer.per_channel()) {
      view.channel_axis_ = quantizer.axis;
      ASSAY_TRY(view.scales_, all_numbers(checkpoint, quantizer.scales, limits));
      ASSAY_TRY(view.zero_points_, all_numbers(checkpoint, quantizer.zero_points, limits));
      made.quantizer = kNone;
    }
  }
  ASSAY_TRY(view.reader_, TensorReader::open(checkpoint, made, limits));
  return view;
}

std::vector<std::uint64_t> MatrixView::place(std::uint64_t row, std::uint64_t col) const {
  std::vector<std::uint64_t> index(slice_.size());
  for (std::size_t i = 0; i < slice_.size(); ++i)
    if (slice_[i].single) index[i] = slice_[i].first;
  for (std::size_t i = row_axes_.size(); i-- > 0;) {
    const AxisRange& range = slice_[row_axes_[i]];
    index[row_axes_[i]] = range.at(row % range.count);
    row /= range.count;
  }
  if (cols_axis_) index[*cols_axis_] = slice_[*cols_axis_].at(col);
  return index;
}

std::uint64_t MatrixView::stored_row(std::uint64_t row) const {
  std::uint64_t stored = 0, place = 1;
  for (std::size_t i = row_axes_.size(); i-- > 0;) {
    const AxisRange& range = slice_[row_axes_[i]];
    const std::uint64_t at = row % range.count;
    stored += (range.step < 0 ? range.count - 1 - at : at) * place;
    place *= range.count;
    row /= range.count;
  }
  return stored;
}

std::uint64_t MatrixView::stored_index(std::uint64_t row, std::uint64_t col) const {
  const bool turned = cols_axis_ && slice_[*cols_axis_].step < 0;
  return stored_row(row) * cols_ + (turned ? cols_ - 1 - col : col);
}

template <class T>
Result<void> MatrixView::dequantise(std::uint64_t row, std::uint64_t col, std::span<const double> codes, std::span<T> out) const {
  const auto axis = *channel_axis_;
  const bool along = cols_axis_ == axis;
  const std::uint64_t fixed = along ? 0 : place(row, 0)[axis];
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const std::uint64_t channel = along ? slice_[axis].at(col + i) : fixed;
    if (channel >= scales_.size() || channel >= zero_points_.size())
      return fail(Code::malformed_tensor, concat("channel ", channel, " has no scale"));
    out[i] = values::dequantised(codes[i], zero_points_[static_cast<std::size_t>(channel)], scales_[static_cast<std::size_t>(channel)]);
  }
  return {};
}

/// Within one row.
template <class T>
Result<void> MatrixView::read_row(std::uint64_t row, std::uint64_t col, std::span<T> out) const {
  const bool turned = cols_axis_ && slice_[*cols_axis_].step < 0;
  const std::uint64_t first = turned ? stored_index(row, col + out.size() - 1) : stored_index(row, col);
  if (!channel_axis_) {
    ASSAY_CHECK(read_values(*reader_, first, out));
    if (turned) std::ranges::reverse(out);
    return {};
  }
  std::vector<double> codes(out.size());
  ASSAY_CHECK(reader_->read_f64(first, codes));
  if (turned) std::ranges::reverse(codes);
  return dequantise(row, col, std::span<const double>(codes), out);
}

template <class T>
Result<void> MatrixView::read_as(std::uint64_t first, std::span<T> out) const {
  if (!reversed_ && !channel_axis_) return read_values(*reader_, first, out);
  while (!out.empty()) {
    const std::uint64_t row = first / cols_, col = first % cols_;
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), cols_ - col));
    ASSAY_CHECK(read_row(row, col, out.first(n)));
    out = out.subspan(n);
    first += n;
  }
  return {};
}

template Result<void> MatrixView::read_as(std::uint64_t, std::span<double>) const;
template Result<void> MatrixView::read_as(std::uint64_t, std::span<float>) const;

}  // namespace assay::analysis
