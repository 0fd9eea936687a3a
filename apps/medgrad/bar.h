// A bar for commands that know how much there is to do.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <mutex>
#include <string>

#include "status_line.h"
#include "text.h"

namespace medgrad::app {

class Bar {
 public:
  explicit Bar(const Common& common) : line_(common) {}

  void show(double share) {
    const std::scoped_lock lock(mutex_);
    if (!line_.due()) return;
    const double spent = std::chrono::duration<double>(Clock::now() - begin_).count();
    std::string text;
    constexpr std::size_t kWidest = 40, kNumbers = 24;  // "[] 100 %, 12 h 34 min left"
    if (const std::size_t width = line_.width(); line_.on_terminal() && width > kNumbers) {
      const std::size_t length = std::min(kWidest, width - kNumbers);
      const auto filled = static_cast<std::size_t>(share * static_cast<double>(length));
      text.append("[").append(filled, '#').append(length - filled, ' ').append("] ");
    }
    text += fmt::format("{} %", static_cast<int>(100 * share));
    if (share > 0) text += fmt::format(", {} left", duration(spent * (1 - share) / share));
    line_.write(text);
  }

 private:
  using Clock = std::chrono::steady_clock;
  StatusLine line_;
  Clock::time_point begin_ = Clock::now();
  std::mutex mutex_;
};

}  // namespace medgrad::app
