// A line on the terminal about a training run; nothing elsewhere or with --quiet.
#pragma once

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <string>

#include "command.h"
#include "language/training.h"
#include "torch/task_choice.h"

namespace medgrad::app {

class StepBar {
 public:
  explicit StepBar(const Common& common) : shown_(!common.quiet && ::isatty(STDERR_FILENO) == 1) {}
  ~StepBar() {
    if (drawn_) std::fputs("\r\033[K", stderr);
  }
  StepBar(const StepBar&) = delete;
  StepBar& operator=(const StepBar&) = delete;

  void show(const language::TrainingProgress& p, const std::string& what = {}) {
    const auto now = std::chrono::steady_clock::now();
    if (!shown_ || now < next_) return;
    next_ = now + std::chrono::milliseconds(200);
    drawn_ = true;
    std::fprintf(stderr, "\r%s%sstep %zu of %zu%s, loss %.4f, %.0f tokens/s, %s left\033[K",
                 what.c_str(), what.empty() ? "" : ": ", p.step, p.steps,
                 p.evaluating ? " (evaluating)" : "", p.loss, p.tokens_per_second,
                 duration(p.seconds_left).c_str());
  }

 private:
  bool shown_, drawn_ = false;
  std::chrono::steady_clock::time_point next_;
};

}  // namespace medgrad::app
