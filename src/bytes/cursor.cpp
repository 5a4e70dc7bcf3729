// SPDX-License-Identifier: Apache-2.0
#include "bytes/cursor.hpp"

#include <cstring>

#include "base/text.hpp"

namespace assay {

void Cursor::fail(Error error) {
  if (!error_) error_ = std::move(error);
  position_ = bytes_.size();
}

ByteView Cursor::take(std::uint64_t n, std::string_view what) {
  if (n > left() || !ok()) {
    if (ok())
      fail(Error(Code::truncated,
                 concat(what, " needs ", n, n == 1 ? " byte, " : " bytes, ", left(), left() == 1 ? " is left" : " are left"))
               .at(offset())
               .expected_found(n, left()));
    return {};
  }
  const ByteView taken = bytes_.slice(position_, static_cast<std::size_t>(n));
  position_ += static_cast<std::size_t>(n);
  return taken;
}

std::string_view Cursor::line(std::string_view what) {
  if (!ok()) return {};
  const ByteView rest = bytes_.from(position_);
  const auto* end = rest.empty() ? nullptr : static_cast<const std::byte*>(std::memchr(rest.data(), '\n', rest.size()));
  if (!end) {
    fail(Error(Code::truncated, concat(what, " has no end of line in the ", left(), " bytes left")).at(offset()));
    return {};
  }
  const std::size_t n = static_cast<std::size_t>(end - rest.data());
  position_ += n + 1;
  return rest.slice(0, n).text();
}

std::uint64_t Cursor::count_u64_le(std::size_t least_size, std::string_view what) {
  const std::uint64_t at = offset();
  const std::uint64_t count = u64_le(what);
  if (!ok()) return 0;
  if (count > left() / least_size) {
    fail(Error(Code::truncated, concat(what, ' ', count, " exceeds the ", left(), " bytes left")).at(at).expected_found(count, left()));
    return 0;
  }
  return count;
}

}  // namespace assay
