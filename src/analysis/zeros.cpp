// SPDX-License-Identifier: Apache-2.0
#include "analysis/zeros.hpp"

#include <algorithm>

namespace assay::analysis {

namespace {
// Most ends are no zeros: the first look is a short one.
constexpr std::uint64_t kFirst = 512, kBlock = std::uint64_t{1} << 18;

bool is_zero(std::byte b) { return b == std::byte{0}; }
}  // namespace

Work<std::uint64_t> zeros_begin(const ByteSource& source, std::uint64_t from, std::uint64_t end) {
  for (std::uint64_t look = kFirst; end > from; look = kBlock) {
    const std::uint64_t n = std::min(look, end - from);
    ASSAY_READ_INTO(const ByteBlock block, source.view(end - n, n));
    const auto bytes = block.view().span();
    for (std::size_t i = bytes.size(); i-- > 0;)
      if (!is_zero(bytes[i])) co_return end - n + i + 1;
    end -= n;
  }
  co_return end;
}

Work<std::uint64_t> zeros_end(const ByteSource& source, std::uint64_t begin, std::uint64_t to) {
  for (std::uint64_t look = kFirst; begin < to; look = kBlock) {
    const std::uint64_t n = std::min(look, to - begin);
    ASSAY_READ_INTO(const ByteBlock block, source.view(begin, n));
    const auto bytes = block.view().span();
    const auto other = std::ranges::find_if_not(bytes, is_zero);
    if (other != bytes.end()) co_return begin + static_cast<std::uint64_t>(other - bytes.begin());
    begin += n;
  }
  co_return begin;
}

}  // namespace assay::analysis
