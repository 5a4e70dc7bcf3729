// SPDX-License-Identifier: Apache-2.0
// Independent pieces of work on several threads, where there are any.
#pragma once

#include <cstddef>
#include <functional>

namespace assay {

/// Calls work(i, worker) for every i below n, handed out in rising order; `worker`, below `threads`, belongs to one thread at a time, 0 to
/// the calling one. `watch` is called on the calling thread between its pieces; false ends the work early, and then this gives false.
/// What one piece gives must not depend on the others: then the outcome is the same for any number of threads.
bool in_parallel(std::size_t n, std::size_t threads, const std::function<void(std::size_t i, std::size_t worker)>& work,
                 const std::function<bool()>& watch = {});

/// Calls make(i) for every i below n, several at once, and take(i) for one after the other, in rising order: each as soon as it is made and
/// those before it are taken, on any of the threads. What is made and not yet taken is at most twice as much as there are threads. False
/// from `take` ends the work, and then this gives false. `first`, which is apart from all of that, is called on the calling thread before
/// it joins the others.
bool in_order(std::size_t n, std::size_t threads, const std::function<void(std::size_t i)>& make,
              const std::function<bool(std::size_t i)>& take, const std::function<void()>& first);

}  // namespace assay
