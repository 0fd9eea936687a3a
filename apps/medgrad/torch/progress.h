// How far a training run is.
#pragma once

#include <cstdio>
#include <string>

#include "language/training.h"
#include "status_line.h"
#include "text.h"

namespace medgrad::app {

class StepBar {
 public:
  explicit StepBar(const Common& common) : line_(common) {}

  void show(const language::TrainingProgress& p, const std::string& what = {}) {
    if (!line_.due()) return;
    char numbers[160];
    std::snprintf(numbers, sizeof numbers, "step %zu of %zu%s, loss %.4f, %.0f tokens/s, %s left",
                  p.step, p.steps, p.evaluating ? " (evaluating)" : "", p.loss, p.tokens_per_second,
                  duration(p.seconds_left).c_str());
    std::string text = what;
    line_.write(text.append(what.empty() ? "" : ": ").append(numbers));
  }

 private:
  StatusLine line_;
};

}  // namespace medgrad::app
