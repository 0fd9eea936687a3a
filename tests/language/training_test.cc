// Training runs: what they write, and that going on is as if never stopped.
#include "language/training.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "io/temporary_folder.h"
#include "language/method.h"
#include "medgrad/error.h"

namespace medgrad::language {
namespace {

using medgrad::testing::TemporaryFolder;

std::filesystem::path path_of(const TemporaryFolder& folder) { return folder / ""; }

namespace fs = std::filesystem;
using Json = nlohmann::json;

std::string bytes_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

// The lines of metrics.jsonl without what depends on the clock.
std::vector<Json> lines_of(const fs::path& folder) {
  std::vector<Json> lines;
  std::istringstream in(bytes_of(folder / "metrics.jsonl"));
  for (std::string line; std::getline(in, line);) {
    lines.push_back(Json::parse(line));
    lines.back().erase("seconds");
  }
  return lines;
}

const Task& made_up(bool questions = false) {
  static const std::unique_ptr<Task> words =
      open_task("synthetic", {.size = Size::small, .batch = 8, .limit = 7, .evaluation_limit = 2});
  static const std::unique_ptr<Task> asked = open_task(
      "synthetic-questions", {.size = Size::small, .batch = 4, .limit = 7, .evaluation_limit = 2});
  return questions ? *asked : *words;
}

TrainingOptions options_for(const std::string& word, const fs::path& folder) {
  const Method method = parse_method(word);
  TrainingOptions options;
  options.method = method.line;
  options.gradient = method.gradient;
  options.lr = 0.05;
  options.epochs = 2;
  options.log_every = 1;
  options.checkpoint_every = 2;
  options.folder = folder;
  options.lr_schedule = {Schedule::Kind::cosine, 1, 0.1, 1, 2};
  return options;
}

TEST(Training, GoesOnAsIfNeverStopped) {
  for (const bool questions : {false, true}) {
    for (const std::string word :
         {"vclip", "cclip:tau=0.001", "adam", "median-adam", "smgd-l1:n=3", "sgd"}) {
      const TemporaryFolder folder;
      const fs::path whole = path_of(folder) / "whole", parts = path_of(folder) / "parts";
      const TrainingResult expected = train(made_up(questions), options_for(word, whole));
      EXPECT_FALSE(expected.interrupted);
      // Stopped after every step, and in the middle of evaluations.
      TrainingResult result;
      int starts = 0;
      do {
        ASSERT_LT(++starts, 60);
        std::atomic<bool> stop = false;
        TrainingOptions options = options_for(word, parts);
        options.resume = starts > 1;
        result = train(
            made_up(questions), options,
            [&](const TrainingProgress& p) { stop = !p.evaluating || starts % 3 == 0; }, &stop);
      } while (result.interrupted);
      EXPECT_GT(starts, 3);
      EXPECT_EQ(result.steps, expected.steps);
      ASSERT_EQ(result.evaluations.size(), expected.evaluations.size());
      for (std::size_t i = 0; i < expected.evaluations.size(); ++i)
        EXPECT_EQ(result.evaluations[i].scores, expected.evaluations[i].scores) << word;
      EXPECT_EQ(lines_of(parts), lines_of(whole)) << word;
      EXPECT_EQ(bytes_of(parts / "config.json"), bytes_of(whole / "config.json"));
    }
  }
}

TEST(Training, StopsWithinAnEvaluationOnlyAfterSaving) {
  const TemporaryFolder folder;
  std::atomic<bool> stop = true;
  const TrainingResult result = train(made_up(), options_for("vclip", path_of(folder)), {}, &stop);
  EXPECT_TRUE(result.interrupted);
  EXPECT_TRUE(fs::exists(path_of(folder) / "checkpoint.pt"));
  EXPECT_FALSE(fs::exists(path_of(folder) / "checkpoint.pt.new"));
}

TEST(Training, CountsStepsAndLeavesOutWhatMakesNone) {
  TrainingOptions options = options_for("momentum", {});
  options.accumulate = 2;
  const TrainingResult result = train(made_up(), options);
  EXPECT_EQ(result.steps, 6U) << "7 batches make 3 steps of 2, twice";
  ASSERT_EQ(result.evaluations.size(), 3U);
  EXPECT_EQ(result.evaluations[1].step, 3U);
  options.steps = 4;
  const TrainingResult shorter = train(made_up(), options);
  EXPECT_EQ(shorter.steps, 4U);
  EXPECT_EQ(shorter.evaluations.back().step, 4U) << "looked at where it ends";
  options.accumulate = 8;
  EXPECT_THROW(train(made_up(), options), Error);
}

// The mean of gradients of k batches is the gradient of their mean loss: accumulating is averaging.
TEST(Training, LearnsSomething) {
  TrainingOptions options = options_for("adam", {});
  options.lr = 0.01;
  options.epochs = 8;
  options.lr_schedule = {};
  const TrainingResult result = train(made_up(), options);
  EXPECT_LT(score(result.evaluations.back().scores, "training_loss"),
            score(result.evaluations.front().scores, "training_loss") - 0.5);
  EXPECT_NEAR(score(result.evaluations.front().scores, "training_loss"), std::log(2000), 0.5);
}

TEST(Training, TellsDivergence) {
  const TemporaryFolder folder;
  TrainingOptions options = options_for("sgd", path_of(folder));
  options.lr = 1e6;
  options.lr_schedule = {};
  const TrainingResult result = train(made_up(), options);
  EXPECT_TRUE(result.diverged);
  EXPECT_LT(result.steps, 14U);
}

TEST(Training, RefusesOtherRuns) {
  const TemporaryFolder folder;
  TrainingOptions options = options_for("vclip", path_of(folder));
  options.steps = 2;
  options.lr_schedule = {};
  options.resume = true;
  EXPECT_THROW(train(made_up(), options), Error) << "nothing to resume";
  options.resume = false;
  train(made_up(), options);
  EXPECT_THROW(train(made_up(), options), Error) << "there is a run already";
  options.resume = true;
  options.steps = 3;
  EXPECT_EQ(train(made_up(), options).steps, 3U) << "longer than it was meant to be";
  options.lr = 0.5;
  EXPECT_THROW(train(made_up(), options), Error) << "another learning rate";
  options.lr = 0.05;
  const std::string good = bytes_of(path_of(folder) / "checkpoint.pt");
  for (const std::size_t size : {std::size_t{0}, std::size_t{10}, good.size() / 2}) {
    std::ofstream(path_of(folder) / "checkpoint.pt", std::ios::binary) << good.substr(0, size);
    EXPECT_THROW(train(made_up(), options), Error) << "cut off at " << size;
  }
}

TEST(LanguageMethod, ReadsWords) {
  const Method plain = parse_method("vclip");
  EXPECT_EQ(plain.label, "VClip");
  EXPECT_EQ(plain.line, "vclip cold=0 tau=0.1");
  const Method huber = parse_method("huber:mu=1.3:tau=0.5");
  EXPECT_EQ(huber.label, "Huber, mu = 1.3, tau = 0.5");
  EXPECT_EQ(parse_method("sgd-m").key, "sgd-m");
  EXPECT_EQ(parse_method("momentum").key, "sgd-m");
  const auto& online = std::get<OnlineGradient>(parse_method("sgd-m").gradient);
  EXPECT_NEAR(1 / (1 + tau_of(online.method)), 0.9, 1e-15) << "beta of the paper";
  for (const std::string bad :
       {"", "vclop", "vclip:tau", "vclip:tau=x", "vclip:tau=-1", "vclip:q=1"})
    EXPECT_THROW((void)parse_method(bad), Error) << bad;
  EXPECT_EQ(words_of("a,b,,c:d=1"), (std::vector<std::string>{"a", "b", "c:d=1"}));
}

}  // namespace
}  // namespace medgrad::language
