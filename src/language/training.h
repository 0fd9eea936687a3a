// Training a model of a task with one method, and all that a long run needs: metrics while it goes,
// checkpoints, and going on bit for bit after it was stopped.
//
// A run is a folder:
//   config.json      everything the numbers depend on
//   metrics.jsonl    one JSON object per line, as the run goes: "evaluation" before training and
//                    after every epoch, "step" every so many steps
//   checkpoint.safetensors   model, optimiser, schedule and position; replaced in one step after
//                    every evaluation, every so many steps, and every ten minutes
//
// Workers that train together (team.h) are simulated in one process, or are processes of their own,
// of which one writes the folder; metrics.jsonl then has "blame", sums over the steps so far for
// every worker, and "workers" lines where somebody is gone or has come.
//
// A run that goes on from its checkpoint gives the same bytes as one that was never stopped, but
// for what depends on the clock.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lab/corruption.h"
#include "language/task.h"
#include "language/team_options.h"
#include "medgrad/dist/blame.h"
#include "medgrad/optimize.h"

namespace medgrad::language {

class Team;

struct TrainingOptions {
  std::string method;  // as in config.json: "vclip tau=0.1"
  GradientMethod gradient;
  double lr = 0.1;
  Schedule lr_schedule = {}, tau_schedule = {};  // factors
  std::size_t epochs = 1;
  std::size_t steps = 0;       // stop after so many; 0: after the epochs
  std::size_t accumulate = 0;  // backward passes per gradient; 0: the task's
  bool bfloat16 = false;       // m is kept in bfloat16, rounded at random (medgrad/bfloat16.h)
  bool per_tensor = false;     // every tensor is a vector of its own, instead of all being one
  std::uint64_t seed = 0;      // of weights, dropout and shuffling
  // Of one that trains alone: a share of the steps has a wrong gradient (corrupted_steps.h).
  lab::Corruption corrupted = {};

  std::optional<TeamOptions> workers = {};  // that train together; nothing: one alone
  // Those that this process is one of; none: all are simulated here. Used, not owned.
  Team* team = nullptr;

  std::filesystem::path folder;  // empty: nothing is written
  bool resume = false;
  std::size_t checkpoint_every = 100;  // steps
  std::size_t log_every = 10;          // steps
  // Sentences about what happens to workers.
  std::function<void(const std::string&)> tell = {};
};

// How a run did after an epoch (0: before training).
struct Evaluation {
  std::size_t epoch = 0, step = 0;
  Scores scores;
};

// Whether the loss is finite and not far above that before training; where it is not, a run has
// diverged.
[[nodiscard]] bool is_usable(const Evaluation& one, const Evaluation& before_training);

// Where a run is, for a progress bar.
struct TrainingProgress {
  std::size_t step = 0, steps = 0;          // taken, in all
  std::optional<double> loss = {};          // of the last batch
  double tokens_per_second = 0;             // of training; 0: not known yet
  std::optional<double> seconds_left = {};  // nothing: not known yet
  std::optional<double> evaluated = {};     // the share of an evaluation that is going on
};

struct TrainingResult {
  std::vector<Evaluation> evaluations;
  std::size_t steps = 0;
  std::size_t first_step = 0;  // those before this call
  // The loss of a step or of an evaluation was not finite, or the training loss (or a mean over the
  // last fifty steps) was twice what it was before training; the run ended there.
  bool diverged = false;
  bool interrupted = false;      // `stop` was set; where there is a folder, it has a checkpoint
  double seconds = 0;            // of the run, those before it was resumed included
  double tokens_per_second = 0;  // in the training steps of this call
  bool leads = true;             // this process wrote the files of the run
  dist::Blame blame = {};        // where workers train together
};

// Runs to the end, or until `stop` is set, which is looked at before every batch. `report` is
// called before the first batch and after every one. Throws Error where the options make no sense,
// where the folder holds another run or a longer one, where another process is running it, and
// where there is nothing to resume; std::system_error where a file cannot be written (a full disk):
// the run can be resumed from its last checkpoint.
TrainingResult train(const Task& task, const TrainingOptions& options,
                     const std::function<void(const TrainingProgress&)>& report = {},
                     const std::atomic<bool>* stop = nullptr);

}  // namespace medgrad::language
