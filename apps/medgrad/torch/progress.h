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
    std::string text = what;
    text.append(what.empty() ? "" : ": ").append("step ").append(std::to_string(p.step));
    text.append(" of ").append(std::to_string(p.steps));
    if (p.evaluated) text.append(", evaluation ").append(written("%.0f %%", 100 * *p.evaluated));
    if (p.loss) text.append(written(", loss %.4f", *p.loss));
    if (p.tokens_per_second > 0) text.append(written(", %.0f tokens/s", p.tokens_per_second));
    if (p.seconds_left) text.append(", ").append(duration(*p.seconds_left)).append(" left");
    line_.write(text);
  }

 private:
  static std::string written(const char* format, double x) {
    char text[64];
    std::snprintf(text, sizeof text, format, x);
    return text;
  }

  StatusLine line_;
};

}  // namespace medgrad::app
