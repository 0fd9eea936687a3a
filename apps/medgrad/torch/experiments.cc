#include "torch/experiments.h"

#include <fmt/core.h>

#include "language/experiments.h"
#include "medgrad/error.h"
#include "medgrad/torch/runtime.h"
#include "status_line.h"
#include "text.h"

namespace medgrad::app {

void LanguageExperiments::declare(Options& options) {
  run_.declare(options);
  options.value(
      "--memory", memory_, "GIB",
      "memory for the gradients of all batches (default 2.5); where they do not fit, they "
      "are computed again, which takes time and changes no number");
}

void LanguageExperiments::start(std::vector<std::string> arguments) {
  command_ = command_line(name(), arguments);
  Command::start(std::move(arguments));
}

void LanguageExperiments::run_all(const std::vector<NamedDocument>& documents,
                                  const Common& common) const {
  std::vector<lab::Experiment> experiments;
  for (const auto& [file, document] : documents)
    experiments.push_back(lab::read_experiment(document, file, language::catalogue()));
  const auto threads = static_cast<int>(common.threads);
  const double memory = to_number("--memory", memory_);
  if (!(memory >= 0 && memory < 1e6))
    throw Error(fmt::format("--memory is '{}'; it must be a number of GiB, 0 or more.", memory_));
  medgrad::libtorch::use_threads(static_cast<int>(threads));
  if (const std::string slow = medgrad::libtorch::runtime().warning; !slow.empty())
    warn(common, slow);
  ThreadPool pool(common.threads);
  run_.go(experiments, pool, common, command_, static_cast<std::size_t>(memory * 0x1p30));
}

}  // namespace medgrad::app
