// Runs experiments and writes their result folders and the report.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "lab/results.h"
#include "lab/study.h"
#include "medgrad/thread_pool.h"

namespace medgrad::lab {

struct RunOptions {
  std::filesystem::path out;  // gets a folder per experiment, and index.html
  ThreadPool* pool = nullptr;
  bool svg = true, pdf = false;
  std::string command;  // what makes all of it again
  std::function<void(std::size_t, std::size_t)>
      progress;                                  // (tasks done, tasks in all), from any thread
  std::function<void(const std::string&)> warn;  // one sentence
};

// Values, statistics, claims and figures of one experiment; the bits do not depend on the pool.
[[nodiscard]] Results run_experiment(const Experiment& experiment, ThreadPool* pool = nullptr);

// Runs them all, and gives what came out. A run that was stopped, however hard, is continued;
// folders that are there already are replaced, each in one step.
std::vector<Results> run_experiments(const std::vector<Experiment>& experiments,
                                     const RunOptions& options);

}  // namespace medgrad::lab
