// Many runs: tuning, going on, and tables.
#include "language/runs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "io/temporary_folder.h"
#include "lab/findings/lookup.h"
#include "lab/runner.h"
#include "language/corrupted_results.h"
#include "language/experiments.h"
#include "language/made_up.h"
#include "language/run_results.h"
#include "language/train_study.h"
#include "medgrad/error.h"
#include "testing.h"

namespace medgrad::language {
namespace {

using medgrad::testing::message_of;
using testing::path_of;
using testing::TemporaryFolder;

FinishedRun made(const std::string& word, double lr, std::uint64_t seed, double loss,
                 bool diverged = false) {
  FinishedRun run{{parse_method(word), lr, seed}, {}};
  run.result.evaluations = {{0, 0, {{"training_loss", 9}, {"valid_ppl", 900}}},
                            {1, 10, {{"training_loss", loss}, {"valid_ppl", 100 * loss}}}};
  run.result.diverged = diverged;
  return run;
}

lab::Results judged_results(const Task& task, const std::vector<FinishedRun>& runs) {
  lab::Results results = results_of(task, "mine", runs);
  add_statements(task.info(), results);
  return results;
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

TEST(Sweep, BeginsWhereAMethodIsUsual) {
  const std::unique_ptr<Task> task = open_task("synthetic", {.size = Size::small, .batch = 8});
  EXPECT_EQ(usual_rate(*task, parse_method("vclip:tau=auto")), 3.16);
  for (const char* const name : {"adam", "median-adam", "median-adam:cut=1", "cclip-adam"})
    EXPECT_EQ(usual_rate(*task, parse_method(name)), 0.001) << name;
  EXPECT_EQ(usual_rate(*task, parse_method("sign-sgd")), 0.1);
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

  const lab::Results results = judged_results(*task, runs);
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

// A result that no run can have written is not a run that has diverged.
TEST(Sweep, DamagedResultsAreRefused) {
  const std::unique_ptr<Task> task =
      open_task("synthetic", {.size = Size::small, .batch = 8, .limit = 4, .evaluation_limit = 1});
  const TemporaryFolder folder;
  RunsOptions options;
  options.folder = path_of(folder);
  const RunKey key{parse_method("vclip"), 0.1, 3};
  (void)run_once(*task, key, options);
  const std::string file = folder / "runs/vclip-lr-0.1-seed-3/result.json";
  using json = nlohmann::ordered_json;
  const json good = json::parse(medgrad::testing::content(file));
  const auto message = [&](const json& result) {
    std::ofstream(file) << result;
    return medgrad::testing::message_of([&] { return run_once(*task, key, options).final_loss(); });
  };
  EXPECT_EQ(message(good), "no error");
  std::vector<json> damaged;
  for (const char* const field : {"steps", "diverged", "seconds", "evaluations", "config"}) {
    damaged.push_back(good);
    damaged.back().erase(field);
  }
  const auto change = [&](const char* pointer, const json& value) {
    damaged.push_back(good);
    damaged.back()[json::json_pointer(pointer)] = value;
  };
  change("/evaluations", json::array());
  change("/evaluations", 7);
  change("/evaluations/0", json::object());
  change("/evaluations/1/scores", json::object());
  change("/evaluations/0/scores", {{"valid_ppl", 3.0}});
  change("/evaluations/1/scores/training_loss", "nan");
  change("/evaluations/1/scores/training_loss", nullptr);
  change("/evaluations/1/step", 99);
  change("/diverged", "no");
  damaged.push_back(good);
  damaged.back()["evaluations"].erase(1);
  for (const json& one : damaged) EXPECT_EQ(message(one), file + " is damaged; remove it.") << one;
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
  EXPECT_THROW((void)run_once(*task, key, options), lab::Interrupted);
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
  const lab::Results results = judged_results(*task, runs);
  ASSERT_EQ(results.claims.size(), 3U);
  for (const lab::Claim& claim : results.claims) EXPECT_EQ(claim.holds, true) << claim.claim;
  EXPECT_NE(results.notes.front().find("clipped-SGD 1 (1 diverged)"), std::string::npos)
      << results.notes.front();
}

// A method that was not run says nothing; one that has diverged is worse than any that has not.
TEST(RunResults, ClaimsNeedTheirMethods) {
  using Holds = std::vector<std::optional<bool>>;
  const std::unique_ptr<Task> words = open_task("synthetic", {.size = Size::small}),
                              questions = open_task("synthetic-questions", {.size = Size::small});
  const auto judged = [](const Task& task, const std::vector<FinishedRun>& runs) {
    Holds holds;
    for (const lab::Claim& claim : judged_results(task, runs).claims) holds.push_back(claim.holds);
    return holds;
  };
  constexpr std::nullopt_t unknown = std::nullopt;
  // VClip against SGD-M, CClip and Adam.
  EXPECT_EQ(judged(*words, {made("vclip", 1, 0, 5)}), (Holds{unknown, unknown, unknown}));
  EXPECT_EQ(judged(*words, {made("adam", 1, 0, 5)}), (Holds{unknown, unknown, unknown}));
  EXPECT_EQ(judged(*words, {made("vclip", 1, 0, 5), made("sgd-m", 1, 0, 1, true)}),
            (Holds{true, unknown, unknown}));
  EXPECT_EQ(judged(*words, {made("vclip", 1, 0, 5, true), made("sgd-m", 1, 0, 6),
                            made("cclip", 1, 0, 6), made("adam", 1, 0, 6)}),
            (Holds{false, false, true}));
  EXPECT_EQ(judged(*words, {made("vclip", 1, 0, 5, true), made("sgd-m", 1, 0, 6, true)}),
            (Holds{unknown, unknown, unknown}));
  EXPECT_EQ(judged(*words, {made("vclip", 1, 0, 5), made("sgd-m", 1, 0, 5)}),
            (Holds{false, unknown, unknown}));
  EXPECT_EQ(judged(*questions, {made("vclip", 1, 0, 5), made("sgd-m", 1, 0, 5.2)}),
            (Holds{true, unknown, unknown}));
  EXPECT_EQ(judged(*questions, {made("vclip", 1, 0, 5), made("sgd-m", 1, 0, 5.2, true)}),
            (Holds{false, unknown, unknown}));
  EXPECT_EQ(judged(*questions, {made("sgd-m", 1, 0, 5.2)}), (Holds{unknown, unknown, unknown}));
}

// One method with two parameters: two entries in the legend, and two colours.
TEST(RunResults, ParametersHaveColoursOfTheirOwn) {
  const std::unique_ptr<Task> task = open_task("synthetic", {.size = Size::small});
  const lab::Results results =
      results_of(*task, "mine", {made("vclip", 1, 0, 5), made("vclip:tau=auto", 1, 0, 4)});
  const std::vector<lab::Series>& curves = results.figures.front().panels.front().series;
  ASSERT_EQ(curves.size(), 2U);
  EXPECT_EQ(curves[0].key, "vclip");
  EXPECT_EQ(curves[1].key, curves[1].name);
  EXPECT_NE(curves[1].key, curves[0].key);
}

// One seed of five that trains well does not make up for four that diverged.
TEST(RunResults, ADivergedSeedIsInfinite) {
  const std::unique_ptr<Task> task = open_task("synthetic", {.size = Size::small});
  std::vector<FinishedRun> runs;
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    runs.push_back(made("sgd-m", 1, seed, 6));
    FinishedRun vclip = made("vclip", 1, seed, 3);
    if (seed > 0) {
      vclip.result.evaluations.pop_back();
      vclip.result.diverged = true;
    }
    runs.push_back(vclip);
  }
  lab::Results results = judged_results(*task, runs);
  EXPECT_EQ(results.claims[0].holds, false) << results.claims[0].evidence;
  EXPECT_EQ(results.claims[0].evidence,
            "final training loss infinite (vclip, 4 of 5 seeds diverged) and 6 (sgd-m).");
  const lab::Group* const loss = lab::find(results, "vclip", "training_loss");
  ASSERT_NE(loss, nullptr);
  EXPECT_EQ(loss->last().mean, 3);
  EXPECT_EQ(loss->last().diverged, 4U);
  // All of them: no comparison, and still no number after the last step.
  runs[1].result.diverged = true;
  runs[1].result.evaluations.pop_back();
  results = judged_results(*task, runs);
  EXPECT_EQ(lab::find(results, "vclip", "training_loss")->last().n, 0U);
  EXPECT_EQ(results.claims[0].holds, false);
}

// A run that diverges later has its evaluations up to there.
TEST(RunResults, GoodEvaluationsOfADivergedRunStay) {
  const std::unique_ptr<Task> task = open_task("synthetic", {.size = Size::small});
  const auto evaluation = [](std::size_t epoch, double loss) {
    return Evaluation{epoch, 10 * epoch, {{"training_loss", loss}, {"valid_ppl", loss}}};
  };
  // In a step after the second epoch, and in the evaluation after it.
  FinishedRun by_step{{parse_method("vclip"), 1, 0}, {}}, by_evaluation = by_step, whole = by_step;
  by_step.result = {.evaluations = {evaluation(0, 9), evaluation(1, 5), evaluation(2, 4)},
                    .steps = 23,
                    .diverged = true};
  by_evaluation.key.seed = 1;
  by_evaluation.result = {.evaluations = {evaluation(0, 9), evaluation(1, 5), evaluation(2, 19)},
                          .steps = 20,
                          .diverged = true};
  whole.key.seed = 2;
  whole.result = {
      .evaluations = {evaluation(0, 9), evaluation(1, 5), evaluation(2, 4), evaluation(3, 3)},
      .steps = 30};
  const auto curve = [&](const std::vector<FinishedRun>& runs) {
    return *lab::find(results_of(*task, "mine", runs), "vclip", "training_loss");
  };
  const auto counts = [](const lab::Group& group) {
    std::vector<std::size_t> n;
    for (const lab::Stats& s : group.stats) n.push_back(s.n);
    return n;
  };
  using Sizes = std::vector<std::size_t>;
  const lab::Group all = curve({by_step, by_evaluation, whole});
  EXPECT_EQ(all.steps, (Sizes{0, 10, 20, 30}));
  EXPECT_EQ(counts(all), (Sizes{3, 3, 2, 1}));
  EXPECT_EQ(all.stats[2].mean, 4);
  const lab::Group one = curve({by_step});
  EXPECT_EQ(one.steps, (Sizes{0, 10, 20, 23}));
  EXPECT_EQ(counts(one), (Sizes{1, 1, 1, 0}));
  const lab::Group other = curve({by_evaluation});
  EXPECT_EQ(other.steps, (Sizes{0, 10, 20}));
  EXPECT_EQ(counts(other), (Sizes{1, 1, 0}));
  // The figure shows what there is of them, and where it ended.
  const lab::Results results = results_of(*task, "mine", {by_step});
  const lab::Series& drawn = results.figures.front().panels.front().series.front();
  EXPECT_EQ(drawn.y[2], 4);
  EXPECT_EQ(drawn.diverged, std::vector<double>{23});
}

// config.json of a sweep is an experiment that gives the same again, config.json included.
TEST(RunResults, ASweepCanBeRunAgain) {
  const std::unique_ptr<Task> task = open_task(
      "synthetic",
      {.size = Size::small, .batch = 8, .dropout = 0.1, .limit = 4, .evaluation_limit = 1});
  const TemporaryFolder folder, other;
  RunsOptions options;
  options.folder = path_of(folder);
  options.base.steps = 3;
  options.base.per_tensor = true;
  options.base.lr_schedule = CosineSchedule{.factor = 0.5, .warmup = 1};
  const SweepOptions grid{.methods = {parse_method("vclip:tau=0.01"), parse_method("adam")},
                          .rates = {0.1, 0.01},
                          .seeds = 2,
                          .seed = 5,
                          .extensions = 1};
  const std::vector<FinishedRun> runs = sweep(*task, grid, options);
  const lab::Results results = sweep_results(*task, "mine", runs);
  const std::string config = sweep_config(*task, "mine", grid, options.base, runs);
  const lab::Experiment experiment =
      lab::read_experiment(parse_document(config, "config.json"), "config.json", catalogue());
  EXPECT_EQ(experiment.name, "mine");
  const lab::Finished again = lab::run_experiment(experiment, {.work = path_of(other)});
  EXPECT_EQ(again.config, config);
  EXPECT_EQ(lab::results_csv(again.results), lab::results_csv(results));
  EXPECT_EQ(lab::summary_json(again.results), lab::summary_json(results));
}

// Every rate that was tried is there, whatever the order in which the grid grew.
TEST(RunResults, SweepsHaveAGroupPerRate) {
  const std::unique_ptr<Task> task = open_task("synthetic", {.size = Size::small});
  const std::vector<FinishedRun> runs = {
      made("vclip", 1, 0, 5),       made("vclip", 1, 1, 7),       made("vclip", 3.16, 0, 9, true),
      made("vclip", 0.316, 0, 5.5), made("vclip", 0.316, 1, 5.7), made("adam", 0.001, 0, 4)};
  const lab::Results results = sweep_results(*task, "mine", runs);
  const auto* const at_one = lab::find(results, "vclip", "final_training_loss", {{"lr", 1.0}});
  ASSERT_NE(at_one, nullptr);
  EXPECT_EQ(at_one->values, (std::vector<double>{5, 7}));
  EXPECT_EQ(at_one->last().mean, 6);
  const auto* const diverged = lab::find(results, "vclip", "final_training_loss", {{"lr", 3.16}});
  ASSERT_NE(diverged, nullptr);
  EXPECT_EQ(diverged->last().diverged, 1U);
  EXPECT_NEAR(lab::mean_of(results, "vclip", "final_valid_ppl", {{"lr", 0.316}}), 560, 1e-9);
  EXPECT_NE(lab::find(results, "adam", "final_training_loss", {{"lr", 0.001}}), nullptr);
  ASSERT_EQ(results.figures.front().id, "rates");
  const lab::Panel& panel = results.figures.front().panels.front();
  EXPECT_TRUE(panel.x.log);
  EXPECT_FALSE(panel.y.log);  // losses from 4 to 6
  ASSERT_EQ(panel.series.size(), 2U);
  EXPECT_EQ(panel.series[0].x, (std::vector<double>{0.316, 1, 3.16}));
  EXPECT_TRUE(std::isnan(panel.series[0].y[2]));
  EXPECT_EQ(panel.series[0].diverged, std::vector<double>{3.16});
  EXPECT_TRUE(panel.series[1].diverged.empty());
  EXPECT_NE(std::ranges::find(results.notes, "VClip diverged at learning rate 3.16."),
            results.notes.end());
  const lab::Results wide =
      sweep_results(*task, "mine", {made("vclip", 1, 0, 0.5), made("vclip", 10, 0, 6)});
  EXPECT_TRUE(wide.figures.front().panels.front().y.log);
  // Curves are those of the best rate.
  const auto* const curve = lab::find(results, "vclip", "training_loss");
  ASSERT_NE(curve, nullptr);
  EXPECT_EQ(curve->last().mean, 5.6);
}

// At each share of bad steps a method is as good as its best rate there; one that diverged is worse
// than any other.
TEST(CorruptedResults, CompareMethodsAtTheirBestRates) {
  const std::unique_ptr<Task> task = open_task("synthetic", {.size = Size::small});
  lab::Results results =
      corrupted_results(*task, "mine",
                        {{{},
                          {made("adam", 0.1, 0, 5), made("adam", 1, 0, 6),
                           made("median-adam", 0.1, 0, 5.2), made("median-adam", 1, 0, 5.09),
                           made("sgd-m", 1, 0, 5.5), made("vclip:tau=auto", 1, 0, 5.4)}},
                         {{.share = 0.05},
                          {made("adam", 0.1, 0, 8), made("adam", 1, 0, 8.5),
                           made("median-adam", 0.1, 0, 6), made("median-adam", 1, 0, 9, true),
                           made("sgd-m", 1, 0, 7, true), made("vclip:tau=auto", 1, 0, 8.75)}}});
  const auto* const group =
      lab::find(results, "adam", "final_training_loss", {{"share", 0.05}, {"lr", 1.0}});
  ASSERT_NE(group, nullptr);
  EXPECT_EQ(group->values, std::vector<double>{8.5});
  ASSERT_EQ(results.figures.size(), 2U);
  const lab::Panel& panel = results.figures.front().panels.front();
  ASSERT_EQ(panel.series.size(), 4U);
  EXPECT_EQ(panel.series[1].name, "MedianAdam");
  EXPECT_EQ(panel.series[1].x, (std::vector<double>{0, 0.05}));
  EXPECT_EQ(panel.series[1].y, (std::vector<double>{5.09, 6}));
  EXPECT_EQ(panel.series[2].diverged, std::vector<double>{0.05});
  EXPECT_EQ(results.figures.back().panels.size(), 2U);
  EXPECT_NE(
      std::ranges::find(results.notes,
                        "Best with 5 % bad steps (scaled): Adam 8 (lr 0.1); MedianAdam 6 (lr 0.1); "
                        "SGD-M infinite (lr 1); VClip, tau = auto 8.75 (lr 1)."),
      results.notes.end());
  results.claims.clear();
  corrupted_training_findings({}, results);
  ASSERT_EQ(results.claims.size(), 4U);
  EXPECT_EQ(results.claims[1].claim, "MedianAdam ends ahead of Adam with 5 % bad steps (scaled)");
  for (const lab::Claim& claim : results.claims) EXPECT_EQ(claim.holds, true) << claim.claim;
  EXPECT_EQ(results.claims[0].evidence, "final training loss 5.09 and 5.")
      << "1.8 % more is within 2 %";
  // What was not run is left open, and what has lost says so.
  lab::Results other = corrupted_results(
      *task, "mine",
      {{{}, {made("adam", 0.1, 0, 5), made("median-adam", 0.1, 0, 5.2)}},
       {{.share = 0.05}, {made("adam", 0.1, 0, 5), made("median-adam", 0.1, 0, 5.2)}}});
  other.claims.clear();
  corrupted_training_findings({}, other);
  EXPECT_EQ(other.claims[0].holds, false);
  EXPECT_EQ(other.claims[1].holds, false);
  EXPECT_FALSE(other.claims[2].holds.has_value());
  EXPECT_FALSE(other.claims[3].holds.has_value());
}

// Every kind has a panel and claims of its own, and the runs without bad steps are in all panels.
TEST(CorruptedResults, TellKindsApart) {
  using Kind = lab::Corruption::Kind;
  const std::unique_ptr<Task> task = open_task("synthetic", {.size = Size::small});
  const auto runs = [](double adam, double ours) {
    return std::vector<FinishedRun>{made("adam", 0.1, 0, adam), made("median-adam", 0.1, 0, ours)};
  };
  lab::Results results =
      corrupted_results(*task, "mine",
                        {{{.kind = Kind::shuffled_labels, .share = 0.1}, runs(7, 6)},
                         {{.kind = Kind::shuffled_labels}, runs(5, 5.05)},
                         {{.kind = Kind::bit_flip, .share = 0.1}, runs(6.5, 6.6)},
                         {{.kind = Kind::bit_flip, .share = 0.05}, runs(5.5, 5.4)}});
  const std::vector<lab::Panel>& panels = results.figures.front().panels;
  ASSERT_EQ(panels.size(), 2U);
  EXPECT_EQ(panels[0].title, "shuffled-labels");
  EXPECT_EQ(panels[0].series[0].x, (std::vector<double>{0, 0.1}));
  EXPECT_EQ(panels[0].series[0].y, (std::vector<double>{5, 7}));
  EXPECT_EQ(panels[1].title, "bit-flip");
  EXPECT_EQ(panels[1].series[1].x, (std::vector<double>{0, 0.05, 0.1}));
  EXPECT_EQ(panels[1].series[1].y, (std::vector<double>{5.05, 5.4, 6.6}));
  EXPECT_EQ(results.figures.back().panels.size(), 4U);
  EXPECT_NE(std::ranges::find(results.notes,
                              "Best with 10 % bad steps (bit-flip): Adam 6.5 (lr 0.1); MedianAdam "
                              "6.6 (lr 0.1)."),
            results.notes.end());
  EXPECT_NE(lab::results_csv(results).find("shuffled-labels"), std::string::npos);
  corrupted_training_findings({}, results);
  const auto holds = [&](const std::string& text) {
    const auto found = std::ranges::find(results.claims, text, &lab::Claim::claim);
    EXPECT_NE(found, results.claims.end()) << text;
    return found == results.claims.end() ? std::nullopt : found->holds;
  };
  EXPECT_EQ(holds("without bad steps MedianAdam is within 2 % of Adam"), true);
  EXPECT_EQ(holds("MedianAdam ends ahead of Adam with 10 % bad steps (shuffled-labels)"), true);
  EXPECT_EQ(holds("MedianAdam ends ahead of Adam with 10 % bad steps (bit-flip)"), false);
  EXPECT_EQ(holds("MedianAdam ends ahead of Adam with 5 % bad steps (bit-flip)"), true);
}

// A best rate at the edge of those tried is told for every kind, unless no rate ends below the
// start, which is 9 here.
TEST(CorruptedResults, TellWhichBestRatesLieAtAnEdge) {
  const std::unique_ptr<Task> task = open_task("synthetic", {.size = Size::small});
  const auto at_rates = [](const std::string& word, std::initializer_list<double> losses) {
    std::vector<FinishedRun> runs;
    double lr = 0.1;
    for (const double loss : losses) runs.push_back(made(word, lr *= 2, 0, loss));
    return runs;
  };
  const lab::Results results = corrupted_results(
      *task, "mine",
      {{{}, at_rates("adam", {6, 5, 7})},
       {{.share = 0.05}, at_rates("adam", {6, 7, 8})},
       {{.kind = lab::Corruption::Kind::bit_flip, .share = 0.05}, at_rates("adam", {10, 11, 12})}});
  ASSERT_EQ(results.claims.size(), 3U);
  const std::string said = "no best learning rate lies at an edge of the grid ";
  EXPECT_EQ(results.claims[0].claim, said + "(no bad steps)");
  EXPECT_EQ(results.claims[0].holds, true);
  EXPECT_EQ(results.claims[1].claim, said + "(scaled)");
  EXPECT_EQ(results.claims[1].holds, false);
  EXPECT_EQ(results.claims[1].evidence, "at an edge: Adam at 5 % (0.2).");
  EXPECT_EQ(results.claims[2].claim, said + "(bit-flip)");
  EXPECT_NE(results.claims[2].evidence.find("no rate ends below the start (9): Adam at 5 %."),
            std::string::npos)
      << results.claims[2].evidence;
}

TEST(CorruptedResults, AnExperimentRunsEveryRateAtEveryShare) {
  const auto read = [](const std::string& lr, const std::string& corrupted) {
    const std::string text =
        R"({"experiment": "mine", "kind": "training", "findings": "corrupted-training",)"
        R"("task": "logistic", "batch": 8, "steps": 5, "evaluation_limit": 1,)"
        R"("methods": ["sgd-m", "adam"], "lr": )" +
        lr + R"(, "corrupted": )" + corrupted + "}";
    return lab::read_experiment(parse_document(text, "mine.json"), "mine.json", catalogue());
  };
  const TemporaryFolder folder;
  const lab::Experiment experiment =
      read("[[1, 0.1], 0.01]", R"([{"share": 0}, {"share": 0.5, "lr": [[1, 0.1], [0.01, 10]]}])");
  const lab::Results results = lab::run_experiment(experiment, {.work = path_of(folder)}).results;
  for (const double share : {0.0, 0.5})
    for (const double lr : {0.1, 1.0})
      EXPECT_NE(lab::find(results, "sgd-m", "final_training_loss", {{"share", share}, {"lr", lr}}),
                nullptr);
  EXPECT_NE(lab::mean_of(results, "adam", "final_training_loss", {{"share", 0.0}}),
            lab::mean_of(results, "adam", "final_training_loss", {{"share", 0.5}, {"lr", 0.01}}));
  EXPECT_EQ(lab::find(results, "adam", "final_training_loss", {{"share", 0.0}, {"lr", 10.0}}),
            nullptr);
  EXPECT_NE(lab::find(results, "adam", "final_training_loss", {{"share", 0.5}, {"lr", 10.0}}),
            nullptr);
  // Once more, from what is in the folder.
  EXPECT_EQ(lab::results_csv(lab::run_experiment(experiment, {.work = path_of(folder)}).results),
            lab::results_csv(results));
  // More kinds later, beside what is in the folder: the runs there are not run again.
  const auto last_written = [&](const std::string& part) {
    return std::filesystem::last_write_time(path_of(folder) / part /
                                            "runs/adam-lr-0.01-seed-0/result.json");
  };
  const auto clean = last_written("share-0"), scaled = last_written("share-0.5");
  const lab::Experiment more =
      read("[[1, 0.1], 0.01]", R"([{"share": 0}, {"share": 0.5, "lr": [[1, 0.1], [0.01, 10]]},
        {"share": 0.5, "kind": "bit-flip"}, {"share": 0.5, "kind": "shuffled-labels"}])");
  const lab::Results kinds = lab::run_experiment(more, {.work = path_of(folder)}).results;
  ASSERT_EQ(kinds.figures.front().panels.size(), 3U);
  EXPECT_EQ(last_written("share-0"), clean);
  EXPECT_EQ(last_written("share-0.5"), scaled);
  std::set<double> ends;
  for (const lab::Panel& panel : kinds.figures.front().panels)
    ends.insert(panel.series[1].y.back());  // Adam's
  EXPECT_EQ(ends.size(), 3U);
  // One share and several rates are a sweep.
  const lab::Results sweep =
      lab::run_experiment(read("[[1, 0.1], 0.01]", R"({"share": 0.5})"), {.work = path_of(folder)})
          .results;
  EXPECT_EQ(sweep.figures.front().id, "rates");
  EXPECT_NE(lab::find(sweep, "sgd-m", "training_loss"), nullptr);
  EXPECT_THROW((void)read("[[], 1]", R"({"share": 0.5})"), Error);
  EXPECT_THROW((void)read("[[1, 1], 1]", R"({"share": 0.5})"), Error);
  EXPECT_THROW((void)read("[[1, -1], 1]", R"({"share": 0.5})"), Error);
  EXPECT_THROW((void)read("[1, 1]", "[]"), Error);
  for (const char* const twice : {R"([{"share": 0.1}, {"share": 0.1, "factor": 2}])",
                                  R"([{"share": 0}, {"share": 0, "kind": "bit-flip"}])"})
    EXPECT_EQ(message_of([&] { (void)read("[1, 1]", twice); }),
              "mine.json:1: 'corrupted' has this kind and share twice.");
  EXPECT_THROW((void)read("[1, 1]", R"({"share": 0.1, "kind": "bit-flop"})"), Error);
  EXPECT_THROW((void)read("[1, 1]", R"({"share": 0.1, "kind": "bit-flip", "factor": 2})"), Error);
  EXPECT_THROW((void)read("[1, 1]", R"({"share": 0.1, "kind": "bit-flip", "flips": 0})"), Error);
  EXPECT_THROW((void)read("[1, 1]", R"([{"share": 0.1}, {"share": 2}])"), Error);
  EXPECT_THROW((void)read("[1, 1]", R"([{"share": 0.1}, {"share": 0.2, "lr": [1]}])"), Error);
}

}  // namespace
}  // namespace medgrad::language
