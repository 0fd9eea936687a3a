// medgrad train TASK: one run.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <thread>

#include "base/text.h"
#include "language/crew_team.h"
#include "language/method.h"
#include "language/task_table.h"
#include "language/training.h"
#include "medgrad/error.h"
#include "parameter_options.h"
#include "status_line.h"
#include "stop.h"
#include "text.h"
#include "torch/commands.h"
#include "torch/launched.h"
#include "torch/mpi_team.h"
#include "torch/progress.h"
#include "torch/task_choice.h"
#include "torch/workers_choice.h"

namespace medgrad::app {
namespace {

class Train final : public Command {
 public:
  std::string_view name() const override { return "train"; }
  std::string_view summary() const override { return "train a language model with any method"; }
  std::string_view usage() const override { return "TASK --method M [--lr X] [options]"; }
  std::string details() const override {
    const std::string method = fmt::format(
        "A method is NAME or NAME:parameter=value:…, as in vclip:tau=0.1 or huber:mu=2:tau=auto; "
        "its "
        "parameters may also be options, as in --method huber --mu 2. medgrad list optimizers "
        "shows "
        "all of them, and medgrad train --method NAME --help those of one. {}",
        language::training_tau_sentence());
    const std::string chosen =
        method_.empty()
            ? ""
            : method_help(language::find_training_method(parse_method_text(method_).name));
    return fmt::format("{}\n{}\n{}{}", task_.help(), wrapped(method, 0), chosen,
                       WorkersChoice::help());
  }
  void declare(Options& options) override {
    task_.declare(options);
    options.value("--method", method_, "M", "the optimiser (default vclip)");
    // --f is that of --aggregate too.
    parameters_.declare(options, optimizers(), {"f", "seed"});
    parameters_.declare(options, pre_aggregators(), {"f", "seed"});
    parameters_.declare(options, worker_methods(), {"f", "seed"});
    options.value("--lr", lr_, "X",
                  "learning rate (default: the paper's for this task and method)");
    run_.declare(options, "1");
    options.value("--out", out_, "DIR", "folder of the run (default: runs/TASK-METHOD)");
    options.flag("--resume", resume_, "continue the run in that folder");
    workers_.declare(options);
  }

  void run(const Common& common) override {
    const language::Method method = chosen_method();
    language::TrainingOptions options;
    options.method = method.line;
    options.gradient = method.gradient;
    options.resume = resume_;
    options.seed = common.seed.empty() ? 0 : to_whole_number("--seed", common.seed, 0);
    run_.put(options);
    // Where this process is one of many, it has the others beside it.
    const auto world = workers_.given() ? libtorch::world_from_environment() : std::nullopt;
    const std::size_t by_mpi = workers_.given() && !world ? mpi_workers() : 0;
    options.workers = workers_.read(world ? static_cast<std::size_t>(world->workers) : by_mpi);
    if (options.workers && options.corrupted.share != 0)
      throw Error("--corrupted is for one that trains alone; workers that lie have an --attack.");
    Common shared = common;
    if ((world || by_mpi > 0) && shared.threads == 0) shared.threads = threads_of_one();
    const std::unique_ptr<language::Task> task = task_.open(shared);
    options.lr = rate(*task, method);
    std::string place = method.word;
    for (char& c : place) c = c == ':' || c == '=' ? '-' : c;
    options.folder = out_.empty() ? fmt::format("runs/{}-{}", task_.name(), place) : out_;
    if (!common.quiet) std::cerr << task->description() << "\n";
    options.tell = [&](const std::string& sentence) { warn(common, sentence); };
    const std::unique_ptr<language::Team> team =
        world        ? language::make_crew_team(*options.workers, *world)
        : by_mpi > 0 ? make_mpi_team(*options.workers)
                     : nullptr;
    options.team = team.get();
    try {
      with_named_remedies([&] { train(*task, options, common); });
    } catch (const std::exception& error) {
      if (by_mpi == 0) throw;
      end_mpi_team(error.what(), team->leads());
    }
    if (by_mpi > 0) end_mpi_team();
  }

 private:
  [[nodiscard]] language::Method chosen_method() {
    if (method_.empty()) method_ = "vclip";
    return parameters_.named(method_, [&] {
      const auto& entry = language::find_training_method(parse_method_text(method_).name);
      if (entry.find("f") != nullptr && !workers_.given()) parameters_.give("f", workers_.take_f());
      return language::parse_method(parameters_.text_with(method_));
    });
  }

  void train(const language::Task& task, const language::TrainingOptions& options,
             const Common& common) const {
    language::TrainingResult result;
    {
      StepBar bar(common);
      bool told = common.quiet || !resume_;
      result = language::train(
          task, options,
          [&](const language::TrainingProgress& p) {
            if (!told && p.step < p.steps)
              std::cerr << "Going on from step " << p.step << " of " << p.steps << ".\n";
            told = true;
            bar.show(p);
          },
          &stop_requested());
    }
    if (result.leads) {
      const std::string text = text_of(result, options);
      std::cout << text;
      if (options.team != nullptr && !launch_folder().empty())
        leave(launch_folder(), kResultsFile, text);
    }
    if (result.interrupted) throw std::runtime_error("stopped; rerun with --resume to continue.");
  }

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

  // Workers of one machine share its cores.
  static unsigned threads_of_one() {
    const char* text = std::getenv("LOCAL_WORLD_SIZE");
    if (text == nullptr) text = std::getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
    const int beside = text == nullptr ? 1 : std::max(1, std::atoi(text));
    return std::max(1U, std::thread::hardware_concurrency() / static_cast<unsigned>(beside));
  }

  static std::string text_of(const language::TrainingResult& result,
                             const language::TrainingOptions& options) {
    std::ostringstream out;
    bool first = true;
    for (const language::Evaluation& one : result.evaluations) {
      if (first) {
        out << "epoch,step";
        for (const auto& [name, value] : one.scores) out << "," << name;
        out << "\n";
        first = false;
      }
      out << one.epoch << "," << one.step;
      for (const auto& [name, value] : one.scores) out << "," << number(value);
      out << "\n";
    }
    if (options.workers) put_blame(out, result.blame);
    if (result.diverged) out << "# diverged after " << result.steps << " steps\n";
    const bool idle = result.steps == result.first_step && !result.diverged && !result.interrupted;
    out << "# " << (idle ? "the run was finished already: " : "") << result.steps << " steps, ";
    if (result.tokens_per_second > 0) out << std::lround(result.tokens_per_second) << " tokens/s, ";
    out << duration(result.seconds) << "; run: " << options.folder.string() << "\n";
    return out.str();
  }

  static void put_blame(std::ostream& out, const dist::Blame& blame) {
    std::istringstream table(blame.text());
    for (std::string line; std::getline(table, line);) out << "# " << line << "\n";
  }

  TaskChoice task_;
  RunChoice run_;
  WorkersChoice workers_;
  ParameterOptions parameters_;
  std::string method_, lr_, out_;
  bool resume_ = false;
};

}  // namespace

std::unique_ptr<Command> make_train() { return std::make_unique<Train>(); }

}  // namespace medgrad::app
