// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal.hpp"

#include <chrono>
#include <cstdlib>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/text.hpp"
#include "cli/process.hpp"

namespace assay::cli {
namespace {

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

winsize window() {
  winsize size = {};
  if (!is_terminal(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return {};
  return size;
}

/// The controlling terminal, its line editing and echo off while this lives.
class RawTerminal {
 public:
  RawTerminal() : file_(::open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC)) {
    if (file_ < 0 || tcgetattr(file_, &before_) != 0) return;
    termios raw = before_;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    raw.c_cc[VMIN] = 0;
    raw.c_cc[VTIME] = 0;
    ready_ = tcsetattr(file_, TCSANOW, &raw) == 0;
  }
  ~RawTerminal() {
    if (ready_) tcsetattr(file_, TCSANOW, &before_);
    if (file_ >= 0) ::close(file_);
  }
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;

  /// What it answers to `question` until `is_whole` says so, or the time is up.
  template <class IsWhole>
  std::string ask(std::string_view question, std::chrono::milliseconds time, IsWhole is_whole) {
    std::string answer;
    if (!ready_ || ::write(file_, question.data(), question.size()) != static_cast<ssize_t>(question.size())) return answer;
    const auto end = std::chrono::steady_clock::now() + time;
    while (!is_whole(answer)) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now()).count();
      pollfd waiting = {file_, POLLIN, 0};
      if (left <= 0 || ::poll(&waiting, 1, static_cast<int>(left)) <= 0) break;
      char piece[256];
      const ssize_t n = ::read(file_, piece, sizeof piece);
      if (n <= 0) break;
      answer.append(piece, static_cast<std::size_t>(n));
    }
    return answer;
  }

 private:
  int file_;
  termios before_ = {};
  bool ready_ = false;
};

/// The device attributes in an answer, "62;4;22" of ESC [ ? 62;4;22 c; nothing where they have not come.
std::string_view attributes(std::string_view answer) {
  const std::size_t begin = answer.find("\x1b[?");
  if (begin == std::string_view::npos) return {};
  const std::size_t end = answer.find('c', begin);
  return end == std::string_view::npos ? std::string_view() : answer.substr(begin + 3, end - begin - 3);
}

}  // namespace

std::size_t terminal_height() { return window().ws_row; }

Pixels terminal_pixels() {
  const winsize size = window();
  return {size.ws_xpixel, size.ws_ypixel};
}

report::Depth terminal_depth() {
  const std::string_view depth = environment("COLORTERM"), name = environment("TERM");
  if (depth == "truecolor" || depth == "24bit" || name.ends_with("-direct")) return report::Depth::colours24bit;
  return name.find("256color") != std::string_view::npos ? report::Depth::colours256 : report::Depth::colours16;
}

Graphics terminal_graphics() {
  constexpr std::chrono::milliseconds kPatience(80);
  const std::string_view name = environment("TERM"), program = environment("TERM_PROGRAM");
  if (!is_terminal(STDOUT_FILENO) || !environment("TMUX").empty() || name.starts_with("screen") || name.starts_with("tmux") ||
      name == "dumb")
    return Graphics::none;
  if (program == "iTerm.app" || program == "WezTerm") return Graphics::iterm;
  if (name == "xterm-kitty" || name == "xterm-ghostty") return Graphics::kitty;
  // A kitty query is answered before the attributes, which every terminal gives.
  const std::string answer = RawTerminal().ask("\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\\x1b[c", kPatience,
                                               [](std::string_view text) { return !attributes(text).empty(); });
  if (answer.find("\x1b_Gi=31;OK") != std::string::npos) return Graphics::kitty;
  return concat(";", attributes(answer), ";").find(";4;") != std::string::npos ? Graphics::sixel : Graphics::none;
}

}  // namespace assay::cli
