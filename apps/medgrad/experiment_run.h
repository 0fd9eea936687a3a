// Running experiments that have been read, for all commands that do: with a progress bar, a report,
// and what was found.
#pragma once

#include <string>
#include <vector>

#include "command.h"
#include "lab/runner.h"
#include "lab/study.h"

namespace medgrad::app {

class ExperimentRun {
 public:
  // --out, --replace, --pdf, --no-svg.
  void declare(Options& options);
  // Runs them, writes the result folders and the report, prints the claims, and the notes of those
  // on language models: what was scaled down, and what data there was. `command` makes all of it
  // again. Throws std::runtime_error, with what is kept, where it was stopped.
  void go(const std::vector<lab::Experiment>& experiments, ThreadPool& pool, const Common& common,
          std::string command, std::size_t memory = lab::RunOptions().memory) const;

 private:
  [[nodiscard]] std::string kept(const lab::Stopped& stopped) const;

  std::string out_ = "results";
  bool replace_ = false, pdf_ = false, no_svg_ = false;
};

}  // namespace medgrad::app
