// The experiments on language models, by the "kind" of their files.
//
// To add a kind: a function that reads a document and gives something to run, one line in the table
// of experiments.cc; files of that kind go into experiments/ and the list in src/CMakeLists.txt.
#pragma once

#include <atomic>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>

#include "lab/document.h"
#include "lab/runner.h"
#include "language/batch_gradients.h"
#include "medgrad/thread_pool.h"

namespace medgrad::language {

struct RunContext {
  ThreadPool* pool = nullptr;                 // for everything that is not libtorch's
  std::size_t memory = kGradientMemory;       // for gradients that are kept; changes no number
  std::function<void(double)> progress = {};  // the share that is done
  std::filesystem::path work = {};            // for what is to survive being stopped
  const std::atomic<bool>* stop = nullptr;    // once it is set, run() throws Interrupted
};

// An experiment that has been read and checked.
struct LanguageExperiment {
  std::string name, task;
  std::function<lab::Finished(const RunContext&)> run;
};

// Throws Error, with file and line, where the document is not right.
[[nodiscard]] LanguageExperiment read_language_experiment(const lab::Node& document,
                                                          const std::string& file);

}  // namespace medgrad::language
