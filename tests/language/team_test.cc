// Workers that train together, simulated in one process.
#include "language/team.h"

#include <gtest/gtest.h>

#include <cmath>

#include "language/made_up.h"
#include "medgrad/error.h"

namespace medgrad::language {
namespace {

using testing::bytes_of;
using testing::made_up;
using testing::options_for;
using testing::path_of;
using testing::TemporaryFolder;
namespace fs = std::filesystem;

const Task& logistic() {
  static const std::unique_ptr<Task> task =
      open_task("logistic", {.size = Size::small, .batch = 16, .evaluation_limit = 8});
  return *task;
}

TrainingOptions with_team(const TeamTexts& texts, const fs::path& folder = {}) {
  TrainingOptions options = options_for("momentum", folder);
  options.workers = team_options(texts);
  return options;
}

// Without what depends on the clock.
std::vector<nlohmann::json> lines_without_clocks(const fs::path& folder) {
  std::vector<nlohmann::json> lines = testing::lines_of(folder);
  for (nlohmann::json& line : lines)
    if (line.contains("blame"))
      for (nlohmann::json& one : line["blame"]) one.erase("seconds");
  return lines;
}

double final_loss(const TrainingResult& result) {
  return score(result.evaluations.back().scores, "training_loss");
}

TEST(Team, OneWorkerIsTheSameAsNone) {
  for (const char* const rule : {"mean", "median", "geometric-median"}) {
    const TemporaryFolder alone, one;
    TrainingOptions options = options_for("vclip", path_of(alone));
    const TrainingResult expected = train(made_up(), options);
    options.folder = path_of(one);
    options.workers = team_options({.workers = 1, .aggregate = rule});
    const TrainingResult result = train(made_up(), options);
    ASSERT_EQ(result.evaluations.size(), expected.evaluations.size());
    for (std::size_t i = 0; i < expected.evaluations.size(); ++i)
      EXPECT_EQ(result.evaluations[i].scores, expected.evaluations[i].scores) << rule;
  }
}

// The mean over workers is the mean over as many accumulated batches, dropout included.
TEST(Team, TheMeanOfWorkersIsAccumulation) {
  TrainingOptions options = options_for("momentum", {});
  options.accumulate = 3;
  const TrainingResult expected = train(made_up(), options);
  options.accumulate = 1;
  options.workers = team_options({.workers = 3, .aggregate = "mean"});
  const TrainingResult result = train(made_up(), options);
  EXPECT_EQ(result.steps, expected.steps);
  EXPECT_EQ(result.steps, 4U) << "7 batches make 2 steps of 3, twice";
  EXPECT_NEAR(final_loss(result), final_loss(expected), 1e-5);
  EXPECT_NE(final_loss(result), score(result.evaluations.front().scores, "training_loss"));
}

TEST(Team, RobustRulesBearLiars) {
  const auto loss_of = [](const char* rule, const char* attack, std::size_t liars) {
    TrainingOptions options = with_team(
        {.workers = 8, .aggregate = rule, .byzantine = liars, .attack = liars > 0 ? attack : ""});
    options.lr = 0.3;
    options.epochs = 4;
    return final_loss(train(logistic(), options));
  };
  const double honest = loss_of("mean", "", 0);
  EXPECT_LT(honest, 0.9 * std::log(2));
  for (const char* const attack :
       {"ipm:strength=4", "alie", "nan", "inf", "gaussian", "bit-flip", "label-flip", "mimic"}) {
    for (const char* const rule : {"nnm+median", "geometric-median", "arc+centered-clipping"})
      EXPECT_LT(loss_of(rule, attack, 2), honest + 0.1) << rule << " " << attack;
  }
  EXPECT_GT(loss_of("mean", "ipm:strength=4", 2), honest + 0.1);
}

// Also what a rule keeps from step to step (the centre), and blame.
TEST(Team, GoesOnBitForBit) {
  for (const char* const rule : {"nnm+median", "centered-clipping", "bucketing+median"}) {
    const TemporaryFolder whole, parts;
    const TeamTexts texts{.workers = 5, .aggregate = rule, .byzantine = 1, .attack = "alie"};
    TrainingOptions options = with_team(texts, path_of(whole));
    options.epochs = 1;
    options.steps = 9;
    const TrainingResult expected = train(logistic(), options);
    options.folder = path_of(parts);
    TrainingResult result;
    int starts = 0;
    do {
      std::atomic<bool> stop = false;
      int batches = 0;
      options.resume = starts++ > 0;
      const auto stops = [&](const TrainingProgress& p) {
        stop = !p.evaluated && ++batches > 11;  // within a step, which has four
      };
      result = train(logistic(), options, stops, &stop);
    } while (result.interrupted);
    EXPECT_GT(starts, 3);
    EXPECT_EQ(lines_without_clocks(path_of(parts)), lines_without_clocks(path_of(whole))) << rule;
    EXPECT_EQ(bytes_of(path_of(parts) / "config.json"), bytes_of(path_of(whole) / "config.json"));
    ASSERT_EQ(result.blame.records().size(), 5U);
    EXPECT_EQ(result.blame.records()[4].steps, 9U);
    EXPECT_EQ(result.blame.records()[4].distance, expected.blame.records()[4].distance);
  }
}

TEST(Team, TopologiesGiveTheSameBits) {
  const auto loss_of = [](const char* topology) {
    TrainingOptions options =
        with_team({.workers = 5, .aggregate = "nnm+krum", .topology = topology});
    options.epochs = 1;
    return final_loss(train(logistic(), options));
  };
  EXPECT_EQ(loss_of("sharded"), loss_of("server"));
}

TEST(Team, NamesWhoLies) {
  TrainingOptions options = with_team(
      {.workers = 6, .aggregate = "median", .f = 1, .byzantine = 1, .attack = "gaussian"});
  options.epochs = 1;
  const std::vector<dist::Blamed> table = train(logistic(), options).blame.table();
  ASSERT_EQ(table.size(), 6U);
  for (const dist::Blamed& one : table) EXPECT_EQ(one.reason.empty(), one.worker != 5);
}

TEST(Team, RefusesWhatMakesNoSense) {
  EXPECT_THROW(
      (void)team_options({.workers = 4, .aggregate = "krum", .byzantine = 2, .attack = "alie"}),
      Error);  // 2 f + 2 < n
  EXPECT_THROW(
      (void)team_options({.workers = 2, .aggregate = "mean", .byzantine = 2, .attack = "nan"}),
      Error);
  EXPECT_THROW((void)team_options({.workers = 2, .aggregate = "mean", .byzantine = 1}), Error);
  EXPECT_THROW((void)team_options({.workers = 2, .aggregate = "mean", .attack = "nan"}), Error);
  EXPECT_THROW(
      (void)team_options({.workers = 2, .aggregate = "mean", .byzantine = 1, .attack = "silent"}),
      Error);
  EXPECT_THROW((void)team_options({.workers = 2, .aggregate = "mean", .topology = "ring"}), Error);
  TrainingOptions options = with_team({.workers = 200, .aggregate = "mean"});
  EXPECT_THROW(train(logistic(), options), Error) << "an epoch has 128 batches";
  options =
      with_team({.workers = 3, .aggregate = "median", .byzantine = 1, .attack = "label-flip"});
  EXPECT_THROW(train(made_up(true), options), Error) << "answers have no labels to flip";
}

}  // namespace
}  // namespace medgrad::language
