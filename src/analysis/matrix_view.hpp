// SPDX-License-Identifier: Apache-2.0
// A tensor, or a slice of one, as a matrix: one axis along the columns, the others stacked along the rows.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "analysis/slice.hpp"
#include "assay/values.hpp"

namespace assay::analysis {

struct MatrixAxes {
  std::optional<std::size_t> rows;  ///< the axis whose index changes fastest down the rows; the last one that is left without it
  std::optional<std::size_t> cols;  ///< the axis along the columns; the last one that is no single index without it
};

/// Reads through strides: nothing is copied but what is asked for. The Checkpoint must outlive it; the Tensor need not. For one
/// thread at a time.
class MatrixView {
 public:
  /// `slice` is one range an axis. Fails as TensorReader::open does, and with `usage` for axes that there are not, or that the slice
  /// made a single index. A scalar is 1 × 1, one axis is one row.
  static Result<MatrixView> make(const Checkpoint& checkpoint, const Tensor& tensor, std::span<const AxisRange> slice, MatrixAxes axes = {},
                                 const Limits& limits = {});

  std::uint64_t rows() const { return rows_; }
  std::uint64_t cols() const { return cols_; }
  /// Of the slice, the tensor's own where it is all of it.
  DType dtype() const { return tensor_->dtype; }
  /// True where values are dequantised.
  bool quantised() const { return quantised_; }

  /// Elements [first, first + out.size()) of the matrix in row-major order, as TensorReader reads them.
  Result<void> read(std::uint64_t first, std::span<double> out) const { return read_as(first, out); }
  Result<void> read(std::uint64_t first, std::span<float> out) const { return read_as(first, out); }
  /// The slice in the order it is stored, for reading codes and whole numbers: the same elements in the same order where reversed() is
  /// false.
  const TensorReader& reader() const { return *reader_; }
  /// True where a step is negative: reading then goes row by row.
  bool reversed() const { return reversed_; }
  /// Where element (row, col) of the matrix stands among the elements of reader().
  std::uint64_t stored_index(std::uint64_t row, std::uint64_t col) const;

  /// The tensor's index along every axis of a place in the matrix.
  std::vector<std::uint64_t> place(std::uint64_t row, std::uint64_t col) const;
  /// The axis along the columns; nothing for a scalar.
  std::optional<std::size_t> col_axis() const { return cols_axis_; }
  /// The axes along the rows, slowest first.
  std::span<const std::size_t> row_axes() const { return row_axes_; }

 private:
  MatrixView() = default;
  template <class T>
  Result<void> read_as(std::uint64_t first, std::span<T> out) const;
  template <class T>
  Result<void> read_row(std::uint64_t row, std::uint64_t col, std::span<T> out) const;
  template <class T>
  Result<void> dequantise(std::uint64_t row, std::uint64_t col, std::span<const double> codes, std::span<T> out) const;
  std::uint64_t stored_row(std::uint64_t row) const;

  std::uint64_t rows_ = 1, cols_ = 1;
  std::vector<AxisRange> slice_;
  std::vector<std::size_t> row_axes_;
  std::optional<std::size_t> cols_axis_;
  bool reversed_ = false, quantised_ = false;
  std::unique_ptr<std::uint64_t[]> dims_;  // the view's shape, then its strides
  std::unique_ptr<Tensor> tensor_;
  std::optional<TensorReader> reader_;
  std::optional<std::size_t> channel_axis_;  // of a quantizer per channel: then reader_ gives the stored integers
  std::vector<double> scales_, zero_points_;
};

}  // namespace assay::analysis
