// SPDX-License-Identifier: Apache-2.0
// Statistics of many tensors, cut into steps that any number of threads may take: the numbers are the same for one and for many.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "analysis/stats.hpp"

namespace assay::analysis {

/// Rounds of steps: all steps of a round, in any order and on any thread, then next_round(), until that gives false. Or, for a host that
/// fetches ranges, advance() until that gives false.
class StatsRun {
 public:
  /// `workers` is how many threads take steps. The checkpoint must outlive the run.
  StatsRun(const Checkpoint& checkpoint, std::vector<const Tensor*> tensors, std::size_t workers, const StatsOptions& options = {});
  ~StatsRun();
  StatsRun(const StatsRun&) = delete;
  StatsRun& operator=(const StatsRun&) = delete;

  std::size_t workers() const;
  std::size_t steps() const { return steps_.size(); }
  /// From several threads at once, each with a worker of its own.
  void run(std::size_t step, std::size_t worker);
  bool next_round();

  /// Instead of all that, on one thread: measures the next few MiB; false where there were none left. After `need-range` nothing has
  /// changed: call again when the bytes are there. Those of earlier calls may be gone by then.
  Result<bool> advance();

  /// What a tensor costs at most, in all rounds; 0 for one whose bytes cannot be right.
  static std::uint64_t bytes_of(const Checkpoint& checkpoint, const Tensor& tensor, const StatsOptions& options);

  std::uint64_t bytes() const { return bytes_; }  ///< to be read in all rounds that are known of
  std::uint64_t bytes_done() const { return bytes_done_.load(std::memory_order_relaxed); }

  /// What is known of tensor i of those given: `exact` is false, and `measured` below numel, where steps were not taken. Also
  /// after a run that was ended early. Once for each tensor.
  Result<Stats> result(std::size_t i);

 private:
  struct Job;
  struct Work;
  struct Worker;
  struct Unit {
    std::uint32_t job, bytes;
    std::uint64_t first, count;  // elements
  };
  struct Step {
    std::size_t begin, end;  // units
  };

  bool is_plain(const Tensor& tensor) const;
  void prepare(std::uint32_t job);
  void add_units(std::uint32_t job);
  void make_steps();
  std::size_t run_plain(std::size_t unit, std::size_t end);
  Result<void> take(std::size_t unit, std::size_t w, bool whole);
  Result<void> measure(Work& work, const Unit& unit, std::size_t number, Worker& worker, std::size_t w, bool whole);
  void finish_round(Work& work);
  void conclude(Work& work);

  const Checkpoint* checkpoint_;
  StatsOptions options_;
  std::vector<std::uint64_t> mapped_;  // bytes of each file that is mapped, 0 of others
  std::vector<Job> jobs_;
  std::vector<Worker> workers_;
  std::vector<Unit> units_;
  std::vector<Step> steps_;
  std::size_t next_unit_ = 0;  ///< of advance()
  std::uint64_t bytes_ = 0;
  std::atomic<std::uint64_t> bytes_done_ = 0;
};

/// Takes all steps of all rounds on as many threads as the run has workers, this one among them; where there are no threads one after
/// another. `watch` is called on this thread between steps; false ends the run early, and then this gives false.
bool run_all(StatsRun& run, const std::function<bool()>& watch = {});

}  // namespace assay::analysis
