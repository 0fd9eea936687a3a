// What a sweep of learning rates shows. (Results of runs at given rates: results_of() of runs.h.)
#pragma once

#include <string>
#include <vector>

#include "lab/results.h"
#include "language/runs.h"

namespace medgrad::language {

// What results_of() gives at each method's best rate, and on the axis `lr` all that was tried: the
// scores after the last step, as final_training_loss and so on, and the training loss as a figure.
[[nodiscard]] lab::Results sweep_results(const Task& task, const std::string& name,
                                         const std::vector<FinishedRun>& runs);

// The score that the paper's tables have beside the training loss.
[[nodiscard]] std::string validation_score(const TaskInfo& info);

}  // namespace medgrad::language
