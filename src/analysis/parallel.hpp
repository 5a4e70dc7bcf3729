// SPDX-License-Identifier: Apache-2.0
// Independent pieces of work on several threads, where there are any.
#pragma once

#include <cstddef>
#include <functional>

namespace assay::analysis {

/// Calls work(i, worker) for every i below n, handed out in rising order; `worker`, below `threads`, belongs to one thread at a time, 0 to
/// the calling one. `watch` is called on the calling thread between its pieces; false ends the work early, and then this gives false.
/// What one piece gives must not depend on the others: then the outcome is the same for any number of threads.
bool in_parallel(std::size_t n, std::size_t threads, const std::function<void(std::size_t i, std::size_t worker)>& work,
                 const std::function<bool()>& watch = {});

}  // namespace assay::analysis
