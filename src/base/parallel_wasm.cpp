// SPDX-License-Identifier: Apache-2.0
#include "base/parallel.hpp"

namespace assay {

bool in_parallel(std::size_t n, std::size_t, const std::function<void(std::size_t, std::size_t)>& work,
                 const std::function<bool()>& watch) {
  for (std::size_t i = 0; i < n; ++i) {
    work(i, 0);
    if (watch && !watch()) return false;
  }
  return true;
}

bool in_order(std::size_t n, std::size_t, const std::function<void(std::size_t)>& make, const std::function<bool(std::size_t)>& take,
              const std::function<void()>& first) {
  first();
  for (std::size_t i = 0; i < n; ++i) {
    make(i);
    if (!take(i)) return false;
  }
  return true;
}

}  // namespace assay
