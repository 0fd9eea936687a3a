// medgrad train TASK: one run.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <thread>

#include "base/text.h"
#include "language/crew_team.h"
#include "language/method.h"
#include "language/training.h"
#include "medgrad/error.h"
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
    return task_.help() +
           "\nA method is NAME or NAME:parameter=number:…, as in vclip:tau=0.1 or vclip:tau=auto; "
           "medgrad list\noptimizers shows all of them.\n" +
           WorkersChoice::help();
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
    workers_.declare(options);
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
    // Where this process is one of many, it has the others beside it.
    const auto world = workers_.given() ? libtorch::world_from_environment() : std::nullopt;
    const std::size_t by_mpi = workers_.given() && !world ? mpi_workers() : 0;
    options.workers = workers_.read(world ? static_cast<std::size_t>(world->workers) : by_mpi);
    if (options.workers && options.corrupted.share != 0)
      throw Error("--corrupted is for one that trains alone; workers that lie have an --attack.");
    if (world && world->worker >= world->workers)
      throw Error(fmt::format("The variable RANK is {}; it must be below WORLD_SIZE, {}.",
                              world->worker, world->workers));
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
  std::string method_ = "vclip", lr_, out_;
  std::array<std::pair<std::string, std::string>, 4> given_{
      {{"tau", ""}, {"theta", ""}, {"level", ""}, {"rate", ""}}};
  bool resume_ = false;
};

}  // namespace

std::unique_ptr<Command> make_train() { return std::make_unique<Train>(); }

}  // namespace medgrad::app
