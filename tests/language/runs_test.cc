// Many runs: tuning, going on, and tables.
#include "language/runs.h"

#include <gtest/gtest.h>

#include <cmath>

#include "io/temporary_folder.h"
#include "medgrad/error.h"

namespace medgrad::language {
namespace {

using medgrad::testing::TemporaryFolder;

std::filesystem::path path_of(const TemporaryFolder& folder) { return folder / ""; }

FinishedRun made(const std::string& word, double lr, std::uint64_t seed, double loss,
                 bool diverged = false) {
  FinishedRun run{{parse_method(word), lr, seed}, {}};
  run.result.evaluations = {{0, 0, {{"training_loss", 9}, {"valid_ppl", 900}}},
                            {1, 10, {{"training_loss", loss}, {"valid_ppl", 100 * loss}}}};
  run.result.diverged = diverged;
  return run;
}

TEST(Sweep, ChoosesByTheMeanOverSeeds) {
  const std::vector<FinishedRun> runs = {made("vclip", 1, 0, 5), made("vclip", 1, 1, 7),
                                         made("vclip", 3.16, 0, 5.5), made("vclip", 3.16, 1, 5.6),
                                         made("vclip", 10, 0, 1, true)};
  EXPECT_EQ(best_rate(runs, "vclip"), 3.16);
  EXPECT_TRUE(std::isnan(best_rate({made("cclip", 1, 0, 5, true)}, "cclip")));
}

TEST(Sweep, RatesAreHalfDecades) {
  EXPECT_EQ(half_decade(3), 3.16);
  EXPECT_EQ(half_decade(3.16, 1), 10);
  EXPECT_EQ(half_decade(0.1, -1), 0.0316);
  EXPECT_EQ(half_decade(0.000316), 0.000316);
}

TEST(Sweep, GrowsTheGridAndGoesOn) {
  const std::unique_ptr<Task> task =
      open_task("synthetic", {.size = Size::small, .batch = 8, .limit = 4, .evaluation_limit = 1});
  const TemporaryFolder folder;
  RunsOptions options;
  options.base.epochs = 1;
  options.folder = path_of(folder);
  std::size_t ran = 0;
  options.finished = [&](const FinishedRun&) { ++ran; };
  // Far too small: the best is always the largest, up to the limit.
  const SweepOptions grid{.methods = {parse_method("sgd-m")}, .rates = {1e-5}, .extensions = 3};
  const std::vector<FinishedRun> runs = sweep(*task, grid, options);
  EXPECT_EQ(runs.size(), 4U);
  EXPECT_EQ(ran, 4U);
  EXPECT_EQ(best_rate(runs, "sgd-m"), runs.back().key.lr);
  const std::vector<FinishedRun> again = sweep(*task, grid, options);
  EXPECT_EQ(ran, 4U) << "nothing is run twice";
  ASSERT_EQ(again.size(), runs.size());
  for (std::size_t i = 0; i < runs.size(); ++i)
    EXPECT_EQ(again[i].final_loss(), runs[i].final_loss());

  const lab::Results results = results_of(*task, "mine", runs, true);
  ASSERT_EQ(results.groups.size(), 3U);
  EXPECT_EQ(results.groups[0].method, "SGD-M");
  EXPECT_EQ(results.groups[0].last().mean, runs.back().final_loss());
  EXPECT_EQ(results.figures.size(), 1U);
}

// Results of other settings are not taken for these.
TEST(Sweep, TakesOnlyItsOwnRuns) {
  const auto open = [](double dropout) {
    return open_task(
        "synthetic",
        {.size = Size::small, .batch = 8, .dropout = dropout, .limit = 4, .evaluation_limit = 1});
  };
  const TemporaryFolder folder;
  RunsOptions options;
  options.base.epochs = 2;
  options.folder = path_of(folder);
  const RunKey key{parse_method("vclip"), 0.1, 3};
  const auto task = open(0);
  const double loss = run_once(*task, key, options).final_loss();
  const auto message = [&](const Task& asked) -> std::string {
    try {
      (void)run_once(asked, key, options);
    } catch (const Error& error) {
      return error.what();
    }
    return "nothing";
  };
  EXPECT_NE(message(*open(0.5)).find("another 'dropout' (0.0, not 0.5)"), std::string::npos)
      << message(*open(0.5));
  options.base.epochs = 1;
  EXPECT_NE(message(*task).find("at step 8 already, of 4"), std::string::npos) << message(*task);
  options.base.epochs = 3;
  const FinishedRun longer = run_once(*task, key, options);
  ASSERT_EQ(longer.result.evaluations.size(), 4U);
  EXPECT_EQ(score(longer.result.evaluations[2].scores, "training_loss"), loss);
}

TEST(Sweep, StopsAndGoesOn) {
  const std::unique_ptr<Task> task =
      open_task("synthetic", {.size = Size::small, .batch = 8, .limit = 4, .evaluation_limit = 1});
  const TemporaryFolder one, two;
  RunsOptions options;
  options.base.epochs = 2;
  options.folder = path_of(one);
  const RunKey key{parse_method("vclip"), 0.1, 3};
  const FinishedRun whole = run_once(*task, key, options);
  options.folder = path_of(two);
  std::atomic<bool> stop = false;
  options.stop = &stop;
  options.progress = [&](const RunKey&, const TrainingProgress& p) { stop = p.step == 3; };
  EXPECT_THROW((void)run_once(*task, key, options), Interrupted);
  stop = false;
  options.progress = {};
  EXPECT_EQ(run_once(*task, key, options).final_loss(), whole.final_loss());
}

TEST(RunResults, CheckThePapersStatements) {
  const std::unique_ptr<Task> task =
      open_task("synthetic", {.size = Size::small, .batch = 8, .limit = 4, .evaluation_limit = 1});
  const std::vector<FinishedRun> runs = {made("sgd-m", 1, 0, 6), made("vclip", 1, 0, 5.5),
                                         made("cclip", 1, 0, 6.5), made("adam", 0.001, 0, 5),
                                         made("clipped-sgd", 1, 0, 1, true)};
  const lab::Results results = results_of(*task, "mine", runs, true);
  ASSERT_EQ(results.claims.size(), 3U);
  for (const lab::Claim& claim : results.claims) EXPECT_EQ(claim.holds, true) << claim.claim;
  EXPECT_NE(results.notes.front().find("clipped-SGD 1 (1 diverged)"), std::string::npos)
      << results.notes.front();
}

}  // namespace
}  // namespace medgrad::language
