// Runs experiments and writes their result folders and the report.
#pragma once

#include <atomic>
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
  bool replace = false;       // results with other settings may go
  ThreadPool* pool = nullptr;
  std::size_t memory = StudyContext().memory;
  bool svg = true, pdf = false;
  std::string command = {};                           // what gives all of it again, --out aside
  std::function<void(double)> progress = {};          // the share that is done, from any thread
  std::function<void(const std::string&)> warn = {};  // one sentence
  const std::atomic<bool>* stop = nullptr;            // once it is set, Stopped is thrown
};

// A run that was asked to stop. The results of the finished experiments are written, what the
// others have done is kept, and the next run of the same experiments goes on from there.
struct Stopped {
  std::vector<std::string> finished;  // experiments
  std::string experiment;             // the one it was at
  std::string kept;                   // of that one, as in Interrupted
};

// Values, statistics, claims and figures of one experiment; the bits do not depend on the context.
[[nodiscard]] Finished run_experiment(const Experiment& experiment,
                                      const StudyContext& context = {});

// Runs them all, and gives what came out. A run that was stopped, however hard, is continued;
// folders of the same settings are replaced, each in one step.
std::vector<Results> run_experiments(const std::vector<Experiment>& experiments,
                                     const RunOptions& options);

// ---- For programs that have results of their own ------------------------------------------------

// A folder in the making per experiment, in options.out. Throws Error where there is something else
// already, or results with other settings, or a page that is none of ours: better before hours of
// work than after.
struct Place {
  std::string name, config;  // config.json, as far as it is known
};
[[nodiscard]] std::vector<ResultFolder> open_folders(const std::vector<Place>& places,
                                                     const RunOptions& options);
// Writes config.json, results.csv, summary.json, figures.json and the figures of each, puts the
// folders in their places, and writes index.html about all that is in options.out.
void write_results(const std::vector<Finished>& experiments, std::vector<ResultFolder> folders,
                   const RunOptions& options);
// The same, with the folders opened here.
void write_results(const std::vector<Finished>& experiments, const RunOptions& options);

}  // namespace medgrad::lab
