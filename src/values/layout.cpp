// SPDX-License-Identifier: Apache-2.0
#include "values/layout.hpp"

#include "base/arith.hpp"
#include "base/text.hpp"

namespace assay::values {

namespace {

/// Folds neighbours where a step of the outer dimension is a whole walk of the inner one, and drops dimensions of one element.
void append_dim(std::vector<Layout::Dim>& dims, Layout::Dim next) {
  if (next.size == 1) return;
  if (!dims.empty()) {
    Layout::Dim& outer = dims.back();
    const auto walk = checked_mul(next.size, next.stride);
    if (walk && *walk == outer.stride) {
      outer = {outer.size * next.size, next.stride};
      return;
    }
  }
  dims.push_back(next);
}

Result<std::uint64_t> checked_numel(const Tensor& tensor) {
  std::uint64_t numel = 1;
  bool empty = false;
  for (const std::uint64_t size : tensor.shape) {
    empty = empty || size == 0;
    const auto product = checked_mul(numel, size);
    if (!product && !empty) return fail(Code::shape_overflow, concat("the product of shape ", bracketed(tensor.shape), " exceeds 64 bits"));
    numel = product.value_or(0);
  }
  if (empty) numel = 0;
  if (numel != tensor.numel)
    return fail(Error(Code::bad_shape, concat("shape ", bracketed(tensor.shape), " holds ", numel, " elements, not ", tensor.numel))
                    .expected_found(numel, tensor.numel));
  return numel;
}

/// The last element a tensor reaches, counted from the start of its storage; nothing on overflow.
std::optional<std::uint64_t> last_element(const Tensor& tensor, std::span<const Layout::Dim> dims) {
  std::uint64_t last = tensor.storage_offset;
  for (const auto& [size, stride] : dims) {
    const auto reach = checked_mul(size - 1, stride);
    const auto sum = reach ? checked_add(last, *reach) : std::nullopt;
    if (!sum) return std::nullopt;
    last = *sum;
  }
  return last;
}

}  // namespace

Result<Layout> make_layout(const Tensor& tensor, std::uint64_t storage_bytes, const Limits& limits) {
  if (tensor.shape.size() > limits.rank)
    return fail(Code::limit_exceeded, concat("a tensor of ", tensor.shape.size(), " dimensions; the limit is ", limits.rank));
  if (!tensor.stride.empty() && tensor.stride.size() != tensor.shape.size())
    return fail(Code::bad_stride, concat("strides ", bracketed(tensor.stride), " do not fit shape ", bracketed(tensor.shape)));
  auto numel = checked_numel(tensor);
  if (!numel) return fail(std::move(numel).error());

  Layout layout;
  layout.numel = *numel;
  if (layout.numel == 0) return layout;  // torch lets an empty tensor have any strides and any offset
  layout.base = tensor.storage_offset;
  // Without strides the tensor is one run; stride_of() would make this quadratic in the rank.
  if (tensor.stride.empty()) append_dim(layout.dims, {layout.numel, 1});
  else
    for (std::size_t i = 0; i < tensor.shape.size(); ++i) append_dim(layout.dims, {tensor.shape[i], tensor.stride[i]});

  const auto last = last_element(tensor, layout.dims);
  const auto elements = last ? checked_add(*last, 1) : std::nullopt;
  const auto bits = elements ? checked_mul(*elements, dtype_bits(tensor.dtype)) : std::nullopt;
  if (!bits || bits_to_bytes(*bits) > storage_bytes) {
    const std::string reach = elements ? concat(*elements) : std::string("more than 2^64");
    return fail(Code::out_of_storage,
                concat("reaches ", reach, " elements of ", dtype_name(tensor.dtype), " into a storage of ", storage_bytes, " bytes"));
  }
  return layout;
}

Layout::Extent Layout::extent(std::uint64_t first, std::uint64_t n) const {
  Extent found{base, base};
  std::uint64_t from = first, to = first + n - 1;
  for (std::size_t d = dims.size(); d-- > 0;) {
    const auto& [size, stride] = dims[d];
    const std::uint64_t a = from % size, b = to % size;
    from /= size;
    to /= size;
    // Where the outer indices differ this dimension may run its whole course.
    const bool bounded = from == to;
    found.first += bounded ? a * stride : 0;
    found.last += (bounded ? b : size - 1) * stride;
  }
  return found;
}

}  // namespace assay::values
