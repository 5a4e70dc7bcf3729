// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "base/parallel.hpp"

namespace assay {

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

bool in_order(std::size_t n, std::size_t threads, const std::function<void(std::size_t)>& make,
              const std::function<bool(std::size_t)>& take, const std::function<void()>& first) {
  threads = std::min(threads, n);
  if (threads < 2) {
    first();
    for (std::size_t i = 0; i < n; ++i) {
      make(i);
      if (!take(i)) return false;
    }
    return true;
  }
  std::mutex mutex;  // of what follows
  std::condition_variable room;
  std::size_t next = 0, taken = 0;
  std::vector<bool> made(n);
  bool taking = false, stopped = false;
  const auto work = [&] {
    std::unique_lock lock(mutex);
    while (true) {
      room.wait(lock, [&] { return stopped || next == n || next < taken + 2 * threads; });
      if (stopped || next == n) return;
      const std::size_t i = next++;
      lock.unlock();
      make(i);
      lock.lock();
      made[i] = true;
      if (taking) continue;  // whoever takes looks again when done
      taking = true;
      while (!stopped && taken < n && made[taken]) {
        lock.unlock();
        const bool go_on = take(taken);
        lock.lock();
        stopped = !go_on;
        ++taken;
        room.notify_all();
      }
      taking = false;
    }
  };
  std::vector<std::jthread> others;
  for (std::size_t worker = 1; worker < threads; ++worker) others.emplace_back(work);
  // Where memory runs out on this thread, the others must not wait for what it had begun.
  struct Ending {
    std::mutex& mutex;
    std::condition_variable& room;
    bool& stopped;
    bool regular = false;
    ~Ending() {
      if (regular) return;
      const std::lock_guard lock(mutex);
      stopped = true;
      room.notify_all();
    }
  } ending{mutex, room, stopped};
  first();
  work();
  ending.regular = true;
  others.clear();
  return !stopped;
}

}  // namespace assay
