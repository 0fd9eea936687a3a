// medgrad sweep TASK: which learning rate is best, for each of several methods.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <set>

#include "base/text.h"
#include "lab/findings/lookup.h"
#include "lab/runner.h"
#include "language/run_results.h"
#include "language/runs.h"
#include "language/train_study.h"
#include "medgrad/error.h"
#include "stop.h"
#include "text.h"
#include "torch/commands.h"
#include "torch/progress.h"
#include "torch/task_choice.h"

namespace medgrad::app {
namespace {

class Sweep final : public Command {
 public:
  std::string_view name() const override { return "sweep"; }
  std::string_view summary() const override { return "tune the learning rates of several methods"; }
  std::string_view usage() const override { return "TASK [--methods LIST] [options]"; }
  std::string details() const override {
    return fmt::format(
        "{}\n{}\n", task_.help(),
        wrapped("Rates are 10^(j/2), around the paper's unless --rates says otherwise; "
                "where a method's best rate is at the edge of the grid, the grid grows "
                "there. The best rate has the smallest final training loss, averaged over "
                "the seeds. One row per method is printed, at its best rate, with the "
                "rates at which it diverged; results.csv has every rate. Run the same "
                "command again to continue a sweep that was "
                "stopped.",
                0));
  }
  void declare(Options& options) override {
    task_.declare(options);
    options.value("--methods", methods_, "LIST",
                  "optimisers, separated by commas (default sgd-m,clipped-sgd,vclip,cclip,adam)");
    options.value("--rates", rates_, "LIST",
                  "learning rates, separated by commas, or FROM..TO in half decades");
    options.value("--seeds", seeds_, "N", "runs per rate (default 1)");
    options.value("--extend", extend_, "N", "add at most N rates per method (default 6)");
    run_.declare(options, "1");
    options.value("--out", out_, "DIR", "where to write runs and report (default: sweeps/TASK)");
    options.flag("--replace", replace_, "put results in the place of those with other settings");
  }

  void start(std::vector<std::string> arguments) override {
    command_ = command_line(name(), arguments);
    Command::start(std::move(arguments));
  }

  void run(const Common& common) override {
    language::SweepOptions sweep;
    sweep.methods = methods();
    sweep.rates = rates();
    sweep.seeds = static_cast<std::size_t>(to_whole_number("--seeds", seeds_, 1));
    if (!common.seed.empty()) sweep.seed = to_whole_number("--seed", common.seed, 0);
    sweep.extensions = static_cast<std::size_t>(to_whole_number("--extend", extend_, 0));
    language::RunsOptions options;
    run_.put(options.base);
    const std::unique_ptr<language::Task> task = task_.open(common);
    const std::string name = task_.name() + "-sweep",
                      out = out_.empty() ? "sweeps/" + task_.name() : out_;
    options.folder = out;
    const bool was_there = std::filesystem::exists(out);
    const lab::RunOptions place{
        .out = out,
        .replace = replace_,
        .command = command_,
        .warn = [&](const std::string& sentence) { warn(common, sentence); }};
    // Better now than after hours.
    std::vector<lab::ResultFolder> folders = lab::open_folders(
        {{name, language::sweep_config(*task, name, sweep, options.base, {})}}, place);
    if (!common.quiet) std::cerr << task->description() << "\n";
    std::vector<language::FinishedRun> runs;
    try {
      StepBar bar(common);
      options.stop = &stop_requested();
      options.progress = [&](const language::RunKey& key, const language::TrainingProgress& p) {
        bar.show(p, label(key));
      };
      runs = language::sweep(*task, sweep, options);
    } catch (const lab::Interrupted&) {
      throw std::runtime_error(fmt::format(
          "stopped; the runs are kept in {}; run the same command again to continue.", out));
    } catch (...) {
      folders.clear();
      std::error_code ignored;
      if (!was_there) std::filesystem::remove(out, ignored);
      throw;
    }
    const lab::Results results = language::sweep_results(*task, name, runs);
    print(*task, sweep, runs, results);
    lab::write_results({{results, language::sweep_config(*task, name, sweep, options.base, runs)}},
                       std::move(folders), place);
    std::cout << "# runs and report: " << out << "\n";
  }

 private:
  [[nodiscard]] std::vector<language::Method> methods() const {
    std::vector<language::Method> all;
    for (const std::string& word : comma_list("--methods", methods_)) {
      all.push_back(language::parse_method(word));
      if (std::ranges::count(all, all.back().line, &language::Method::line) > 1)
        throw Error(fmt::format("--methods names {} twice.", word));
    }
    return all;
  }

  // None: around the paper's.
  [[nodiscard]] std::vector<double> rates() const {
    std::vector<double> all;
    if (const std::size_t dots = rates_.find(".."); dots != std::string::npos) {
      const double from = to_number("--rates", rates_.substr(0, dots)),
                   to = to_number("--rates", rates_.substr(dots + 2));
      if (!(from >= kSmallest && to >= from && to <= kLargest))
        throw Error(fmt::format(
            "--rates is '{}'; it must be FROM..TO with 1e-30 <= FROM <= TO <= 1e30.", rates_));
      // The grid has three digits: 3.16 stands for 3.1623 too.
      double lr = language::half_decade(from);
      if (lr < from * 0.999) lr = language::half_decade(lr, 1);
      for (; lr <= to * 1.001; lr = language::half_decade(lr, 1)) all.push_back(lr);
      if (all.empty())
        throw Error(fmt::format("--rates is '{}'; there is no 10^(j/2) in that range.", rates_));
      return all;
    }
    if (rates_.empty()) return all;
    for (const std::string& word : comma_list("--rates", rates_)) {
      const double lr = to_number("--rates", word);
      if (!(lr >= kSmallest && lr <= kLargest))
        throw Error(
            fmt::format("--rates has {}; a learning rate must be from 1e-30 to 1e30.", word));
      if (std::ranges::count(all, lr) > 0) throw Error(fmt::format("--rates has {} twice.", word));
      all.push_back(lr);
    }
    return all;
  }

  // All rates of a method that were tried, in order.
  static std::set<double> tried(const std::vector<language::FinishedRun>& runs,
                                const language::Method& method) {
    std::set<double> all;
    for (const language::FinishedRun& run : runs)
      if (run.key.method.word == method.word) all.insert(run.key.lr);
    return all;
  }

  // The rates at which a run has diverged, with spaces between them.
  static std::string diverged_at(const std::vector<language::FinishedRun>& runs,
                                 const language::Method& method) {
    std::set<double> rates;
    for (const language::FinishedRun& run : runs)
      if (run.key.method.word == method.word && run.result.diverged) rates.insert(run.key.lr);
    std::string text;
    for (const double lr : rates) text += (text.empty() ? "" : " ") + number(lr);
    return text;
  }

  static std::string label(const language::RunKey& key) {
    return fmt::format("{}, lr {}, seed {}", key.method.word, number(key.lr), key.seed);
  }

  // One row per method, at its best rate.
  static void print(const language::Task& task, const language::SweepOptions& sweep,
                    const std::vector<language::FinishedRun>& runs, const lab::Results& results) {
    const std::string score(task.info().validation);
    std::cout << "method,lr,training_loss," << score << ",edge,diverged\n";
    std::string remarks;
    for (const language::Method& method : sweep.methods) {
      const double best = language::best_rate(runs, method.word);
      const std::string diverged = diverged_at(runs, method);
      if (std::isnan(best)) {
        std::cout << method.word << ",,diverged,,," << diverged << "\n";
        remarks += fmt::format("# {} diverged at every rate tried.\n", method.word);
        continue;
      }
      const std::set<double> all = tried(runs, method);
      const std::string edge = all.size() == 1         ? "only"
                               : best == *all.begin()  ? "smallest"
                               : best == *all.rbegin() ? "largest"
                                                       : "";
      if (!edge.empty())
        remarks += fmt::format(
            "# {}: the best rate is the {} one tried; there may be a better one beyond it "
            "(--extend, --rates).\n",
            method.word, edge);
      std::cout << method.word << "," << number(best);
      for (const std::string& name : {std::string("training_loss"), score})
        std::cout << ","
                  << number(lab::mean_of(results, method.label, "final_" + name, {{"lr", best}}));
      std::cout << "," << edge << "," << diverged << "\n";
    }
    std::cout << remarks;
  }

  static constexpr double kSmallest = 1e-30, kLargest = 1e30;
  TaskChoice task_;
  RunChoice run_;
  std::string methods_ = "sgd-m,clipped-sgd,vclip,cclip,adam", rates_, seeds_ = "1", extend_ = "6",
              out_, command_;
  bool replace_ = false;
};

}  // namespace

std::unique_ptr<Command> make_sweep() { return std::make_unique<Sweep>(); }

}  // namespace medgrad::app
