// medgrad reproduce: the paper's experiments; medgrad run: your own. Both write
// result folders and one HTML page about them.
#include <algorithm>
#include <filesystem>
#include <iostream>

#include "base/file.h"
#include "command.h"
#include "experiment_run.h"
#include "lab/experiments.h"
#include "medgrad/error.h"
#include "medgrad/thread_pool.h"
#include "text.h"
#include "torch_program.h"

namespace medgrad::app {
namespace {

namespace fs = std::filesystem;

// What both commands have in common.
class Experiments : public Command {
 public:
  void declare(Options& options) override {
    run_.declare(options);
    options.value("--seeds", seeds_, "N",
                  "runs per method and grid point, instead of what the file says");
  }
  void start(std::vector<std::string> arguments) override {
    typed_ = arguments;
    Command::start(std::move(arguments));
  }

 protected:
  [[nodiscard]] const std::vector<std::string>& typed() const { return typed_; }

  // The file's text as an experiment, with --seed and --seeds put in.
  [[nodiscard]] lab::Experiment read(const std::string& text, const std::string& file,
                                     const Common& common) const {
    Node document = parse_document(text, file);
    if (!common.seed.empty()) put(document, "seed", to_whole_number("--seed", common.seed, 0));
    const lab::Kind* const kind = lab::kind_of(document, lab::synthetic_catalogue());
    if (!seeds_.empty() && kind != nullptr && kind->adjustable == lab::Adjustable::seeds)
      put(document, "seeds", to_whole_number("--seeds", seeds_, 1));
    return lab::read_experiment(std::move(document), file);
  }

  void run_all(const std::vector<lab::Experiment>& experiments, const Common& common) const {
    ThreadPool pool(common.threads);
    run_.go(experiments, pool, common, command_line(name(), typed_));
  }

 private:
  static void put(Node& document, const std::string& key, std::uint64_t value) {
    const Node node{static_cast<double>(value), 1};
    if (document.object() == nullptr) return;  // reading it will say what is wrong
    if (Node* there = document.find(key)) {
      *there = node;
    } else {
      std::get<Node::Object>(document.value).emplace_back(key, node);
    }
  }

  std::vector<std::string> typed_;
  std::string seeds_;
  ExperimentRun run_;
};

class Reproduce final : public Experiments {
 public:
  std::string_view name() const override { return "reproduce"; }
  std::string_view summary() const override {
    return "run the paper's experiments, check its claims and write a report";
  }
  std::string_view usage() const override { return "[NAME...] [options]"; }
  void declare(Options& options) override {
    options.arguments("NAME", names_,
                      "experiments, see medgrad list experiments (default: all that need neither "
                      "libtorch nor data)");
    std::vector<std::string> names;
    for (const lab::BuiltIn& one : lab::built_in_experiments()) names.emplace_back(one.name);
    options.offer("NAME", names);
    Experiments::declare(options);
    options.flag("--print", print_,
                 "print the experiments' files instead of running them, to edit and run");
    options.flag("--paper-scale", paper_scale_,
                 "experiments on language models: the paper's sizes, which take hours to days (the "
                 "other experiments always have them)");
  }
  std::string details() const override {
    return "\nExperiments on language models have more options: medgrad help reproduce fixed-ptb\n";
  }

  // Experiments on language models have options that only the other program knows.
  void start(std::vector<std::string> arguments) override {
    const bool prints = std::ranges::count(arguments, "--print") > 0;
    for (std::size_t i = 0; i < arguments.size() && !prints; ++i) {
      const auto all = lab::built_in_experiments();
      const auto named = std::ranges::find(all, arguments[i], &lab::BuiltIn::name);
      if (named == all.end() || !named->needs_libtorch) continue;
      if (i > 0 && std::ranges::count(kWithValue, arguments[i - 1]) > 0) continue;
      arguments.insert(arguments.begin(), "reproduce");
      start_torch_program(arguments);
    }
    Experiments::start(std::move(arguments));
  }
  void run(const Common& common) override {
    std::vector<lab::Experiment> experiments;
    if (names_.empty())
      for (const lab::BuiltIn& one : lab::built_in_experiments())
        if (!one.needs_libtorch) names_.emplace_back(one.name);
    for (const std::string& name : names_) {
      const lab::BuiltIn& one = lab::find_built_in(name);
      if (print_) {
        std::cout << one.text;
      } else {
        experiments.push_back(read(std::string(one.text), name + ".json", common));
      }
    }
    if (!print_) run_all(experiments, common);
  }

 private:
  static constexpr std::string_view kWithValue[] = {"--out", "--seeds", "--jobs", "--seed",
                                                    "--threads"};
  std::vector<std::string> names_;
  bool print_ = false, paper_scale_ = false;
};

class Run final : public Experiments {
 public:
  std::string_view name() const override { return "run"; }
  std::string_view summary() const override {
    return "run your own experiments: JSON files in which every list is an axis of a grid";
  }
  std::string_view usage() const override { return "FILE.json... [options]"; }
  void declare(Options& options) override {
    options.arguments("FILE", files_,
                      "experiments; medgrad reproduce NAME --print prints one to start from");
    Experiments::declare(options);
  }
  void run(const Common& common) override {
    if (files_.empty())
      throw Error(
          "FILE is missing; medgrad run needs at least one experiment (medgrad reproduce toy "
          "--print prints one).");
    std::vector<std::string> texts;
    bool with_torch = false;
    for (const std::string& file : files_) {
      texts.push_back(read_whole(file));
      with_torch = with_torch || lab::needs_libtorch(parse_document(texts.back(), file));
    }
    if (with_torch) {
      std::vector<std::string> arguments = typed();
      arguments.insert(arguments.begin(), "run");
      start_torch_program(arguments);
    }
    std::vector<lab::Experiment> experiments;
    for (std::size_t i = 0; i < files_.size(); ++i)
      experiments.push_back(read(texts[i], files_[i], common));
    run_all(experiments, common);
  }

 private:
  std::vector<std::string> files_;
};

}  // namespace

std::unique_ptr<Command> make_reproduce() { return std::make_unique<Reproduce>(); }
std::unique_ptr<Command> make_run() { return std::make_unique<Run>(); }

}  // namespace medgrad::app
