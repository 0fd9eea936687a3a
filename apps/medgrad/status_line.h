// What a command says while it runs, on standard error: how far it is, and warnings.
#pragma once

#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <string>

#include "command.h"

namespace medgrad::app {

// On a terminal one line that changes a few times a second and is gone at the end; in a log a line
// every minute; nothing with --quiet.
class StatusLine {
 public:
  explicit StatusLine(const Common& common) : shown_(!common.quiet) {}
  ~StatusLine() {
    if (drawn_ && terminal_) std::fputs("\r\033[K", stderr);
  }
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  // Is it time for the next line? The text is not worth making otherwise.
  [[nodiscard]] bool due() const { return shown_ && Clock::now() >= next_; }
  // A line longer than the terminal is cut: one that wraps could not be overwritten.
  void write(const std::string& text) {
    next_ = Clock::now() + interval();
    drawn_ = true;
    std::fprintf(stderr, terminal_ ? "\r%s\033[K" : "%s\n", text.substr(0, width()).c_str());
  }
  [[nodiscard]] bool on_terminal() const { return terminal_; }
  // How many characters there is room for. The last column stays free, where some terminals wrap.
  [[nodiscard]] std::size_t width() const {
    winsize size{};
    if (!terminal_) return std::string::npos;
    if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < 2) return 79;
    return size.ws_col - 1U;
  }

 private:
  using Clock = std::chrono::steady_clock;
  [[nodiscard]] std::chrono::milliseconds interval() const {
    return std::chrono::milliseconds(terminal_ ? 200 : 60'000);
  }

  bool shown_, drawn_ = false;
  bool terminal_ = ::isatty(STDERR_FILENO) == 1;
  Clock::time_point next_ = Clock::now() + interval();
};

inline void warn(const Common& common, const std::string& sentence) {
  if (!common.quiet) std::fprintf(stderr, "medgrad: %s\n", sentence.c_str());
}

}  // namespace medgrad::app
