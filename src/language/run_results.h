// What a sweep of learning rates shows. (Results of runs at given rates: results_of() of runs.h.)
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lab/results.h"
#include "lab/study.h"
#include "language/runs.h"

namespace medgrad::language {

// What results_of() gives at each method's best rate, and on the axis `lr` all that was tried: the
// scores after the last step, as final_training_loss and so on, and the training loss as a figure.
[[nodiscard]] lab::Results sweep_results(const Task& task, const std::string& name,
                                         const std::vector<FinishedRun>& runs);

// The scores after the last step on the axis `lr`, and on `share` and `kind` where bad steps are
// given (no share, no kind: "none"); the training loss among them as a panel, and notes on what
// diverged.
[[nodiscard]] lab::Panel add_rates(lab::Results& results, const std::vector<FinishedRun>& runs,
                                   const std::optional<lab::Corruption>& bad_steps);
// A logarithmic axis where the values go over more than a decade: within one it has no numbers.
void choose_scale(lab::Panel& panel);
// "no bad steps", "5 % bad steps (bit-flip)".
[[nodiscard]] std::string bad_steps_in_words(double share, const std::string& kind);
inline constexpr const char* kNoBadSteps = "none";
[[nodiscard]] lab::Figure rates_figure(std::vector<lab::Panel> panels);

// The statements of the paper's discussion on the task of a training experiment.
void training_findings(const lab::Experiment& experiment, lab::Results& results);
void add_statements(const TaskInfo& task, lab::Results& results);

}  // namespace medgrad::language
