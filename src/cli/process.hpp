// SPDX-License-Identifier: Apache-2.0
// The process's edges: standard output, the terminal, signals. The only place with state of its own.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "report/style.hpp"

namespace assay::cli {

inline constexpr int kFine = 0;    ///< answered, and fine
inline constexpr int kNo = 1;      ///< answered, and the answer is no
inline constexpr int kFailed = 2;  ///< could not answer fully
inline constexpr int kInterrupted = 130;

/// Ctrl-C sets a flag once and ends the process the second time; SIGPIPE is left to write(). Guards mappings against SIGBUS.
void prepare_process();
/// True after Ctrl-C.
bool interrupted();

/// Writes all of `text` to standard output. A closed pipe ends the process quietly; any other failure ends it with a message.
void write_stdout(std::string_view text);
/// Writes to standard error, as far as that goes.
void write_stderr(std::string_view text);

enum class ColorChoice : unsigned char { automatic, always, never };

/// What text on a descriptor (1 or 2) may look like: --color beats NO_COLOR, CLICOLOR_FORCE, FORCE_COLOR, TERM=dumb and the terminal.
bool wants_color(ColorChoice choice, int descriptor);
bool is_terminal(int descriptor);
/// Columns of the terminal on standard output; 0 where there is none.
std::size_t terminal_width();
/// False when the locale names a character set other than UTF-8.
bool locale_takes_unicode();

/// One line on standard error that is drawn again and again, only on a terminal and only after 300 ms.
class Progress {
 public:
  explicit Progress(bool allowed);
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  /// Shows the text if it is time to. `make` is called only then.
  template <class Make>
  void show(Make make) {
    if (due()) draw(make());
  }
  void clear();

 private:
  bool due();
  void draw(const std::string& text);
  bool allowed_;
  bool drawn_ = false;
  long long next_;  // milliseconds of a steady clock
};

}  // namespace assay::cli
