// SPDX-License-Identifier: Apache-2.0
#include "analysis/stats_run.hpp"

namespace assay::analysis {

bool run_all(StatsRun& run, const std::function<bool()>& watch) {
  do {
    for (std::size_t step = 0; step < run.steps(); ++step) {
      run.run(step, 0);
      if (watch && !watch()) return false;
    }
  } while (run.next_round());
  return true;
}

}  // namespace assay::analysis
