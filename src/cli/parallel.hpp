// SPDX-License-Identifier: Apache-2.0
// Independent pieces of work on several threads. Results go where the caller's index says, so that their order never depends on
// the threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

#include "cli/process.hpp"

namespace assay::cli {

/// `asked` threads, or as many as there are processors (at most 8) where it is 0.
inline std::size_t thread_count(std::size_t asked) {
  return asked > 0 ? std::min<std::size_t>(asked, 256) : std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, 8);
}

/// Calls work(i) for every i below n, in rising order but at the same time on `threads` threads; show(done) on this one now and
/// then. Stops handing out work after Ctrl-C.
template <class Work, class Show>
void in_parallel_until_interrupted(std::size_t n, std::size_t threads, Work work, Show show) {
  std::atomic<std::size_t> next = 0, done = 0;
  const auto take = [&](bool shows) {
    for (std::size_t i; (i = next++) < n && !interrupted();) {
      work(i);
      ++done;
      if (shows) show(done.load());
    }
  };
  std::vector<std::jthread> others;
  for (std::size_t i = 1; i < std::min(threads, n); ++i) others.emplace_back([&] { take(false); });
  take(true);
}

}  // namespace assay::cli
