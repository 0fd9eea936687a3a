// medgrad sweep TASK: which learning rate is best, for each of several methods.
#include <cstdio>
#include <iostream>

#include "lab/runner.h"
#include "language/json.h"
#include "language/runs.h"
#include "medgrad/error.h"
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
    return task_.help() +
           "\nRates are 10^(j/2), around the paper's unless --rates says otherwise; where the best "
           "of a method is at "
           "an edge, the grid grows there. The best has the smallest final training loss, on "
           "average over the "
           "seeds. A sweep that was stopped goes on when it is started again.\n";
  }
  void declare(Options& options) override {
    task_.declare(options);
    options.value("--methods", methods_, "LIST", "default sgd-m,clipped-sgd,vclip,cclip,adam");
    options.value("--rates", rates_, "LIST", "learning rates, or FROM..TO in half decades");
    options.value("--seeds", seeds_, "N", "runs per rate (default 1)");
    options.value("--extend", extend_, "N", "at most so many rates more per method (default 6)");
    run_.declare(options, "1");
    options.value("--out", out_, "DIR", "where runs and the report go (default sweeps/TASK)");
  }

  void run(const Common& common) override {
    language::SweepOptions sweep;
    for (const std::string& word : language::words_of(methods_))
      sweep.methods.push_back(language::parse_method(word));
    if (sweep.methods.empty()) throw Error("--methods names no method.");
    sweep.rates = rates();
    sweep.seeds = static_cast<std::size_t>(to_whole_number("--seeds", seeds_, 1));
    sweep.extensions = static_cast<std::size_t>(to_whole_number("--extend", extend_, 0));
    language::RunsOptions options;
    run_.put(options.base);
    const std::unique_ptr<language::Task> task = task_.open(common);
    const std::string out = out_.empty() ? "sweeps/" + task_.name() : out_;
    options.folder = out;
    if (!common.quiet) std::cerr << task->description() << "\n";
    std::vector<language::FinishedRun> runs;
    {
      StepBar bar(common);
      options.stop = &stop_requested();
      options.progress = [&](const language::RunKey& key, const language::TrainingProgress& p) {
        bar.show(p, label(key));
      };
      try {
        runs = language::sweep(*task, sweep, options);
      } catch (const language::Interrupted&) {
        throw std::runtime_error("stopped; the same command goes on.");
      }
    }
    print(runs, sweep);
    const std::string name = task_.name() + "-sweep";
    lab::write_results({{language::results_of(*task, name, runs, false), config(*task, sweep)}},
                       {.out = out, .command = "medgrad sweep " + task_.name()});
  }

 private:
  static std::string config(const language::Task& task, const language::SweepOptions& sweep) {
    language::Json json = {
        {"task", task.info().name}, {"seeds", sweep.seeds}, {"rates", sweep.rates}};
    for (const language::Method& method : sweep.methods) json["methods"].push_back(method.line);
    return json.dump(2).append("\n");
  }

  static std::string label(const language::RunKey& key) {
    char rate[32];
    std::snprintf(rate, sizeof rate, "%g", key.lr);
    return key.method.word + ", lr " + rate + ", seed " + std::to_string(key.seed);
  }

  [[nodiscard]] std::vector<double> rates() const {
    std::vector<double> all;
    if (const std::size_t dots = rates_.find(".."); dots != std::string::npos) {
      const double from = to_number("--rates", rates_.substr(0, dots)),
                   to = to_number("--rates", rates_.substr(dots + 2));
      if (!(from > 0 && to >= from && to < 1e30)) throw Error("--rates needs 0 < FROM <= TO.");
      for (double lr = language::half_decade(from); lr <= to * 1.001;
           lr = language::half_decade(lr, 1))
        all.push_back(lr);
      return all;
    }
    for (const std::string& word : language::words_of(rates_)) {
      all.push_back(to_number("--rates", word));
      if (!(all.back() > 0))
        throw Error("--rates holds " + word + "; a learning rate is positive.");
    }
    return all;
  }

  static void print(const std::vector<language::FinishedRun>& runs,
                    const language::SweepOptions& sweep) {
    std::cout << "method,lr,seed,training_loss,best\n";
    for (const language::Method& method : sweep.methods) {
      const double best = language::best_rate(runs, method.word);
      for (const language::FinishedRun& run : runs) {
        if (run.key.method.word != method.word) continue;
        std::cout << method.word << "," << run.key.lr << "," << run.key.seed << ",";
        if (run.result.diverged) {
          std::cout << "diverged";
        } else {
          std::cout << run.final_loss();
        }
        std::cout << "," << (run.key.lr == best ? "*" : "") << "\n";
      }
    }
  }

  TaskChoice task_;
  RunChoice run_;
  std::string methods_ = "sgd-m,clipped-sgd,vclip,cclip,adam", rates_, seeds_ = "1", extend_ = "6",
              out_;
};

}  // namespace

std::unique_ptr<Command> make_sweep() { return std::make_unique<Sweep>(); }

}  // namespace medgrad::app
