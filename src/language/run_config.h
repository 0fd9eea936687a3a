// What the numbers of a training run depend on, and how long it is.
#pragma once

#include <cstddef>
#include <string>

#include "base/json.h"
#include "language/training.h"

namespace medgrad::language {

// The batches that a step takes, the steps of an epoch and of the run. What is left of an epoch
// and makes no step is left out. Throws Error where an epoch makes none.
struct RunLength {
  std::size_t samples = 1;     // gradients that a step looks at
  std::size_t accumulate = 1;  // batches whose mean is one gradient
  std::size_t per_epoch = 0, total = 0;
};
[[nodiscard]] RunLength length_of(const Task& task, const TrainingOptions& options);

[[nodiscard]] Json json_of(const Schedule& schedule);
[[nodiscard]] Json json_of(const lab::Corruption& corrupted);
[[nodiscard]] Json json_of(const TeamOptions& team);

// The run's config.json. A run may be made longer: its length is in there only where a schedule
// depends on it.
[[nodiscard]] Json config_of(const Task& task, const TrainingOptions& options);

// Throws Error where a run that `where` holds has other settings than the one asked for, and says
// which.
void check_same_run(const Json& there, const Json& asked, const std::string& where);

}  // namespace medgrad::language
