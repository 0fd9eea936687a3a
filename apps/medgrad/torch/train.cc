// medgrad train TASK: one run.
#include <fmt/core.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <iostream>

#include "base/text.h"
#include "language/method.h"
#include "language/training.h"
#include "medgrad/error.h"
#include "stop.h"
#include "text.h"
#include "torch/commands.h"
#include "torch/progress.h"
#include "torch/task_choice.h"

namespace medgrad::app {
namespace {

class Train final : public Command {
 public:
  std::string_view name() const override { return "train"; }
  std::string_view summary() const override { return "train a language model with any method"; }
  std::string_view usage() const override { return "TASK --method M [--lr X] [options]"; }
  std::string details() const override {
    return task_.help() +
           "\nA method is NAME or NAME:parameter=number:…, as in vclip:tau=0.1 or vclip:tau=auto; "
           "medgrad list\noptimizers shows all of them.\n";
  }
  void declare(Options& options) override {
    task_.declare(options);
    options.value("--method", method_, "M", "the optimiser (default vclip)");
    for (auto& [name, text] : given_)
      options.value("--" + name, text, "X", fmt::format("{} of the method, as in its name", name));
    options.value("--lr", lr_, "X",
                  "learning rate (default: the paper's for this task and method)");
    run_.declare(options, "1");
    options.value("--out", out_, "DIR", "folder of the run (default: runs/TASK-METHOD)");
    options.flag("--resume", resume_, "continue the run in that folder");
  }

  void run(const Common& common) override {
    for (const auto& [name, text] : given_)
      if (!text.empty()) method_ += fmt::format(":{}={}", name, text);
    const language::Method method = language::parse_method(method_);
    language::TrainingOptions options;
    options.method = method.line;
    options.gradient = method.gradient;
    options.resume = resume_;
    options.seed = common.seed.empty() ? 0 : to_whole_number("--seed", common.seed, 0);
    run_.put(options);
    const std::unique_ptr<language::Task> task = task_.open(common);
    options.lr = rate(*task, method);
    std::string place = method.word;
    for (char& c : place) c = c == ':' || c == '=' ? '-' : c;
    options.folder = out_.empty() ? fmt::format("runs/{}-{}", task_.name(), place) : out_;
    if (!common.quiet) std::cerr << task->description() << "\n";
    language::TrainingResult result;
    {
      StepBar bar(common);
      bool told = common.quiet || !resume_;
      result = language::train(
          *task, options,
          [&](const language::TrainingProgress& p) {
            if (!told && p.step < p.steps)
              std::cerr << "Going on from step " << p.step << " of " << p.steps << ".\n";
            told = true;
            bar.show(p);
          },
          &stop_requested());
    }
    print(result, options);
    if (result.interrupted) throw std::runtime_error("stopped; rerun with --resume to continue.");
  }

 private:
  [[nodiscard]] double rate(const language::Task& task, const language::Method& method) const {
    if (!lr_.empty()) {
      const double lr = to_number("--lr", lr_);
      if (!(lr > 0) || lr > 1e30)
        throw Error(fmt::format("--lr is {}; it must be above 0 and at most 1e30.", lr_));
      return lr;
    }
    for (const auto& [name, rate] : task.info().rates)
      if (name == method.key) return rate;
    throw Error(
        fmt::format("the paper has no learning rate for {}; give one with --lr.", method.word));
  }

  static void print(const language::TrainingResult& result,
                    const language::TrainingOptions& options) {
    bool first = true;
    for (const language::Evaluation& one : result.evaluations) {
      if (first) {
        std::cout << "epoch,step";
        for (const auto& [name, value] : one.scores) std::cout << "," << name;
        std::cout << "\n";
        first = false;
      }
      std::cout << one.epoch << "," << one.step;
      for (const auto& [name, value] : one.scores) std::cout << "," << number(value);
      std::cout << "\n";
    }
    if (result.diverged) std::cout << "# diverged after " << result.steps << " steps\n";
    const bool idle = result.steps == result.first_step && !result.diverged && !result.interrupted;
    std::cout << "# " << (idle ? "the run was finished already: " : "") << result.steps
              << " steps, ";
    if (result.tokens_per_second > 0)
      std::cout << std::lround(result.tokens_per_second) << " tokens/s, ";
    std::cout << duration(result.seconds) << "; run: " << options.folder.string() << "\n";
  }

  TaskChoice task_;
  RunChoice run_;
  std::string method_ = "vclip", lr_, out_;
  std::array<std::pair<std::string, std::string>, 4> given_{
      {{"tau", ""}, {"theta", ""}, {"level", ""}, {"rate", ""}}};
  bool resume_ = false;
};

}  // namespace

std::unique_ptr<Command> make_train() { return std::make_unique<Train>(); }

}  // namespace medgrad::app
