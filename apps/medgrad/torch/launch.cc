// medgrad launch -n N -- COMMAND…: many workers on this machine.
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <optional>

#include "base/file.h"
#include "base/text.h"
#include "language/run_files.h"
#include "medgrad/error.h"
#include "medgrad/torch/world.h"
#include "status_line.h"
#include "stop.h"
#include "text.h"
#include "torch/commands.h"
#include "torch/dist/launcher.h"
#include "torch/launched.h"

namespace medgrad::app {
namespace {

class Launch final : public Command {
 public:
  std::string_view name() const override { return "launch"; }
  std::string_view summary() const override { return "start and watch many workers"; }
  std::string_view usage() const override { return "-n N [options] -- PROGRAM [argument…]"; }
  std::string details() const override {
    return fmt::format(
        "\n{}\n\n{}\n",
        wrapped("Every worker is told the others by its environment (RANK, WORLD_SIZE, and where "
                "they meet). Workers of one machine meet at a socket for processes of their user; "
                "with --host at a port of that address, and no other. Workers of other hosts join "
                "there with MEDGRAD_STORE=ADDRESS:PORT, RANK, WORLD_SIZE and the run's token in "
                "MEDGRAD_TOKEN, or in a file that MEDGRAD_TOKEN_FILE names; --world says how many "
                "workers that makes in all. launch takes the token from there too, and makes one "
                "up otherwise. Nothing between hosts is encrypted.",
                0),
        wrapped("medgrad launch -n 4 -- train … --aggregate RULE trains a model together; what it "
                "prints is what train prints with --workers 4.",
                0));
  }
  void declare(Options& options) override {
    options.value("-n", workers_, "N", "how many workers to start");
    options.value("--world", world_, "W",
                  "workers in all; ranks N to W - 1 are started elsewhere (default N)");
    options.value("--logs", logs_, "DIR",
                  "what each says goes to DIR/worker-0.log, … (default: logs)");
    options.value("--quorum", quorum_, "Q", "how many have to finish (default 1)");
    options.value("--restarts", restarts_, "R",
                  "how often one that died is started again (default 0)");
    options.value("--host", host_, "ADDRESS",
                  "meet at a port of this address (default: within this machine)");
    options.value("--port", port_, "PORT", "which one (default: any that is free)");
    options.arguments("PROGRAM", command_, "what to run, with its arguments");
  }

  void run(const Common& common) override {
    if (workers_.empty()) throw Error("-n is missing; it says how many workers to start.");
    libtorch::LaunchOptions options;
    options.workers = number_of("-n", workers_, 1, 4096);
    options.world =
        world_.empty() ? options.workers : number_of("--world", world_, options.workers, 4096);
    options.quorum = quorum_.empty() ? 1 : number_of("--quorum", quorum_, 1, options.workers);
    options.restarts = restarts_.empty() ? 0 : number_of("--restarts", restarts_, 0, 1'000'000);
    options.host = host_;
    options.port = port_.empty() ? 0 : number_of("--port", port_, 0, 65535);
    if (host_.empty() && !port_.empty()) throw Error("--port is for --host, which is missing.");
    if (command_.empty())
      throw Error(
          "there is nothing to start; a program comes after --, as in medgrad launch -n 4 "
          "-- ./train.");
    options.command = command_;
    if (command_.front() == "train") be_train(options.command);
    options.token = libtorch::token_from_environment();
    options.folder = logs_.empty() ? "logs" : logs_;
    const Noted noted(options.folder);
    StatusLine line(common);
    options.watch = [&] {
      if (!line.on_terminal() || !line.due()) return;
      if (const std::string text = noted.status(); !text.empty()) line.write(text);
    };
    libtorch::launch(options, stop_requested(), [&](const std::string& sentence) {
      if (!common.quiet) std::cerr << (line.on_terminal() ? "\r\033[K" : "") << sentence << "\n";
    });
    std::cout << noted.results();
  }

 private:
  // What its workers leave for the launcher, until it is gone; of one run at a time.
  class Noted {
   public:
    explicit Noted(std::filesystem::path folder) : folder_(std::move(folder)) {
      std::error_code failed;
      std::filesystem::create_directories(folder_, failed);
      if (failed)
        throw Error(fmt::format("{} cannot be created: {}.", folder_.string(), failed.message()));
      lock();
      remove();
    }
    ~Noted() { remove(); }
    Noted(const Noted&) = delete;
    Noted& operator=(const Noted&) = delete;
    [[nodiscard]] std::string status() const { return read(kStatusFile); }
    [[nodiscard]] std::string results() const { return read(kResultsFile); }

   private:
    void lock() {
      try {
        lock_.emplace(folder_);
      } catch (const Error&) {
        throw Error(
            fmt::format("{} has the logs of workers that are at work; choose another folder "
                        "with --logs.",
                        folder_.string()));
      }
    }
    [[nodiscard]] std::string read(const char* name) const {
      try {
        return read_whole(folder_ / name);
      } catch (const Error&) {
        return {};  // nobody has left any
      }
    }
    void remove() const {
      std::error_code ignored;
      for (const char* const name : {kStatusFile, kResultsFile})
        std::filesystem::remove(folder_ / name, ignored);
    }
    std::filesystem::path folder_;
    std::optional<language::FolderLock> lock_;
  };

  // The command of this program.
  static void be_train(std::vector<std::string>& command) {
    const bool together = std::ranges::any_of(
        command, [](const std::string& word) { return word.starts_with("--aggregate"); });
    if (!together)
      throw Error(
          "workers that train together need a rule; choose one with train … --aggregate RULE (mean "
          "is the plain average).");
    command.insert(command.begin(), std::filesystem::read_symlink("/proc/self/exe").string());
  }

  static int number_of(std::string_view option, const std::string& text, std::uint64_t least,
                       int most) {
    const std::uint64_t value = to_whole_number(option, text, least);
    if (value > static_cast<std::uint64_t>(most))
      throw Error(fmt::format("{} is {}; it must be at most {}.", option, text, most));
    return static_cast<int>(value);
  }

  std::string workers_, world_, logs_, quorum_, restarts_, host_, port_;
  std::vector<std::string> command_;
};

}  // namespace

std::unique_ptr<Command> make_launch() { return std::make_unique<Launch>(); }

}  // namespace medgrad::app
