// How far a training run is.
#pragma once

#include <fmt/core.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "language/training.h"
#include "status_line.h"
#include "text.h"
#include "torch/launched.h"

namespace medgrad::app {

class StepBar {
 public:
  explicit StepBar(const Common& common) : line_(common), folder_(launch_folder()) {}

  void show(const language::TrainingProgress& p, const std::string& what = {}) {
    const bool left = !folder_.empty() && Clock::now() >= next_;
    if (!line_.due() && !left) return;
    std::vector<Part> parts;  // 50 columns have room for step, loss and time
    if (!what.empty()) parts.push_back({what, 3});
    parts.push_back({fmt::format("step {} of {}", p.step, p.steps), 6});
    if (p.evaluated) parts.push_back({written("evaluation %.0f %%", 100 * *p.evaluated), 2});
    if (p.loss) parts.push_back({written("loss %.4g", *p.loss), 4});
    if (p.tokens_per_second > 0)
      parts.push_back({written("%.0f tokens/s", p.tokens_per_second), 1});
    if (p.seconds_left) parts.push_back({duration(*p.seconds_left) + " left", 5});
    if (left) {
      leave(folder_, kStatusFile, fitted(parts, 79));
      next_ = Clock::now() + std::chrono::milliseconds(200);
    }
    if (line_.due()) line_.write(fitted(std::move(parts), line_.width()));
  }

 private:
  static std::string written(const char* format, double x) {
    char text[64];
    std::snprintf(text, sizeof text, format, x);
    return text;
  }

  using Clock = std::chrono::steady_clock;

  StatusLine line_;
  std::filesystem::path folder_;  // of the launcher, which has the terminal
  Clock::time_point next_;
};

}  // namespace medgrad::app
