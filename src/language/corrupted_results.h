// Training at several shares of corrupted steps: what each method bears at its best learning rate.
#pragma once

#include <string>
#include <vector>

#include "lab/results.h"
#include "lab/study.h"
#include "language/runs.h"

namespace medgrad::language {

struct RunsAtShare {
  double share = 0;
  std::vector<FinishedRun> runs;
};

// The scores after the last step on the axes `lr` and `share`; the training loss against the share,
// every method at its best rate for it, and against the rates; the best rates as notes.
[[nodiscard]] lab::Results corrupted_results(const Task& task, const std::string& name,
                                             const std::vector<RunsAtShare>& runs);

// Whether MedianAdam and VClip with tau = auto bear what Adam and SGD-M do not, and what that costs
// without bad steps.
void corrupted_training_findings(const lab::Experiment& experiment, lab::Results& results);

}  // namespace medgrad::language
