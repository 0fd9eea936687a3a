#include "torch/experiments.h"

#include <chrono>
#include <filesystem>
#include <set>

#include "bar.h"
#include "claims.h"
#include "lab/runner.h"
#include "language/experiments.h"
#include "language/runs.h"
#include "medgrad/error.h"
#include "medgrad/torch/runtime.h"
#include "text.h"
#include "torch/task_choice.h"

namespace medgrad::app {

void LanguageExperiments::declare(Options& options) {
  options.value("--out", out_, "DIR", "where to write the results (default: results)");
  options.value(
      "--memory", memory_, "GIB",
      "memory for the gradients of all batches (default 2.5); where they do not fit, they "
      "are computed again, which takes time and changes no number");
  options.flag("--pdf", pdf_, "also draw the figures as PDF");
  options.flag("--no-svg", no_svg_, "do not draw the figures as SVG");
}

void LanguageExperiments::start(std::vector<std::string> arguments) {
  command_ = command_line(name(), arguments);
  Command::start(std::move(arguments));
}

void LanguageExperiments::run_all(const std::vector<NamedDocument>& documents,
                                  const Common& common) const {
  std::vector<language::LanguageExperiment> experiments;
  std::vector<std::string> names;
  std::set<std::string> taken;
  for (const auto& [file, document] : documents) {
    experiments.push_back(language::read_language_experiment(document, file));
    names.push_back(experiments.back().name);
    if (!taken.insert(names.back()).second)
      throw Error("two experiments are called '" + names.back() +
                  "'; their folders would collide.");
  }
  const auto threads = static_cast<int>(common.threads);
  const double memory = to_number("--memory", memory_);
  if (!(memory >= 0 && memory < 1e6))
    throw Error("--memory is '" + memory_ + "'; it must be a number of GiB, 0 or more.");
  medgrad::libtorch::use_threads(threads);
  if (const std::string slow = medgrad::libtorch::runtime().warning; !slow.empty())
    warn(common, slow);

  for (const language::LanguageExperiment& one : experiments) language::require_data(one.task);
  ThreadPool pool(common.threads);
  const bool was_there = std::filesystem::exists(out_);
  std::vector<lab::ResultFolder> folders = lab::open_folders(out_, names);
  const auto begin = std::chrono::steady_clock::now();
  std::vector<lab::Finished> finished;
  const std::filesystem::path work = std::filesystem::path(out_) / ".unfinished";
  try {
    Bar bar(common);
    for (std::size_t i = 0; i < experiments.size(); ++i) {
      const auto progress = [&](double share) {
        constexpr std::size_t kFine = 100'000;
        bar.show(i * kFine + static_cast<std::size_t>(share * kFine), experiments.size() * kFine);
      };
      finished.push_back(experiments[i].run({.pool = &pool,
                                             .memory = static_cast<std::size_t>(memory * 0x1p30),
                                             .progress = progress,
                                             .work = work,
                                             .stop = &stop_requested()}));
    }
  } catch (const language::Interrupted&) {
    throw std::runtime_error(
        "stopped; run the same command again to continue (training runs resume where they were).");
  } catch (...) {
    folders.clear();
    std::error_code ignored;
    if (!was_there) std::filesystem::remove(out_, ignored);
    throw;
  }
  lab::write_results(finished, std::move(folders),
                     {.out = out_,
                      .pool = &pool,
                      .svg = !no_svg_,
                      .pdf = pdf_,
                      .command = command_,
                      .warn = [&](const std::string& sentence) { warn(common, sentence); }});
  std::error_code ignored;
  for (const std::string& name : names) std::filesystem::remove_all(work / name, ignored);
  std::filesystem::remove(work, ignored);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (common.quiet) return;
  std::vector<lab::Results> results;
  for (lab::Finished& one : finished) {
    for (const std::string& note : one.results.notes) std::cout << note << "\n";
    results.push_back(std::move(one.results));
  }
  std::cout << "\n";
  print_claims(results, out_, seconds);
}

}  // namespace medgrad::app
