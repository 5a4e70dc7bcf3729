// SPDX-License-Identifier: Apache-2.0
#include "cli/process.hpp"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>

#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/text.hpp"
#include "bytes/sigbus_native.hpp"

namespace assay::cli {
namespace {

volatile std::sig_atomic_t g_interrupted = 0;  // the one thing a handler may touch

void on_interrupt(int) { g_interrupted = 1; }

long long now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

}  // namespace

void prepare_process() {
#ifdef __GLIBC__
  // Buffers of a few MiB come and go while a header is read: giving them back to the system each time costs more than the work.
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 256 << 20);
  mallopt(M_TOP_PAD, 4 << 20);
#endif
  struct sigaction interrupt = {};
  interrupt.sa_handler = on_interrupt;
  interrupt.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &interrupt, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  install_sigbus_guard();
}

bool interrupted() { return g_interrupted != 0; }

void write_stdout(std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(STDOUT_FILENO, text.data(), text.size());
    if (n >= 0) {
      text.remove_prefix(static_cast<std::size_t>(n));
      continue;
    }
    if (errno == EINTR) continue;
    if (errno == EPIPE) std::_Exit(kFine);
    write_stderr(concat("error: cannot write to standard output: ", std::strerror(errno), " [io-error]\n"));
    std::_Exit(kFailed);
  }
}

void write_stderr(std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(STDERR_FILENO, text.data(), text.size());
    if (n < 0 && errno != EINTR) return;
    if (n > 0) text.remove_prefix(static_cast<std::size_t>(n));
  }
}

bool is_terminal(int descriptor) { return isatty(descriptor) == 1; }

bool wants_color(ColorChoice choice, int descriptor) {
  if (choice != ColorChoice::automatic) return choice == ColorChoice::always;
  if (!environment("NO_COLOR").empty()) return false;
  for (const char* name : {"CLICOLOR_FORCE", "FORCE_COLOR"})
    if (!environment(name).empty() && environment(name) != "0") return true;
  return environment("TERM") != "dumb" && is_terminal(descriptor);
}

std::size_t terminal_width() {
  winsize size = {};
  if (!is_terminal(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return 0;
  return size.ws_col;
}

bool locale_takes_unicode() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string_view locale = environment(name);
    if (locale.empty()) continue;
    const std::size_t dot = locale.find('.');
    if (dot == std::string_view::npos) return true;  // C, POSIX, en_US: nothing is said, and terminals take UTF-8
    return starts_with_ignoring_case(locale.substr(dot + 1), "utf");
  }
  return true;
}

Progress::Progress(bool allowed) : allowed_(allowed && is_terminal(STDERR_FILENO)), next_(now_ms() + 300) {}

bool Progress::due() { return allowed_ && now_ms() >= next_; }

void Progress::draw(const std::string& text) {
  write_stderr(concat("\r\x1b[K", text));
  drawn_ = true;
  next_ = now_ms() + 100;
}

void Progress::clear() {
  if (drawn_) write_stderr("\r\x1b[K");
  drawn_ = false;
}

}  // namespace assay::cli
