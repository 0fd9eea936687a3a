// What commands that run experiments on language models have in common.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "command.h"
#include "experiment_run.h"
#include "lab/reader.h"

namespace medgrad::app {

// A document and what errors call it.
using NamedDocument = std::pair<std::string, Node>;

class LanguageExperiments : public Command {
 public:
  void declare(Options& options) override;
  void start(std::vector<std::string> arguments) override;

 protected:
  // Reads and checks all, runs them, writes the result folders and the report, prints the claims.
  void run_all(const std::vector<NamedDocument>& documents, const Common& common) const;

 private:
  std::string command_, memory_ = "2.5";
  ExperimentRun run_;
};

}  // namespace medgrad::app
