// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <thread>

#include "analysis/stats_run.hpp"

namespace assay::analysis {

bool run_all(StatsRun& run, const std::function<bool()>& watch) {
  std::atomic<bool> stopped = false;
  do {
    std::atomic<std::size_t> next = 0;
    const auto take = [&](std::size_t worker) {
      for (std::size_t step; (step = next++) < run.steps() && !stopped;) {
        run.run(step, worker);
        if (worker == 0 && watch && !watch()) stopped = true;
      }
    };
    std::vector<std::jthread> others;
    for (std::size_t worker = 1; worker < std::min(run.workers(), run.steps()); ++worker) others.emplace_back(take, worker);
    take(0);
  } while (!stopped && run.next_round());
  return !stopped;
}

}  // namespace assay::analysis
