#include "experiment_run.h"

#include <fmt/core.h>

#include <chrono>
#include <iostream>
#include <set>
#include <stdexcept>

#include "bar.h"
#include "claims.h"
#include "lab/experiments.h"
#include "medgrad/error.h"
#include "stop.h"

namespace medgrad::app {

void ExperimentRun::declare(Options& options) {
  options.value("--out", out_, "DIR", "where results go (default results)");
  options.flag("--replace", replace_, "put results in the place of those with other settings");
  options.flag("--pdf", pdf_, "also draw the figures as PDF");
  options.flag("--no-svg", no_svg_, "do not draw the figures as SVG");
}

void ExperimentRun::go(const std::vector<lab::Experiment>& experiments, ThreadPool& pool,
                       const Common& common, std::string command, std::size_t memory) const {
  std::set<std::string> names;
  for (const lab::Experiment& one : experiments) {
    if (!names.insert(one.name).second)
      throw Error(
          fmt::format("two experiments are called '{}'; their folders would collide.", one.name));
  }
  const auto begin = std::chrono::steady_clock::now();
  std::vector<lab::Results> results;
  try {
    Bar bar(common);
    results = lab::run_experiments(
        experiments, {.out = out_,
                      .replace = replace_,
                      .pool = &pool,
                      .memory = memory,
                      .svg = !no_svg_,
                      .pdf = pdf_,
                      .command = std::move(command),
                      .progress = [&](double share) { bar.show(share); },
                      .warn = [&](const std::string& sentence) { warn(common, sentence); },
                      .stop = &stop_requested()});
  } catch (const lab::Stopped& stopped) {
    throw std::runtime_error(kept(stopped));
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (common.quiet) return;
  bool notes = false;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!lab::needs_libtorch(experiments[i].document)) continue;
    for (const std::string& note : results[i].notes) std::cout << note << "\n";
    notes = true;
  }
  if (notes) std::cout << "\n";
  print_claims(results, out_, seconds);
}

// What a run that was stopped leaves behind.
std::string ExperimentRun::kept(const lab::Stopped& stopped) const {
  std::string text = "stopped; ";
  if (!stopped.finished.empty())
    text += fmt::format("{} {} finished and in {}, ", enumerated(stopped.finished),
                        stopped.finished.size() == 1 ? "is" : "are", out_);
  return fmt::format("{}of {} {}, and the same command goes on from there.", text,
                     stopped.experiment, stopped.kept);
}

}  // namespace medgrad::app
