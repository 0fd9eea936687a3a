// Runs experiments and writes their result folders and the report.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "lab/folder.h"
#include "lab/results.h"
#include "lab/study.h"
#include "medgrad/thread_pool.h"

namespace medgrad::lab {

struct RunOptions {
  std::filesystem::path out;  // gets a folder per experiment, and index.html
  ThreadPool* pool = nullptr;
  bool svg = true, pdf = false;
  std::string command = {};  // what gives all of it again, --out aside
  // (tasks done, tasks in all), from any thread.
  std::function<void(std::size_t, std::size_t)> progress = {};
  std::function<void(const std::string&)> warn = {};  // one sentence
};

// Values, statistics, claims and figures of one experiment; the bits do not depend on the pool.
[[nodiscard]] Results run_experiment(const Experiment& experiment, ThreadPool* pool = nullptr);

// Runs them all, and gives what came out. A run that was stopped, however hard, is continued;
// folders that are there already are replaced, each in one step.
std::vector<Results> run_experiments(const std::vector<Experiment>& experiments,
                                     const RunOptions& options);

// ---- For programs that have results of their own ------------------------------------------------

// An experiment that has been run, by whomever.
struct Finished {
  Results results;
  std::string config;  // config.json: everything the results depend on
};

// A folder in the making per name, in `out`. Throws Error where there is something else already:
// better before hours of work than after.
[[nodiscard]] std::vector<ResultFolder> open_folders(const std::filesystem::path& out,
                                                     const std::vector<std::string>& names);
// Writes config.json, results.csv, summary.json, figures.json and the figures of each, puts the
// folders in their places, and writes index.html about all of them.
void write_results(const std::vector<Finished>& experiments, std::vector<ResultFolder> folders,
                   const RunOptions& options);
// The same, with the folders opened here.
void write_results(const std::vector<Finished>& experiments, const RunOptions& options);

}  // namespace medgrad::lab
