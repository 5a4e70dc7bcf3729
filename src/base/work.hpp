// SPDX-License-Identifier: Apache-2.0
// Work that can wait for bytes. A function that reads much and returns Work<T> is a coroutine: where a range is missing it stops, and
// goes on there, with all it has found, once the host has brought the range. What it read before is behind it, and may be taken back.
//
//   Work<double> sum(const TensorReader& reader) {
//     …
//     ASSAY_READ(reader.read_f64(at, block));     waits for the bytes of this block; any other error is returned
//     ASSAY_AWAIT(const double more, sum(other)); waits with it
//     co_return total;
//   }
//
// Where everything is at hand, `sum(reader).go_on()` is a plain call, and costs one allocation. Arguments that are references must live as
// long as the work.
#pragma once

#include <coroutine>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

#include "assay/result.hpp"
#include "base/try.hpp"

namespace assay {

/// What the coroutines of one piece of work share: who runs, and what it waits for.
struct WorkChain {
  std::coroutine_handle<> current;
  std::optional<Error> missing;

  /// Until `root` is done, or something is missing.
  bool run(std::coroutine_handle<> root) {
    missing.reset();
    while (!root.done()) {
      current.resume();
      if (missing) return false;
    }
    return true;
  }
};

struct WorkPromise {
  WorkChain own;  // of the outermost
  WorkChain* chain = nullptr;
  std::coroutine_handle<> parent;

  struct Final {
    bool await_ready() noexcept { return false; }
    template <class Promise>
    void await_suspend(std::coroutine_handle<Promise> ended) noexcept {
      if (ended.promise().parent) ended.promise().chain->current = ended.promise().parent;
    }
    void await_resume() noexcept {}
  };
  std::suspend_always initial_suspend() noexcept { return {}; }
  Final final_suspend() noexcept { return {}; }
  // What the standard library throws (out of memory) goes on to whoever called go_on().
#ifdef __cpp_exceptions
  void unhandled_exception() { std::rethrow_exception(std::current_exception()); }
#else
  void unhandled_exception() noexcept {}
#endif
};

template <class T>
class [[nodiscard]] Work {
 public:
  struct promise_type : WorkPromise {
    std::optional<Result<T>> result;
    Work get_return_object() { return Work(std::coroutine_handle<promise_type>::from_promise(*this)); }
    void return_value(Result<T> value) { result.emplace(std::move(value)); }
  };

  Work(Work&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Work& operator=(Work&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Work() {
    if (handle_) handle_.destroy();
  }

  /// To the end; or to the first range that is missing, and then `need-range`: call again when it is there. Not after the end.
  Result<T> go_on() {
    promise_type& promise = handle_.promise();
    WorkChain& chain = promise.own;
    if (promise.chain == nullptr) {
      promise.chain = &chain;
      chain.current = handle_;
    }
    if (!chain.run(handle_)) return fail(std::move(*chain.missing));
    return *std::move(promise.result);
  }

  // For co_await in other work.
  bool await_ready() const { return false; }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> parent) {
    handle_.promise().chain = parent.promise().chain;
    handle_.promise().parent = parent;
    handle_.promise().chain->current = handle_;
  }
  Result<T> await_resume() { return *std::move(handle_.promise().result); }

 private:
  explicit Work(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  std::coroutine_handle<promise_type> handle_;
};

/// Awaits the next go_on(), which should come when the range is there.
class Missing {
 public:
  explicit Missing(Error error) : error_(std::move(error)) {}
  bool await_ready() const { return false; }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> waits) {
    waits.promise().chain->current = waits;
    waits.promise().chain->missing = std::move(error_);
  }
  void await_resume() const {}

 private:
  Error error_;
};
template <class T>
bool lacks_range(const Result<T>& result) {
  return !result && result.error().code() == Code::need_range;
}

}  // namespace assay

/// As ASSAY_TRY and ASSAY_CHECK, of other work in work.
#define ASSAY_AWAIT(declaration, expression) ASSAY_AWAIT_(declaration, expression, ASSAY_JOIN(assay_result_, __LINE__))
#define ASSAY_AWAIT_(declaration, expression, result)                \
  auto result = co_await (expression);                               \
  if (!result) co_return std::unexpected(std::move(result).error()); \
  declaration = *std::move(result)

#define ASSAY_AWAIT_CHECK(expression) \
  if (auto assay_checked = co_await (expression); !assay_checked) co_return std::unexpected(std::move(assay_checked).error())

/// The same of a plain call, which never lacks a range.
#define ASSAY_TAKE(declaration, expression) ASSAY_TAKE_(declaration, expression, ASSAY_JOIN(assay_result_, __LINE__))
#define ASSAY_TAKE_(declaration, expression, result)                 \
  auto result = (expression);                                        \
  if (!result) co_return std::unexpected(std::move(result).error()); \
  declaration = *std::move(result)

/// The same of a call that reads, made again after each range that was missing: it must change nothing before it fails so.
#define ASSAY_READ(expression)                                                                            \
  for (;;)                                                                                                \
    if (auto assay_read = (expression); assay_read) break;                                                \
    else if (!::assay::lacks_range(assay_read)) co_return std::unexpected(std::move(assay_read).error()); \
    else co_await ::assay::Missing(std::move(assay_read).error())

#define ASSAY_READ_INTO(declaration, expression) ASSAY_READ_INTO_(declaration, expression, ASSAY_JOIN(assay_result_, __LINE__))
#define ASSAY_READ_INTO_(declaration, expression, result)              \
  std::optional<std::remove_cvref_t<decltype(expression)>> result;     \
  for (;;) {                                                           \
    result.emplace(expression);                                        \
    if (!::assay::lacks_range(*result)) break;                         \
    co_await ::assay::Missing(std::move(*result).error());             \
  }                                                                    \
  if (!*result) co_return std::unexpected(std::move(*result).error()); \
  declaration = **std::move(result)
