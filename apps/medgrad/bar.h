// How far a long command is, on a terminal.
#pragma once

#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <mutex>
#include <string>

#include "command.h"

namespace medgrad::app {

// A bar on a terminal, with the time that is left; nothing elsewhere or with --quiet.
class Bar {
 public:
  explicit Bar(const Common& common)
      : shown_(!common.quiet && ::isatty(STDERR_FILENO) == 1),
        begin_(Clock::now()),
        next_(begin_) {}
  ~Bar() {
    if (drawn_) std::fputs("\r\033[K", stderr);
  }
  Bar(const Bar&) = delete;
  Bar& operator=(const Bar&) = delete;

  void show(std::size_t done, std::size_t total) {
    if (!shown_) return;
    const std::scoped_lock lock(mutex_);
    const auto now = Clock::now();
    if (now < next_) return;
    next_ = now + std::chrono::milliseconds(100);
    drawn_ = true;
    const double share = static_cast<double>(done) / static_cast<double>(total);
    const double spent = std::chrono::duration<double>(now - begin_).count();
    const int filled = static_cast<int>(share * kWidth);
    std::fprintf(stderr, "\r[%s%s] %3.0f %%, %.0f s left \033[K",
                 std::string(static_cast<std::size_t>(filled), '#').c_str(),
                 std::string(static_cast<std::size_t>(kWidth - filled), ' ').c_str(), 100 * share,
                 spent * (1 - share) / share);
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr int kWidth = 40;
  bool shown_, drawn_ = false;
  Clock::time_point begin_, next_;
  std::mutex mutex_;
};

}  // namespace medgrad::app
