// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "analysis/parallel.hpp"

namespace assay::analysis {

bool in_parallel(std::size_t n, std::size_t threads, const std::function<void(std::size_t, std::size_t)>& work,
                 const std::function<bool()>& watch) {
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> stopped = false;
  const auto take = [&](std::size_t worker) {
    for (std::size_t i; (i = next++) < n && !stopped;) {
      work(i, worker);
      if (worker == 0 && watch && !watch()) stopped = true;
    }
  };
  std::vector<std::jthread> others;
  for (std::size_t worker = 1; worker < std::min(threads, n); ++worker) others.emplace_back(take, worker);
  take(0);
  return !stopped;
}

}  // namespace assay::analysis
