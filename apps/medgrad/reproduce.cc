// medgrad reproduce: the paper's experiments; medgrad run: experiments of one's own. Both write
// result folders and one HTML page about them.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <mutex>
#include <set>

#include "command.h"
#include "lab/experiments.h"
#include "lab/runner.h"
#include "medgrad/error.h"
#include "streams.h"

namespace medgrad::app {
namespace {

namespace fs = std::filesystem;

// A bar on a terminal, with the time that is left; nothing elsewhere or with --quiet.
class Bar {
 public:
  explicit Bar(const Common& common)
      : shown_(!common.quiet && ::isatty(STDERR_FILENO) == 1),
        begin_(Clock::now()),
        next_(begin_) {}
  ~Bar() {
    if (drawn_) std::fputs("\r\033[K", stderr);
  }
  Bar(const Bar&) = delete;
  Bar& operator=(const Bar&) = delete;

  void show(std::size_t done, std::size_t total) {
    if (!shown_) return;
    const std::scoped_lock lock(mutex_);
    const auto now = Clock::now();
    if (now < next_) return;
    next_ = now + std::chrono::milliseconds(100);
    drawn_ = true;
    const double share = static_cast<double>(done) / static_cast<double>(total);
    const double spent = std::chrono::duration<double>(now - begin_).count();
    const int filled = static_cast<int>(share * kWidth);
    std::fprintf(stderr, "\r[%s%s] %3.0f %%, %.0f s left \033[K",
                 std::string(static_cast<std::size_t>(filled), '#').c_str(),
                 std::string(static_cast<std::size_t>(kWidth - filled), ' ').c_str(), 100 * share,
                 spent * (1 - share) / share);
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr int kWidth = 40;
  bool shown_, drawn_ = false;
  Clock::time_point begin_, next_;
  std::mutex mutex_;
};

// What both commands have in common.
class Experiments : public Command {
 public:
  void declare(Options& options) override {
    options.value("--out", out_, "DIR", "where results go (default results)");
    options.value("--seeds", seeds_, "N",
                  "runs per method and point of the grid, instead of the file's");
    options.value("--jobs", jobs_, "J", "threads; the same as --threads");
    options.flag("--pdf", pdf_, "also draw the figures as PDF");
    options.flag("--no-svg", no_svg_, "do not draw the figures as SVG");
  }

 protected:
  // The file's text as an experiment, with --seed and --seeds put in.
  [[nodiscard]] lab::Experiment read(const std::string& text, const std::string& file,
                                     const Common& common) const {
    lab::Node document = lab::parse_document(text, file);
    if (!common.seed.empty()) put(document, "seed", to_whole_number("--seed", common.seed, 0));
    // Projections have no chance in them, and moments count trials.
    const lab::Node* kind = document.find("kind");
    const bool has_runs =
        kind == nullptr || kind->text() == nullptr || *kind->text() == "trajectories";
    if (!seeds_.empty() && has_runs) put(document, "seeds", to_whole_number("--seeds", seeds_, 1));
    return lab::read_experiment(std::move(document), file);
  }

  void run_all(const std::vector<lab::Experiment>& experiments, const Common& common,
               std::string command) const {
    std::set<std::string> names;
    for (const lab::Experiment& experiment : experiments) {
      if (!names.insert(experiment.name).second)
        throw Error("two experiments are called '" + experiment.name +
                    "'; their folders would collide.");
    }
    if (!jobs_.empty() && common.threads != "0")
      throw Error("--jobs and --threads are the same; give one of them.");
    const std::string threads = jobs_.empty() ? common.threads : jobs_;
    ThreadPool pool(static_cast<unsigned>(
        to_whole_number(jobs_.empty() ? "--threads" : "--jobs", threads, jobs_.empty() ? 0 : 1)));
    const auto begin = std::chrono::steady_clock::now();
    std::vector<lab::Results> results;
    {
      Bar bar(common);
      lab::RunOptions options{
          .out = out_,
          .pool = &pool,
          .svg = !no_svg_,
          .pdf = pdf_,
          .command = std::move(command),
          .progress = [&](std::size_t done, std::size_t total) { bar.show(done, total); },
          .warn = [&](const std::string& sentence) { warn(common, sentence); }};
      results = lab::run_experiments(experiments, options);
    }
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (!common.quiet) print(results, seconds);
  }

 private:
  static void put(lab::Node& document, const std::string& key, std::uint64_t value) {
    const lab::Node node{static_cast<double>(value), 1};
    if (document.object() == nullptr) return;  // reading it will say what is wrong
    if (lab::Node* there = document.find(key)) {
      *there = node;
    } else {
      std::get<lab::Node::Object>(document.value).emplace_back(key, node);
    }
  }

  // Every claim on a line, then where everything is.
  void print(const std::vector<lab::Results>& results, double seconds) const {
    std::size_t holding = 0, decided = 0;
    for (const lab::Results& result : results) {
      std::cout << result.experiment << ": " << result.title << "\n";
      for (const lab::Claim& claim : result.claims) {
        decided += claim.holds ? 1 : 0;
        holding += claim.holds.value_or(false) ? 1 : 0;
        std::cout << "  "
                  << (!claim.holds   ? "–"
                      : *claim.holds ? "✓"
                                     : "✗")
                  << " " << claim.claim << "\n"
                  << "      " << claim.evidence << "\n";
      }
    }
    char time[32];
    std::snprintf(time, sizeof time, "%.2f", seconds);
    std::cout << "\n"
              << results.size() << (results.size() == 1 ? " experiment" : " experiments") << " in "
              << time << " s; ";
    if (decided > 0) std::cout << holding << " of " << decided << " claims hold; ";
    std::cout << "report: " << (fs::path(out_) / "index.html").string() << "\n";
  }

  std::string out_ = "results", seeds_, jobs_;
  bool pdf_ = false, no_svg_ = false;
};

class Reproduce final : public Experiments {
 public:
  std::string_view name() const override { return "reproduce"; }
  std::string_view summary() const override {
    return "run the paper's experiments, check its claims and write a report";
  }
  std::string_view usage() const override { return "[NAME...] [options]"; }
  void declare(Options& options) override {
    options.arguments("NAME", names_, "experiments (default: all; medgrad list experiments)");
    Experiments::declare(options);
    options.flag("--print", print_, "print the experiments' files instead, to edit and run");
  }
  void run(const Common& common) override {
    std::vector<lab::Experiment> experiments;
    std::string command = "medgrad reproduce";
    for (const std::string& name : names_) command += " " + name;
    if (!common.seed.empty()) command += " --seed " + common.seed;
    if (names_.empty())
      for (const lab::BuiltIn& one : lab::built_in_experiments()) names_.emplace_back(one.name);
    for (const std::string& name : names_) {
      const lab::BuiltIn& one = lab::find_built_in(name);
      if (print_) {
        std::cout << one.text;
      } else {
        experiments.push_back(read(std::string(one.text), name + ".json", common));
      }
    }
    if (!print_) run_all(experiments, common, command);
  }

 private:
  std::vector<std::string> names_;
  bool print_ = false;
};

class Run final : public Experiments {
 public:
  std::string_view name() const override { return "run"; }
  std::string_view summary() const override {
    return "run experiments of one's own: JSON files in which every list is an axis of a grid";
  }
  std::string_view usage() const override { return "FILE.json... [options]"; }
  void declare(Options& options) override {
    options.arguments("FILE", files_,
                      "experiments; medgrad reproduce NAME --print shows how one looks");
    Experiments::declare(options);
  }
  void run(const Common& common) override {
    if (files_.empty()) throw Error("FILE is missing: which experiment? See medgrad run --help.");
    std::vector<lab::Experiment> experiments;
    std::string command = "medgrad run";
    for (const std::string& file : files_) {
      command += " " + file;
      std::ifstream in(file, std::ios::binary);
      if (!in || fs::is_directory(file)) throw Error(file + " cannot be read.");
      const std::string text((std::istreambuf_iterator<char>(in)),
                             std::istreambuf_iterator<char>());
      experiments.push_back(read(text, file, common));
    }
    run_all(experiments, common, command);
  }

 private:
  std::vector<std::string> files_;
};

}  // namespace

std::unique_ptr<Command> make_reproduce() { return std::make_unique<Reproduce>(); }
std::unique_ptr<Command> make_run() { return std::make_unique<Run>(); }

}  // namespace medgrad::app
