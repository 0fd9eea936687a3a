// Training at several kinds and shares of corrupted steps: what each method bears at its best
// learning rate.
#pragma once

#include <string>
#include <vector>

#include "lab/results.h"
#include "lab/study.h"
#include "language/runs.h"

namespace medgrad::language {

struct CorruptedRuns {
  lab::Corruption corrupted;
  std::vector<FinishedRun> runs;
};

// The scores after the last step on the axes `lr`, `share` and `kind`; the training loss against
// the share, a panel for every kind, each with the runs without bad steps, every method at its best
// rate; and against the rates. The best rates as notes, and whether they lie within those tried as
// claims.
[[nodiscard]] lab::Results corrupted_results(const Task& task, const std::string& name,
                                             const std::vector<CorruptedRuns>& runs);

// Whether MedianAdam and VClip with tau = auto bear what Adam and SGD-M do not, and what that costs
// without bad steps.
void corrupted_training_findings(const lab::Experiment& experiment, lab::Results& results);

}  // namespace medgrad::language
