// SPDX-License-Identifier: Apache-2.0
#include "analysis/summary.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <span>

#include "base/arith.hpp"
#include "base/sort.hpp"

namespace assay::analysis {
namespace {

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

void add(std::uint64_t& sum, std::uint64_t n) { sum = checked_add(sum, n).value_or(kMost); }

/// Orders tensors so that equal views of one storage stand together, the earliest first.
bool view_less(std::span<const Tensor> tensors, std::uint32_t a, std::uint32_t b) {
  const Tensor& x = tensors[a];
  const Tensor& y = tensors[b];
  if (x.storage != y.storage) return x.storage < y.storage;
  if (x.storage_offset != y.storage_offset) return x.storage_offset < y.storage_offset;
  if (x.dtype != y.dtype) return x.dtype < y.dtype;
  if (!std::ranges::equal(x.shape, y.shape)) return std::ranges::lexicographical_compare(x.shape, y.shape);
  for (std::size_t i = 0; i < x.shape.size(); ++i)
    if (x.stride_of(i) != y.stride_of(i)) return x.stride_of(i) < y.stride_of(i);
  return a < b;
}

bool same_view(const Tensor& x, const Tensor& y) {
  if (x.storage != y.storage || x.storage_offset != y.storage_offset || x.dtype != y.dtype || !std::ranges::equal(x.shape, y.shape))
    return false;
  for (std::size_t i = 0; i < x.shape.size(); ++i)
    if (x.stride_of(i) != y.stride_of(i)) return false;
  return true;
}

/// Gives parameters to every tensor that is not a tie of an earlier one. Only tensors that share a storage need comparing; false where
/// none do.
bool share_parameters(const Checkpoint& checkpoint, Summary& summary) {
  const std::span<const Tensor> tensors = checkpoint.tensors;
  enum : std::uint8_t { kNobody, kOne, kSeveral };
  std::vector<std::uint8_t> users(checkpoint.storages.size(), kNobody);
  bool any_shared = false;
  for (const Tensor& tensor : tensors) {
    if (tensor.storage == kNone) continue;
    std::uint8_t& n = users[tensor.storage];
    any_shared = any_shared || n != kNobody;
    n = n == kNobody ? kOne : kSeveral;
  }
  std::vector<std::uint32_t> shared;
  for (std::uint32_t i = 0; i < tensors.size(); ++i) {
    if (any_shared && tensors[i].storage != kNone && users[tensors[i].storage] == kSeveral) shared.push_back(i);
    else summary.shares[i].parameters = distinct_elements(tensors[i]);
  }
  sort_stable(shared, [&](std::uint32_t a, std::uint32_t b) { return view_less(tensors, a, b); });
  for (std::size_t i = 0, first = 0; i < shared.size(); ++i) {
    if (i == 0 || !same_view(tensors[shared[i - 1]], tensors[shared[i]])) {
      first = i;
      summary.shares[shared[i]].parameters = distinct_elements(tensors[shared[i]]);
    } else if (tensors[shared[i]].numel > 0) {
      summary.ties.push_back({shared[i], shared[first]});
    }
  }
  sort_stable(summary.ties, [](const Summary::Tie& a, const Summary::Tie& b) { return a.tensor < b.tensor; });
  return any_shared;
}

}  // namespace

std::uint64_t distinct_elements(const Tensor& tensor) {
  if (tensor.numel == 0 || tensor.stride.empty()) return tensor.numel;
  std::uint64_t n = 1;
  for (std::size_t i = 0; i < tensor.shape.size(); ++i)
    if (tensor.stride[i] != 0) n = checked_mul(n, tensor.shape[i]).value_or(kMost);
  return n;
}

Summary summarize(const Checkpoint& checkpoint) {
  Summary summary;
  summary.tensor_count = checkpoint.tensors.size();
  summary.shares.resize(checkpoint.tensors.size());
  const bool any_shared = share_parameters(checkpoint, summary);
  for (const CheckpointFile& file : checkpoint.files) add(summary.file_size, file.size);

  std::array<DTypeCount, 256> counts{};  // a DType is one byte
  std::vector<bool> counted(any_shared ? checkpoint.storages.size() : 0, false);
  for (std::size_t i = 0; i < checkpoint.tensors.size(); ++i) {
    const Tensor& tensor = checkpoint.tensors[i];
    DTypeCount& count = counts[static_cast<std::size_t>(tensor.dtype)];
    ++count.tensors;
    summary.unreadable += !tensor.readable;
    add(summary.parameters, summary.shares[i].parameters);
    if (tensor.storage == kNone) continue;
    if (any_shared) {
      if (counted[tensor.storage]) continue;
      counted[tensor.storage] = true;
    }
    const std::uint64_t bytes = checkpoint.storages[tensor.storage].nbytes;
    const unsigned bits = dtype_bits(tensor.dtype);
    // 8 * bytes may overflow: whole bytes first, then what the remainder holds.
    const std::uint64_t elements = bits == 0       ? tensor.numel
                                   : bits % 8 == 0 ? bytes / (bits / 8)
                                                   : bytes / bits * 8 + bytes % bits * 8 / bits;
    summary.shares[i].bytes = bytes;
    add(count.elements, elements);
    add(count.bytes, bytes);
    add(summary.elements, elements);
    add(summary.tensor_bytes, bytes);
  }
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i].tensors == 0) continue;
    counts[i].dtype = static_cast<DType>(i);
    summary.dtypes.push_back(counts[i]);
  }
  sort_stable(summary.dtypes, [](const DTypeCount& a, const DTypeCount& b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : dtype_name(a.dtype) < dtype_name(b.dtype);
  });
  return summary;
}

}  // namespace assay::analysis
