// Many training runs: of several methods, learning rates and seeds, each in a folder of its own,
// and the tables made of them.
//
// A run that is finished is not run again, one that was stopped goes on: whatever ends such a
// collection, starting it once more continues it.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "lab/results.h"
#include "lab/study.h"
#include "language/method.h"
#include "language/training.h"

namespace medgrad::language {

struct RunKey {
  Method method;
  double lr = 0;
  std::uint64_t seed = 0;
};

struct FinishedRun {
  RunKey key;
  TrainingResult result;

  // The training loss of the last evaluation; +inf where the run has diverged.
  [[nodiscard]] double final_loss() const;
};

struct RunsOptions {
  TrainingOptions base;          // epochs, steps, accumulate, schedules, …
  std::filesystem::path folder;  // runs/ in it gets a folder per run
  std::function<void(const RunKey&, const TrainingProgress&)> progress;
  std::function<void(const FinishedRun&)> finished;
  const std::atomic<bool>* stop = nullptr;
};

// One run, from its folder where it is there already. Throws lab::Interrupted, and Error where the
// folder holds a run with other settings.
[[nodiscard]] FinishedRun run_once(const Task& task, const RunKey& key, const RunsOptions& options);

// ---- Tuning learning rates

struct SweepOptions {
  std::vector<Method> methods;
  std::vector<double> rates;  // empty: around the paper's, or around 0.1, by half a decade
  std::size_t seeds = 1;
  std::uint64_t seed = 0;      // the first of them
  std::size_t extensions = 6;  // at most so many rates more where the best is at an edge
};

// Runs a grid of learning rates 10^(j/2) for every method. Where the best rate, by the mean over
// the seeds of the final training loss, is the smallest or the largest tried, the grid grows there.
// Once a rate has diverged its other seeds are left out.
[[nodiscard]] std::vector<FinishedRun> sweep(const Task& task, const SweepOptions& sweep,
                                             const RunsOptions& options);

// The best rate of a method among the runs, by the mean final training loss; NaN where all
// diverged.
[[nodiscard]] double best_rate(const std::vector<FinishedRun>& runs, const std::string& word);

// Where tuning begins: the paper's learning rate; Adam's for methods in Adam's metric, and 0.1 for
// those that are not in the paper.
[[nodiscard]] double usual_rate(const Task& task, const Method& method);

// 10^(j/2) nearest to x, to three digits as the paper's table has them: 0.316, 1, 3.16.
[[nodiscard]] double half_decade(double x, int steps = 0);

// ---- As results

// Scores over epochs, one group per method (at its best rate) and score; figures of the training
// loss and of the validation score, and the table of rates as a note.
[[nodiscard]] lab::Results results_of(const Task& task, const std::string& name,
                                      const std::vector<FinishedRun>& runs);

}  // namespace medgrad::language
